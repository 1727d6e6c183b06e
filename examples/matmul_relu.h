// The quickstart kernel: C = relu(A B), with tiles.
#pragma once

#include <tilewright/language.h>

#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// A [M, K], B [K, N], C [M, N], all of `dtype`; sums in f32.
inline T::Program matmul_relu(int64_t M, int64_t N, int64_t K, int block_M, int block_N, int block_K,
                              tilewright::DType dtype = T::f16) {
  return T::prim_func("matmul_relu", [&] {
    auto A = T::tensor("A", {M, K}, dtype);
    auto B = T::tensor("B", {K, N}, dtype);
    auto C = T::tensor("C", {M, N}, dtype);
    auto [bx, by] = T::Kernel({T::ceildiv(N, block_N), T::ceildiv(M, block_M)}, {.threads = 128});
    auto A_shared = T::alloc_shared({block_M, block_K}, dtype, "A_shared");
    auto B_shared = T::alloc_shared({block_K, block_N}, dtype, "B_shared");
    auto C_local = T::alloc_fragment({block_M, block_N}, T::f32, "C_local");
    T::use_swizzle(4);
    T::clear(C_local);
    for (auto ko : T::Pipelined(T::ceildiv(K, block_K), {.num_stages = 3})) {
      T::copy(A(by * block_M, ko * block_K), A_shared);
      T::copy(B(ko * block_K, bx * block_N), B_shared);
      T::gemm(A_shared, B_shared, C_local);
    }
    for (auto [i, j] : T::Parallel(block_M, block_N)) C_local(i, j) = T::max(C_local(i, j), 0);
    T::copy(C_local, C(by * block_M, bx * block_N));
  });
}

}  // namespace examples
