#pragma once
// Lanes and warps: who a thread is, shuffles, votes, reductions.
//
// `mask` names the lanes that take part: all of them execute the call with the same mask. In a last warp of fewer than
// 32 threads the absent lanes must not be in it.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// PTX: %laneid
TW_ATOM u32 lane_id() {
  u32 out;
  asm("mov.u32 %0, %%laneid;" : "=r"(out));
  return out;
}

// The thread's number in its block, x fastest.
TW_ATOM u32 thread_id() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

// `x` as lane 0 has it. All 32 lanes must be there; the compiler then knows that the value is the same for the warp,
// and branches and descriptors made from it stay uniform.
TW_ATOM u32 uniform(u32 x) { return __shfl_sync(kFullMask, x, 0); }

// The warp's number in its block. Only for blocks of whole warps (uniform).
TW_ATOM u32 warp_id() { return uniform(thread_id() / kWarpSize); }

// Orders the memory accesses of the lanes in `mask`. (PTX: bar.warp.sync)
TW_ATOM void sync_warp(u32 mask = kFullMask) { __syncwarp(mask); }

// The mask of the lanes that execute this together. (PTX: activemask)
TW_ATOM u32 active_mask() { return __activemask(); }

// 1 in one lane of a converged full warp, 0 in the others: the same lane each time. (PTX: elect.sync, sm_90)
TW_ATOM u32 elect_one() {
#if TW_CUDA_ARCH >= 900
  u32 out;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(out));
  return out;
#else
  return lane_id() == 0;
#endif
}

// ---- Shuffles (PTX: shfl.sync). `width` lanes, a power of two, form a group of their own. ----

// The value of lane `from` of the group.
TW_ATOM u32 shuffle(u32 x, u32 from, u32 mask = kFullMask, u32 width = 32) {
  return __shfl_sync(mask, x, int(from), int(width));
}
// The value of the lane whose number differs in the bits of `lanes`.
TW_ATOM u32 shuffle_xor(u32 x, u32 lanes, u32 mask = kFullMask, u32 width = 32) {
  return __shfl_xor_sync(mask, x, int(lanes), int(width));
}
// The value of the lane `by` below (up) or above (down); the own value where there is none in the group.
TW_ATOM u32 shuffle_up(u32 x, u32 by, u32 mask = kFullMask, u32 width = 32) {
  return __shfl_up_sync(mask, x, by, int(width));
}
TW_ATOM u32 shuffle_down(u32 x, u32 by, u32 mask = kFullMask, u32 width = 32) {
  return __shfl_down_sync(mask, x, by, int(width));
}

#define TW_SHUFFLES(NAME)                                                                                            \
  TW_ATOM i32 NAME(i32 x, u32 n, u32 mask = kFullMask, u32 width = 32) { return i32(NAME(u32(x), n, mask, width)); } \
  TW_ATOM float NAME(float x, u32 n, u32 mask = kFullMask, u32 width = 32) {                                         \
    return float_of(NAME(bits_of(x), n, mask, width));                                                               \
  }                                                                                                                  \
  TW_ATOM u64 NAME(u64 x, u32 n, u32 mask = kFullMask, u32 width = 32) {                                             \
    return pack32(NAME(low32(x), n, mask, width), NAME(high32(x), n, mask, width));                                  \
  }                                                                                                                  \
  TW_ATOM i64 NAME(i64 x, u32 n, u32 mask = kFullMask, u32 width = 32) { return i64(NAME(u64(x), n, mask, width)); } \
  TW_ATOM double NAME(double x, u32 n, u32 mask = kFullMask, u32 width = 32) {                                       \
    return double_of(NAME(bits_of(x), n, mask, width));                                                              \
  }
TW_SHUFFLES(shuffle)
TW_SHUFFLES(shuffle_xor)
TW_SHUFFLES(shuffle_up)
TW_SHUFFLES(shuffle_down)
#undef TW_SHUFFLES

// ---- Votes (PTX: vote.sync, match.sync) ----

TW_ATOM bool warp_any(bool x, u32 mask = kFullMask) { return __any_sync(mask, x) != 0; }
TW_ATOM bool warp_all(bool x, u32 mask = kFullMask) { return __all_sync(mask, x) != 0; }
TW_ATOM u32 warp_ballot(bool x, u32 mask = kFullMask) { return __ballot_sync(mask, x); }
// The lanes that have the same `x`. (PTX: match.any.sync)
TW_ATOM u32 warp_match(u32 x, u32 mask = kFullMask) { return __match_any_sync(mask, x); }

// ---- Integer reductions over the lanes of `mask`, the result in each (PTX: redux.sync, sm_80) ----

#define TW_REDUX(NAME, OP, T)                                                      \
  TW_ATOM T NAME(T x, u32 mask = kFullMask) {                                      \
    T out;                                                                         \
    asm volatile("redux.sync." OP " %0, %1, %2;" : "=r"(out) : "r"(x), "r"(mask)); \
    return out;                                                                    \
  }
TW_REDUX(warp_add, "add.s32", i32)
TW_REDUX(warp_add, "add.u32", u32)
TW_REDUX(warp_min, "min.s32", i32)
TW_REDUX(warp_min, "min.u32", u32)
TW_REDUX(warp_max, "max.s32", i32)
TW_REDUX(warp_max, "max.u32", u32)
TW_REDUX(warp_and, "and.b32", u32)
TW_REDUX(warp_or, "or.b32", u32)
TW_REDUX(warp_xor, "xor.b32", u32)
#undef TW_REDUX

}  // namespace tilewright::device
