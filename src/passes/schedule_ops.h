// Operations of scheduled programs. Tile operations for which an instruction is chosen; the steps of a channel's
// protocol, between expand_schedule and place_channel_sync; and the calls of include/tilewright/device/cuda/ that both
// become. The latter two have no meaning of their own (no expand).
#pragma once

#include "ir/op.h"

#include <span>

namespace tilewright::passes {

// ---- tile operations: the meaning and the operands of copy and gemm ----

// tiles = {src: global, dst: shared}. cp.async of 16 bytes: over when the thread's group is.
const ir::OpDef& async_copy_op();
// tiles = {src: global, dst: shared, and behind place_channel_sync the barrier that counts its bytes}; attrs: map, the
// row of Kernel::maps whose boxes, one beside the other, make the destination. Outside the tensor the hardware fills
// with zeros. One thread starts it.
const ir::OpDef& bulk_copy_op();
// A gemm by wgmma: shared operands in swizzled panels, the sum in a fragment of the form wgmma_accumulator. Holds
// operands and sum until its group is over.
const ir::OpDef& warpgroup_gemm_op();

// What a block holds, at any depth, of the operations that run on behind their statement and need calls around them.
struct AsyncWork {
  bool products = false;     // warpgroup_gemm
  bool bulk_copies = false;  // bulk_copy
  bool any() const { return products || bulk_copies; }
};
AsyncWork async_work(const ir::Block& block);

// A channel's row of the kernel has the tile.
bool in_channel(const ir::Kernel& kernel, ir::TileId id);

// All of a tile.
ir::Region whole_region(const ir::Tile& tile);

// ---- steps of a channel: scalars = {iteration}; attrs: channel, the row of Kernel::channels ----

// attrs: separated: where fillers and readers are the same warps, a `wait` lies between the release of the buffer and
// this, whatever the number of iterations.
const ir::OpDef& acquire_op();
const ir::OpDef& commit_op();
// attrs: later: the least number of groups of the queue that are closed behind the one waited for.
const ir::OpDef& wait_op();
const ir::OpDef& release_op();

// ---- calls ----

// tiles = {dst: shared, head of a box, barrier}; scalars = {coordinates, innermost first}; attrs: map.
const ir::OpDef& bulk_load_op();
const ir::OpDef& prefetch_map_op();  // attrs: map

// tiles = {barrier: u64 shared}; scalars = {arrivals}
const ir::OpDef& mbarrier_init_op();
const ir::OpDef& mbarrier_arrive_op();               // no scalars
const ir::OpDef& mbarrier_arrive_after_copies_op();  // no scalars
const ir::OpDef& mbarrier_arrive_expect_op();        // {bytes}
const ir::OpDef& mbarrier_wait_op();                 // {parity}
const ir::OpDef& fence_mbarrier_init_op();
const ir::OpDef& fence_async_shared_op();

const ir::OpDef& sync_warp_op();
// All threads of some warps; attrs: barrier, 1 to 15; threads.
const ir::OpDef& sync_threads_op();

// tiles = {dst: u64 local, src: shared, head of a panel}; attrs: leading, stride, in bytes; span, in bytes.
const ir::OpDef& wgmma_descriptor_op();
// tiles = {d: f32 registers, a: u64 local, b: u64 local}; scalars = {accumulate, bytes from a, bytes from b}; attrs:
// type, n, mn_major_a, mn_major_b.
const ir::OpDef& wgmma_op();
const ir::OpDef& wgmma_fence_op();
const ir::OpDef& wgmma_commit_op();
// tiles = the registers that are free to use behind it; attrs: pending.
const ir::OpDef& wgmma_wait_op();
// tiles = registers that products write from here on.
const ir::OpDef& wgmma_registers_op();

// The operations above, for the parser.
std::span<const ir::OpDef* const> schedule_ops();

}  // namespace tilewright::passes
