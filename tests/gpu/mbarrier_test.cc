// Barriers in shared memory: phases, arrivals, bytes.
#include "gpu/gpu_test.h"

namespace tilewright::test {
namespace {

using MbarrierTest = GpuTest;

const std::string kHead = R"(
#include <tilewright/device/cuda/async_copy.h>
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/fence.h>
#include <tilewright/device/cuda/mbarrier.h>
#include <tilewright/device/cuda/memory.h>
#include <tilewright/device/cuda/tma.h>
using namespace tilewright::device;
)";

TEST_F(MbarrierTest, PhasesOfABarrier) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(u32* out) {
  __shared__ u64 cell;
  const u32 b = shared_address(&cell);
  u32 n = 0;
  mbarrier_init(b, 2);
  fence_mbarrier_init();
  const auto note = [&] { out[n++] = mbarrier_test(b, 0); out[n++] = mbarrier_test(b, 1); };
  note();                                 // nothing has ended: 0 1
  mbarrier_arrive(b);
  note();                                 // one of two: 0 1
  mbarrier_arrive(b);
  note();                                 // phase 0 has ended: 1 0
  mbarrier_arrive(b, 2);
  note();                                 // phase 1 too: 0 1
  mbarrier_arrive_expect(b, 64);
  mbarrier_arrive(b);
  note();                                 // 64 bytes are missing: 0 1
  alignas(16) static __shared__ u32 target[16];
  bulk_load(shared_address(target), out + 32, 64, b);
  mbarrier_wait(b, 0);
  note();                                 // phase 2 has ended: 1 0
  mbarrier_expect(b, 32);
  bulk_load(shared_address(target), out + 32, 32, b);
  mbarrier_arrive(b, 2);
  mbarrier_wait(b, 1);
  out[n++] = mbarrier_try(b, 1);
  mbarrier_invalidate(b);
  mbarrier_init(b, 1);                    // as new
  note();
  out[n] = target[15];
})");
  TW_SKIP_WITHOUT(loaded);
  auto initial = std::vector<uint32_t>(48, 9);
  const auto out = array(initial);
  run(loaded->kernel("k"), {}, out);
  const auto got = out.read();
  EXPECT_EQ(std::vector<uint32_t>(got.begin(), got.begin() + 16),
            (std::vector<uint32_t>{0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 9}));
}

TEST_F(MbarrierTest, RingOfThreeStages) {
  const auto loaded = module(kHead + R"(
// Warp 0 produces 100 tiles of 32 words, warps 1 and 2 consume each of them.
extern "C" __global__ void k(u32* out) {
  constexpr u32 kStages = 3, kTiles = 100;
  __shared__ u64 cells[2 * kStages];
  __shared__ u32 tiles[kStages][32];
  const u32 full = shared_address(cells), empty = full + 8 * kStages, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (u32 s = 0; s < kStages; ++s) {
      mbarrier_init(full + 8 * s, 32);
      mbarrier_init(empty + 8 * s, 64);
    }
    fence_mbarrier_init();
  }
  sync_block();
  u32 sum = 0;
  for (u32 i = 0; i < kTiles; ++i) {
    const u32 s = i % kStages, parity = i / kStages & 1, cell = shared_address(&tiles[s][0]);
    if (threadIdx.x < 32) {
      mbarrier_wait(empty + 8 * s, parity ^ 1);
      const u32 x[1] = {i * 1000 + lane};
      store_shared_v1(cell + 4 * lane, x);
      mbarrier_arrive(full + 8 * s);
    } else {
      mbarrier_wait(full + 8 * s, parity);
      u32 x[1];
      load_shared_v1(x, cell + 4 * (31 - lane));
      sum += x[0] * (i + 1);
      mbarrier_arrive(empty + 8 * s);
    }
  }
  out[threadIdx.x] = sum;
})");
  TW_SKIP_WITHOUT(loaded);
  const auto out = array<uint32_t>(96);
  run(loaded->kernel("k"), {.block = {96, 1, 1}}, out);
  const auto got = out.read();
  for (uint32_t t = 32; t < 96; ++t) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 100; ++i) sum += (i * 1000 + 31 - t % 32) * (i + 1);
    EXPECT_EQ(got[t], sum) << t;
  }
}

TEST_F(MbarrierTest, AsynchronousCopiesArrive) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(const u32* in, u32* out) {
  __shared__ u64 cell;
  alignas(16) __shared__ u32 tile[256];
  const u32 b = shared_address(&cell), t = threadIdx.x;
  if (t == 0) mbarrier_init(b, 64);
  sync_block();
  for (u32 round = 0; round < 4; ++round) {
    copy_async<16>(shared_address(tile) + 16 * t, in + round * 256 + 4 * t);
    mbarrier_arrive_after_copies(b);
    mbarrier_wait(b, round & 1);
    for (u32 i = 0; i < 4; ++i) out[round * 256 + i * 64 + t] = tile[255 - (i * 64 + t)];
    sync_block();
  }
})");
  TW_SKIP_WITHOUT(loaded);
  std::vector<uint32_t> in(1024), want(1024);
  for (uint32_t i = 0; i < 1024; ++i) in[i] = i * i + 7;
  for (uint32_t i = 0; i < 1024; ++i) want[i] = in[i / 256 * 256 + 255 - i % 256];
  const auto out = array<uint32_t>(1024);
  run(loaded->kernel("k"), {.block = {64, 1, 1}}, array(in), out);
  EXPECT_TRUE(same(out.read(), want));
}

}  // namespace
}  // namespace tilewright::test
