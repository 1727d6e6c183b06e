// Operations that are one call of include/tilewright/device/cuda/. The passes for NVIDIA GPUs make them; they carry
// everything the call needs, so that the emitter only writes it down. They exist after lowering only: no expand.
#pragma once

#include "ir/op.h"

namespace tilewright::passes {

// All threads of the block wait for each other; what they wrote to shared and global memory is then visible to all.
// No operands. PTX ISA: barrier.sync.
const ir::OpDef& block_sync_op();

// tiles = {dst: shared, src: global}, heads of 16 adjacent aligned bytes; scalars = {valid: how many of the bytes are
// copied, 0 to 16; the rest of dst becomes zero}. Asynchronous. PTX ISA 9.7.9.25.3, cp.async.
const ir::OpDef& cp_async_op();
// Ends a group of copies. No operands. cp.async.commit_group.
const ir::OpDef& cp_async_commit_op();
// Waits until at most `pending` groups of this thread are under way. attrs: pending. cp.async.wait_group.
const ir::OpDef& cp_async_wait_op();

// tiles = {dst: u32 registers [num], src: shared 16-bit}, src is the row that this lane names; attrs: num = 2 | 4,
// trans. PTX ISA 9.7.15.5.15, ldmatrix.
const ir::OpDef& ldmatrix_op();
// tiles = {d: f32 registers [4], a: u32 registers [4], b: u32 registers [2]}; attrs: type = "f16" | "bf16". d += a b.
// PTX ISA 9.7.15.5.8, mma.m16n8k16.
const ir::OpDef& mma_op();

// tiles = {dst: a scalar register, src: a scalar register}: src of the lane whose number differs in the bits of
// attrs: lanes. All lanes of the warp take part. PTX ISA 9.7.9.6, shfl.sync.bfly.
const ir::OpDef& shuffle_xor_op();

// tiles = {dst: registers [count] of the computed type, src: global or shared}: `count` adjacent elements, whose
// address is a multiple of their bytes, 2 to 16, in one load. attrs: count, once (of global memory: no other block
// reads it, so that it need not stay in L1).
const ir::OpDef& load_vector_op();
// tiles = {dst: global or shared, src: registers [count]}: the same as one store, each rounded to dst. attrs: count,
// once (of global memory: nobody reads it soon, so that it leaves L2 first).
const ir::OpDef& store_vector_op();

// The operations above, for the parser.
std::span<const ir::OpDef* const> cuda_atoms();

}  // namespace tilewright::passes
