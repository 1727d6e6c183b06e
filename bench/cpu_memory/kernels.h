// The row operations that are timed, one source each for every width. X and Y are [rows, width], f32, row-major.
#pragma once

#include <tilewright/language.h>
#include <tilewright/tune.h>

namespace bench {

namespace T = tilewright::lang;

// Y = X / sqrt(mean(X^2) + epsilon) * W along a row.
inline constexpr double kEpsilon = 1e-5;

inline T::Program rms_norm(int64_t rows, int64_t width, int block_rows) {
  return T::prim_func("rms_norm", [&] {
    auto X = T::tensor("X", {rows, width}, T::f32);
    auto W = T::tensor("W", {width}, T::f32);
    auto Y = T::tensor("Y", {rows, width}, T::f32);
    auto [b] = T::Kernel({T::ceildiv(rows, block_rows)});
    auto x = T::alloc_fragment({block_rows, width}, T::f32);
    auto square = T::alloc_fragment({block_rows, width}, T::f32);
    auto scale = T::alloc_fragment({block_rows}, T::f32);
    T::copy(X(b * block_rows, 0), x);
    for (auto [i, j] : T::Parallel(block_rows, width)) square(i, j) = x(i, j) * x(i, j);
    T::reduce_sum(square, scale);
    for (auto i : T::Parallel(block_rows)) scale(i) = T::rsqrt(scale(i) / double(width) + kEpsilon);
    for (auto [i, j] : T::Parallel(block_rows, width)) x(i, j) = x(i, j) * scale(i) * W(j);
    T::copy(x, Y(b * block_rows, 0));
  });
}

// Y = e^(X - max) / sum(e^(X - max)) along a row.
inline T::Program softmax(int64_t rows, int64_t width, int block_rows) {
  return T::prim_func("softmax", [&] {
    auto X = T::tensor("X", {rows, width}, T::f32);
    auto Y = T::tensor("Y", {rows, width}, T::f32);
    auto [b] = T::Kernel({T::ceildiv(rows, block_rows)});
    auto x = T::alloc_fragment({block_rows, width}, T::f32);
    auto top = T::alloc_fragment({block_rows}, T::f32);
    auto sum = T::alloc_fragment({block_rows}, T::f32);
    T::copy(X(b * block_rows, 0), x);
    T::reduce_max(x, top);
    for (auto [i, j] : T::Parallel(block_rows, width)) x(i, j) = T::exp(x(i, j) - top(i));
    T::reduce_sum(x, sum);
    for (auto [i, j] : T::Parallel(block_rows, width)) x(i, j) = x(i, j) * (1 / sum(i));
    T::copy(x, Y(b * block_rows, 0));
  });
}

// Y = max(X + R + bias, 0): two inputs, one output, one broadcast row.
inline T::Program elementwise(int64_t rows, int64_t width, int block_rows) {
  return T::prim_func("elementwise", [&] {
    auto X = T::tensor("X", {rows, width}, T::f32);
    auto R = T::tensor("R", {rows, width}, T::f32);
    auto bias = T::tensor("bias", {width}, T::f32);
    auto Y = T::tensor("Y", {rows, width}, T::f32);
    auto [b] = T::Kernel({T::ceildiv(rows, block_rows)});
    auto x = T::alloc_fragment({block_rows, width}, T::f32);
    auto r = T::alloc_fragment({block_rows, width}, T::f32);
    T::copy(X(b * block_rows, 0), x);
    T::copy(R(b * block_rows, 0), r);
    for (auto [i, j] : T::Parallel(block_rows, width)) x(i, j) = T::max(x(i, j) + r(i, j) + bias(j), 0);
    T::copy(x, Y(b * block_rows, 0));
  });
}

// S = sum or max of X along a row.
inline T::Program reduce(int64_t rows, int64_t width, int block_rows, bool max) {
  return T::prim_func(max ? "reduce_max" : "reduce_sum", [&] {
    auto X = T::tensor("X", {rows, width}, T::f32);
    auto S = T::tensor("S", {rows}, T::f32);
    auto [b] = T::Kernel({T::ceildiv(rows, block_rows)});
    auto x = T::alloc_fragment({block_rows, width}, T::f32);
    auto s = T::alloc_fragment({block_rows}, T::f32);
    T::copy(X(b * block_rows, 0), x);
    if (max)
      T::reduce_max(x, s);
    else
      T::reduce_sum(x, s);
    T::copy(s, S(b * block_rows));
  });
}

}  // namespace bench
