#pragma once
// Conversions between element types. All round to nearest even and keep NaN, unless said otherwise. (PTX: cvt)
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// ---- f16 and bf16 ----

TW_ATOM u16 f16_from_f32(float x) {
  u16 out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(x));
  return out;
}
TW_ATOM float f32_from_f16(u16 x) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x));
  return out;
}
TW_ATOM u16 bf16_from_f32(float x) {
  u16 out;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out) : "f"(x));
  return out;
}
TW_ATOM float f32_from_bf16(u16 x) { return float_of(u32(x) << 16); }

#define TW_PACK(NAME, OP)                                     \
  TW_ATOM u32 NAME(float low, float high) {                   \
    u32 out;                                                  \
    asm(OP " %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low)); \
    return out;                                               \
  }
TW_PACK(f16x2_from_f32, "cvt.rn.f16x2.f32")
TW_PACK(bf16x2_from_f32, "cvt.rn.bf16x2.f32")
// The same of max(x, 0): an activation for nothing. NaN stays NaN.
TW_PACK(f16x2_from_f32_relu, "cvt.rn.relu.f16x2.f32")
TW_PACK(bf16x2_from_f32_relu, "cvt.rn.relu.bf16x2.f32")
#undef TW_PACK

TW_ATOM void f32_from_f16x2(float* out, u32 x) {
  out[0] = f32_from_f16(low16(x));
  out[1] = f32_from_f16(high16(x));
}
TW_ATOM void f32_from_bf16x2(float* out, u32 x) {
  out[0] = float_of(x << 16);
  out[1] = float_of(x & 0xffff0000);
}

// ---- tf32: a float whose mantissa has 10 bits ----

// Round to nearest, ties away from zero. Products take tf32 registers as they are and ignore the lower bits.
TW_ATOM u32 tf32_from_f32(float x) {
  u32 out;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(x));
  return out;
}

// ---- fp8: two in a u16. Values beyond the range become the largest finite ones (satfinite). sm_89 ----

#if TW_CUDA_ARCH >= 890
#define TW_PACK8(NAME, OP)                                    \
  TW_ATOM u16 NAME(float low, float high) {                   \
    u16 out;                                                  \
    asm(OP " %0, %1, %2;" : "=h"(out) : "f"(high), "f"(low)); \
    return out;                                               \
  }
TW_PACK8(e4m3x2_from_f32, "cvt.rn.satfinite.e4m3x2.f32")
TW_PACK8(e5m2x2_from_f32, "cvt.rn.satfinite.e5m2x2.f32")
TW_PACK8(e4m3x2_from_f32_relu, "cvt.rn.satfinite.relu.e4m3x2.f32")
TW_PACK8(e5m2x2_from_f32_relu, "cvt.rn.satfinite.relu.e5m2x2.f32")
#undef TW_PACK8

#define TW_CONVERT8(NAME, OP, OUT, OUT_CONSTRAINT, IN, IN_CONSTRAINT) \
  TW_ATOM OUT NAME(IN x) {                                            \
    OUT out;                                                          \
    asm(OP " %0, %1;" : OUT_CONSTRAINT(out) : IN_CONSTRAINT(x));      \
    return out;                                                       \
  }
TW_CONVERT8(e4m3x2_from_f16x2, "cvt.rn.satfinite.e4m3x2.f16x2", u16, "=h", u32, "r")
TW_CONVERT8(e5m2x2_from_f16x2, "cvt.rn.satfinite.e5m2x2.f16x2", u16, "=h", u32, "r")
// Exact.
TW_CONVERT8(f16x2_from_e4m3x2, "cvt.rn.f16x2.e4m3x2", u32, "=r", u16, "h")
TW_CONVERT8(f16x2_from_e5m2x2, "cvt.rn.f16x2.e5m2x2", u32, "=r", u16, "h")
#undef TW_CONVERT8
#endif

// ---- Bytes and bits ----

// Bytes of the eight in {a: 0..3, b: 4..7}, chosen by four digits of `selector`, lowest first. (PTX: prmt)
TW_ATOM u32 permute_bytes(u32 a, u32 b, u32 selector) { return __byte_perm(a, b, selector); }

// A function of three bits in each position; bit (a * 4 + b * 2 + c) of the table is its value. (PTX: lop3)
template <u32 kTable>
TW_ATOM u32 logic3(u32 a, u32 b, u32 c) {
  u32 out;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(out) : "r"(a), "r"(b), "r"(c), "n"(kTable));
  return out;
}

// The 8-bit integers of `x` multiplied with those of `y` and added to `sum`. (PTX: dp4a)
TW_ATOM i32 dot4(u32 x, u32 y, i32 sum) {
  i32 out;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(out) : "r"(x), "r"(y), "r"(sum));
  return out;
}

}  // namespace tilewright::device
