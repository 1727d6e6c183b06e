// Sums of rows and of columns, and the transpose, of matrices of any shape. Each is a macro: it opens its kernels.
#pragma once

#include <tilewright/language.h>
#include <tilewright/tune.h>

#include <algorithm>
#include <cstdint>

namespace examples::rows {

namespace T = tilewright::lang;

// Y[i] = the sum of row i of X [rows, width], in f32.
inline void row_sum(const T::Tile& X, const T::Tile& Y, int64_t rows, const tilewright::RowPlan& plan) {
  const int block_rows = plan.block_rows, block = plan.block_width;
  auto [b] = T::Kernel({T::ceildiv(rows, block_rows)}, {.threads = plan.threads});
  auto x = T::alloc_fragment({block_rows, block}, X.dtype());
  auto sum = T::alloc_fragment({block_rows}, T::f32);
  T::clear(sum);
  for (auto k : T::serial(plan.num_parts)) {
    T::copy(X(b * block_rows, k * block), x);
    T::reduce_sum(x, sum, {.clear = false});
  }
  T::copy(sum, Y(b * block_rows));
}

// Y[j] = the sum of column j of X [rows, width], in f32. Blocks add up strips of rows, whose sums a second kernel adds
// up in a fixed order, so that the same input gives the same bits.
inline void column_sum(const T::Tile& X, const T::Tile& Y, int64_t width, const tilewright::ColumnPlan& plan) {
  const int block_rows = plan.block_rows, block = plan.block_width;
  auto P = T::alloc_global({plan.num_strips, width}, T::f32);
  {
    auto [c, s] = T::Kernel({T::ceildiv(width, block), T::Expr(plan.num_strips)}, {.threads = plan.threads});
    auto x = T::alloc_fragment({block_rows, block}, X.dtype());
    auto part = T::alloc_fragment({block_rows, block}, T::f32);
    auto sum = T::alloc_fragment({block}, T::f32);
    T::clear(part);
    for (auto k : T::serial(plan.strip_rows / block_rows)) {
      T::copy(X(s * plan.strip_rows + k * block_rows, c * block), x);
      for (auto [i, j] : T::Parallel(block_rows, block)) part(i, j) = part(i, j) + T::cast(x(i, j), T::f32);
    }
    T::reduce_sum(part, sum, {.dim = 0});
    T::copy(sum, P(s, c * block));
  }
  constexpr int kColumns = 128;
  auto [c] = T::Kernel({T::ceildiv(width, kColumns)}, {.threads = kColumns});
  auto sum = T::alloc_fragment({kColumns}, T::f32);
  T::clear(sum);
  for (auto s : T::serial(plan.num_strips)) {
    for (auto j : T::Parallel(kColumns)) sum(j) = sum(j) + P(s, c * kColumns + j);
  }
  T::copy(sum, Y(c * kColumns));
}

// B [n, m] = the transpose of A [m, n]. With a word behind each row of the tile at most two threads of a warp meet in a
// memory bank, where they write its rows and where they read its columns.
inline void transpose(const T::Tile& A, const T::Tile& B, int64_t m, int64_t n) {
  const int bytes = tilewright::bytes_of(A.dtype()), block = std::clamp(128 / bytes, 16, 64) * (bytes == 4 ? 2 : 1);
  auto [bx, by] = T::Kernel({T::ceildiv(n, block), T::ceildiv(m, block)}, {.threads = 256});
  auto tile = T::alloc_shared({block, block}, A.dtype());
  auto rows = T::alloc_fragment({block, block}, A.dtype()), columns = T::alloc_fragment({block, block}, A.dtype());
  T::annotate_layout(tile, T::make_padded_layout(tile, std::max(1, 4 / bytes)));
  T::copy(A(by * block, bx * block), rows);
  T::copy(rows, tile);
  T::transpose(tile, columns);
  T::copy(columns, B(bx * block, by * block));
}

}  // namespace examples::rows
