// Softmax, its logarithm and the cross entropy along rows of any length. Each is a macro: it opens its kernel.
#pragma once

#include <tilewright/language.h>
#include <tilewright/tune.h>

#include <cstdint>
#include <limits>

namespace examples::rows {

namespace T = tilewright::lang;

// What the kernels below keep of the rows of a block: the last part that was read and its exponentials, the largest
// element of each row, what exponentials are relative to (that, or 0 as long as all are minus infinity), and their sum.
struct RunningSum {
  T::Tile x, e, top, shift, sum, part;

  // Reads the rows of X from `first` on.
  RunningSum(const T::Tile& X, const T::Expr& first, const tilewright::RowPlan& plan)
      : x(T::alloc_fragment({plan.block_rows, plan.block_width}, X.dtype())),
        e(T::alloc_fragment({plan.block_rows, plan.block_width}, T::f32)),
        top(T::alloc_fragment({plan.block_rows}, T::f32)),
        shift(T::alloc_fragment({plan.block_rows}, T::f32)),
        sum(T::alloc_fragment({plan.block_rows}, T::f32)),
        part(T::alloc_fragment({plan.block_rows}, T::f32)) {
    T::annotate_safe_value(X, -std::numeric_limits<double>::infinity());  // behind the end of a row: e^x = 0
    T::fill(top, -T::infinity(T::f32));
    T::clear(shift);
    T::clear(sum);
    for (auto k : T::serial(plan.num_parts)) {
      T::copy(X(first, k * plan.block_width), x);
      take(plan.block_rows, plan.block_width);
    }
  }

 private:
  void take(int block_rows, int block) {
    T::reduce_max(x, top, {.clear = false});
    for (auto i : T::Parallel(block_rows)) {
      auto to = T::let(T::if_then_else(top(i) == -T::infinity(T::f32), 0, top(i)));
      sum(i) = sum(i) * T::exp(shift(i) - to);
      shift(i) = to;
    }
    for (auto [i, j] : T::Parallel(block_rows, block)) e(i, j) = T::exp(T::cast(x(i, j), T::f32) - shift(i));
    T::reduce_sum(e, part);
    for (auto i : T::Parallel(block_rows)) sum(i) = sum(i) + part(i);
  }
};

// Y = e^(X - max) / sum(e^(X - max)), or X - max - log(sum(...)), of X and Y [rows, width].
inline void softmax(const T::Tile& X, const T::Tile& Y, int64_t rows, const tilewright::RowPlan& plan,
                    bool logarithm = false) {
  const int block_rows = plan.block_rows, block = plan.block_width;
  const bool again = plan.num_parts > 1;
  auto [b] = T::Kernel({T::ceildiv(rows, block_rows)}, {.threads = plan.threads});
  RunningSum row(X, b * block_rows, plan);
  for (auto i : T::Parallel(block_rows)) {
    // Of minus infinities alone the sum is 0; the differences from the largest, and so the result, are NaN.
    row.sum(i) = logarithm ? row.shift(i) + T::log(row.sum(i)) : 1 / row.sum(i);
  }
  for (auto k : T::serial(plan.num_parts)) {
    if (again) T::copy(X(b * block_rows, k * block), row.x);
    for (auto [i, j] : T::Parallel(block_rows, block)) {
      auto v = T::cast(row.x(i, j), T::f32);
      auto exponential = again ? T::exp(v - row.shift(i)) : T::Expr(row.e(i, j));
      row.e(i, j) = logarithm ? v - row.sum(i) : exponential * row.sum(i);
    }
    T::copy(row.e, Y(b * block_rows, k * block));
  }
}

// L[i] = log(sum_j e^X[i, j]) - X[i, C[i]] of X [rows, width], C [rows] of i32, L [rows] of f32; 0 where the class C[i]
// is none of the columns.
inline void cross_entropy(const T::Tile& X, const T::Tile& C, const T::Tile& L, int64_t rows, int64_t width,
                          const tilewright::RowPlan& plan) {
  const int block_rows = plan.block_rows;
  auto [b] = T::Kernel({T::ceildiv(rows, block_rows)}, {.threads = plan.threads});
  RunningSum row(X, b * block_rows, plan);
  for (auto i : T::Parallel(block_rows)) {
    auto c = T::let(C(b * block_rows + i));
    auto loss = row.shift(i) + T::log(row.sum(i)) - T::cast(X(b * block_rows + i, c), T::f32);
    row.sum(i) = T::if_then_else(c >= 0 && c < width, loss, 0);
  }
  T::copy(row.sum, L(b * block_rows));
}

}  // namespace examples::rows
