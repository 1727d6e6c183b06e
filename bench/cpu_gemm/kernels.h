// The matrix products that are timed: C [m, n] = f(op(A) op(B)), f32.
#pragma once

#include <tilewright/language.h>
#include <tilewright/tune.h>

namespace bench {

namespace T = tilewright::lang;

struct GemmCase {
  int64_t m, n, k;
  tilewright::GemmTile tile;
  bool transpose_A = false;  // A is [k, m]
  bool transpose_B = false;  // B is [n, k]
  bool epilogue = false;     // gelu(A B + bias)
  bool dynamic = false;      // extents known at launch only
};

inline T::Program gemm_program(const GemmCase& c) {
  return T::prim_func("gemm", [&] {
    const T::Expr m = c.dynamic ? T::dynamic("m") : T::Expr(c.m), n = c.dynamic ? T::dynamic("n") : T::Expr(c.n);
    const T::Expr k = c.dynamic ? T::dynamic("k") : T::Expr(c.k);
    const int bm = c.tile.block_m, bn = c.tile.block_n, bk = c.tile.block_k;
    auto A = c.transpose_A ? T::tensor("A", {k, m}, T::f32) : T::tensor("A", {m, k}, T::f32);
    auto B = c.transpose_B ? T::tensor("B", {n, k}, T::f32) : T::tensor("B", {k, n}, T::f32);
    auto C = T::tensor("C", {m, n}, T::f32);
    auto bias = T::tensor("bias", {n}, T::f32);
    auto [bx, by] = T::Kernel({T::ceildiv(n, bn), T::ceildiv(m, bm)});
    auto A_shared =
        c.transpose_A ? T::alloc_shared({bk, bm}, T::f32, "A_shared") : T::alloc_shared({bm, bk}, T::f32, "A_shared");
    auto B_shared =
        c.transpose_B ? T::alloc_shared({bn, bk}, T::f32, "B_shared") : T::alloc_shared({bk, bn}, T::f32, "B_shared");
    auto bias_shared = T::alloc_shared({bn}, T::f32, "bias_shared");
    auto C_local = T::alloc_fragment({bm, bn}, T::f32, "C_local");
    T::clear(C_local);
    for (auto ko : T::Pipelined(T::ceildiv(k, bk), {.num_stages = 2})) {
      T::copy(c.transpose_A ? A(ko * bk, by * bm) : A(by * bm, ko * bk), A_shared);
      T::copy(c.transpose_B ? B(bx * bn, ko * bk) : B(ko * bk, bx * bn), B_shared);
      T::gemm(A_shared, B_shared, C_local, {.transpose_A = c.transpose_A, .transpose_B = c.transpose_B});
    }
    if (c.epilogue) {
      T::copy(bias(bx * bn), bias_shared);
      for (auto [i, j] : T::Parallel(bm, bn)) {
        auto x = T::let(C_local(i, j) + bias_shared(j));
        C_local(i, j) = 0.5 * x * (1 + T::erf(x * 0.70710678118654752));
      }
    }
    T::copy(C_local, C(by * bm, bx * bn));
  });
}

}  // namespace bench
