// RMSNorm and SiLU in one kernel: y = silu(x / sqrt(mean(x^2) + eps) w) along rows of any width.
#pragma once

#include <tilewright/language.h>

#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// x, y [rows, width], w [width], all f32. A block has whole rows on chip.
inline T::Program rms_norm_silu(int64_t rows, int64_t width, double eps = 1e-6, int block_rows = 4) {
  return T::prim_func("rms_norm_silu", [&] {
    auto X = T::tensor("x", {rows, width}, T::f32);
    auto W = T::tensor("w", {width}, T::f32);
    auto Y = T::tensor("y", {rows, width}, T::f32);
    auto [b] = T::Kernel({T::ceildiv(rows, block_rows)});
    auto x = T::alloc_fragment({block_rows, width}, T::f32);
    auto square = T::alloc_fragment({block_rows, width}, T::f32);
    auto sum = T::alloc_fragment({block_rows}, T::f32);
    T::copy(X(b * block_rows, 0), x);
    for (auto [i, j] : T::Parallel(block_rows, width)) square(i, j) = x(i, j) * x(i, j);
    T::reduce_sum(square, sum);
    for (auto i : T::Parallel(block_rows)) sum(i) = T::rsqrt(sum(i) / double(width) + eps);
    for (auto [i, j] : T::Parallel(block_rows, width)) {
      auto z = T::let(x(i, j) * sum(i) * W(j));
      x(i, j) = z * T::sigmoid(z);
    }
    T::copy(x, Y(b * block_rows, 0));
  });
}

}  // namespace examples
