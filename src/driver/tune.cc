#include <tilewright/tune.h>

#include "driver/session.h"
#include "target/cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Costs in clocks of one vector multiply-add, fitted on a Zen 4 core: an element of A or B costs 0.75 to copy for each
// k, a vector of C costs 8 to clear, finish and store, and a block costs 2000 to start.
constexpr double kCopyCost = 0.75, kStoreCost = 8, kBlockCost = 2000;
// A, B and C tiles of edge^2 elements in four fifths of the second-level cache; beyond 256 nothing is gained.
constexpr int64_t kMaxEdge = 256, kEdgeStep = 16, kMinEdge = 32;
// So many blocks a thread let one that was late end with the others.
constexpr int64_t kBlocksPerThread = 4;

}  // namespace

CpuLimits cpu_limits() {
  const CpuFeatures& cpu = Session::get().cpu();
  return {.vector_bytes = CpuTarget{.level = cpu.level}.vector_bytes(),
          .l1d_bytes = cpu.l1d_bytes,
          .l2_bytes = cpu.l2_bytes};
}

GemmTile suggest_gemm_tile(int64_t m, int64_t n, int64_t k, DType dtype, int num_threads, const CpuLimits& limits) {
  m = std::max<int64_t>(m, 1), n = std::max<int64_t>(n, 1), k = std::max<int64_t>(k, 1);
  const int64_t bytes = bytes_of(cpu_storage(dtype)), lanes = std::max<int64_t>(1, limits.vector_bytes / bytes);
  const double room = 0.8 * double(limits.l2_bytes) / double(3 * bytes);
  const int64_t edge = std::clamp(int64_t(std::sqrt(room)) / kEdgeStep * kEdgeStep, kMinEdge, kMaxEdge);
  // Two vectors of B for each k stay in half of the first-level cache.
  const int64_t depth = std::max<int64_t>(64, limits.l1d_bytes / 2 / (2 * limits.vector_bytes));
  GemmTile best;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int64_t gm = ceil_div(m, edge); gm <= std::max(ceil_div(m, edge), ceil_div(m, kMinEdge)); ++gm) {
    for (int64_t gn = ceil_div(n, edge); gn <= std::max(ceil_div(n, edge), ceil_div(n, kMinEdge)); ++gn) {
      const int64_t bm = ceil_div(m, gm), bn = ceil_div(ceil_div(n, gn), lanes) * lanes;
      const double rounds = double(ceil_div(ceil_div(m, bm) * ceil_div(n, bn), num_threads));
      const double vectors = double(bm) * double(bn / lanes);
      const double cost =
          rounds * (vectors * double(k) + kCopyCost * double(k) * double(bm + bn) + kStoreCost * vectors + kBlockCost);
      // A small gain is no reason to take smaller tiles.
      if (cost >= best_cost * 0.999) continue;
      best_cost = cost;
      best = {.block_m = int(bm), .block_n = int(bn), .block_k = int(ceil_div(k, ceil_div(k, depth)))};
    }
  }
  return best;
}

int suggest_block_rows(int64_t rows, int64_t width, DType dtype, int num_threads, const CpuLimits& limits) {
  rows = std::max<int64_t>(rows, 1), width = std::max<int64_t>(width, 1);
  const int64_t row_bytes = width * bytes_of(cpu_storage(dtype));
  const int64_t cached = std::clamp<int64_t>(limits.l1d_bytes / row_bytes, 1, kMaxEdge);
  const int64_t balanced = ceil_div(rows, int64_t(std::max(num_threads, 1)) * kBlocksPerThread);
  return int(std::min(cached, balanced));
}

}  // namespace tilewright
