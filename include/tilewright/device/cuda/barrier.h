#pragma once
// Barriers of a block's threads. (PTX: barrier.sync, barrier.arrive, barrier.red)
//
// None of them is `.aligned`, as bar.sync and __syncthreads are: that promises that no warp has diverged, which behind
// a loop of atomics does not hold, and on an H200 one such barrier in a long kernel let threads pass too early. Where
// ptxas sees that the warps are together, both become the same instruction.
// A barrier has a number from 0 to 15; 0 is that of sync_block. Numbers are constants, because one that is not makes
// the assembler reserve all 16. Thread counts are multiples of 32: a barrier counts warps.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// All threads of the block; orders their accesses to shared and global memory.
TW_ATOM void sync_block() { asm volatile("barrier.sync 0;" : : : "memory"); }

// All threads of the block, each of which gets whether `x` holds in any (all) of them, or in how many.
#define TW_SYNC_BLOCK(NAME, OP)      \
  TW_ATOM bool NAME(bool x) {        \
    u32 out;                         \
    asm volatile(                    \
        "{\n.reg .pred in, out;\n"   \
        "setp.ne.u32 in, %1, 0;\n"   \
        "barrier.red." OP            \
        ".pred out, 0, in;\n"        \
        "selp.u32 %0, 1, 0, out;\n}" \
        : "=r"(out)                  \
        : "r"(u32(x))                \
        : "memory");                 \
    return out != 0;                 \
  }
TW_SYNC_BLOCK(sync_block_any, "or")
TW_SYNC_BLOCK(sync_block_all, "and")
#undef TW_SYNC_BLOCK
TW_ATOM u32 sync_block_count(bool x) {
  u32 out;
  asm volatile(
      "{\n.reg .pred in;\n"
      "setp.ne.u32 in, %1, 0;\n"
      "barrier.red.popc.u32 %0, 0, in;\n}"
      : "=r"(out)
      : "r"(u32(x))
      : "memory");
  return out;
}

// Waits until kThreads threads have come to barrier kId, this one among them.
template <u32 kId, u32 kThreads>
TW_ATOM void sync_threads() {
  static_assert(kId < 16 && kThreads > 0 && kThreads % 32 == 0 && kThreads <= 1024);
  asm volatile("barrier.sync %0, %1;" : : "n"(kId), "n"(kThreads) : "memory");
}

// Counts this thread as having come and goes on. kThreads counts those that arrive and those that wait.
template <u32 kId, u32 kThreads>
TW_ATOM void arrive_threads() {
  static_assert(kId < 16 && kThreads > 0 && kThreads % 32 == 0 && kThreads <= 1024);
  asm volatile("barrier.arrive %0, %1;" : : "n"(kId), "n"(kThreads) : "memory");
}

}  // namespace tilewright::device
