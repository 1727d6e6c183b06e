// Softmax of rows of any width, which stream through a tile of fixed size.
#pragma once

#include <tilewright/language.h>

#include <cstdint>
#include <limits>

namespace examples {

namespace T = tilewright::lang;

// X, Y [rows, width] f32.
inline T::Program online_softmax(int64_t rows, int64_t width, int block_rows = 8, int block = 256) {
  return T::prim_func("online_softmax", [&] {
    auto X = T::tensor("X", {rows, width}, T::f32, {.safe_value = -std::numeric_limits<double>::infinity()});
    auto Y = T::tensor("Y", {rows, width}, T::f32);
    auto [b] = T::Kernel({T::ceildiv(rows, block_rows)});
    auto x = T::alloc_fragment({block_rows, block}, T::f32);
    auto top = T::alloc_fragment({block_rows}, T::f32);
    auto old_top = T::alloc_fragment({block_rows}, T::f32);
    auto sum = T::alloc_fragment({block_rows}, T::f32);
    auto part = T::alloc_fragment({block_rows}, T::f32);
    T::fill(top, -T::infinity(T::f32));
    T::clear(sum);
    for (auto k : T::Pipelined(T::ceildiv(width, block), {.num_stages = 2})) {
      T::copy(X(b * block_rows, k * block), x);  // minus infinity behind the end of a row: counts as exp(-inf) = 0
      T::copy(top, old_top);
      T::reduce_max(x, top, {.clear = false});
      for (auto [i, j] : T::Parallel(block_rows, block)) x(i, j) = T::exp(x(i, j) - top(i));
      T::reduce_sum(x, part);
      // What was summed so far was relative to the old maximum.
      for (auto i : T::Parallel(block_rows)) sum(i) = sum(i) * T::exp(old_top(i) - top(i)) + part(i);
    }
    for (auto k : T::Pipelined(T::ceildiv(width, block), {.num_stages = 2})) {
      T::copy(X(b * block_rows, k * block), x);
      for (auto [i, j] : T::Parallel(block_rows, block)) x(i, j) = T::exp(x(i, j) - top(i)) / sum(i);
      T::copy(x, Y(b * block_rows, k * block));
    }
  });
}

}  // namespace examples
