// Loads, stores and asynchronous copies.
#include "gpu/gpu_test.h"

#include <fmt/format.h>

#include <numeric>
#include <random>

namespace tilewright::test {
namespace {

using MemoryTest = GpuTest;

std::vector<uint32_t> random_words(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> out(size);
  for (uint32_t& x : out) x = uint32_t(random());
  return out;
}

TEST_F(MemoryTest, GlobalAccessesOfEveryWidthAndHint) {
  std::string text =
      "#include <tilewright/device/cuda/memory.h>\nusing namespace tilewright::device;\n"
      "extern \"C\" __global__ void k(const u8* from, u8* to) {\n  const u32 t = threadIdx.x;\n  u32 r[4];\n";
  int parts = 0;
  constexpr const char* kStoreHints[] = {"normal", "stream", "no_l1", "normal"};
  for (const char* hint : {"normal", "read_only", "stream", "stream_256"}) {
    // 32 threads move 31 bytes each: 16, 8, 4, 2 and 1, in arrays of their own.
    const char* store = kStoreHints[parts % 4];
    const int at = 1024 * parts++;
    text += fmt::format(
        "  load_global_v4<LoadHint::{0}>(r, from + {1} + 16 * t); store_global_v4<StoreHint::{2}>(to + {1} + 16 * t, "
        "r);\n"
        "  load_global_v2<LoadHint::{0}>(r, from + {1} + 512 + 8 * t); store_global_v2<StoreHint::{2}>(to + {1} + 512 "
        "+ 8 * t, r);\n"
        "  load_global_v1<LoadHint::{0}>(r, from + {1} + 768 + 4 * t); store_global_v1<StoreHint::{2}>(to + {1} + 768 "
        "+ 4 * t, r);\n"
        "  store_global_u16<StoreHint::{2}>(to + {1} + 896 + 2 * t, load_global_u16<LoadHint::{0}>(from + {1} + 896 + "
        "2 * t));\n"
        "  store_global_u8<StoreHint::{2}>(to + {1} + 960 + t, load_global_u8<LoadHint::{0}>(from + {1} + 960 + t));\n",
        hint, at, store);
  }
  text +=
      "  load_global_v4(r, from + 4096 + 16 * t, policy_evict_last()); store_global_v4(to + 4096 + 16 * t, r, "
      "policy_evict_first());\n"
      "  load_global_v4(r, from + 4608 + 16 * t, kEvictLast); store_global_v4(to + 4608 + 16 * t, r, kEvictFirst);\n"
      "  prefetch_l2(from);\n"
      "  r[0] = load_acquire(from + 5120 + 4 * t); store_release(to + 5120 + 4 * t, r[0]);\n}\n";
  const auto loaded = module(text);
  TW_SKIP_WITHOUT(loaded);
  const auto from = random_words(5248 / 4, 1);
  const auto to = array<uint32_t>(from.size());
  run(loaded->kernel("k"), {.block = {32, 1, 1}}, array(from), to);
  auto want = from;
  // The last 32 bytes of each 1024 are not copied.
  for (size_t part = 0; part < 4; ++part) {
    for (size_t i = 0; i < 8; ++i) want[part * 256 + 248 + i] = 0xcdcdcdcd;
  }
  EXPECT_TRUE(same(to.read(), want));
}

TEST_F(MemoryTest, SharedAccessesOfEveryWidth) {
  const auto loaded = module(R"(
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/memory.h>
using namespace tilewright::device;
extern "C" __global__ void k(const u32* from, u32* to) {
  __shared__ alignas(16) u8 tile[1024];
  const u32 base = shared_address(tile), t = threadIdx.x, other = 31 - t;
  u32 r[4];
  load_global_v4(r, from + 4 * t);
  store_shared_v4(base + 16 * t, r);
  load_global_v2(r, from + 128 + 2 * t);
  store_shared_v2(base + 512 + 8 * t, r);
  store_shared_v1(base + 768 + 4 * t, from + 192 + t);
  store_shared_u16(base + 896 + 2 * t, u16(from[224 + t]));
  store_shared_u8(base + 960 + t, u8(from[256 + t]));
  sync_block();
  load_shared_v4(r, base + 16 * other);
  store_global_v4(to + 4 * other, r);
  load_shared_v2(r, base + 512 + 8 * other);
  store_global_v2(to + 128 + 2 * other, r);
  load_shared_v1(to + 192 + other, base + 768 + 4 * other);
  to[224 + other] = load_shared_u16(base + 896 + 2 * other);
  to[256 + other] = load_shared_u8(base + 960 + other);
})");
  TW_SKIP_WITHOUT(loaded);
  const auto from = random_words(288, 2);
  const auto to = array<uint32_t>(from.size());
  run(loaded->kernel("k"), {.block = {32, 1, 1}}, array(from), to);
  auto want = from;
  for (size_t i = 224; i < 256; ++i) want[i] &= 0xffff;
  for (size_t i = 256; i < 288; ++i) want[i] &= 0xff;
  EXPECT_TRUE(same(to.read(), want));
}

TEST_F(MemoryTest, SwizzleIsThatOfTheManual) {
  const auto loaded = module(R"(
#include <tilewright/device/cuda/memory.h>
using namespace tilewright::device;
extern "C" __global__ void k(u32* out) {
  const u32 i = threadIdx.x + blockIdx.x * blockDim.x;
  out[3 * i] = swizzle<128>(i);
  out[3 * i + 1] = swizzle<64>(i);
  out[3 * i + 2] = swizzle<32>(i);
})");
  TW_SKIP_WITHOUT(loaded);
  const auto out = array<uint32_t>(3 * 4096);
  run(loaded->kernel("k"), {.grid = {4, 1, 1}, .block = {1024, 1, 1}}, out);
  const auto got = out.read();
  for (uint32_t i = 0; i < 4096; ++i) {
    const uint32_t piece = i / 16 % 8, row = i / 128;
    const uint32_t rest = i / 128 * 128 + i % 16;
    EXPECT_EQ(got[3 * i], rest + (piece ^ row % 8) * 16) << i;
    EXPECT_EQ(got[3 * i + 1], rest + (piece ^ row % 4) * 16) << i;
    EXPECT_EQ(got[3 * i + 2], rest + (piece ^ row % 2) * 16) << i;
  }
}

TEST_F(MemoryTest, AsynchronousCopiesFillWithZeros) {
  const auto loaded = module(R"(
#include <tilewright/device/cuda/async_copy.h>
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/memory.h>
using namespace tilewright::device;
extern "C" __global__ void k(const u8* from, u8* to) {
  __shared__ alignas(16) u8 tile[2048];
  const u32 base = shared_address(tile), t = threadIdx.x;
  for (u32 i = t; i < 2048; i += 32) tile[i] = 0xee;
  sync_block();
  // Full copies: 16, 8, 4 bytes a thread.
  copy_async<16>(base + 16 * t, from + 16 * t);
  copy_async<8>(base + 512 + 8 * t, from + 512 + 8 * t);
  copy_async<4>(base + 768 + 4 * t, from + 768 + 4 * t);
  copy_async_commit();
  // Thread t reads t % 17, t % 9, t % 5 bytes; with 0 the address is none at all.
  copy_async_zero_fill<16>(base + 1024 + 16 * t, t % 17 ? from + 1024 + 16 * t : nullptr, t % 17);
  copy_async_zero_fill<8>(base + 1536 + 8 * t, t % 9 ? from + 1536 + 8 * t : nullptr, t % 9);
  copy_async_zero_fill<4>(base + 1792 + 4 * t, t % 5 ? from + 1792 + 4 * t : nullptr, t % 5);
  copy_async_commit();
  copy_async_wait<1>();
  sync_block();
  u32 r[4];
  load_shared_v4(r, base + 16 * (31 - t));
  store_global_v4(to + 16 * (31 - t), r);
  copy_async_wait<0>();
  sync_block();
  for (u32 i = 512 + t; i < 2048; i += 32) to[i] = tile[i];
})");
  TW_SKIP_WITHOUT(loaded);
  std::vector<uint8_t> from(2048);
  for (size_t i = 0; i < from.size(); ++i) from[i] = uint8_t(i * 37 + 11);
  const auto to = array<uint8_t>(from.size());
  run(loaded->kernel("k"), {.block = {32, 1, 1}}, array(from), to);
  auto want = from;
  for (uint32_t t = 0; t < 32; ++t) {
    for (uint32_t i = t % 17; i < 16; ++i) want[1024 + 16 * t + i] = 0;
    for (uint32_t i = t % 9; i < 8; ++i) want[1536 + 8 * t + i] = 0;
    for (uint32_t i = t % 5; i < 4; ++i) want[1792 + 4 * t + i] = 0;
  }
  for (size_t i = 0; i < 128; ++i) want[896 + i] = want[1920 + i] = 0xee;
  EXPECT_TRUE(same(to.read(), want));
}

}  // namespace
}  // namespace tilewright::test
