// Warps and barriers of a block.
#include "gpu/gpu_test.h"

#include <algorithm>
#include <numeric>

namespace tilewright::test {
namespace {

using WarpTest = GpuTest;

TEST_F(WarpTest, ShufflesOfEveryType) {
  const auto loaded = module(R"(
#include <tilewright/device/cuda/warp.h>
using namespace tilewright::device;
template <class T>
__device__ void all(T x, T* out) {
  const u32 lane = lane_id();
  out[lane] = shuffle(x, 5);
  out[32 + lane] = shuffle(x, 3, kFullMask, 8);
  out[64 + lane] = shuffle_xor(x, 9);
  out[96 + lane] = shuffle_up(x, 3);
  out[128 + lane] = shuffle_down(x, 4, kFullMask, 16);
}
extern "C" __global__ void k(u32* a, i32* b, float* c, u64* d, i64* e, double* f) {
  const u32 lane = lane_id();
  all(lane * 3 + 1, a);
  all(-i32(lane), b);
  all(lane * 0.5f, c);
  all(u64(lane) << 40 | lane, d);
  all(-(i64(lane) << 40), e);
  all(lane * -0.25, f);
})");
  TW_SKIP_WITHOUT(loaded);
  const auto a = array<uint32_t>(160);
  const auto b = array<int32_t>(160);
  const auto c = array<float>(160);
  const auto d = array<uint64_t>(160);
  const auto e = array<int64_t>(160);
  const auto f = array<double>(160);
  run(loaded->kernel("k"), {.block = {32, 1, 1}}, a, b, c, d, e, f);
  const auto ga = a.read();
  const auto gb = b.read();
  const auto gc = c.read();
  const auto gd = d.read();
  const auto ge = e.read();
  const auto gf = f.read();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t from[] = {5, lane / 8 * 8 + 3, lane ^ 9, lane < 3 ? lane : lane - 3,
                             lane % 16 + 4 < 16 ? lane + 4 : lane};
    for (uint32_t i = 0; i < 5; ++i) {
      const uint32_t s = from[i], at = 32 * i + lane;
      EXPECT_EQ(ga[at], s * 3 + 1) << i << " " << lane;
      EXPECT_EQ(gb[at], -int32_t(s));
      EXPECT_EQ(gc[at], float(s) * 0.5f);
      EXPECT_EQ(gd[at], uint64_t(s) << 40 | s);
      EXPECT_EQ(ge[at], -(int64_t(s) << 40));
      EXPECT_EQ(gf[at], s * -0.25);
    }
  }
}

TEST_F(WarpTest, VotesReductionsAndIdentity) {
  const auto loaded = module(R"(
#include <tilewright/device/cuda/warp.h>
using namespace tilewright::device;
extern "C" __global__ void k(u32* out) {
  const u32 t = thread_id(), lane = lane_id();
  u32* to = out + 20 * t;
  to[0] = warp_any(lane == 7);
  to[1] = warp_any(lane == 32);
  to[2] = warp_all(lane < 32);
  to[3] = warp_all(lane != 4);
  to[4] = warp_ballot(lane % 3 == 0);
  to[5] = warp_match(lane / 5);
  to[6] = warp_add(lane + 1);
  to[7] = u32(warp_add(-i32(lane)));
  to[8] = u32(warp_min(5 - i32(lane)));
  to[9] = warp_min(lane + 100);
  to[10] = u32(warp_max(-5 - i32(lane)));
  to[11] = warp_max(lane * 7);
  to[12] = warp_and(0xf0 | lane);
  to[13] = warp_or(lane << 8);
  to[14] = warp_xor(lane * lane);
  to[15] = elect_one();
  to[16] = warp_id();
  to[17] = lane;
  to[18] = uniform(t);
  to[19] = active_mask();
  sync_warp();
})");
  TW_SKIP_WITHOUT(loaded);
  const auto out = array<uint32_t>(20 * 64);
  run(loaded->kernel("k"), {.block = {8, 4, 2}}, out);
  const auto got = out.read();
  uint32_t squares = 0, ballot = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    squares ^= i * i;
    if (i % 3 == 0) ballot |= 1u << i;
  }
  for (uint32_t t = 0; t < 64; ++t) {
    const uint32_t lane = t % 32;
    uint32_t match = 0;
    for (uint32_t i = 0; i < 32; ++i) match |= uint32_t(i / 5 == lane / 5) << i;
    const std::vector<uint32_t> want = {
        1,   0,    1,      0,       ballot,           match,  528,  uint32_t(-496), uint32_t(-26), 100, uint32_t(-5),
        217, 0xf0, 0x1f00, squares, got[20 * t + 15], t / 32, lane, t / 32 * 32,    0xffffffff};
    EXPECT_EQ(std::vector<uint32_t>(got.begin() + 20 * t, got.begin() + 20 * t + 20), want) << t;
  }
  for (uint32_t warp = 0; warp < 2; ++warp) {
    uint32_t elected = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) elected += got[20 * (32 * warp + lane) + 15];
    EXPECT_EQ(elected, 1u);
  }
}

TEST_F(WarpTest, BarriersOfPartOfABlock) {
  // Warps 0 and 1 produce, warps 2 and 3 consume, through two barriers, a hundred times.
  const auto loaded = module(R"(
#include <tilewright/device/cuda/barrier.h>
using namespace tilewright::device;
extern "C" __global__ void k(u32* out) {
  __shared__ volatile u32 slot[64];
  const u32 t = threadIdx.x % 64;
  u32 sum = 0;
  for (u32 i = 0; i < 100; ++i) {
    if (threadIdx.x < 64) {
      if (i != 0) sync_threads<2, 128>();
      slot[t] = i * 64 + t;
      arrive_threads<1, 128>();
    } else {
      sync_threads<1, 128>();
      sum += slot[63 - t] * (i % 7 + 1);
      if (i != 99) arrive_threads<2, 128>();
    }
  }
  sync_block();
  if (threadIdx.x >= 64) out[t] = sum;
  const bool any = sync_block_any(threadIdx.x == 77), all = sync_block_all(threadIdx.x != 77);
  const u32 count = sync_block_count(threadIdx.x % 3 == 0);
  if (threadIdx.x < 64) out[64 + t] = any + 2 * all + 4 * count;
})");
  TW_SKIP_WITHOUT(loaded);
  const auto out = array<uint32_t>(128);
  run(loaded->kernel("k"), {.block = {128, 1, 1}}, out);
  const auto got = out.read();
  for (uint32_t t = 0; t < 64; ++t) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 100; ++i) sum += (i * 64 + 63 - t) * (i % 7 + 1);
    EXPECT_EQ(got[t], sum) << t;
    EXPECT_EQ(got[64 + t], 1u + 4 * 43) << t;
  }
}

}  // namespace
}  // namespace tilewright::test
