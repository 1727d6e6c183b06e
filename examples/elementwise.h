// A gate: y = x sigmoid(g), one element after the other.
#pragma once

#include <tilewright/language.h>

#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// x, g, y [m, n], all f32. The extents are known when it is launched: one compiled kernel takes every shape.
inline T::Program elementwise(int block_m = 32, int block_n = 64) {
  return T::prim_func("elementwise", [&] {
    auto m = T::dynamic("m"), n = T::dynamic("n");
    auto x = T::tensor("x", {m, n}, T::f32);
    auto g = T::tensor("g", {m, n}, T::f32);
    auto y = T::tensor("y", {m, n}, T::f32);
    auto [bx, by] = T::Kernel({T::ceildiv(n, block_n), T::ceildiv(m, block_m)});
    for (auto [i, j] : T::Parallel(block_m, block_n)) {
      auto row = T::let(by * block_m + i), col = T::let(bx * block_n + j);
      y(row, col) = x(row, col) * T::sigmoid(g(row, col));  // outside of the shape, nothing is written
    }
  });
}

}  // namespace examples
