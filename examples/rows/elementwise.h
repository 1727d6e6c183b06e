// Elementwise operations on tensors of any shape, as one row of `count` elements, and rotary embeddings. Each is a
// macro: it opens its kernel.
#pragma once

#include <tilewright/language.h>
#include <tilewright/tune.h>

#include <cstdint>

namespace examples::rows {

namespace T = tilewright::lang;

enum class Activation { none, silu, gelu };

inline T::Expr activated(const T::Expr& x, Activation by) {
  switch (by) {
    case Activation::silu: return x * T::sigmoid(x);
    case Activation::gelu: return x * (1 + T::erf(x * 0.70710678118654752)) / 2;  // x Phi(x)
    default: return x;
  }
}

// Y = activation(X) + R of `count` elements.
inline void activation_and_residual(const T::Tile& X, const T::Tile& R, const T::Tile& Y, int64_t count,
                                    Activation by) {
  constexpr int kThreads = 256;
  const int block = kThreads * 4 * (16 / tilewright::bytes_of(X.dtype()));
  auto [b] = T::Kernel({T::ceildiv(count, block)}, {.threads = kThreads});
  auto x = T::alloc_fragment({block}, X.dtype()), r = T::alloc_fragment({block}, R.dtype());
  auto y = T::alloc_fragment({block}, T::f32);
  T::copy(X(b * block), x);
  T::copy(R(b * block), r);
  for (auto i : T::Parallel(block)) {
    auto v = T::let(T::cast(x(i), T::f32));
    y(i) = activated(v, by) + T::cast(r(i), T::f32);
  }
  T::copy(y, Y(b * block));
}

// Rotates the pairs (X[t, h, 0, j], X[t, h, 1, j]) by angles whose cosines and sines are C[t, j] and S[t, j]: X and Y
// [tokens * heads, 2, half], C and S [tokens, half] of f32.
inline void rotary_embedding(const T::Tile& X, const T::Tile& C, const T::Tile& S, const T::Tile& Y, int64_t tokens,
                             int64_t heads, const tilewright::RowPlan& plan) {
  const int block_rows = plan.block_rows, block = plan.block_width;
  auto [b, k] = T::Kernel({T::ceildiv(tokens * heads, block_rows), T::Expr(plan.num_parts)}, {.threads = plan.threads});
  auto x = T::alloc_fragment({block_rows, block}, X.dtype()), y = T::alloc_fragment({block_rows, block}, X.dtype());
  auto p = T::alloc_fragment({block_rows, block}, T::f32), q = T::alloc_fragment({block_rows, block}, T::f32);
  const auto part = T::slice(b * block_rows, (b + 1) * block_rows), columns = T::slice(k * block, (k + 1) * block);
  T::copy(X(part, 0, columns), x);
  T::copy(X(part, 1, columns), y);
  for (auto [i, j] : T::Parallel(block_rows, block)) {
    auto token = T::let(T::floordiv(b * block_rows + i, heads)), column = T::let(k * block + j);
    auto c = T::let(C(token, column)), s = T::let(S(token, column));
    auto u = T::let(T::cast(x(i, j), T::f32)), v = T::let(T::cast(y(i, j), T::f32));
    p(i, j) = u * c - v * s;
    q(i, j) = v * c + u * s;
  }
  T::copy(p, Y(part, 0, columns));
  T::copy(q, Y(part, 1, columns));
}

}  // namespace examples::rows
