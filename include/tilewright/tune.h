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

// How a kernel that works on whole rows divides them among blocks and threads: tiles of [block_rows, block_width]
// elements, `num_parts` of them side by side for a row. A row of one part need be read once only.
struct RowPlan {
  int block_rows = 0, block_width = 0, num_parts = 0;
  int threads = 0;
};

// For rows of `width` elements, all of which are next to each other. `dtype` is the narrowest one of the tensors of
// that width, `num_tiles` how many tiles of a row the kernel holds at a time. As many threads share a row as leave each
// a few vectors of 16 bytes, or of what divides a row; where there is a choice, a number that leaves no thread idle.
// Blocks have 256 threads, fewer where there are few rows, more for a row that needs them. docs/performance.md says
// why.
RowPlan suggest_row_plan(int64_t rows, int64_t width, DType dtype, int num_tiles = 1);

// The same for a kernel that combines the rows of each column: blocks take tiles of [block_rows, block_width] down a
// strip of `strip_rows` rows, of which there are `num_strips`, the last one shorter.
struct ColumnPlan {
  int block_rows = 1, block_width = 1;
  int64_t strip_rows = 1, num_strips = 1;
  int threads = 256;
};

// As many strips as make enough blocks for a GPU. A tile is as wide as a warp's vectors, or the matrix, and leaves each
// thread a few vectors to have under way. With `whole_columns` there is one strip, and where registers hold its columns
// the tile is all of it (strip_rows == block_rows).
ColumnPlan suggest_column_plan(int64_t rows, int64_t width, DType dtype, bool whole_columns = false);

}  // namespace tilewright
