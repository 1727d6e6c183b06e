#pragma once
// Arithmetic that the language does not have: fast approximations and two 16-bit floats at a time.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// ---- f32 approximations: one instruction each. The bounds are the manual's. ----

#define TW_UNARY(NAME, OP)                   \
  TW_ATOM float NAME(float x) {              \
    float out;                               \
    asm(OP " %0, %1;" : "=f"(out) : "f"(x)); \
    return out;                              \
  }
TW_UNARY(exp2_approx, "ex2.approx.ftz.f32")     // relative error 2^-22.5; subnormal results are 0
TW_UNARY(log2_approx, "lg2.approx.ftz.f32")     // absolute error 2^-22 on [1/2, 2], relative 2^-22 elsewhere
TW_UNARY(rcp_approx, "rcp.approx.ftz.f32")      // 1 ulp
TW_UNARY(rsqrt_approx, "rsqrt.approx.ftz.f32")  // relative error 2^-22.9
TW_UNARY(sqrt_approx, "sqrt.approx.ftz.f32")    // relative error 2^-23
TW_UNARY(tanh_approx, "tanh.approx.f32")        // relative error 2^-11
TW_UNARY(sin_approx, "sin.approx.ftz.f32")      // absolute error 2^-20.5 on [-pi, pi]
TW_UNARY(cos_approx, "cos.approx.ftz.f32")      // absolute error 2^-20.5 on [-pi, pi]
#undef TW_UNARY

// NaN where an operand is NaN. The language's fmaxf gives the other operand. (PTX: max.NaN, min.NaN, sm_80)
TW_ATOM float max_nan(float a, float b) {
  float out;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(out) : "f"(a), "f"(b));
  return out;
}
TW_ATOM float min_nan(float a, float b) {
  float out;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(out) : "f"(a), "f"(b));
  return out;
}

// ---- Two 16-bit floats in a register. Rounded once, to nearest even. (PTX: half precision instructions) ----

#define TW_UNARY2(NAME, OP)                  \
  TW_ATOM u32 NAME(u32 x) {                  \
    u32 out;                                 \
    asm(OP " %0, %1;" : "=r"(out) : "r"(x)); \
    return out;                              \
  }
#define TW_BINARY2(NAME, OP)                             \
  TW_ATOM u32 NAME(u32 a, u32 b) {                       \
    u32 out;                                             \
    asm(OP " %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b)); \
    return out;                                          \
  }
#define TW_TERNARY2(NAME, OP)                                        \
  TW_ATOM u32 NAME(u32 a, u32 b, u32 c) {                            \
    u32 out;                                                         \
    asm(OP " %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(c)); \
    return out;                                                      \
  }
TW_BINARY2(add_f16x2, "add.rn.f16x2")
TW_BINARY2(sub_f16x2, "sub.rn.f16x2")
TW_BINARY2(mul_f16x2, "mul.rn.f16x2")
TW_TERNARY2(fma_f16x2, "fma.rn.f16x2")
TW_TERNARY2(fma_relu_f16x2, "fma.rn.relu.f16x2")
TW_BINARY2(max_f16x2, "max.f16x2")  // of a number and NaN the number
TW_BINARY2(min_f16x2, "min.f16x2")
TW_BINARY2(max_nan_f16x2, "max.NaN.f16x2")
TW_BINARY2(min_nan_f16x2, "min.NaN.f16x2")
TW_UNARY2(neg_f16x2, "neg.f16x2")
TW_UNARY2(abs_f16x2, "abs.f16x2")
TW_UNARY2(exp2_f16x2, "ex2.approx.f16x2")   // relative error 2^-9.9
TW_UNARY2(tanh_f16x2, "tanh.approx.f16x2")  // absolute error 2^-10.987

TW_TERNARY2(fma_bf16x2, "fma.rn.bf16x2")
TW_TERNARY2(fma_relu_bf16x2, "fma.rn.relu.bf16x2")
TW_BINARY2(max_bf16x2, "max.bf16x2")
TW_BINARY2(min_bf16x2, "min.bf16x2")
TW_BINARY2(max_nan_bf16x2, "max.NaN.bf16x2")
TW_BINARY2(min_nan_bf16x2, "min.NaN.bf16x2")
TW_UNARY2(neg_bf16x2, "neg.bf16x2")
TW_UNARY2(abs_bf16x2, "abs.bf16x2")
#if TW_CUDA_ARCH >= 900
TW_BINARY2(add_bf16x2, "add.rn.bf16x2")
TW_BINARY2(sub_bf16x2, "sub.rn.bf16x2")
TW_BINARY2(mul_bf16x2, "mul.rn.bf16x2")
TW_UNARY2(exp2_bf16x2, "ex2.approx.ftz.bf16x2")  // relative error 2^-7
TW_UNARY2(tanh_bf16x2, "tanh.approx.bf16x2")     // absolute error 2^-8 (measured on an H200: 1.0001 * 2^-8)
#else
// sm_80 has the fused product alone: with 1, and with -0, which changes no sum, not even that of zeros.
TW_ATOM u32 add_bf16x2(u32 a, u32 b) { return fma_bf16x2(a, 0x3f803f80, b); }
TW_ATOM u32 sub_bf16x2(u32 a, u32 b) { return fma_bf16x2(b, 0xbf80bf80, a); }
TW_ATOM u32 mul_bf16x2(u32 a, u32 b) { return fma_bf16x2(a, b, 0x80008000); }
#endif
#undef TW_UNARY2
#undef TW_BINARY2
#undef TW_TERNARY2

// ---- Two f32: one instruction from sm_100 on, two before; the results are the same. (PTX: add, mul, fma .f32x2) ----

#if TW_CUDA_ARCH >= 1000
#define TW_F32X2(OP) asm(OP " %0, %1, %2;" : "=l"(out) : "l"(a), "l"(b))
TW_ATOM u64 add_f32x2(u64 a, u64 b) {
  u64 out;
  TW_F32X2("add.rn.f32x2");
  return out;
}
TW_ATOM u64 mul_f32x2(u64 a, u64 b) {
  u64 out;
  TW_F32X2("mul.rn.f32x2");
  return out;
}
#undef TW_F32X2
TW_ATOM u64 fma_f32x2(u64 a, u64 b, u64 c) {
  u64 out;
  asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(out) : "l"(a), "l"(b), "l"(c));
  return out;
}
#else
TW_ATOM u64 pack_f32(float low, float high) { return pack32(bits_of(low), bits_of(high)); }
TW_ATOM u64 add_f32x2(u64 a, u64 b) {
  return pack_f32(__fadd_rn(float_of(low32(a)), float_of(low32(b))),
                  __fadd_rn(float_of(high32(a)), float_of(high32(b))));
}
TW_ATOM u64 mul_f32x2(u64 a, u64 b) {
  return pack_f32(__fmul_rn(float_of(low32(a)), float_of(low32(b))),
                  __fmul_rn(float_of(high32(a)), float_of(high32(b))));
}
TW_ATOM u64 fma_f32x2(u64 a, u64 b, u64 c) {
  return pack_f32(__fmaf_rn(float_of(low32(a)), float_of(low32(b)), float_of(low32(c))),
                  __fmaf_rn(float_of(high32(a)), float_of(high32(b)), float_of(high32(c))));
}
#endif

}  // namespace tilewright::device
