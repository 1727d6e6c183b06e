#pragma once
// Products of a warp: d[m, n] += a[m, k] * b[k, n], all in registers; 32 lanes, converged. (PTX: mma.sync)
//
// The name says shape and types: mma_m16n8k16_f32_f16 accumulates f32 and multiplies f16. Where lane l with g = l / 4,
// c = l % 4 holds element i of a fragment, counted through its registers from the lower bits on:
//
//                                        row                          column
//   d, m16n8 (f32, s32: 4 registers;     g + 8 * (i / 2)              2 * c + i % 2
//     f16: 2)
//   a, m16k16, 16 bits (4)               g + 8 * (i / 2 % 2)          2 * c + i % 2 + 8 * (i / 4)
//   a, m16k8, 16 bits (2)                g + 8 * (i / 2)              2 * c + i % 2
//   a, m16k8, tf32 (4)                   g + 8 * (i % 2)              c + 4 * (i / 2)
//   a, m16k32, 8 bits (4)                g + 8 * (i / 4 % 2)          4 * c + i % 4 + 16 * (i / 8)
//   b, k16n8, 16 bits (2)                2 * c + i % 2 + 8 * (i / 2)  g
//   b, k8n8, 16 bits (1)                 2 * c + i % 2                g
//   b, k8n8, tf32 (2)                    c + 4 * i                    g
//   b, k32n8, 8 bits (2)                 4 * c + i % 4 + 16 * (i / 4) g
//   f64 m8n8k4: d (2) row g, column 2 * c + i; a (1) row g, column c; b (1) row c, column g
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

#define TW_MMA_D4 "{%0, %1, %2, %3}"
#define TW_MMA_A4_B2(NAME, OP, T, C)                                                  \
  TW_ATOM void NAME(T* d, const u32* a, const u32* b) {                               \
    asm volatile(OP " " TW_MMA_D4 ", {%4, %5, %6, %7}, {%8, %9}, " TW_MMA_D4 ";"      \
                 : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
#define TW_MMA_A2_B1(NAME, OP, T, C)                                 \
  TW_ATOM void NAME(T* d, const u32* a, const u32* b) {              \
    asm volatile(OP " " TW_MMA_D4 ", {%4, %5}, {%6}, " TW_MMA_D4 ";" \
                 : C(d[0]), C(d[1]), C(d[2]), C(d[3])                \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));                 \
  }

// ---- 16-bit floats ----

TW_MMA_A4_B2(mma_m16n8k16_f32_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", float, "+f")
TW_MMA_A4_B2(mma_m16n8k16_f32_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", float, "+f")
TW_MMA_A2_B1(mma_m16n8k8_f32_f16, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", float, "+f")
TW_MMA_A2_B1(mma_m16n8k8_f32_bf16, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", float, "+f")
// Accumulators of two packed f16.
TW_ATOM void mma_m16n8k16_f16_f16(u32* d, const u32* a, const u32* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
TW_ATOM void mma_m16n8k8_f16_f16(u32* d, const u32* a, const u32* b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

// ---- tf32 and f64 ----

TW_MMA_A4_B2(mma_m16n8k8_f32_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", float, "+f")
TW_ATOM void mma_m8n8k4_f64(double* d, const double* a, const double* b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(a[0]), "d"(b[0]));
}

// ---- 8-bit integers: sums wrap around ----

TW_MMA_A4_B2(mma_m16n8k32_s32_s8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", i32, "+r")
TW_MMA_A4_B2(mma_m16n8k32_s32_u8, "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32", i32, "+r")
TW_MMA_A4_B2(mma_m16n8k32_s32_s8_u8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", i32, "+r")
TW_MMA_A4_B2(mma_m16n8k32_s32_u8_s8, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", i32, "+r")
TW_MMA_A2_B1(mma_m16n8k16_s32_s8, "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", i32, "+r")
TW_MMA_A2_B1(mma_m16n8k16_s32_u8, "mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32", i32, "+r")

// ---- fp8. On an H200 sums are as exact as of f16, unlike those of wgmma. sm_89 ----

#if TW_CUDA_ARCH >= 890
TW_MMA_A4_B2(mma_m16n8k32_f32_e4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "+f")
TW_MMA_A4_B2(mma_m16n8k32_f32_e5m2, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", float, "+f")
TW_MMA_A4_B2(mma_m16n8k32_f32_e4m3_e5m2, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", float, "+f")
TW_MMA_A4_B2(mma_m16n8k32_f32_e5m2_e4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32", float, "+f")
#endif

#undef TW_MMA_D4
#undef TW_MMA_A4_B2
#undef TW_MMA_A2_B1

}  // namespace tilewright::device
