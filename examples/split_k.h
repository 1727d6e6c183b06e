// C = A B where k is divided among blocks, too: one program of two kernels with a workspace between them.
#pragma once

#include <tilewright/language.h>

#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// A [M, K], B [K, N], C [M, N], all f32.
inline T::Program split_k(int64_t M, int64_t N, int64_t K, int splits = 4, int block = 64, int block_K = 32) {
  return T::prim_func("split_k", [&] {
    auto A = T::tensor("A", {M, K}, T::f32);
    auto B = T::tensor("B", {K, N}, T::f32);
    auto C = T::tensor("C", {M, N}, T::f32);
    auto parts = T::alloc_global({splits, M, N}, T::f32);
    const int64_t steps = (K + splits * block_K - 1) / (splits * block_K);  // of each split; beyond K there are zeros
    {
      auto [bx, by, s] = T::Kernel({T::ceildiv(N, block), T::ceildiv(M, block), splits});
      auto a = T::alloc_shared({block, block_K}, T::f32);
      auto b = T::alloc_shared({block_K, block}, T::f32);
      auto c = T::alloc_fragment({block, block}, T::f32);
      T::clear(c);
      for (auto ko : T::Pipelined(s * steps, s * steps + steps, {.num_stages = 2})) {
        T::copy(A(by * block, ko * block_K), a);
        T::copy(B(ko * block_K, bx * block), b);
        T::gemm(a, b, c);
      }
      T::copy(c, parts(s, by * block, bx * block));
    }
    auto [bx, by] = T::Kernel({T::ceildiv(N, block), T::ceildiv(M, block)});
    auto part = T::alloc_fragment({block, block}, T::f32);
    auto sum = T::alloc_fragment({block, block}, T::f32);
    T::clear(sum);
    for (auto s : T::serial(splits)) {
      T::copy(parts(s, by * block, bx * block), part);
      for (auto [i, j] : T::Parallel(block, block)) sum(i, j) += part(i, j);
    }
    T::copy(sum, C(by * block, bx * block));
  });
}

}  // namespace examples
