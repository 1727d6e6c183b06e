#pragma once
// Matrices of 8 rows of 16 bytes between shared memory and the registers of a warp. All 32 lanes take part, converged.
//
// Lane i gives the address of a row, a multiple of 16: lanes 0-7 those of matrix 0, 8-15 of matrix 1, and so on; with
// fewer matrices the other lanes' addresses do not matter. Of each matrix of 16-bit elements lane l holds row l / 4,
// columns 2 * (l % 4) and the next; `transposed`, column l / 4, rows 2 * (l % 4) and the next.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

#define TW_MATRIX_LOADS(SUFFIX, TRANS)                                                                                 \
  TW_ATOM void load_matrix_x1##SUFFIX(u32* to, u32 row) {                                                              \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" TRANS ".shared.b16 {%0}, [%1];" : "=r"(to[0]) : "r"(row) : "memory"); \
  }                                                                                                                    \
  TW_ATOM void load_matrix_x2##SUFFIX(u32* to, u32 row) {                                                              \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 {%0, %1}, [%2];"                                   \
                 : "=r"(to[0]), "=r"(to[1])                                                                            \
                 : "r"(row)                                                                                            \
                 : "memory");                                                                                          \
  }                                                                                                                    \
  TW_ATOM void load_matrix_x4##SUFFIX(u32* to, u32 row) {                                                              \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 {%0, %1, %2, %3}, [%4];"                           \
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])                                                  \
                 : "r"(row)                                                                                            \
                 : "memory");                                                                                          \
  }
// PTX: ldmatrix
TW_MATRIX_LOADS(, "")
TW_MATRIX_LOADS(_transposed, ".trans")
#undef TW_MATRIX_LOADS

#if TW_CUDA_ARCH >= 900
#define TW_MATRIX_STORES(SUFFIX, TRANS)                                                                               \
  TW_ATOM void store_matrix_x1##SUFFIX(u32 row, const u32* x) {                                                       \
    asm volatile("stmatrix.sync.aligned.m8n8.x1" TRANS ".shared.b16 [%0], {%1};" : : "r"(row), "r"(x[0]) : "memory"); \
  }                                                                                                                   \
  TW_ATOM void store_matrix_x2##SUFFIX(u32 row, const u32* x) {                                                       \
    asm volatile("stmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 [%0], {%1, %2};"                                  \
                 :                                                                                                    \
                 : "r"(row), "r"(x[0]), "r"(x[1])                                                                     \
                 : "memory");                                                                                         \
  }                                                                                                                   \
  TW_ATOM void store_matrix_x4##SUFFIX(u32 row, const u32* x) {                                                       \
    asm volatile("stmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 [%0], {%1, %2, %3, %4};"                          \
                 :                                                                                                    \
                 : "r"(row), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])                                               \
                 : "memory");                                                                                         \
  }
// PTX: stmatrix
TW_MATRIX_STORES(, "")
TW_MATRIX_STORES(_transposed, ".trans")
#undef TW_MATRIX_STORES
#endif

// Transposes an 8 x 8 matrix of 16-bit elements in registers. (PTX: movmatrix)
TW_ATOM u32 transpose_matrix(u32 x) {
  u32 out;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(x));
  return out;
}

}  // namespace tilewright::device
