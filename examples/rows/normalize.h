// Norms of rows of any width, over tensors of any float dtype; sums are in f32. Each is a macro: it opens its kernels.
//
// A row of one part is read once and stays in registers; one of several parts is read again for each pass over it.
#pragma once

#include <tilewright/language.h>
#include <tilewright/tune.h>

#include <cstdint>

namespace examples::rows {

namespace T = tilewright::lang;

inline T::Expr f32(const T::Expr& x) { return T::cast(x, T::f32); }

// Y = silu(X / sqrt(mean(X^2) + eps) W) along the rows of X and Y [rows, width], W [width].
inline void rms_norm_silu(const T::Tile& X, const T::Tile& W, const T::Tile& Y, int64_t rows, int64_t width, double eps,
                          const tilewright::RowPlan& plan) {
  const int block_rows = plan.block_rows, block = plan.block_width;
  auto [b] = T::Kernel({T::ceildiv(rows, block_rows)}, {.threads = plan.threads});
  auto x = T::alloc_fragment({block_rows, block}, X.dtype());
  auto z = T::alloc_fragment({block_rows, block}, T::f32);
  auto sum = T::alloc_fragment({block_rows}, T::f32);
  T::clear(sum);
  for (auto k : T::serial(plan.num_parts)) {
    T::copy(X(b * block_rows, k * block), x);
    for (auto [i, j] : T::Parallel(block_rows, block)) z(i, j) = f32(x(i, j)) * f32(x(i, j));
    T::reduce_sum(z, sum, {.clear = false});
  }
  for (auto i : T::Parallel(block_rows)) sum(i) = T::rsqrt(sum(i) / double(width) + eps);
  for (auto k : T::serial(plan.num_parts)) {
    if (plan.num_parts > 1) T::copy(X(b * block_rows, k * block), x);
    for (auto [i, j] : T::Parallel(block_rows, block)) {
      auto v = T::let(f32(x(i, j)) * sum(i) * f32(W(k * block + j)));
      z(i, j) = v * T::sigmoid(v);
    }
    T::copy(z, Y(b * block_rows, k * block));
  }
}

// Y = (X - mean) / sqrt(variance + eps) W + B along rows; the variance is that of the differences from the mean.
// X, Y [rows, width], W, B [width]; M, R [rows] of f32 get the mean and the factor of each row.
inline void layer_norm(const T::Tile& X, const T::Tile& W, const T::Tile& B, const T::Tile& Y, const T::Tile& M,
                       const T::Tile& R, int64_t rows, int64_t width, double eps, const tilewright::RowPlan& plan) {
  const int block_rows = plan.block_rows, block = plan.block_width;
  const bool again = plan.num_parts > 1;
  auto [b] = T::Kernel({T::ceildiv(rows, block_rows)}, {.threads = plan.threads});
  auto x = T::alloc_fragment({block_rows, block}, X.dtype());
  auto z = T::alloc_fragment({block_rows, block}, T::f32);
  auto mean = T::alloc_fragment({block_rows}, T::f32), factor = T::alloc_fragment({block_rows}, T::f32);
  T::clear(mean);
  T::clear(factor);
  for (auto k : T::serial(plan.num_parts)) {
    T::copy(X(b * block_rows, k * block), x);
    T::reduce_sum(x, mean, {.clear = false});
  }
  for (auto i : T::Parallel(block_rows)) mean(i) = mean(i) / double(width);
  for (auto k : T::serial(plan.num_parts)) {
    if (again) T::copy(X(b * block_rows, k * block), x);
    for (auto [i, j] : T::Parallel(block_rows, block)) {
      auto d = T::let(T::if_then_else(k * block + j < width, f32(x(i, j)) - mean(i), 0));
      z(i, j) = d * d;
    }
    T::reduce_sum(z, factor, {.clear = false});
  }
  for (auto i : T::Parallel(block_rows)) factor(i) = T::rsqrt(factor(i) / double(width) + eps);
  for (auto k : T::serial(plan.num_parts)) {
    if (again) T::copy(X(b * block_rows, k * block), x);
    for (auto [i, j] : T::Parallel(block_rows, block)) {
      z(i, j) = (f32(x(i, j)) - mean(i)) * factor(i) * f32(W(k * block + j)) + f32(B(k * block + j));
    }
    T::copy(z, Y(b * block_rows, k * block));
  }
  T::copy(mean, M(b * block_rows));
  T::copy(factor, R(b * block_rows));
}

// What reaches X from G, the gradient of Y above: with n = (X - M) R and g = G W along a row,
// DX = R (g - mean(g) - n mean(g n)).
inline void layer_norm_backward(const T::Tile& X, const T::Tile& W, const T::Tile& G, const T::Tile& M,
                                const T::Tile& R, const T::Tile& DX, int64_t rows, int64_t width,
                                const tilewright::RowPlan& plan) {
  const int block_rows = plan.block_rows, block = plan.block_width;
  auto [b] = T::Kernel({T::ceildiv(rows, block_rows)}, {.threads = plan.threads});
  auto x = T::alloc_fragment({block_rows, block}, X.dtype()), g = T::alloc_fragment({block_rows, block}, G.dtype());
  auto z = T::alloc_fragment({block_rows, block}, T::f32), p = T::alloc_fragment({block_rows, block}, T::f32);
  auto mean = T::alloc_fragment({block_rows}, T::f32), factor = T::alloc_fragment({block_rows}, T::f32);
  auto sum = T::alloc_fragment({block_rows}, T::f32), product = T::alloc_fragment({block_rows}, T::f32);
  T::copy(M(b * block_rows), mean);
  T::copy(R(b * block_rows), factor);
  T::clear(sum);
  T::clear(product);
  for (auto k : T::serial(plan.num_parts)) {
    T::copy(X(b * block_rows, k * block), x);
    T::copy(G(b * block_rows, k * block), g);
    for (auto [i, j] : T::Parallel(block_rows, block)) {
      z(i, j) = f32(g(i, j)) * f32(W(k * block + j));
      p(i, j) = f32(g(i, j)) * f32(W(k * block + j)) * (f32(x(i, j)) - mean(i)) * factor(i);
    }
    T::reduce_sum(z, sum, {.clear = false});
    T::reduce_sum(p, product, {.clear = false});
  }
  for (auto k : T::serial(plan.num_parts)) {
    if (plan.num_parts > 1) {
      T::copy(X(b * block_rows, k * block), x);
      T::copy(G(b * block_rows, k * block), g);
    }
    for (auto [i, j] : T::Parallel(block_rows, block)) {
      auto n = T::let((f32(x(i, j)) - mean(i)) * factor(i));
      p(i, j) =
          (f32(g(i, j)) * f32(W(k * block + j)) - sum(i) / double(width) - n * product(i) / double(width)) * factor(i);
    }
    T::copy(p, DX(b * block_rows, k * block));
  }
}

// What reaches W and B: DW = sum of G (X - M) R, DB = sum of G, both over rows. Blocks add up strips of rows, whose
// sums a second kernel adds up in a fixed order, so that the same input gives the same bits.
inline void layer_norm_backward_weights(const T::Tile& X, const T::Tile& G, const T::Tile& M, const T::Tile& R,
                                        const T::Tile& DW, const T::Tile& DB, int64_t width,
                                        const tilewright::ColumnPlan& plan) {
  const int block_rows = plan.block_rows, block = plan.block_width;
  auto PW = T::alloc_global({plan.num_strips, width}, T::f32), PB = T::alloc_global({plan.num_strips, width}, T::f32);
  {
    auto [c, s] = T::Kernel({T::ceildiv(width, block), T::Expr(plan.num_strips)}, {.threads = plan.threads});
    auto x = T::alloc_fragment({block_rows, block}, X.dtype()), g = T::alloc_fragment({block_rows, block}, G.dtype());
    auto w = T::alloc_fragment({block_rows, block}, T::f32), o = T::alloc_fragment({block_rows, block}, T::f32);
    auto sum = T::alloc_fragment({block}, T::f32);
    T::clear(w);
    T::clear(o);
    for (auto k : T::serial(plan.strip_rows / block_rows)) {
      auto first = T::let(s * plan.strip_rows + k * block_rows);
      T::copy(X(first, c * block), x);
      T::copy(G(first, c * block), g);
      for (auto [i, j] : T::Parallel(block_rows, block)) {
        w(i, j) = w(i, j) + f32(g(i, j)) * (f32(x(i, j)) - M(first + i)) * R(first + i);
        o(i, j) = o(i, j) + f32(g(i, j));
      }
    }
    T::reduce_sum(w, sum, {.dim = 0});
    T::copy(sum, PW(s, c * block));
    T::reduce_sum(o, sum, {.dim = 0});
    T::copy(sum, PB(s, c * block));
  }
  constexpr int kColumns = 128;
  auto [c] = T::Kernel({T::ceildiv(width, kColumns)}, {.threads = kColumns});
  auto w = T::alloc_fragment({kColumns}, T::f32), o = T::alloc_fragment({kColumns}, T::f32);
  T::clear(w);
  T::clear(o);
  for (auto s : T::serial(plan.num_strips)) {
    for (auto j : T::Parallel(kColumns)) {
      w(j) = w(j) + PW(s, c * kColumns + j);
      o(j) = o(j) + PB(s, c * kColumns + j);
    }
  }
  T::copy(w, DW(c * kColumns));
  T::copy(o, DB(c * kColumns));
}

// RMSNorm over the channels of each position, as in a video VAE: Y = X / sqrt(mean over c of X^2 + eps) W[c], with X
// and Y [batch, channels, positions], W [channels].
inline void channel_norm(const T::Tile& X, const T::Tile& W, const T::Tile& Y, int64_t batch, int64_t channels,
                         int64_t positions, double eps, const tilewright::ColumnPlan& plan) {
  const int block_rows = plan.block_rows, block = plan.block_width;
  const int64_t parts = plan.strip_rows / block_rows;
  auto [p, n] = T::Kernel({T::ceildiv(positions, block), T::Expr(batch)}, {.threads = plan.threads});
  auto x = T::alloc_fragment({block_rows, block}, X.dtype());
  auto z = T::alloc_fragment({block_rows, block}, T::f32);
  auto sum = T::alloc_fragment({block}, T::f32);
  T::clear(sum);
  for (auto k : T::serial(parts)) {
    T::copy(X(n, k * block_rows, p * block), x);
    for (auto [i, j] : T::Parallel(block_rows, block)) z(i, j) = f32(x(i, j)) * f32(x(i, j));
    T::reduce_sum(z, sum, {.dim = 0, .clear = false});
  }
  for (auto j : T::Parallel(block)) sum(j) = T::rsqrt(sum(j) / double(channels) + eps);
  for (auto k : T::serial(parts)) {
    if (parts > 1) T::copy(X(n, k * block_rows, p * block), x);
    for (auto [i, j] : T::Parallel(block_rows, block)) z(i, j) = f32(x(i, j)) * sum(j) * f32(W(k * block_rows + i));
    T::copy(z, Y(n, k * block_rows, p * block));
  }
}

}  // namespace examples::rows
