// Tile sizes from a rule instead of a search.
#pragma once

#include <tilewright/dtype.h>

#include <cstdint>

namespace tilewright {

struct GemmTile {
  int block_m = 0, block_n = 0, block_k = 0;
};

// The limits of a CPU that the rule looks at.
struct CpuLimits {
  int vector_bytes = 16;
  int64_t l1d_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
};
CpuLimits cpu_limits();  // of this machine

// A tile for C[m, n] += A[m, k] B[k, n] on `num_threads` cores. Minimises an estimate of the time: rounds of tiles over
// threads, each tile costing its multiply-adds, its copies and its write-back. docs/performance.md has the measurement.
GemmTile suggest_gemm_tile(int64_t m, int64_t n, int64_t k, DType dtype, int num_threads, const CpuLimits& limits);

// Rows of a block for a kernel that works row by row on tiles of [block_rows, width] elements, on `num_threads` cores:
// a first-level cache's worth, so that starting a block costs little, but several blocks a thread. How many rows there
// are hardly matters beyond that, since a row passes through the whole kernel before the next one
// (docs/performance.md).
int suggest_block_rows(int64_t rows, int64_t width, DType dtype, int num_threads, const CpuLimits& limits);

}  // namespace tilewright
