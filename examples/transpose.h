// B = A^T through tiles, so that both sides are accessed along their rows.
#pragma once

#include <tilewright/language.h>

#include <algorithm>
#include <cstdint>

namespace examples {

namespace T = tilewright::lang;

// A [m, n], B [n, m] of `dtype`. A word behind each row of the tile lets the threads of a warp read its columns, and
// write its rows, in different memory banks.
inline void transpose(const T::Expr& m, const T::Expr& n, int block_m, int block_n, tilewright::DType dtype) {
  auto A = T::tensor("A", {m, n}, dtype);
  auto B = T::tensor("B", {n, m}, dtype);
  auto [bx, by] = T::Kernel({T::ceildiv(n, block_n), T::ceildiv(m, block_m)}, {.threads = 256});
  auto tile = T::alloc_shared({block_m, block_n}, dtype);
  auto rows = T::alloc_fragment({block_m, block_n}, dtype), columns = T::alloc_fragment({block_n, block_m}, dtype);
  T::annotate_layout(tile, T::make_padded_layout(tile, std::max(1, 4 / tilewright::bytes_of(dtype))));
  T::copy(A(by * block_m, bx * block_n), rows);
  T::copy(rows, tile);
  T::transpose(tile, columns);
  T::copy(columns, B(bx * block_n, by * block_m));
}

// Of extents that are known when it is launched.
inline T::Program transpose(int block_m = 64, int block_n = 48, tilewright::DType dtype = T::f32) {
  return T::prim_func("transpose", [&] { transpose(T::dynamic("m"), T::dynamic("n"), block_m, block_n, dtype); });
}

// Of extents that are known now, so that rows which begin at multiples of 16 bytes are moved in such pieces.
inline T::Program transpose(int64_t m, int64_t n, tilewright::DType dtype) {
  const int block = dtype == T::f32 ? 64 : 128 / std::max(1, tilewright::bytes_of(dtype));
  return T::prim_func("transpose", [&] { transpose(T::Expr(m), T::Expr(n), block, block, dtype); });
}

}  // namespace examples
