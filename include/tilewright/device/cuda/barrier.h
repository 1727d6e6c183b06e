#pragma once
// Barriers of a block's threads. (PTX: bar.sync, bar.arrive, bar.red)
//
// A barrier has a number from 0 to 15; 0 is that of sync_block. Numbers are constants, because one that is not makes
// the assembler reserve all 16. Thread counts are multiples of 32: a barrier counts warps.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// All threads of the block; orders their accesses to shared and global memory.
TW_ATOM void sync_block() { __syncthreads(); }

// All threads of the block, each of which gets whether `x` holds in any (all) of them.
TW_ATOM bool sync_block_any(bool x) { return __syncthreads_or(x) != 0; }
TW_ATOM bool sync_block_all(bool x) { return __syncthreads_and(x) != 0; }
TW_ATOM u32 sync_block_count(bool x) { return u32(__syncthreads_count(x)); }

// Waits until kThreads threads have come to barrier kId, this one among them.
template <u32 kId, u32 kThreads>
TW_ATOM void sync_threads() {
  static_assert(kId < 16 && kThreads > 0 && kThreads % 32 == 0 && kThreads <= 1024);
  asm volatile("bar.sync %0, %1;" : : "n"(kId), "n"(kThreads) : "memory");
}

// Counts this thread as having come and goes on. kThreads counts those that arrive and those that wait.
template <u32 kId, u32 kThreads>
TW_ATOM void arrive_threads() {
  static_assert(kId < 16 && kThreads > 0 && kThreads % 32 == 0 && kThreads <= 1024);
  asm volatile("bar.arrive %0, %1;" : : "n"(kId), "n"(kThreads) : "memory");
}

}  // namespace tilewright::device
