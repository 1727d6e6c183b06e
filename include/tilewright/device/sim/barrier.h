#pragma once
// Barriers of a block's threads. PTX: bar.sync, bar.arrive, bar.red; counts and phases are the simulator's.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

TW_ATOM void sync_block(TW_SIM_LINE) { __syncthreads(line); }
TW_ATOM bool sync_block_any(bool x, TW_SIM_LINE) { return __syncthreads_or(x, line) != 0; }
TW_ATOM bool sync_block_all(bool x, TW_SIM_LINE) { return __syncthreads_and(x, line) != 0; }
TW_ATOM u32 sync_block_count(bool x, TW_SIM_LINE) { return u32(__syncthreads_count(x, line)); }

template <u32 kId, u32 kThreads>
TW_ATOM void sync_threads(TW_SIM_LINE) {
  static_assert(kId < 16 && kThreads > 0 && kThreads % 32 == 0 && kThreads <= 1024);
  sim::hooks->barrier(kId, kThreads, sim::BlockVote::none, 0, line);
}
template <u32 kId, u32 kThreads>
TW_ATOM void arrive_threads(TW_SIM_LINE) {
  static_assert(kId < 16 && kThreads > 0 && kThreads % 32 == 0 && kThreads <= 1024);
  sim::hooks->barrier_arrive(kId, kThreads, line);
}

}  // namespace tilewright::device
