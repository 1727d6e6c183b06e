// The fragments of the tensor cores' instructions, written down as an author does: for each element the thread and the
// register that hold it. What passes through such tiles comes out as it went in, whoever holds it.
#pragma once

#include <tilewright/language.h>

#include <cstdint>
#include <string>
#include <utility>

namespace examples {

namespace T = tilewright::lang;

// Copies the tensor IN_<name> to OUT_<name> through a fragment tile of that name.
template <class F>
void pass_through(const T::Tile& in, const T::Tile& out, int64_t rows, int64_t cols, tilewright::DType dtype,
                  const std::string& name, const F& held) {
  auto tile = T::alloc_fragment({rows, cols}, dtype, name);
  T::annotate_layout(tile, T::Fragment({rows, cols}, held));
  T::copy(in, tile);
  T::copy(tile, out);
}

// `n` columns of a wgmma, a multiple of 8.
inline T::Program plot_layout(int64_t n = 64) {
  using T::f16, T::f32, T::Held;
  return T::prim_func("plot_layout", [&] {
    const auto tensors = [](const std::string& name, int64_t rows, int64_t cols, tilewright::DType dtype) {
      const T::Tile in = T::tensor("IN_" + name, {rows, cols}, dtype);
      return std::pair(in, T::tensor("OUT_" + name, {rows, cols}, dtype));
    };
    const auto [in_a, out_a] = tensors("mma_a", 16, 16, f16);
    const auto [in_b, out_b] = tensors("mma_b", 16, 8, f16);
    const auto [in_c, out_c] = tensors("mma_c", 16, 8, f32);
    const auto [in_m, out_m] = tensors("ldmatrix_x4", 32, 8, f16);
    const auto [in_w, out_w] = tensors("wgmma_c", 64, n, f32);
    {
      // One warp. mma.sync m16n8k16 of f16 or bf16: A [m, k], B [k, n], C [m, n].
      auto warps = T::Kernel({1}, {.threads = 32});
      pass_through(in_a, out_a, 16, 16, f16, "mma_a", [](int64_t i, int64_t k) {
        return Held{i % 8 * 4 + k % 8 / 2, k % 2 + i / 8 * 2 + k / 8 * 4};
      });
      pass_through(in_b, out_b, 16, 8, f16, "mma_b", [](int64_t k, int64_t j) {
        return Held{j * 4 + k % 8 / 2, k % 2 + k / 8 * 2};
      });
      pass_through(in_c, out_c, 16, 8, f32, "mma_c", [](int64_t i, int64_t j) {
        return Held{i % 8 * 4 + j / 2, j % 2 + i / 8 * 2};
      });
      // Four matrices of 8 x 8, one below the other.
      pass_through(in_m, out_m, 32, 8, f16, "ldmatrix_x4", [](int64_t i, int64_t j) {
        return Held{i % 8 * 4 + j / 2, j % 2 + i / 8 * 2};
      });
    }
    // One warpgroup. wgmma m64nNk*: C [m, n] in f32.
    auto warpgroups = T::Kernel({1}, {.threads = 128});
    pass_through(in_w, out_w, 64, n, f32, "wgmma_c", [](int64_t i, int64_t j) {
      return Held{i / 16 * 32 + i % 8 * 4 + j % 8 / 2, j % 2 + i / 8 % 2 * 2 + j / 8 * 4};
    });
  });
}

}  // namespace examples
