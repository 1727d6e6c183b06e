#include <tilewright/tune.h>

#include "driver/session.h"
#include "target/cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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

namespace {

// Elements of a tile that a thread holds, and vectors where several rows are in a warp: what leaves a multiprocessor
// enough threads to have 24 KiB under way. A block of more than 640 threads has 64 registers for each.
constexpr int64_t kThreadElems = 40, kWideThreadElems = 32, kThreadVectors = 5, kWideThreads = 640;
constexpr int64_t kWarp = 32, kBlockThreads = 256, kMostThreads = 1024;
// A multiprocessor reads less than this of a row with a loss; so many blocks keep all multiprocessors of a GPU busy.
constexpr int64_t kSegmentBytes = 64, kBlocks = 512;
// Blocks that run down columns end at about the same time where there are several for each multiprocessor.
constexpr int64_t kColumnBlocks = 4096;

// Elements of a vector of 16 bytes, or of a smaller one that divides a row.
int64_t vector_of(int64_t width, DType dtype) { return std::gcd(width, int64_t(16 / bytes_of(dtype))); }

int64_t elems_of_a_thread(int64_t threads) { return threads > kWideThreads ? kWideThreadElems : kThreadElems; }

// Of a row of `vectors` vectors: how many threads share it, or 0 where no number of threads can hold it.
int64_t threads_of_row(int64_t vectors, int64_t vector, int64_t vector_bytes, int64_t num_tiles) {
  int64_t best = 0, least_idle = std::numeric_limits<int64_t>::max();
  for (int64_t threads = 1; threads <= kMostThreads; threads = threads < kWarp ? threads * 2 : threads + kWarp) {
    const int64_t each = ceil_div(vectors, threads);
    const int64_t elems = elems_of_a_thread(threads) / num_tiles;
    // More threads only to have none with less to do than others.
    if (best > 0 && threads * 3 > best * 4 && threads > kWarp) break;
    if (each * vector > std::max(elems, vector)) continue;
    if (threads < kWarp && each > std::max<int64_t>(1, kThreadVectors / num_tiles)) continue;
    if (threads < kWarp && threads < vectors && threads * vector_bytes < kSegmentBytes) continue;
    const int64_t idle = each * threads - vectors;
    if (idle < least_idle) best = threads, least_idle = idle;
  }
  return best;
}

}  // namespace

RowPlan suggest_row_plan(int64_t rows, int64_t width, DType dtype, int num_tiles) {
  rows = std::max<int64_t>(rows, 1), width = std::max<int64_t>(width, 1);
  const int64_t tiles = std::clamp<int64_t>(num_tiles, 1, 8), vector = vector_of(width, dtype);
  int64_t parts = 1, part = width, threads = 0;
  for (;; ++parts) {
    part = parts == 1 ? width : ceil_div(ceil_div(width, parts), vector * kWarp) * vector * kWarp;
    threads = threads_of_row(ceil_div(part, vector), vector, vector * bytes_of(dtype), tiles);
    if (threads > 0) break;
  }
  // Several rows, as whole warps; fewer where that leaves multiprocessors without a block.
  int64_t block_rows = std::max<int64_t>(1, kBlockThreads / threads);
  while (block_rows % 2 == 0 && block_rows / 2 * threads % kWarp == 0 && ceil_div(rows, block_rows) < kBlocks &&
         block_rows * threads > kWarp) {
    block_rows /= 2;
  }
  return {.block_rows = int(block_rows),
          .block_width = int(part),
          .num_parts = int(ceil_div(width, part)),
          .threads = int(block_rows * threads)};
}

ColumnPlan suggest_column_plan(int64_t rows, int64_t width, DType dtype, bool whole_columns) {
  rows = std::max<int64_t>(rows, 1), width = std::max<int64_t>(width, 1);
  const int64_t vector = vector_of(width, dtype);
  int64_t lanes = 1;
  while (lanes < (whole_columns ? kWarp / 4 : kWarp) && lanes * vector < width) lanes *= 2;
  int64_t threads = kBlockThreads, vectors = kThreadVectors - 1;
  if (whole_columns) {
    const auto fits = [&](int64_t t) { return ceil_div(rows, t / lanes) * vector <= elems_of_a_thread(t); };
    while (threads < kMostThreads && !fits(threads)) threads *= 2;
    // Columns that no block holds are read again, so that there is nothing in a large block.
    if (!fits(threads)) threads = kBlockThreads;
    // Parts of a column as equal as they come.
    const int64_t most = kThreadElems / vector, all = ceil_div(rows, threads / lanes);
    vectors = ceil_div(all, ceil_div(all, most));
    for (int64_t v = most; v > most / 2; --v) {
      if (all % vectors != 0 && all % v == 0) vectors = v;
    }
  }
  const int64_t block_rows = std::min(threads / lanes * vectors, ceil_div(rows, threads / lanes) * (threads / lanes));
  const int64_t columns = ceil_div(width, lanes * vector), tiles = ceil_div(rows, block_rows);
  const int64_t strips = whole_columns ? 1 : std::clamp<int64_t>(kColumnBlocks / columns, 1, tiles);
  const int64_t strip_rows = ceil_div(tiles, strips) * block_rows;
  return {.block_rows = int(block_rows),
          .block_width = int(lanes * vector),
          .strip_rows = strip_rows,
          .num_strips = ceil_div(rows, strip_rows),
          .threads = int(threads)};
}

}  // namespace tilewright
