// How often each number occurs: blocks count on chip and add up their counts by atomics.
#pragma once

#include <tilewright/language.h>

#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// values [n] and counts [bins] i32, counts zero before; numbers below 0 and from `bins` on are not counted.
inline T::Program histogram(int64_t bins, int block = 4096) {
  return T::prim_func("histogram", [&] {
    auto n = T::dynamic("n");
    auto values = T::tensor("values", {n}, T::i32, {.safe_value = -1});
    auto counts = T::tensor("counts", {bins}, T::i32);
    auto [b] = T::Kernel({T::ceildiv(n, block)});
    auto mine = T::alloc_shared({bins}, T::i32);
    T::clear(mine);
    for (auto i : T::Parallel(block)) {
      auto value = T::let(values(b * block + i));
      T::if_(value >= 0 && value < bins, [&] { T::atomic_add(mine(value), 1); });
    }
    T::atomic_add(counts, mine);
  });
}

}  // namespace examples
