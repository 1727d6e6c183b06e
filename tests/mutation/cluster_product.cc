#include "mutation/cluster_product.h"

namespace tilewright::mutation {

namespace {

// Blocks 0, 1 and 2, 3 are clusters; the second one of each has the rows from 64 on. A stage is free once the four
// warps of both blocks have multiplied what is in it, as the load of half of B overwrites it in both.
constexpr const char* kText = R"(#include <tilewright/device/cuda/barrier.h>
#include <tilewright/device/cuda/cluster.h>
#include <tilewright/device/cuda/fence.h>
#include <tilewright/device/cuda/grid.h>
#include <tilewright/device/cuda/language.h>
#include <tilewright/device/cuda/mbarrier.h>
#include <tilewright/device/cuda/tma.h>
#include <tilewright/device/cuda/warp.h>
#include <tilewright/device/cuda/wgmma_f16.h>

namespace tw = tilewright::device;

extern "C" __global__ void __launch_bounds__(160, 1)
tw_cluster_product(tw::F16* const A, tw::F16* const B, tw::F16* const C, const __grid_constant__ tw::TensorMap map_A, const __grid_constant__ tw::TensorMap map_B, const tw::i64 first_block, tw::Failure* const failure) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  tw::F16* const A_shared = reinterpret_cast<tw::F16*>(shared_memory + 0);      // [2, 64, 64]
  tw::F16* const B_shared = reinterpret_cast<tw::F16*>(shared_memory + 16384);  // [2, 64, 64]
  tw::u64* const full = reinterpret_cast<tw::u64*>(shared_memory + 32768);      // [2]
  tw::u64* const empty = reinterpret_cast<tw::u64*>(shared_memory + 32784);     // [2]
  const tw::i32 tid = tw::i32(threadIdx.x), rank = tw::i32(tw::cluster_rank());
  const tw::i32 first_row = rank * 64, first_column = tw::i32(tw::cluster_id_x()) * 64;
  const tw::u32 warp = tw::warp_id();
  float sums[32] = {};
  if (tid == 0) {
    tw::mbarrier_init(tw::shared_address(full), tw::u32(1));
    tw::mbarrier_init(tw::shared_address(full + 1), tw::u32(1));
    tw::mbarrier_init(tw::shared_address(empty), tw::u32(8));
    tw::mbarrier_init(tw::shared_address(empty + 1), tw::u32(8));
    tw::fence_mbarrier_init();
  }
  tw::cluster_arrive_relaxed();
  tw::cluster_wait();
  if (warp < 4) {  // compute
    for (tw::i32 it = 0; it < 4; ++it) {
      tw::mbarrier_wait(tw::shared_address(full + it % 2), tw::u32(it / 2));
      tw::wgmma_fence();
      const tw::u64 a = tw::wgmma_descriptor(tw::shared_address(A_shared + it % 2 * 4096), 0, 1024, tw::SharedLayout::span128);
      const tw::u64 b = tw::wgmma_descriptor(tw::shared_address(B_shared + it % 2 * 4096), 8192, 1024, tw::SharedLayout::span128);
      for (tw::u32 ks = 0; ks < 4; ++ks) {
        tw::wgmma_m64k16_f32_f16<64, tw::Major::k, tw::Major::mn>(sums, tw::advance(a, ks * 32), tw::advance(b, ks * 2048), true);
      }
      tw::wgmma_commit();
      tw::wgmma_wait<0>();
      if (tid % 32 < 2) {
        tw::mbarrier_arrive_cluster(tw::map_shared(tw::shared_address(empty + it % 2), tw::u32(tid % 32)));
      }
    }
    const tw::i32 row = first_row + tid / 32 * 16 + tid % 32 / 4, column = first_column + tid % 4 * 2;
    for (tw::i32 j = 0; j < 8; ++j) {
      for (tw::i32 h = 0; h < 2; ++h) {
        for (tw::i32 e = 0; e < 2; ++e) {
          if (row + 8 * h < 100 && column + 8 * j + e < 72) {
            C[(row + 8 * h) * 72 + column + 8 * j + e] = tw::from_f32<tw::F16>(sums[j * 4 + h * 2 + e]);
          }
        }
      }
    }
  } else {  // load
    for (tw::i32 it = 0; it < 4; ++it) {
      tw::mbarrier_wait(tw::shared_address(empty + it % 2), tw::u32(1 - it / 2));
      if (tw::elect_one() != 0) {
        tw::mbarrier_arrive_expect(tw::shared_address(full + it % 2), tw::u32(16384));
        tw::tma_load_2d(tw::shared_address(A_shared + it % 2 * 4096), &map_A, tw::shared_address(full + it % 2), it * 64, first_row);
        tw::tma_load_multicast_2d(tw::shared_address(B_shared + it % 2 * 4096 + rank * 2048), &map_B, tw::shared_address(full + it % 2), tw::u16(3), first_column, it * 64 + rank * 32);
      }
    }
  }
  tw::sync_cluster();
}
)";

// Small integers, whose sums are exact.
double value(size_t t, int64_t i) { return t == 2 ? 0 : double((i * 5 + i / 7 * 3 + int64_t(t)) % 5) - 2; }

}  // namespace

Subject cluster_product() {
  using P = ClusterProduct;
  const codegen::CudaEntry entry{
      .symbol = "tw_cluster_product",
      .grid = {},
      .threads = 160,
      .shared_bytes = 32800,
      .maps = {{.name = "map_A", .tensor = 0, .box = {64, 64}, .span_bytes = 128},
               {.name = "map_B", .tensor = 1, .box = {32, 64}, .span_bytes = 128}},
  };
  return Subject({.name = "cluster product",
                  .text = kText,
                  .entry = entry,
                  .num_blocks = 4,
                  .cluster = 2,
                  .dtypes = {DType::f16, DType::f16, DType::f16},
                  .shapes = {{P::m, P::k}, {P::k, P::n}, {P::m, P::n}}},
                 "sm_90a", value);
}

}  // namespace tilewright::mutation
