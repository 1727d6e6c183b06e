#pragma once
// The functions of the language by name, for f32 and f64 where they are of floats. Largest error 4 ulp: NVIDIA's
// libdevice keeps 4 for tan, pow and acosh of f32, 3 and less for the others (CUDA C++ Programming Guide,
// "Mathematical Functions"). Without --use_fast_math division, square root and subnormal numbers are those of IEEE 754.
#include <tilewright/device/cuda/math.h>
#include <tilewright/device/cuda/narrow_floats.h>

namespace tilewright::device {

template <class F>
TW_ATOM F infinity() {
  return F(float_of(0x7f800000u));
}
template <class F>
TW_ATOM F not_a_number() {
  return F(float_of(0x7fc00000u));
}

#define TW_FUNCTION(name)                              \
  TW_ATOM float name(float x) { return ::name##f(x); } \
  TW_ATOM double name(double x) { return ::name(x); }
#define TW_FUNCTION_2(name)                                        \
  TW_ATOM float name(float x, float y) { return ::name##f(x, y); } \
  TW_ATOM double name(double x, double y) { return ::name(x, y); }
TW_FUNCTION(exp)
TW_FUNCTION(exp2)
TW_FUNCTION(exp10)
TW_FUNCTION(expm1)
TW_FUNCTION(log)
TW_FUNCTION(log2)
TW_FUNCTION(log10)
TW_FUNCTION(log1p)
TW_FUNCTION(sqrt)
TW_FUNCTION(rsqrt)
TW_FUNCTION(sin)
TW_FUNCTION(cos)
TW_FUNCTION(tan)
TW_FUNCTION(sinh)
TW_FUNCTION(cosh)
TW_FUNCTION(tanh)
TW_FUNCTION(asin)
TW_FUNCTION(acos)
TW_FUNCTION(atan)
TW_FUNCTION(asinh)
TW_FUNCTION(acosh)
TW_FUNCTION(atanh)
TW_FUNCTION(erf)
TW_FUNCTION(floor)
TW_FUNCTION(ceil)
TW_FUNCTION(trunc)
TW_FUNCTION_2(atan2)
TW_FUNCTION_2(pow)
TW_FUNCTION_2(hypot)
TW_FUNCTION_2(fmod)
TW_FUNCTION_2(copysign)
#undef TW_FUNCTION
#undef TW_FUNCTION_2
TW_ATOM float round(float x) { return ::rintf(x); }  // to nearest even
TW_ATOM double round(double x) { return ::rint(x); }
TW_ATOM float abs(float x) { return ::fabsf(x); }
TW_ATOM double abs(double x) { return ::fabs(x); }
// Of integers; the smallest stays.
template <class I>
TW_ATOM I abs(I x) {
  return x < I(0) ? I(u64(0) - u64(x)) : x;
}

// 1 / (1 + e^-x), from e^-|x|, which neither overflows nor loses a small result.
template <class F>
TW_ATOM F sigmoid(F x) {
  const F e = exp(-abs(x));
  return (x < F(0) ? e : F(1)) / (F(1) + e);
}
// The same with the reciprocal of a number from 1 to 2 instead of a quotient, within 3 ulp: 1 of the exponential, 1 of
// the reciprocal, and half of one for the sum and for the product.
TW_ATOM float sigmoid(float x) {
  const float e = exp(-abs(x));
  return (x < 0.0f ? e : 1.0f) * rcp_approx(1.0f + e);
}
template <class F>
TW_ATOM F rcp(F x) {
  return F(1) / x;
}

template <class F>
TW_ATOM bool isnan(F x) {
  return x != x;
}
template <class F>
TW_ATOM bool isinf(F x) {
  return abs(x) == infinity<F>();
}
template <class F>
TW_ATOM bool isfinite(F x) {
  return abs(x) < infinity<F>();
}

// x * 2^n with one rounding. An exponent outside of 16 bits is as good as the nearest inside.
TW_ATOM int exponent(i64 n) { return n < -9999 ? -9999 : n > 9999 ? 9999 : int(n); }
TW_ATOM int exponent(u64 n) { return n > 9999 ? 9999 : int(n); }
template <class I>
TW_ATOM int exponent(I n) {
  return exponent(i64(n));
}
template <class I>
TW_ATOM float ldexp(float x, I n) {
  return ::ldexpf(x, exponent(n));
}
template <class I>
TW_ATOM double ldexp(double x, I n) {
  return ::ldexp(x, exponent(n));
}

// Unsigned integers as wide as a type, for the bits of its values.
template <u32 kBytes>
struct Word;
template <>
struct Word<1> {
  using type = u8;
};
template <>
struct Word<2> {
  using type = u16;
};
template <>
struct Word<4> {
  using type = u32;
};
template <>
struct Word<8> {
  using type = u64;
};

// The neighbour of x towards y among the numbers of M, a narrow float held in f32, by its bits: they count magnitudes.
template <class M>
TW_ATOM float nextafter(float x, float y) {
  using Bits = typename Word<sizeof(M)>::type;
  if (x != x || y != y) return not_a_number<float>();
  if (x == y) return y;
  constexpr u32 kSign = 1u << (8 * sizeof(M) - 1), kStep = sizeof(M) == 4 ? 1u << 13 : 1u;
  u32 bits = bit_cast<Bits>(from_f32<M>(x));
  if ((bits & ~kSign) == 0) {
    bits = (y < 0 ? kSign : 0u) | kStep;
  } else {
    bits = (y > x) == (x > 0) ? bits + kStep : bits - kStep;
  }
  const float next = to_f32(bit_cast<M>(Bits(bits)));
  return next != next ? x : next;  // F8E4M3 ends without an infinity
}
template <>
TW_ATOM float nextafter<float>(float x, float y) {
  return ::nextafterf(x, y);
}
template <class M>
TW_ATOM double nextafter(double x, double y) {
  return ::nextafter(x, y);
}

// ---- one rounding, to nearest even, never fused with a neighbour ----
TW_ATOM float ieee_add(float x, float y) { return __fadd_rn(x, y); }
TW_ATOM double ieee_add(double x, double y) { return __dadd_rn(x, y); }
TW_ATOM float ieee_sub(float x, float y) { return __fsub_rn(x, y); }
TW_ATOM double ieee_sub(double x, double y) { return __dsub_rn(x, y); }
TW_ATOM float ieee_mul(float x, float y) { return __fmul_rn(x, y); }
TW_ATOM double ieee_mul(double x, double y) { return __dmul_rn(x, y); }
TW_ATOM float ieee_fdiv(float x, float y) { return __fdiv_rn(x, y); }
TW_ATOM double ieee_fdiv(double x, double y) { return __ddiv_rn(x, y); }
TW_ATOM float ieee_fma(float x, float y, float z) { return __fmaf_rn(x, y, z); }
TW_ATOM double ieee_fma(double x, double y, double z) { return __fma_rn(x, y, z); }
TW_ATOM float ieee_rcp(float x) { return __frcp_rn(x); }
TW_ATOM double ieee_rcp(double x) { return __drcp_rn(x); }
TW_ATOM float ieee_sqrt(float x) { return __fsqrt_rn(x); }
TW_ATOM double ieee_sqrt(double x) { return __dsqrt_rn(x); }
TW_ATOM float ieee_rsqrt(float x) { return __frsqrt_rn(x); }

// ---- integers ----
// Sums, differences and products modulo 2^bits, where signed ones may leave their type.
template <class T>
TW_ATOM T wrapping_add(T a, T b) {
  return T(u64(a) + u64(b));
}
template <class T>
TW_ATOM T wrapping_sub(T a, T b) {
  return T(u64(a) - u64(b));
}
template <class T>
TW_ATOM T wrapping_mul(T a, T b) {
  return T(u64(a) * u64(b));
}

// Towards minus infinity; x / 0 is 0 and x mod 0 is x. The smallest value divided by -1 wraps.
template <class T>
TW_ATOM T floordiv(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(u64(0) - u64(a));
    const T q = T(a / b);
    return T(q - ((a % b != T(0)) & ((a < T(0)) != (b < T(0)))));
  } else {
    return T(a / b);
  }
}
template <class T>
TW_ATOM T floormod(T a, T b) {
  if (b == T(0)) return a;
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(0);
    const T r = T(a % b);
    return T(r + (((r != T(0)) & ((r < T(0)) != (b < T(0)))) ? b : T(0)));
  } else {
    return T(a % b);
  }
}
// Towards zero; total in the same way.
template <class T>
TW_ATOM T truncdiv(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(u64(0) - u64(a));
  }
  return T(a / b);
}
template <class T>
TW_ATOM T truncmod(T a, T b) {
  if (b == T(0)) return a;
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(0);
  }
  return T(a % b);
}

// Of numbers that are not negative: an unsigned division, which for powers of two is a shift.
TW_ATOM i32 quotient(i32 a, i32 b) { return i32(u32(a) / u32(b)); }
TW_ATOM i32 remainder(i32 a, i32 b) { return i32(u32(a) % u32(b)); }

// An amount outside [0, bits) gives 0, or the sign for a signed right shift.
template <class T>
TW_ATOM T shl(T a, T b) {
  return u64(b) < 8 * sizeof(T) ? T(u64(a) << u64(b)) : T(0);
}
template <class T>
TW_ATOM T shr(T a, T b) {
  constexpr bool kSigned = T(-1) < T(0);
  const bool inside = u64(b) < 8 * sizeof(T);
  return T(a >> (inside ? u64(b) : kSigned ? 8 * sizeof(T) - 1 : 0)) & T(inside || kSigned ? T(-1) : T(0));
}

// Bits of the type alone count: the others are shifted out.
template <class T>
TW_ATOM T popcount(T x) {
  return T(__popcll(u64(x) << (64 - 8 * sizeof(T))));
}
template <class T>
TW_ATOM T clz(T x) {
  return x == T(0) ? T(8 * sizeof(T)) : T(__clzll(i64(u64(x) << (64 - 8 * sizeof(T)))));
}

// ---- numbers of any type ----
// Of floats where a NaN operand is ignored.
template <class T>
TW_ATOM T minimum(T a, T b) {
  return ((a < b) | (b != b)) ? a : b;
}
template <class T>
TW_ATOM T maximum(T a, T b) {
  return ((a > b) | (b != b)) ? a : b;
}
// PTX ISA 9.7.3: min.f32 and max.f32 give the operand that is not NaN.
template <>
TW_ATOM float minimum(float a, float b) {
  return ::fminf(a, b);
}
template <>
TW_ATOM float maximum(float a, float b) {
  return ::fmaxf(a, b);
}

template <class T>
TW_ATOM T blend(bool condition, T a, T b) {
  return condition ? a : b;
}

}  // namespace tilewright::device
