#pragma once
// PTX: shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, bar.warp.sync, activemask.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

TW_ATOM u32 thread_id() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
TW_ATOM u32 lane_id() { return thread_id() % kWarpSize; }
TW_ATOM u32 uniform(u32 x, TW_SIM_LINE) { return __shfl_sync(kFullMask, x, 0, 32, line); }
TW_ATOM u32 warp_id(TW_SIM_LINE) { return uniform(thread_id() / kWarpSize, line); }
TW_ATOM void sync_warp(u32 mask = kFullMask, TW_SIM_LINE) { __syncwarp(mask, line); }
TW_ATOM u32 active_mask(TW_SIM_LINE) { return __activemask(line); }
// The manual leaves open which lane it is. All lanes must come.
TW_ATOM u32 elect_one(TW_SIM_LINE) {
#if TW_CUDA_ARCH >= 900
  return __ballot_sync(kFullMask, 1, line) != 0 && lane_id() == 0;
#else
  return lane_id() == 0;
#endif
}

TW_ATOM u32 shuffle(u32 x, u32 from, u32 mask = kFullMask, u32 width = 32, TW_SIM_LINE) {
  return __shfl_sync(mask, x, int(from), int(width), line);
}
TW_ATOM u32 shuffle_xor(u32 x, u32 lanes, u32 mask = kFullMask, u32 width = 32, TW_SIM_LINE) {
  return __shfl_xor_sync(mask, x, int(lanes), int(width), line);
}
TW_ATOM u32 shuffle_up(u32 x, u32 by, u32 mask = kFullMask, u32 width = 32, TW_SIM_LINE) {
  return __shfl_up_sync(mask, x, by, int(width), line);
}
TW_ATOM u32 shuffle_down(u32 x, u32 by, u32 mask = kFullMask, u32 width = 32, TW_SIM_LINE) {
  return __shfl_down_sync(mask, x, by, int(width), line);
}

#define TW_SHUFFLE(NAME, T, WORD)                                                 \
  TW_ATOM T NAME(T x, u32 n, u32 mask = kFullMask, u32 width = 32, TW_SIM_LINE) { \
    return sim::shuffle(sim::WarpOp::WORD, mask, x, n, width, line);              \
  }
#define TW_SHUFFLES(NAME, WORD) \
  TW_SHUFFLE(NAME, i32, WORD)   \
  TW_SHUFFLE(NAME, float, WORD) \
  TW_SHUFFLE(NAME, u64, WORD)   \
  TW_SHUFFLE(NAME, i64, WORD)   \
  TW_SHUFFLE(NAME, double, WORD)
TW_SHUFFLES(shuffle, shuffle_index)
TW_SHUFFLES(shuffle_xor, shuffle_xor)
TW_SHUFFLES(shuffle_up, shuffle_up)
TW_SHUFFLES(shuffle_down, shuffle_down)
#undef TW_SHUFFLES
#undef TW_SHUFFLE

TW_ATOM bool warp_any(bool x, u32 mask = kFullMask, TW_SIM_LINE) { return __any_sync(mask, x, line) != 0; }
TW_ATOM bool warp_all(bool x, u32 mask = kFullMask, TW_SIM_LINE) { return __all_sync(mask, x, line) != 0; }
TW_ATOM u32 warp_ballot(bool x, u32 mask = kFullMask, TW_SIM_LINE) { return __ballot_sync(mask, x, line); }
TW_ATOM u32 warp_match(u32 x, u32 mask = kFullMask, TW_SIM_LINE) { return __match_any_sync(mask, x, line); }

#if TW_CUDA_ARCH >= 800
#define TW_REDUX(NAME, T, WORD)                                           \
  TW_ATOM T NAME(T x, u32 mask = kFullMask, TW_SIM_LINE) {                \
    return T(sim::in_warp(sim::WarpOp::WORD, mask, u32(x), 0, 32, line)); \
  }
TW_REDUX(warp_add, i32, add)
TW_REDUX(warp_add, u32, add)
TW_REDUX(warp_min, i32, min_signed)
TW_REDUX(warp_min, u32, min_unsigned)
TW_REDUX(warp_max, i32, max_signed)
TW_REDUX(warp_max, u32, max_unsigned)
TW_REDUX(warp_and, u32, bit_and)
TW_REDUX(warp_or, u32, bit_or)
TW_REDUX(warp_xor, u32, bit_xor)
#undef TW_REDUX
#endif

}  // namespace tilewright::device
