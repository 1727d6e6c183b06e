// The passes that make code of schedules: what each requires, establishes and throws.
#pragma once

#include "ir/kernel.h"

namespace tilewright::passes {

// Requires a verified program. Establishes that no loop has a schedule: each role is a `role` statement of its own with
// its part of the body, in which the slots run as the tables say (schedule_steps.h); tiles of channels have a first
// dimension, the stage; channels are rows of the kernel, and the steps of their protocol operations (schedule_ops.h).
// A kernel without schedules is left as it is. Throws Error{unsupported} where a tile of a channel is used outside of
// its loop, one thread would have to start a copy between statements of several warps, or the number of products in
// flight cannot be counted.
ir::Program expand_schedule(ir::Program program);

// Requires expanded schedules. Establishes that nothing but calls synchronises channels: steps of a protocol become
// groups and barriers where the same warps fill and read, and barriers in shared memory, one full and one empty for
// each stage, where others do; the contents follow from the accesses of the statements (ir::Access). Products by wgmma
// have their fence, group and wait, with and without channels. Throws Error{unsupported} for mixtures of accesses that
// no barrier counts, products and bulk copies inside of statements other than loops and branches, and tensors that the
// kernel writes and bulk copies read.
ir::Program place_channel_sync(ir::Program program);

// Tiles of u64 that place_channel_sync adds, the barriers of a channel's stages.
inline constexpr std::string_view kBarrierOrigin = "channel";
bool is_barrier_tile(const ir::Tile& tile);

}  // namespace tilewright::passes
