// RMSNorm and SiLU in one kernel: y = silu(x / sqrt(mean(x^2) + eps) w) along rows of any width.
#pragma once

#include <tilewright/language.h>
#include <tilewright/tune.h>

#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// x, y [rows, width], w [width], all of `dtype`; neighbouring rows of x and y are `stride` elements apart, or `width`.
// Without a plan, the rule's.
inline T::Program rms_norm_silu(int64_t rows, int64_t width, double eps = 1e-6, tilewright::DType dtype = T::f32,
                                int64_t stride = 0, tilewright::RowPlan plan = {}) {
  if (plan.block_width == 0) plan = tilewright::suggest_row_plan(rows, width, dtype);
  return T::prim_func("rms_norm_silu", [&] {
    const int block_rows = plan.block_rows, block = plan.block_width;
    const T::TensorOptions rows_apart = {.strides = {stride > 0 ? stride : width, 1}};
    auto X = T::tensor("x", {rows, width}, dtype, rows_apart);
    auto W = T::tensor("w", {width}, dtype);
    auto Y = T::tensor("y", {rows, width}, dtype, rows_apart);
    auto [b] = T::Kernel({T::ceildiv(rows, block_rows)}, {.threads = plan.threads});
    auto x = T::alloc_fragment({block_rows, block}, dtype);
    auto z = T::alloc_fragment({block_rows, block}, T::f32);
    auto sum = T::alloc_fragment({block_rows}, T::f32);
    T::clear(sum);
    for (auto k : T::serial(plan.num_parts)) {
      T::copy(X(b * block_rows, k * block), x);
      for (auto [i, j] : T::Parallel(block_rows, block)) z(i, j) = T::cast(x(i, j), T::f32) * x(i, j);
      T::reduce_sum(z, sum, {.clear = false});
    }
    for (auto i : T::Parallel(block_rows)) sum(i) = T::rsqrt(sum(i) / double(width) + eps);
    for (auto k : T::serial(plan.num_parts)) {
      if (plan.num_parts > 1) T::copy(X(b * block_rows, k * block), x);
      for (auto [i, j] : T::Parallel(block_rows, block)) {
        auto v = T::let(T::cast(x(i, j), T::f32) * sum(i) * W(k * block + j));
        z(i, j) = v * T::sigmoid(v);
      }
      T::copy(z, Y(b * block_rows, k * block));
    }
  });
}

}  // namespace examples
