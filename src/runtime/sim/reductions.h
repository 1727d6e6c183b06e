// Reductions into global memory by bulk copies.
#pragma once

#include "runtime/cuda/tensor_map.h"

#include <tilewright/device/sim/hooks.h>

namespace tilewright::sim {

// Adds (takes the minimum or maximum of) `bytes` of elements, each of them atomically.
void reduce_elements(device::sim::AtomicOp op, cuda::TensorMapType type, void* to, const void* from, unsigned bytes);

}  // namespace tilewright::sim
