// B = A^T through tiles, so that both sides are accessed along their rows.
#pragma once

#include <tilewright/language.h>

#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// A [m, n], B [n, m] f32; extents known when it is launched.
inline T::Program transpose(int block_m = 32, int block_n = 48) {
  return T::prim_func("transpose", [&] {
    auto m = T::dynamic("m"), n = T::dynamic("n");
    auto A = T::tensor("A", {m, n}, T::f32);
    auto B = T::tensor("B", {n, m}, T::f32);
    auto [bx, by] = T::Kernel({T::ceildiv(n, block_n), T::ceildiv(m, block_m)});
    auto a = T::alloc_shared({block_m, block_n}, T::f32);
    auto b = T::alloc_shared({block_n, block_m}, T::f32);
    T::copy(A(by * block_m, bx * block_n), a);
    T::transpose(a, b);
    T::copy(b, B(bx * block_n, by * block_m));
  });
}

}  // namespace examples
