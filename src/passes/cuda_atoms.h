// Operations that are one call of include/tilewright/device/cuda/. The passes for NVIDIA GPUs make them; they carry
// everything the call needs, so that the emitter only writes it down. They exist after lowering only: no expand.
#pragma once

#include "ir/op.h"

namespace tilewright::passes {

// All threads of the block wait for each other; what they wrote to shared and global memory is then visible to all.
// No operands. PTX ISA: barrier.sync.
const ir::OpDef& block_sync_op();

// The operations above, for the parser.
std::span<const ir::OpDef* const> cuda_atoms();

}  // namespace tilewright::passes
