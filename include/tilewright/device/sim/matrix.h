#pragma once
// PTX: ldmatrix, stmatrix, movmatrix. The simulator holds who gets which element.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

namespace sim {
inline void load_matrix(u32* to, u32 row, u32 num, bool transposed, int line) {
  Lane lane{kFullMask};
  lane.n = num;
  lane.transposed = transposed;
  lane.address = row;
  lane.d = to;
  hooks->warp(WarpOp::load_matrix, &lane, line);
}
inline void store_matrix(u32 row, const u32* x, u32 num, bool transposed, int line) {
  Lane lane{kFullMask};
  lane.n = num;
  lane.transposed = transposed;
  lane.address = row;
  lane.a = x;
  hooks->warp(WarpOp::store_matrix, &lane, line);
}
}  // namespace sim

#define TW_MATRIX_LOADS(SUFFIX, TRANSPOSED)                            \
  TW_ATOM void load_matrix_x1##SUFFIX(u32* to, u32 row, TW_SIM_LINE) { \
    sim::load_matrix(to, row, 1, TRANSPOSED, line);                    \
  }                                                                    \
  TW_ATOM void load_matrix_x2##SUFFIX(u32* to, u32 row, TW_SIM_LINE) { \
    sim::load_matrix(to, row, 2, TRANSPOSED, line);                    \
  }                                                                    \
  TW_ATOM void load_matrix_x4##SUFFIX(u32* to, u32 row, TW_SIM_LINE) { sim::load_matrix(to, row, 4, TRANSPOSED, line); }
TW_MATRIX_LOADS(, false)
TW_MATRIX_LOADS(_transposed, true)
#undef TW_MATRIX_LOADS

#if TW_CUDA_ARCH >= 900
#define TW_MATRIX_STORES(SUFFIX, TRANSPOSED)                                 \
  TW_ATOM void store_matrix_x1##SUFFIX(u32 row, const u32* x, TW_SIM_LINE) { \
    sim::store_matrix(row, x, 1, TRANSPOSED, line);                          \
  }                                                                          \
  TW_ATOM void store_matrix_x2##SUFFIX(u32 row, const u32* x, TW_SIM_LINE) { \
    sim::store_matrix(row, x, 2, TRANSPOSED, line);                          \
  }                                                                          \
  TW_ATOM void store_matrix_x4##SUFFIX(u32 row, const u32* x, TW_SIM_LINE) { \
    sim::store_matrix(row, x, 4, TRANSPOSED, line);                          \
  }
TW_MATRIX_STORES(, false)
TW_MATRIX_STORES(_transposed, true)
#undef TW_MATRIX_STORES
#endif

TW_ATOM u32 transpose_matrix(u32 x, TW_SIM_LINE) {
  return sim::in_warp(sim::WarpOp::transpose, kFullMask, x, 0, 32, line);
}

}  // namespace tilewright::device
