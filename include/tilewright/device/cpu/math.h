#pragma once
// The functions of the language by name, for f32 and f64 where they are of floats. Those of vector_math.h vectorise;
// what is not here is a call of libm in the generated text. Largest error anywhere: 4 ulp.
#include "scalar.h"
#include "vector_math.h"

namespace tilewright::device::cpu {

TW_INLINE float floor(float x) { return __builtin_floorf(x); }
TW_INLINE double floor(double x) { return __builtin_floor(x); }
TW_INLINE float ceil(float x) { return __builtin_ceilf(x); }
TW_INLINE double ceil(double x) { return __builtin_ceil(x); }
TW_INLINE float round(float x) { return __builtin_rintf(x); }  // to nearest even, in the default rounding mode
TW_INLINE double round(double x) { return __builtin_rint(x); }
TW_INLINE float trunc(float x) { return __builtin_truncf(x); }
TW_INLINE double trunc(double x) { return __builtin_trunc(x); }
TW_INLINE float exp10(float x) { return __builtin_powf(10.0f, x); }
TW_INLINE double exp10(double x) { return __builtin_pow(10.0, x); }

template <class F>
TW_INLINE bool isnan(F x) {
  return x != x;
}
TW_INLINE float abs(float x) { return __builtin_fabsf(x); }
TW_INLINE double abs(double x) { return __builtin_fabs(x); }
template <class I>
TW_INLINE I abs(I x) {
  return x < I(0) ? I(-x) : x;
}

// 1 / (1 + e^-x), from e^-|x|, which neither overflows nor loses a small result: one more rounding each for the sum and
// the quotient on top of exp's 1 ulp.
template <class F>
TW_INLINE F sigmoid(F x) {
  const F e = exp(-abs(x));
  return (x < F(0) ? e : F(1)) / (F(1) + e);
}

template <class F>
TW_INLINE bool isinf(F x) {
  return abs(x) == F(__builtin_inf());
}
template <class F>
TW_INLINE bool isfinite(F x) {
  return abs(x) < F(__builtin_inf());
}

template <class F>
TW_INLINE F rcp(F x) {
  return F(1) / x;
}

// x * 2^n with one rounding. An exponent outside of 16 bits is as good as the nearest inside.
TW_INLINE int exponent(i64 n) { return n < -9999 ? -9999 : n > 9999 ? 9999 : int(n); }
TW_INLINE int exponent(u64 n) { return n > 9999 ? 9999 : int(n); }
template <class I>
TW_INLINE int exponent(I n) {
  return exponent(i64(n));
}
template <class I>
TW_INLINE float ldexp(float x, I n) {
  return __builtin_ldexpf(x, exponent(n));
}
template <class I>
TW_INLINE double ldexp(double x, I n) {
  return __builtin_ldexp(x, exponent(n));
}

// The neighbour of x towards y among the numbers of M, a narrow float held in f32, by its bits: they count magnitudes.
template <class M>
TW_INLINE float nextafter(float x, float y) {
  if (x != x || y != y) return __builtin_nanf("");
  if (x == y) return y;
  constexpr unsigned kSign = 1u << (8 * sizeof(M) - 1), kStep = sizeof(M) == 4 ? 1u << 13 : 1u;
  unsigned bits = 0;
  const M from = from_f32<M>(x);
  __builtin_memcpy(&bits, &from, sizeof(M));
  if ((bits & ~kSign) == 0) {
    bits = (y < 0 ? kSign : 0u) | kStep;
  } else {
    bits = (y > x) == (x > 0) ? bits + kStep : bits - kStep;
  }
  M to;
  __builtin_memcpy(&to, &bits, sizeof(M));
  const float next = to_f32(to);
  return next != next ? x : next;  // F8E4M3 ends without an infinity
}
template <>
TW_INLINE float nextafter<float>(float x, float y) {
  return __builtin_nextafterf(x, y);
}
template <class M>
TW_INLINE double nextafter(double x, double y) {
  return __builtin_nextafter(x, y);
}

// The value, which no optimisation may look through: sums and products on the two sides are not fused. (In vectorised
// loops g++ 12 contracts across __builtin_assoc_barrier, and clang 16 across __arithmetic_fence.)
template <class F>
TW_INLINE F fence(F x) {
#if defined(__x86_64__)
  __asm__("" : "+x"(x));
#elif defined(__aarch64__)
  __asm__("" : "+w"(x));
#else
  __asm__("" : "+m"(x));
#endif
  return x;
}
template <class F>
TW_INLINE F ieee_add(F x, F y) {
  return fence(fence(x) + fence(y));
}
template <class F>
TW_INLINE F ieee_sub(F x, F y) {
  return fence(fence(x) - fence(y));
}
template <class F>
TW_INLINE F ieee_mul(F x, F y) {
  return fence(x * y);
}
template <class F>
TW_INLINE F ieee_fdiv(F x, F y) {
  return x / y;
}
TW_INLINE float ieee_fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
TW_INLINE double ieee_fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
template <class F>
TW_INLINE F ieee_rcp(F x) {
  return F(1) / x;
}
TW_INLINE float ieee_sqrt(float x) { return __builtin_sqrtf(x); }
TW_INLINE double ieee_sqrt(double x) { return __builtin_sqrt(x); }
// No f32 has 1 / sqrt(x) so near to the middle of two f32 that the errors of the two f64 operations pass it; tried for
// all significands.
TW_INLINE float ieee_rsqrt(float x) { return float(1.0 / __builtin_sqrt(double(x))); }

template <class T>
TW_INLINE T blend(bool condition, T a, T b) {
  return condition ? a : b;
}

}  // namespace tilewright::device::cpu
