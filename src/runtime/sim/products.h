// mma.sync: who holds which element, and the product.
#pragma once

#include <tilewright/device/sim/hooks.h>

namespace tilewright::sim {

struct Place {
  int row, column;
};

constexpr int bits_of(device::sim::Element e) {
  using device::sim::Element;
  switch (e) {
    case Element::f64: return 64;
    case Element::tf32:
    case Element::f32:
    case Element::s32: return 32;
    case Element::f16:
    case Element::bf16: return 16;
    default: return 8;
  }
}

// Elements side by side in one register of 32 bits.
constexpr int per_register(device::sim::Element e) { return bits_of(e) >= 32 ? 1 : 32 / bits_of(e); }

// Where element `i` of a lane's fragment of A [m, k], B [k, n] or D [m, n] lies.
// PTX ISA, "Matrix Fragments for mma.m8n8k4, .m16n8k8, .m16n8k16, .m16n8k32".
constexpr Place place_a(device::sim::Element type, int lane, int i) {
  const int group = lane / 4, in_group = lane % 4, packed = per_register(type);
  if (type == device::sim::Element::f64) return {group, in_group};
  // Registers go down by 8 rows first, then right by the columns of four lanes.
  const int r = i / packed;
  return {group + 8 * (r % 2), in_group * packed + i % packed + 4 * packed * (r / 2)};
}
constexpr Place place_b(device::sim::Element type, int lane, int i) {
  const int group = lane / 4, in_group = lane % 4, packed = per_register(type);
  if (type == device::sim::Element::f64) return {in_group, group};
  const int r = i / packed;
  return {in_group * packed + i % packed + 4 * packed * r, group};
}
constexpr Place place_d(int lane, int i) { return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2}; }

// d += a * b of a warp. Floats of at most 32 bits are multiplied exactly and summed in f32, in order of k; the manual
// leaves the order and the precision beyond f32 open. Integers wrap around.
void multiply_fragments(device::sim::Lane* const* lanes);

}  // namespace tilewright::sim
