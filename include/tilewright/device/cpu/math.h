#pragma once
// The elementary functions of the language by name, for f32 and f64. Those of vector_math.h vectorise; sin and cos call
// libm. Largest error anywhere: 4 ulp.
#include "scalar.h"
#include "vector_math.h"

namespace tilewright::device::cpu {

TW_INLINE float floor(float x) { return __builtin_floorf(x); }
TW_INLINE double floor(double x) { return __builtin_floor(x); }
TW_INLINE float ceil(float x) { return __builtin_ceilf(x); }
TW_INLINE double ceil(double x) { return __builtin_ceil(x); }
TW_INLINE float round(float x) { return __builtin_rintf(x); }  // to nearest even, in the default rounding mode
TW_INLINE double round(double x) { return __builtin_rint(x); }
TW_INLINE float sin(float x) { return __builtin_sinf(x); }
TW_INLINE double sin(double x) { return __builtin_sin(x); }
TW_INLINE float cos(float x) { return __builtin_cosf(x); }
TW_INLINE double cos(double x) { return __builtin_cos(x); }

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

}  // namespace tilewright::device::cpu
