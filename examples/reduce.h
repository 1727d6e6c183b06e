// Sums along the rows and along the columns of a matrix of any shape.
#pragma once

#include <tilewright/language.h>
#include <tilewright/tune.h>

#include <algorithm>
#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// x [rows, width] and y [rows], of `dtype`; sums in f32.
inline T::Program row_sum(int64_t rows, int64_t width, tilewright::DType dtype = T::f32) {
  const auto plan = tilewright::suggest_row_plan(rows, width, dtype);
  return T::prim_func("row_sum", [&] {
    const int block_rows = plan.block_rows, block = plan.block_width;
    auto X = T::tensor("x", {rows, width}, dtype);
    auto Y = T::tensor("y", {rows}, dtype);
    auto [b] = T::Kernel({T::ceildiv(rows, block_rows)}, {.threads = plan.threads});
    auto x = T::alloc_fragment({block_rows, block}, dtype);
    auto sum = T::alloc_fragment({block_rows}, T::f32);
    T::clear(sum);
    for (auto k : T::serial(plan.num_parts)) {
      T::copy(X(b * block_rows, k * block), x);
      T::reduce_sum(x, sum, {.clear = false});
    }
    T::copy(sum, Y(b * block_rows));
  });
}

// x [rows, width] and y [width], of `dtype`; sums in f32. Blocks add up strips of rows, whose sums a second kernel adds
// up: in a fixed order, so that the same input gives the same bits.
inline T::Program column_sum(int64_t rows, int64_t width, tilewright::DType dtype = T::f32) {
  const auto plan = tilewright::suggest_column_plan(rows, width, dtype);
  const int64_t strips = plan.num_strips, steps = plan.strip_rows / plan.block_rows;
  return T::prim_func("column_sum", [&] {
    const int block_rows = plan.block_rows, block = plan.block_width;
    auto X = T::tensor("x", {rows, width}, dtype);
    auto Y = T::tensor("y", {width}, dtype);
    auto P = T::alloc_global({strips, width}, T::f32);
    {
      auto [c, s] = T::Kernel({T::ceildiv(width, block), T::Expr(strips)}, {.threads = plan.threads});
      auto x = T::alloc_fragment({block_rows, block}, dtype);
      auto part = T::alloc_fragment({block_rows, block}, T::f32);
      auto sum = T::alloc_fragment({block}, T::f32);
      T::clear(part);
      for (auto k : T::serial(steps)) {
        T::copy(X((s * steps + k) * block_rows, c * block), x);
        for (auto [i, j] : T::Parallel(block_rows, block)) part(i, j) += x(i, j);
      }
      T::reduce_sum(part, sum, {.dim = 0});
      T::copy(sum, P(s, c * block));
    }
    auto [c] = T::Kernel({T::ceildiv(width, 128)}, {.threads = 128});
    auto sum = T::alloc_fragment({128}, T::f32);
    T::clear(sum);
    for (auto s : T::serial(strips)) {
      for (auto j : T::Parallel(128)) sum(j) += P(s, c * 128 + j);
    }
    T::copy(sum, Y(c * 128));
  });
}

}  // namespace examples
