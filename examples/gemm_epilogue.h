// A linear layer: Y = relu(X W^T + bias) + R, all in the epilogue of one product.
#pragma once

#include <tilewright/language.h>

#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// X [M, K], W [N, K], bias [N], R and Y [M, N], all f32.
inline T::Program gemm_epilogue(int64_t M, int64_t N, int64_t K, int block_M = 64, int block_N = 96, int block_K = 32) {
  return T::prim_func("gemm_epilogue", [&] {
    auto X = T::tensor("X", {M, K}, T::f32);
    auto W = T::tensor("W", {N, K}, T::f32);
    auto bias = T::tensor("bias", {N}, T::f32);
    auto R = T::tensor("R", {M, N}, T::f32);
    auto Y = T::tensor("Y", {M, N}, T::f32);
    auto [bx, by] = T::Kernel({T::ceildiv(N, block_N), T::ceildiv(M, block_M)});
    auto x = T::alloc_shared({block_M, block_K}, T::f32);
    auto w = T::alloc_shared({block_N, block_K}, T::f32);
    auto y = T::alloc_fragment({block_M, block_N}, T::f32);
    auto r = T::alloc_fragment({block_M, block_N}, T::f32);
    T::clear(y);
    for (auto ko : T::Pipelined(T::ceildiv(K, block_K), {.num_stages = 2})) {
      T::copy(X(by * block_M, ko * block_K), x);
      T::copy(W(bx * block_N, ko * block_K), w);
      T::gemm(x, w, y, {.transpose_B = true});
    }
    T::copy(R(by * block_M, bx * block_N), r);
    for (auto [i, j] : T::Parallel(block_M, block_N)) {
      y(i, j) = T::max(y(i, j) + bias(bx * block_N + j), 0) + r(i, j);
    }
    T::copy(y, Y(by * block_M, bx * block_N));
  });
}

}  // namespace examples
