// Softmax and its logarithm along rows of any length: e^(x - max) / sum(e^(x - max)), or x - max - log(sum).
#pragma once

#include <tilewright/language.h>
#include <tilewright/tune.h>

#include <cstdint>
#include <limits>

namespace examples {

namespace T = tilewright::lang;

// x, y [rows, width] of `dtype`. A row of several parts is read twice: sums are kept relative to the largest element so
// far, or to 0 as long as all are minus infinity.
inline T::Program softmax(int64_t rows, int64_t width, tilewright::DType dtype = T::f32, bool logarithm = false) {
  const auto plan = tilewright::suggest_row_plan(rows, width, dtype);
  return T::prim_func(logarithm ? "log_softmax" : "softmax", [&] {
    const int block_rows = plan.block_rows, block = plan.block_width;
    const double infinity = std::numeric_limits<double>::infinity();
    auto X = T::tensor("x", {rows, width}, dtype, {.safe_value = -infinity});  // behind the end of a row: e^x = 0
    auto Y = T::tensor("y", {rows, width}, dtype);
    auto [b] = T::Kernel({T::ceildiv(rows, block_rows)}, {.threads = plan.threads});
    auto x = T::alloc_fragment({block_rows, block}, dtype);
    auto e = T::alloc_fragment({block_rows, block}, T::f32);
    auto top = T::alloc_fragment({block_rows}, T::f32), shift = T::alloc_fragment({block_rows}, T::f32);
    auto sum = T::alloc_fragment({block_rows}, T::f32), part = T::alloc_fragment({block_rows}, T::f32);
    T::fill(top, -infinity);
    T::clear(shift);
    T::clear(sum);
    for (auto k : T::serial(plan.num_parts)) {
      T::copy(X(b * block_rows, k * block), x);
      T::reduce_max(x, top, {.clear = false});
      for (auto i : T::Parallel(block_rows)) {
        auto to = T::let(T::if_then_else(top(i) == -infinity, 0, top(i)));
        sum(i) = sum(i) * T::exp(shift(i) - to);
        shift(i) = to;
      }
      for (auto [i, j] : T::Parallel(block_rows, block)) e(i, j) = T::exp(T::cast(x(i, j), T::f32) - shift(i));
      T::reduce_sum(e, part);
      for (auto i : T::Parallel(block_rows)) sum(i) = sum(i) + part(i);
    }
    for (auto i : T::Parallel(block_rows)) {
      // Of minus infinities alone the differences, and so the result, are NaN.
      sum(i) = T::if_then_else(top(i) == -infinity, T::cast(std::numeric_limits<double>::quiet_NaN(), T::f32),
                               logarithm ? shift(i) + T::log(sum(i)) : 1 / sum(i));
    }
    for (auto k : T::serial(plan.num_parts)) {
      if (plan.num_parts > 1) T::copy(X(b * block_rows, k * block), x);
      for (auto [i, j] : T::Parallel(block_rows, block)) {
        if (logarithm) {
          e(i, j) = T::cast(x(i, j), T::f32) - sum(i);
        } else if (plan.num_parts > 1) {
          e(i, j) = T::exp(T::cast(x(i, j), T::f32) - shift(i)) * sum(i);
        } else {
          e(i, j) = e(i, j) * sum(i);
        }
      }
      T::copy(e, Y(b * block_rows, k * block));
    }
  });
}

}  // namespace examples
