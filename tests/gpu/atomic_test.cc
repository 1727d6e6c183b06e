// Atomic operations: every result that many threads leave together, and that each value from before is given once.
#include "gpu/gpu_test.h"
#include "gpu/number_formats.h"

#include <algorithm>
#include <numeric>

namespace tilewright::test {
namespace {

using AtomicTest = GpuTest;

constexpr const char* kText = R"(
#include <tilewright/device/cuda/atomic.h>
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/memory.h>
using namespace tilewright::device;
extern "C" __global__ void reductions(i32* s, u32* u, float* f, double* d, u64* l, i64* sl, u32* halves) {
  const u32 i = threadIdx.x + blockIdx.x * blockDim.x;
  const i32 x = i32(i * 7919 % 4096) - 2048;
  reduce_add(s, x); reduce_min(s + 1, x); reduce_max(s + 2, x);
  reduce_add(u, i); reduce_min(u + 1, i + 5); reduce_max(u + 2, i * 3);
  reduce_and(u + 3, ~(1u << i % 31)); reduce_or(u + 4, 1u << i % 29); reduce_xor(u + 5, i);
  reduce_add(f, float(x)); reduce_max(f + 1, float(x)); reduce_min(f + 2, float(x));
  reduce_max(f + 3, -1.0f - float(i)); reduce_min(f + 4, 1.0f + float(i));
  const float pair[4] = {1, float(i % 4), -1, 2};
  reduce_add_v2(f + 6, pair); reduce_add_v4(f + 8, pair);
  reduce_add(d, 0.5);
  reduce_add(l, u64(i) << 32); reduce_min(l + 1, u64(i) << 40 | 9); reduce_max(l + 2, u64(i) << 40);
  reduce_min(sl, -(i64(i) << 40)); reduce_max(sl + 1, i64(i) << 40);
  if (i % 64 == 0) {  // sums that 16 bits hold exactly
    reduce_add_f16x2(halves, 0x40003c00); reduce_add_bf16x2(halves + 1, 0x40003f80);
    reduce_add_f16(halves + 2, 0x3c00); reduce_add_bf16(reinterpret_cast<u16*>(halves + 2) + 1, 0x3f80);
  }
}
extern "C" __global__ void values(u32* counter, u32* seen, u64* counter64, u32* seen64, u32* seen_exchange, u32* cell,
                                  u16* spin16, u32* spin32, u64* spin64, float* f, double* d, i32* s) {
  const u32 i = threadIdx.x + blockIdx.x * blockDim.x;
  reduce_add(seen + fetch_add(counter, 1u), 1u);
  reduce_add(seen64 + u32(fetch_add(counter64, u64(1))), 1u);
  reduce_add(seen_exchange + fetch_exchange(cell, i + 1), 1u);
  for (u16 old = *spin16, next; (next = compare_exchange(spin16, old, u16(old + 1))) != old; old = next) {}
  for (u32 old = *spin32, next; (next = compare_exchange(spin32, old, old + 3)) != old; old = next) {}
  for (u64 old = *spin64, next; (next = compare_exchange(spin64, old, old + (u64(1) << 33))) != old; old = next) {}
  fetch_add(f, 1.0f); fetch_add(d, 1.0); fetch_add(s, -1);
  fetch_min(s + 1, -i32(i)); fetch_max(s + 2, i32(i));
  fetch_min(counter + 1, i + 2); fetch_max(counter + 2, i + 2);
  fetch_exchange(counter64 + 1, u64(77));
}
extern "C" __global__ void shared(i32* out) {
  __shared__ i32 cells[8];
  if (threadIdx.x < 8) cells[threadIdx.x] = threadIdx.x == 3 ? 0x7fffffff : threadIdx.x == 4 ? i32(0x80000000) : threadIdx.x == 5 ? -1 : 0;
  sync_block();
  const u32 base = shared_address(cells), i = threadIdx.x;
  reduce_add_shared(base, 0.5f); reduce_add_shared(base + 4, -i32(i)); reduce_add_shared(base + 8, i);
  reduce_min_shared(base + 12, i32(i) - 100); reduce_max_shared(base + 16, i32(i) - 100);
  reduce_min_shared(base + 20, i + 3); reduce_max_shared(base + 24, i * 2);
  reduce_add(out + 16 + fetch_add(SharedCell<u32>{base + 28}, 1u), 1);
  sync_block();
  if (i < 8) out[i] = cells[i];
}
// Block 0 writes, the others add up what they see after they have seen the flag.
extern "C" __global__ void hand_over(u32* data, u32* flag, u32* sum) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x + 1;
    sync_block();
    if (threadIdx.x == 0) reduce_add_release(flag, 1);
  } else {
    while (load_acquire(flag) == 0) {}
    u32 x[1];
    load_global_v1(x, data + threadIdx.x);
    reduce_add(sum, x[0]);
  }
}
)";

constexpr uint32_t kThreads = 4096;

TEST_F(AtomicTest, Reductions) {
  const auto loaded = module(kText);
  TW_SKIP_WITHOUT(loaded);
  const auto s = array(std::vector<int32_t>{0, 1 << 30, -(1 << 30)});
  const auto u = array(std::vector<uint32_t>{0, ~0u, 0, ~0u, 0, 0});
  std::vector<float> f0(12, 0);
  f0[1] = -1e30f, f0[2] = 1e30f, f0[3] = -1e30f, f0[4] = 1e30f;
  const auto f = array(f0);
  const auto d = array(std::vector<double>{0});
  const auto l = array(std::vector<uint64_t>{0, ~uint64_t(0), 0});
  const auto sl = array(std::vector<int64_t>{0, 0});
  const auto halves = array(std::vector<uint32_t>{0, 0, 0});
  run(loaded->kernel("reductions"), {.grid = {16, 1, 1}, .block = {256, 1, 1}}, s, u, f, d, l, sl, halves);
  int32_t sum = 0;
  uint32_t all_and = ~0u, all_or = 0, all_xor = 0;
  for (uint32_t i = 0; i < kThreads; ++i) {
    sum += int32_t(i * 7919 % 4096) - 2048;
    all_and &= ~(1u << i % 31), all_or |= 1u << i % 29, all_xor ^= i;
  }
  EXPECT_EQ(s.read(), (std::vector<int32_t>{sum, -2048, 2047}));
  EXPECT_EQ(u.read(),
            (std::vector<uint32_t>{kThreads * (kThreads - 1) / 2, 5, 3 * (kThreads - 1), all_and, all_or, all_xor}));
  EXPECT_EQ(f.read(), (std::vector<float>{float(sum), 2047, -2048, -1, 1, 0, 4096, 6144, 4096, 6144, -4096, 8192}));
  EXPECT_EQ(d.read(), std::vector<double>{2048});
  EXPECT_EQ(l.read(),
            (std::vector<uint64_t>{uint64_t(kThreads * (kThreads - 1) / 2) << 32, 9, uint64_t(kThreads - 1) << 40}));
  EXPECT_EQ(sl.read(), (std::vector<int64_t>{-(int64_t(kThreads - 1) << 40), int64_t(kThreads - 1) << 40}));
  EXPECT_EQ(halves.read(), (std::vector<uint32_t>{encode(kF16, 64) | encode(kF16, 128) << 16,
                                                  encode(kBf16, 64) | encode(kBf16, 128) << 16,
                                                  encode(kF16, 64) | encode(kBf16, 64) << 16}));
}

TEST_F(AtomicTest, ValuesFromBeforeAreGivenOnce) {
  const auto loaded = module(kText);
  TW_SKIP_WITHOUT(loaded);
  const auto counter = array(std::vector<uint32_t>{0, 100, 0});
  const auto seen = array(std::vector<uint32_t>(kThreads, 0)), seen64 = array(std::vector<uint32_t>(kThreads, 0));
  const auto exchanged = array(std::vector<uint32_t>(kThreads + 1, 0)), cell = array(std::vector<uint32_t>{0});
  const auto counter64 = array(std::vector<uint64_t>{0, 0});
  const auto spin16 = array(std::vector<uint16_t>{0, 0xabcd});
  const auto spin32 = array(std::vector<uint32_t>{0});
  const auto spin64 = array(std::vector<uint64_t>{0});
  const auto f = array(std::vector<float>{0});
  const auto d = array(std::vector<double>{0});
  const auto s = array(std::vector<int32_t>{0, 0, 0});
  run(loaded->kernel("values"), {.grid = {16, 1, 1}, .block = {256, 1, 1}}, counter, seen, counter64, seen64, exchanged,
      cell, spin16, spin32, spin64, f, d, s);
  EXPECT_EQ(counter.read(), (std::vector<uint32_t>{kThreads, 2, kThreads + 1}));
  EXPECT_EQ(seen.read(), std::vector<uint32_t>(kThreads, 1));
  EXPECT_EQ(seen64.read(), std::vector<uint32_t>(kThreads, 1));
  // All but the last that was put in came out.
  auto want = std::vector<uint32_t>(kThreads + 1, 1);
  want[cell.read()[0]] = 0;
  EXPECT_EQ(exchanged.read(), want);
  EXPECT_EQ(spin16.read(), (std::vector<uint16_t>{kThreads, 0xabcd}));
  EXPECT_EQ(spin32.read(), std::vector<uint32_t>{3 * kThreads});
  EXPECT_EQ(spin64.read(), std::vector<uint64_t>{uint64_t(kThreads) << 33});
  EXPECT_EQ(f.read(), std::vector<float>{kThreads});
  EXPECT_EQ(d.read(), std::vector<double>{kThreads});
  EXPECT_EQ(s.read(), (std::vector<int32_t>{-int32_t(kThreads), -int32_t(kThreads - 1), kThreads - 1}));
  EXPECT_EQ(counter64.read(), (std::vector<uint64_t>{kThreads, 77}));
}

TEST_F(AtomicTest, SharedMemory) {
  const auto loaded = module(kText);
  TW_SKIP_WITHOUT(loaded);
  const auto out = array(std::vector<int32_t>(16 + 256, 0));
  run(loaded->kernel("shared"), {.block = {256, 1, 1}}, out);
  const auto got = out.read();
  const float half = 128;
  int32_t half_bits;
  std::memcpy(&half_bits, &half, 4);
  EXPECT_EQ(std::vector<int32_t>(got.begin(), got.begin() + 8),
            (std::vector<int32_t>{half_bits, -32640, 32640, -100, 155, 3, 510, 256}));
  EXPECT_EQ(std::vector<int32_t>(got.begin() + 16, got.end()), std::vector<int32_t>(256, 1));
}

TEST_F(AtomicTest, ReleaseAndAcquireHandOver) {
  const auto loaded = module(kText);
  TW_SKIP_WITHOUT(loaded);
  const auto data = array(std::vector<uint32_t>(128, 0)), flag = array(std::vector<uint32_t>{0}),
             sum = array(std::vector<uint32_t>{0});
  run(loaded->kernel("hand_over"), {.grid = {33, 1, 1}, .block = {128, 1, 1}, .cooperative = true}, data, flag, sum);
  EXPECT_EQ(sum.read(), std::vector<uint32_t>{32 * 128 * 129 / 2});
}

}  // namespace
}  // namespace tilewright::test
