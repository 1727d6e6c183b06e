// Programs of several tests of the simulator.
#pragma once

#include <tilewright/language.h>

namespace tilewright::test {

// A copy of 8 x 16 numbers by way of shared memory, fewer pieces of 16 bytes than threads.
inline Program one_tile() {
  namespace T = tilewright::lang;
  return T::prim_func("one_tile", [] {
    auto A = T::tensor("A", {8, 16}, T::f32);
    auto B = T::tensor("B", {8, 16}, T::f32);
    auto blocks = T::Kernel({1}, {.threads = 128});
    auto tile = T::alloc_shared({8, 16}, T::f32);
    T::copy(A(0, 0), tile);
    T::copy(tile, B(0, 0));
  });
}

}  // namespace tilewright::test
