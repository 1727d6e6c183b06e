// The atoms together: a matrix product in which a warpgroup loads by bulk copies into a ring of stages, two multiply by
// wgmma and store through swizzled shared memory. Also shows whether the compiler keeps the products asynchronous.
#include "gpu/gpu_test.h"
#include "gpu/matrices.h"
#include "runtime/cuda/tensor_map.h"

#include <fmt/format.h>

#include <random>

namespace tilewright::test {
namespace {

constexpr const char* kText = R"(
#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/convert.h>
#include <tilewright/device/cuda/fence.h>
#include <tilewright/device/cuda/grid.h>
#include <tilewright/device/cuda/matrix.h>
#include <tilewright/device/cuda/mbarrier.h>
#include <tilewright/device/cuda/memory.h>
#include <tilewright/device/cuda/tma.h>
#include <tilewright/device/cuda/warp.h>
#include <tilewright/device/cuda/wgmma_bf16.h>
using namespace tilewright::device;

constexpr u32 kStages = 3, kBytesA = 128 * 64 * 2, kBytesB = 64 * 256 * 2, kStageBytes = kBytesA + kBytesB;
constexpr u32 kSlabBytes = 64 * 128;  // 64 rows of 64 elements

// C [m, n] = A [m, k] B [k, n]: 128 x 256 of it in a block.
extern "C" __global__ void __launch_bounds__(384, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_c, u32 k_tiles) {
  extern __shared__ u8 dynamic[];
  __shared__ u64 cells[2 * kStages];
  const u32 base = (shared_address(dynamic) + 1023) & ~1023u;
  const u32 full = shared_address(cells), empty = full + 8 * kStages;
  const u32 group = uniform(threadIdx.x / 128);
  const i32 row = i32(blockIdx.y * 128), column = i32(blockIdx.x * 256);
  if (threadIdx.x == 0) {
    for (u32 s = 0; s < kStages; ++s) {
      mbarrier_init(full + 8 * s, 1);
      mbarrier_init(empty + 8 * s, 8);
    }
    fence_mbarrier_init();
  }
  sync_block();
  if (group == 2) {
    fewer_registers<40>();
    if (threadIdx.x == 256) {
      for (u32 t = 0; t < k_tiles; ++t) {
        const u32 s = t % kStages, at = base + s * kStageBytes;
        mbarrier_wait(empty + 8 * s, (t / kStages & 1) ^ 1);
        mbarrier_arrive_expect(full + 8 * s, kStageBytes);
        tma_load_2d(at, &map_a, full + 8 * s, i32(t * 64), row);
        for (u32 i = 0; i < 4; ++i) {
          tma_load_2d(at + kBytesA + i * kSlabBytes, &map_b, full + 8 * s, column + i32(i * 64), i32(t * 64));
        }
      }
    }
  } else {
    more_registers<232>();
    float d[128];
    for (u32 t = 0; t < k_tiles; ++t) {
      const u32 s = t % kStages;
      u32 at = base + s * kStageBytes;
      opaque(at);
      mbarrier_wait(full + 8 * s, t / kStages & 1);
      const u64 a = wgmma_descriptor(at + group * kSlabBytes, 0, 1024, SharedLayout::span128);
      const u64 b = wgmma_descriptor(at + kBytesA, kSlabBytes, 1024, SharedLayout::span128);
      wgmma_fence();
#pragma unroll
      for (u32 k = 0; k < 4; ++k) {
        wgmma_m64k16_f32_bf16<256, Major::k, Major::mn>(d, advance(a, 32 * k), advance(b, 2048 * k), t != 0 || k != 0);
      }
      wgmma_commit();
      wgmma_wait<1>();
      if (t != 0 && lane_id() == 0) mbarrier_arrive(empty + 8 * ((t - 1) % kStages));
    }
    wgmma_wait<0>();
    pin<128>(d);
    const u32 lane = lane_id(), warp = threadIdx.x % 128 / 32;
    const u32 out = base + kStages * kStageBytes + group * 4 * kSlabBytes;
#pragma unroll
    for (u32 slab = 0; slab < 4; ++slab) {
#pragma unroll
      for (u32 j = 0; j < 4; ++j) {
        u32 packed[4];
#pragma unroll
        for (u32 i = 0; i < 4; ++i) packed[i] = bf16x2_from_f32(d[slab * 32 + j * 8 + 2 * i], d[slab * 32 + j * 8 + 2 * i + 1]);
        const u32 offset = (warp * 16 + lane % 16) * 128 + (2 * j + lane / 16) * 16;
        store_matrix_x4(out + slab * kSlabBytes + swizzle<128>(offset), packed);
      }
    }
    fence_async_shared();
    if (group == 0)
      sync_threads<1, 128>();
    else
      sync_threads<2, 128>();
    if (threadIdx.x % 128 == 0) {
      for (u32 slab = 0; slab < 4; ++slab) {
        tma_store_2d(&map_c, out + slab * kSlabBytes, column + i32(slab * 64), row + i32(group * 64));
      }
      bulk_commit();
      bulk_wait<0>();
    }
  }
}
)";

constexpr uint32_t kSharedBytes = 1024 + 3 * (128 * 64 + 64 * 256) * 2 + 8 * 64 * 128;

class PipelineTest : public GpuTest {
 protected:
  struct Operands {
    Array<uint16_t> a, b, c;
  };

  cuda::TensorMap map_of(const Array<uint16_t>& matrix, uint64_t rows, uint64_t columns, uint32_t box_rows) {
    return cuda::encode_tensor_map(*machine().device,
                                   {.type = cuda::TensorMapType::bf16,
                                    .extents = {columns, rows},
                                    .strides_bytes = {columns * 2},
                                    .box = {64, box_rows},
                                    .swizzle = cuda::TensorMapSwizzle::span128},
                                   matrix.address());
  }
  void multiply(const Kernel& kernel, const Operands& x, uint32_t m, uint32_t n, uint32_t k) {
    launch(kernel,
           {.grid = {(n + 255) / 256, (m + 127) / 128, 1}, .block = {384, 1, 1}, .dynamic_shared_bytes = kSharedBytes},
           map_of(x.a, m, k, 128), map_of(x.b, k, n, 64), map_of(x.c, m, n, 64), (k + 63) / 64);
  }
};

std::vector<uint16_t> to_u16(const std::vector<uint32_t>& bits) { return {bits.begin(), bits.end()}; }

TEST_F(PipelineTest, ProductOfRaggedMatrices) {
  const auto loaded = module(kText);
  TW_SKIP_WITHOUT(loaded);
  Kernel kernel = loaded->kernel("gemm");
  kernel.allow_shared(int(kSharedBytes));
  for (const auto& [m, n, k] :
       {std::array{128, 256, 64}, std::array{300, 520, 200}, std::array{1, 8, 8}, std::array{257, 1000, 1000}}) {
    std::mt19937 random(unsigned(m + n + k));
    const Matrix a = random_matrix(m, k, Type::bf16, false, random), b = random_matrix(k, n, Type::bf16, false, random);
    const Operands x = {array(to_u16(a.bits)), array(to_u16(b.bits)), array<uint16_t>(size_t(m * n))};
    multiply(kernel, x, uint32_t(m), uint32_t(n), uint32_t(k));
    machine().device->synchronize();
    const OpenOrder sums(true);
    const auto got = x.c.read();
    std::vector<double> av, bv;
    for (const uint32_t bits : a.bits) av.push_back(decode(kBf16, bits));
    for (const uint32_t bits : b.bits) bv.push_back(decode(kBf16, bits));
    Comparison comparison;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        Sum want{0, 0};
        for (int l = 0; l < k; ++l) {
          const double p = av[size_t(i * k + l)] * bv[size_t(l * n + j)];
          want.value += p;
          want.magnitude += std::fabs(p);
        }
        const double bound = (k + 2) * std::ldexp(1, -23) * want.magnitude + std::ldexp(1, -8) * std::fabs(want.value);
        comparison.add(decode(kBf16, got[size_t(i * n + j)]), want, bound, fmt::format("[{}, {}]", i, j));
      }
    }
    EXPECT_LE(comparison.worst, 1) << m << " " << n << " " << k << " " << comparison.where;
    fmt::print("  {} x {} x {}: worst error {:.3f} of the bound\n", m, n, k, comparison.worst);
  }
}

#if !defined(TILEWRIGHT_SIMULATED_GPU)
// A figure to watch, not to claim: the schedule is plain.
TEST_F(PipelineTest, Speed) {
  const auto loaded = module(kText);
  TW_SKIP_WITHOUT(loaded);
  Kernel kernel = loaded->kernel("gemm");
  kernel.allow_shared(int(kSharedBytes));
  constexpr uint32_t kSize = 4096;
  std::mt19937 random(1);
  std::vector<uint16_t> values(kSize * kSize);
  for (uint16_t& x : values) x = uint16_t((random() & 0x807f) | 0x3f00 | (random() & 0x80));  // +-[0.5, 2)
  const Operands x = {array(values), array(values), array<uint16_t>(values.size())};
  cuda::Event begin(machine().device), end(machine().device);
  float best = INFINITY;
  for (int i = 0; i < 20; ++i) {
    begin.record(nullptr);
    multiply(kernel, x, kSize, kSize, kSize);
    end.record(nullptr);
    end.synchronize();
    best = std::min(best, end.ms_since(begin));
  }
  fmt::print("  {0} x {0} x {0}: {1:.3f} ms, {2:.0f} TFLOP/s (best of 20, one kernel at a time)\n", kSize, best,
             2.0 * kSize * kSize * kSize / best * 1e-9);
}
#endif

}  // namespace
}  // namespace tilewright::test
