// Bulk copies: boxes of tensors of every rank, inside, across and beyond their edges; rows of bytes.
#include "gpu/gpu_test.h"
#include "gpu/number_formats.h"
#include "runtime/cuda/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

namespace tilewright::test {
namespace {

using cuda::TensorMap;
using cuda::TensorMapSpec;
using cuda::TensorMapSwizzle;
using cuda::TensorMapType;

const std::string kHead = R"(
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/fence.h>
#include <tilewright/device/cuda/mbarrier.h>
#include <tilewright/device/cuda/memory.h>
#include <tilewright/device/cuda/tma.h>
using namespace tilewright::device;
struct Coordinates { i32 x[5]; };
)";

std::string coordinates(int rank) {
  std::string out;
  for (int i = 0; i < rank; ++i) out += fmt::format("{}c.x[{}]", i ? ", " : "", i);
  return out;
}

struct Coordinates {
  int32_t x[5];
};

// A tensor of 4-byte elements whose rows are padded, and a box of it.
struct Problem {
  int rank;
  std::vector<uint64_t> extents, pitches;  // elements; pitches of dimensions 1 ..
  std::vector<uint32_t> box;
  Coordinates at;

  size_t num_elements() const { return extents.size() == 1 ? 32 : size_t(pitches.back() * extents.back()); }
  size_t box_elements() const {
    size_t out = 1;
    for (const uint32_t b : box) out *= b;
    return out;
  }
  TensorMapSpec spec(TensorMapType type) const {
    TensorMapSpec out{.type = type, .extents = extents, .strides_bytes = {}, .box = box};
    for (const uint64_t pitch : pitches) out.strides_bytes.push_back(pitch * 4);
    return out;
  }
  // Calls visit(place in the box, place in the tensor or nothing) for each element of the box.
  void each(const std::function<void(size_t, std::optional<size_t>)>& visit) const {
    for (size_t i = 0; i < box_elements(); ++i) {
      size_t rest = i, offset = 0;
      bool inside = true;
      for (size_t d = 0; d < extents.size(); ++d) {
        const int64_t x = at.x[d] + int64_t(rest % box[d]);
        rest /= box[d];
        inside = inside && x >= 0 && x < int64_t(extents[d]);
        offset += size_t(x) * size_t(d == 0 ? 1 : pitches[d - 1]);
      }
      visit(i, inside ? std::optional(offset) : std::nullopt);
    }
  }
};

Problem problem(int rank, std::array<int, 5> at, uint64_t inner_extent) {
  const std::array<uint64_t, 5> extents = {inner_extent, 7, 5, 3, 3};
  const std::array<uint32_t, 5> box = {16, 4, 3, 2, 2};
  Problem out{rank, {}, {}, {}, {}};
  uint64_t pitch = 32;  // 128 bytes
  for (int d = 0; d < rank; ++d) {
    out.extents.push_back(extents[size_t(d)]);
    out.box.push_back(box[size_t(d)]);
    out.at.x[d] = at[size_t(d)];
    if (d > 0) {
      out.pitches.push_back(pitch);
      pitch *= extents[size_t(d)] + 1;
    }
  }
  return out;
}

// Inside, across the upper edge, altogether outside, and, for loads only, across the lower edge.
const std::array<int, 5> kPlaces[] = {{4, 1, 1, 0, 1}, {20, 5, 3, 2, 2}, {64, 0, 0, 0, 0}, {-4, -2, -1, -1, -1}};
const std::span<const std::array<int, 5>> kStorePlaces(kPlaces, 3);

class TmaTest : public GpuTest {
 protected:
  template <class T>
  TensorMap map_of(const TensorMapSpec& spec, const Array<T>& tensor) {
    return cuda::encode_tensor_map(*machine().device, spec, tensor.address());
  }
  void SetUp() override {
    GpuTest::SetUp();
    if (machine().device && machine().device->properties().capability_major < 9) {
      GTEST_SKIP() << machine().device->properties().arch() << " has no bulk copies";
    }
  }
};

TEST_F(TmaTest, LoadsFillWithZerosOutside) {
  std::string text = kHead;
  for (int rank = 1; rank <= 5; ++rank) {
    for (const bool policy : {false, true}) {
      text += fmt::format(R"(
extern "C" __global__ void k{0}{1}(const __grid_constant__ TensorMap map, Coordinates c, u32* out, u32 words) {{
  alignas(128) __shared__ u32 tile[1024];
  __shared__ u64 cell;
  const u32 b = shared_address(&cell);
  for (u32 i = threadIdx.x; i < 1024; i += 32) tile[i] = 0xeeeeeeee;
  if (threadIdx.x == 0) {{
    tma_prefetch_map(&map);
    mbarrier_init(b, 1);
    fence_mbarrier_init();
  }}
  fence_async_shared();
  sync_block();
  if (threadIdx.x == 0) {{
    tma_prefetch_{0}d(&map, {2});
    mbarrier_arrive_expect(b, words * 4);
    tma_load_{0}d(shared_address(tile), &map, b, {2}{3});
  }}
  mbarrier_wait(b, 0);
  for (u32 i = threadIdx.x; i < 1024; i += 32) out[i] = tile[i];
}}
)",
                          rank, policy ? "p" : "", coordinates(rank), policy ? ", policy_evict_first()" : "");
    }
  }
  const auto loaded = module(text);
  TW_SKIP_WITHOUT(loaded);
  for (int rank = 1; rank <= 5; ++rank) {
    for (const auto& place : kPlaces) {
      for (const char* suffix : {"", "p"}) {
        const Problem p = problem(rank, place, 29);
        std::vector<uint32_t> tensor(p.num_elements());
        for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = uint32_t(i + 1);
        const auto from = array(tensor), out = array<uint32_t>(1024);
        run(loaded->kernel(fmt::format("k{}{}", rank, suffix)), {.block = {32, 1, 1}},
            map_of(p.spec(TensorMapType::u32), from), p.at, out, uint32_t(p.box_elements()));
        std::vector<uint32_t> want(1024, 0xeeeeeeee);
        p.each([&](size_t i, std::optional<size_t> inside) { want[i] = inside ? tensor[*inside] : 0; });
        EXPECT_TRUE(same(out.read(), want)) << rank << suffix << " at " << place[0];
      }
    }
  }
}

TEST_F(TmaTest, StoresAndReductionsLeaveTheOutsideAlone) {
  std::string text = kHead;
  const char* const operations[] = {"store", "store_policy", "reduce_add", "reduce_min", "reduce_max"};
  for (int rank = 1; rank <= 5; ++rank) {
    for (const std::string operation : operations) {
      const bool policy = operation == "store_policy";
      text += fmt::format(R"(
extern "C" __global__ void {1}{0}(const __grid_constant__ TensorMap map, Coordinates c, u32 words) {{
  alignas(128) __shared__ i32 tile[1024];
  for (u32 i = threadIdx.x; i < words; i += 32) tile[i] = 1000 - 37 * i32(i);
  fence_async_shared();
  sync_block();
  if (threadIdx.x == 0) {{
    tma_{2}_{0}d(&map, shared_address(tile), {3}{4});
    bulk_commit();
    bulk_wait<0>();
  }}
}}
)",
                          rank, operation, policy ? "store" : operation, coordinates(rank),
                          policy ? ", policy_evict_last()" : "");
    }
  }
  const auto loaded = module(text);
  TW_SKIP_WITHOUT(loaded);
  for (int rank = 1; rank <= 5; ++rank) {
    for (const auto& place : kStorePlaces) {
      for (const std::string operation : operations) {
        const Problem p = problem(rank, place, 28);
        std::vector<int32_t> tensor(p.num_elements());
        for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = int32_t(i * 11 % 501) - 250;
        const auto to = array(tensor);
        run(loaded->kernel(operation + std::to_string(rank)), {.block = {32, 1, 1}},
            map_of(p.spec(TensorMapType::i32), to), p.at, uint32_t(p.box_elements()));
        p.each([&](size_t i, std::optional<size_t> inside) {
          if (!inside) return;
          int32_t& x = tensor[*inside];
          const int32_t y = 1000 - 37 * int32_t(i);
          x = operation == "reduce_add"   ? x + y
              : operation == "reduce_min" ? std::min(x, y)
              : operation == "reduce_max" ? std::max(x, y)
                                          : y;
        });
        EXPECT_TRUE(same(to.read(), tensor)) << operation << rank << " at " << place[0];
      }
    }
  }
}

// What planners rely on not to use such stores; on other hardware it may be better.
TEST_F(TmaTest, StoresRoundRowsUpTo16Bytes) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap map) {
  alignas(128) __shared__ u32 tile[64];
  for (u32 i = threadIdx.x; i < 64; i += 32) tile[i] = 1000 + i;
  fence_async_shared();
  sync_block();
  if (threadIdx.x == 0) {
    tma_store_2d(&map, shared_address(tile), 0, 0);
    bulk_commit();
    bulk_wait<0>();
  }
})");
  TW_SKIP_WITHOUT(loaded);
  for (uint32_t columns = 1; columns <= 16; ++columns) {
    const auto tensor = array(std::vector<uint32_t>(64, 7));
    const TensorMapSpec spec{
        .type = TensorMapType::u32, .extents = {columns, 4}, .strides_bytes = {64}, .box = {16, 4}};
    run(loaded->kernel("k"), {.block = {32, 1, 1}}, map_of(spec, tensor));
    const uint32_t written = (columns + 3) / 4 * 4;
    std::vector<uint32_t> want(64, 7);
    for (uint32_t i = 0; i < 64; ++i) {
      if (i % 16 < written) want[i] = 1000 + i;
    }
    EXPECT_TRUE(same(tensor.read(), want)) << columns;
    EXPECT_EQ(cuda::why_not_storable(spec).has_value(), written != columns);
  }
}

TEST_F(TmaTest, FloatReductionsAndTypes) {
  const auto loaded = module(kHead + R"(
template <class T>
__device__ void add(const TensorMap* map, T one, T two) {
  alignas(128) __shared__ T tile[256];
  for (u32 i = threadIdx.x; i < 256; i += 32) tile[i] = i % 2 ? two : one;
  fence_async_shared();
  sync_block();
  if (threadIdx.x == 0) {
    tma_reduce_add_2d(map, shared_address(tile), 0, 0);
    bulk_commit();
    bulk_wait<0>();
  }
}
extern "C" __global__ void f32(const __grid_constant__ TensorMap map) { add(&map, 1.5f, -2.0f); }
extern "C" __global__ void f16(const __grid_constant__ TensorMap map) { add(&map, u16(0x3e00), u16(0xc000)); }
extern "C" __global__ void bf16(const __grid_constant__ TensorMap map) { add(&map, u16(0x3fc0), u16(0xc000)); })");
  TW_SKIP_WITHOUT(loaded);
  const auto check = [&](const char* name, TensorMapType type, const auto& initial, const auto& want) {
    const auto tensor = array(initial);
    TensorMapSpec spec{
        .type = type, .extents = {16, 16}, .strides_bytes = {16 * uint64_t(cuda::bytes_of(type))}, .box = {16, 16}};
    for (int i = 0; i < 3; ++i)
      run(loaded->kernel(name), {.grid = {5, 1, 1}, .block = {32, 1, 1}}, map_of(spec, tensor));
    EXPECT_TRUE(same(tensor.read(), want)) << name;
  };
  std::vector<float> f(256, 0.25f), f_want;
  std::vector<uint16_t> h(256, 0), h_want, b_want;
  for (int i = 0; i < 256; ++i) {
    f_want.push_back(0.25f + 15 * (i % 2 ? -2.0f : 1.5f));
    h_want.push_back(uint16_t(encode(kF16, 15 * (i % 2 ? -2.0 : 1.5))));
    b_want.push_back(uint16_t(encode(kBf16, 15 * (i % 2 ? -2.0 : 1.5))));
  }
  check("f32", TensorMapType::f32, f, f_want);
  check("f16", TensorMapType::f16, h, h_want);
  check("bf16", TensorMapType::bf16, h, b_want);
}

TEST_F(TmaTest, SwizzlesAgreeWithTheAtom) {
  const auto loaded = module(kHead + R"(
template <u32 kSpan>
__device__ void load(const TensorMap* map, u32* out) {
  alignas(1024) __shared__ u8 tile[8192];
  __shared__ u64 cell;
  const u32 b = shared_address(&cell);
  if (threadIdx.x == 0) {
    mbarrier_init(b, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(b, 64 * kSpan);
    tma_load_2d(shared_address(tile), map, b, 0, 0);
  }
  sync_block();
  mbarrier_wait(b, 0);
  // In the order of the tensor again.
  for (u32 i = threadIdx.x; i < 64 * kSpan / 4; i += 32) load_shared_v1(out + i, shared_address(tile) + swizzle<kSpan>(4 * i));
}
extern "C" __global__ void k128(const __grid_constant__ TensorMap map, u32* out) { load<128>(&map, out); }
extern "C" __global__ void k64(const __grid_constant__ TensorMap map, u32* out) { load<64>(&map, out); }
extern "C" __global__ void k32(const __grid_constant__ TensorMap map, u32* out) { load<32>(&map, out); })");
  TW_SKIP_WITHOUT(loaded);
  for (const int span : {128, 64, 32}) {
    const uint32_t columns = uint32_t(span / 4);
    std::vector<uint32_t> tensor(64 * columns);
    for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = uint32_t(i * 3 + 1);
    const auto from = array(tensor), out = array<uint32_t>(tensor.size());
    const TensorMapSpec spec{.type = TensorMapType::u32,
                             .extents = {columns, 64},
                             .strides_bytes = {columns * 4},
                             .box = {columns, 64},
                             .swizzle = span == 128  ? TensorMapSwizzle::span128
                                        : span == 64 ? TensorMapSwizzle::span64
                                                     : TensorMapSwizzle::span32};
    run(loaded->kernel(fmt::format("k{}", span)), {.block = {32, 1, 1}}, map_of(spec, from), out);
    EXPECT_TRUE(same(out.read(), tensor)) << span;
  }
}

TEST_F(TmaTest, FillWithNanAndElementStrides) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap map, i32 x, i32 y, u32 bytes, u32* out) {
  alignas(128) __shared__ u32 tile[64];
  __shared__ u64 cell;
  const u32 b = shared_address(&cell);
  if (threadIdx.x == 0) {
    mbarrier_init(b, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(b, bytes);
    tma_load_2d(shared_address(tile), &map, b, x, y);
  }
  sync_block();
  mbarrier_wait(b, 0);
  for (u32 i = threadIdx.x; i < bytes / 4; i += 32) out[i] = tile[i];
})");
  TW_SKIP_WITHOUT(loaded);
  std::vector<float> tensor(16 * 8);
  for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = float(i);
  const auto from = array(tensor), out = array<float>(64);
  TensorMapSpec spec{
      .type = TensorMapType::f32, .extents = {16, 8}, .strides_bytes = {64}, .box = {8, 4}, .fill_nan = true};
  run(loaded->kernel("k"), {.block = {32, 1, 1}}, map_of(spec, from), 12, 6, 128u, out);
  auto got = out.read();
  for (int i = 0; i < 32; ++i) {
    const int x = 12 + i % 8, y = 6 + i / 8;
    if (x < 16 && y < 8)
      EXPECT_EQ(got[size_t(i)], float(y * 16 + x));
    else
      EXPECT_TRUE(std::isnan(got[size_t(i)])) << i;
  }
  // Every third row: the box spans 8 x 6 elements and holds 8 x 2.
  spec.fill_nan = false;
  spec.box = {8, 6};
  spec.element_strides = {1, 3};
  run(loaded->kernel("k"), {.block = {32, 1, 1}}, map_of(spec, from), 4, 1, 64u, out);
  got = out.read();
  for (int i = 0; i < 16; ++i) EXPECT_EQ(got[size_t(i)], float((1 + i / 8 * 3) * 16 + 4 + i % 8)) << i;
}

TEST_F(TmaTest, RowsOfBytes) {
  const auto loaded = module(kHead + R"(
extern "C" __global__ void copy(const u32* in, u32* out, u32 bytes) {
  alignas(16) __shared__ u32 tile[1024];
  __shared__ u64 cell;
  const u32 b = shared_address(&cell);
  if (threadIdx.x == 0) {
    mbarrier_init(b, 1);
    fence_mbarrier_init();
    bulk_prefetch(in, bytes);
    mbarrier_arrive_expect(b, bytes);
    bulk_load(shared_address(tile), in, bytes, b);
  }
  sync_block();
  mbarrier_wait(b, 0);
  for (u32 i = threadIdx.x; i < bytes / 4; i += 32) tile[i] += 1;
  fence_async_shared();
  sync_block();
  if (threadIdx.x == 0) {
    bulk_store(out, shared_address(tile), bytes);
    bulk_commit();
    bulk_wait_read<0>();
  }
  sync_block();
  // Read, so it may be overwritten; another store beside it.
  for (u32 i = threadIdx.x; i < bytes / 4; i += 32) tile[i] = i;
  fence_async_shared();
  sync_block();
  if (threadIdx.x == 0) {
    bulk_store(out + 1024, shared_address(tile), bytes);
    bulk_commit();
    bulk_wait<0>();
  }
}
template <class T>
__device__ u32 fill(T* tile, T x) {
  for (u32 i = threadIdx.x; i < 64; i += 32) tile[i] = x;
  fence_async_shared();
  sync_block();
  return shared_address(tile);
}
extern "C" __global__ void add(float* f, double* d, u16* h, u16* b, i32* s, u64* u) {
  alignas(16) __shared__ float tf[64];
  alignas(16) __shared__ double td[64];
  alignas(16) __shared__ u16 th[64], tb[64];
  alignas(16) __shared__ i32 ts[64];
  alignas(16) __shared__ u64 tu[64];
  const u32 af = fill(tf, 0.5f), ad = fill(td, 0.25), ah = fill(th, u16(0x3c00)), ab = fill(tb, u16(0x3f80)),
            as = fill(ts, -3), au = fill(tu, u64(1) << 33);
  if (threadIdx.x == 0) {
    bulk_reduce_add_f32(f, af, 256);
    bulk_reduce_add_f64(d, ad, 512);
    bulk_reduce_add_f16(h, ah, 128);
    bulk_reduce_add_bf16(b, ab, 128);
    bulk_reduce_add_s32(s, as, 256);
    bulk_reduce_add_u64(u, au, 512);
    bulk_commit();
    bulk_wait<0>();
  }
})");
  TW_SKIP_WITHOUT(loaded);
  for (const uint32_t bytes : {16u, 48u, 4096u}) {
    std::vector<uint32_t> in(1024);
    for (uint32_t i = 0; i < 1024; ++i) in[i] = i * 5;
    const auto out = array<uint32_t>(2048);
    run(loaded->kernel("copy"), {.block = {32, 1, 1}}, array(in), out, bytes);
    std::vector<uint32_t> want(2048, 0xcdcdcdcd);
    for (uint32_t i = 0; i < bytes / 4; ++i) want[i] = i * 5 + 1, want[1024 + i] = i;
    EXPECT_TRUE(same(out.read(), want)) << bytes;
  }
  const auto f = array(std::vector<float>(64, 1));
  const auto d = array(std::vector<double>(64, 1));
  const auto h = array(std::vector<uint16_t>(64, 0)), b = array(std::vector<uint16_t>(64, 0));
  const auto s = array(std::vector<int32_t>(64, 7));
  const auto u = array(std::vector<uint64_t>(64, 5));
  run(loaded->kernel("add"), {.grid = {20, 1, 1}, .block = {32, 1, 1}}, f, d, h, b, s, u);
  EXPECT_EQ(f.read(), std::vector<float>(64, 11));
  EXPECT_EQ(d.read(), std::vector<double>(64, 6));
  EXPECT_EQ(h.read(), std::vector<uint16_t>(64, uint16_t(encode(kF16, 20))));
  EXPECT_EQ(b.read(), std::vector<uint16_t>(64, uint16_t(encode(kBf16, 20))));
  EXPECT_EQ(s.read(), std::vector<int32_t>(64, -53));
  EXPECT_EQ(u.read(), std::vector<uint64_t>(64, (uint64_t(20) << 33) + 5));
}

}  // namespace
}  // namespace tilewright::test
