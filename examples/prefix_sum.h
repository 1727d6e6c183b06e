// y[i] = x[0] + ... + x[i] of any length in three kernels: sums in chunks, sums of the chunks' totals, and both
// together.
#pragma once

#include <tilewright/language.h>

#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// x, y [n] f32.
inline T::Program prefix_sum(int64_t n, int block = 1024) {
  return T::prim_func("prefix_sum", [&] {
    const int64_t chunks = (n + block - 1) / block;
    auto x = T::tensor("x", {n}, T::f32);
    auto y = T::tensor("y", {n}, T::f32);
    auto totals = T::alloc_global({chunks}, T::f32);
    {
      auto [b] = T::Kernel({T::Expr(chunks)});
      auto chunk = T::alloc_fragment({block}, T::f32);
      T::copy(x(b * block), chunk);  // zeros behind the end
      T::cumsum(chunk);
      T::copy(chunk, y(b * block));
      totals(b) = chunk(block - 1);
    }
    {
      auto one_block = T::Kernel({T::Expr(1)});
      auto sums = T::alloc_fragment({chunks}, T::f32);
      T::copy(totals, sums);
      T::cumsum(sums);
      T::copy(sums, totals);
    }
    auto [b] = T::Kernel({T::Expr(chunks)});
    auto before = T::let(T::if_then_else(b > 0, totals(b - 1), 0));
    for (auto i : T::Parallel(block)) y(b * block + i) += before;
  });
}

}  // namespace examples
