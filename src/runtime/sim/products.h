// mma.sync: who holds which element, and the product.
#pragma once

#include <tilewright/device/sim/hooks.h>

namespace tilewright::sim {

struct Place {
  int row, column;
};

// Where element `i` of a lane's fragment of A [m, k], B [k, n] or D [m, n] lies.
// PTX ISA, "Matrix Fragments for mma.m8n8k4, .m16n8k8, .m16n8k16, .m16n8k32".
Place place_a(const device::sim::Product& product, int lane, int i);
Place place_b(const device::sim::Product& product, int lane, int i);
Place place_d(const device::sim::Product& product, int lane, int i);

// d += a * b of a warp. Floats of at most 32 bits are multiplied exactly and summed in f32, in order of k; the manual
// leaves the order and the precision beyond f32 open. Integers wrap around.
void multiply_fragments(device::sim::Lane* const* lanes);

}  // namespace tilewright::sim
