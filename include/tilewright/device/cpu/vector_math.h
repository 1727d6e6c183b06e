#pragma once
// Elementary functions of f32 as branch-free scalars that vectorise inside a plain loop, and their f64 forms through
// libm.
//
// Compile with -fno-math-errno -fno-trapping-math (else g++ keeps branches); values do not depend on either flag.
// Polynomials are our own minimax fits (Remez, relative error at most 2^-27 before rounding); reductions follow Muller,
// "Elementary Functions", 2016. Largest errors below are over every 97th float (every 997th for g++ 12 and clang 16 at
// SSE2, AVX2 and AVX-512); NaN, infinities, zeros and subnormals are right.
#include "vector.h"

namespace tilewright::device::cpu {

namespace math_detail {

// e^r for |r| <= ln(2) / 2.
TW_INLINE float exp_reduced(float r) {
  float p = 0x1.6a2358p-10f;
  p = p * r + 0x1.123a6cp-7f;
  p = p * r + 0x1.5558f4p-5f;
  p = p * r + 0x1.555490p-3f;
  p = p * r + 0x1.fffffcp-2f;
  return 1.0f + (r + r * r * p);
}

// The nearest integer n to |x| < 2^22, left as n + 254 in the low bits of a float: twice the bias of an exponent.
constexpr float kRoundShift = 0x1.8p23f + 254.0f;
// The same for n <= 128 and nothing above; NaN stays what it is or becomes 128.
TW_INLINE float at_most_128(float shifted) {
  const int bits = bit_cast<int>(shifted);
  constexpr int kTop = 0x4b400000 + 254 + 128;
  return bit_cast<float>(bits < kTop ? bits : kTop);
}

// x * 2^n for -252 <= n <= 128 in two exact steps, so that infinite and subnormal results come out right. The halves of
// n + 254 are exponents; what else is in the bits is shifted out.
TW_INLINE float scale(float x, float shifted) {
  const int n = bit_cast<int>(shifted), half = n >> 1;
  return x * bit_cast<float>(unsigned(half) << 23) * bit_cast<float>(unsigned(n - half) << 23);
}

// x > 0 as 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and log(1 + f).
struct LogParts {
  float exponent, log1p;
};
TW_INLINE LogParts log_parts(float x) {
  const bool tiny = x < 0x1p-126f;
  const unsigned bits = bit_cast<unsigned>(tiny ? x * 0x1p23f : x) - 0x3f3504f3u;
  const int exponent = (int(bits) >> 23) - (tiny ? 23 : 0);
  const float f = bit_cast<float>((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  float p = 0x1.1457a0p-4f;
  p = p * f - 0x1.de3c12p-4f;
  p = p * f + 0x1.e6f06cp-4f;
  p = p * f - 0x1.fc220ap-4f;
  p = p * f + 0x1.233768p-3f;
  p = p * f - 0x1.555c4ep-3f;
  p = p * f + 0x1.99a4b6p-3f;
  p = p * f - 0x1.000006p-2f;
  p = p * f + 0x1.555548p-2f;
  const float square = f * f;
  return {float(exponent), f + (square * f * p - 0.5f * square)};
}

// What log and log2 give outside the positive finite numbers.
TW_INLINE float log_edges(float x, float result) {
  const float upper = x < __builtin_inff() ? result : x;  // +inf and NaN
  const float lower = x < 0.0f ? __builtin_nanf("") : upper;
  return x == 0.0f ? -__builtin_inff() : lower;
}

}  // namespace math_detail

// exp and exp2 do not clamp their argument: compilers turn a clamp into comparisons and blends, or into branches. Above
// the range n stays at 128 and e^r is large, positive and finally infinite; below it, a comparison decides.

// At most 1.0 ulp.
TW_INLINE float exp(float x) {
  const float shifted = math_detail::at_most_128(x * 0x1.715476p0f + math_detail::kRoundShift);
  const float n = shifted - math_detail::kRoundShift;
  const float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  const float result = math_detail::scale(math_detail::exp_reduced(r), shifted);
  return x < -104.0f ? 0.0f : result;
}

// At most 1.0 ulp; exact for integers.
TW_INLINE float exp2(float x) {
  const float shifted = math_detail::at_most_128(x + math_detail::kRoundShift);
  const float r = (x - (shifted - math_detail::kRoundShift)) * 0x1.62e430p-1f;
  const float result = math_detail::scale(math_detail::exp_reduced(r), shifted);
  return x < -151.0f ? 0.0f : result;
}

// At most 0.9 ulp.
TW_INLINE float log(float x) {
  const math_detail::LogParts parts = math_detail::log_parts(x);
  const float low = parts.exponent * 0x1.7f7d1cp-20f + parts.log1p;
  return math_detail::log_edges(x, parts.exponent * 0x1.62e4p-1f + low);
}

// At most 1.7 ulp; exact for powers of two.
TW_INLINE float log2(float x) {
  const math_detail::LogParts parts = math_detail::log_parts(x);
  return math_detail::log_edges(x, parts.exponent + parts.log1p * 0x1.715476p0f);
}

// At most 1.5 ulp.
TW_INLINE float tanh(float x) {
  const float magnitude = bit_cast<float>(bit_cast<unsigned>(x) & 0x7fffffffu);
  const float z = x * x;
  float p = -0x1.950012p-8f;
  p = p * z + 0x1.582faep-6f;
  p = p * z - 0x1.b90946p-5f;
  p = p * z + 0x1.110c72p-3f;
  p = p * z - 0x1.555548p-2f;
  const float small = magnitude + magnitude * (z * p);
  const float large = 1.0f - 2.0f / (exp(2.0f * magnitude) + 1.0f);
  const float result = magnitude < 0.5625f ? small : large;
  return bit_cast<float>(bit_cast<unsigned>(result) | (bit_cast<unsigned>(x) & 0x80000000u));
}

// At most 1.3 ulp. Below 0.9375 an odd polynomial, above 1 - e^-q(|x|) with q = -log(erfc).
TW_INLINE float erf(float x) {
  const float magnitude = bit_cast<float>(bit_cast<unsigned>(x) & 0x7fffffffu);
  const float z = x * x;
  float p = 0x1.5ac32ap-14f;
  p = p * z - 0x1.a99ef4p-11f;
  p = p * z + 0x1.54b5e4p-8f;
  p = p * z - 0x1.b80cb4p-6f;
  p = p * z + 0x1.ce2df4p-4f;
  p = p * z - 0x1.812742p-2f;
  p = p * z + 0x1.06eba8p-3f;
  const float small = x + x * p;
  const float t = magnitude > 4.0f ? 4.0f : magnitude;
  float q = 0x1.657416p-16f;
  q = q * t - 0x1.ca2140p-12f;
  q = q * t + 0x1.1221fep-8f;
  q = q * t - 0x1.9c1202p-6f;
  q = q * t + 0x1.bbb6e6p-4f;
  q = q * t + 0x1.44403cp-1f;
  q = q * t + 0x1.212956p0f;
  q = q * t - 0x1.77fc96p-13f;
  const float large = 1.0f - exp(-q);
  const float big = bit_cast<float>(bit_cast<unsigned>(large) | (bit_cast<unsigned>(x) & 0x80000000u));
  return magnitude < 0.9375f ? small : big;
}

// At most 1.5 ulp; infinity of the same sign at a zero.
TW_INLINE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
TW_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }

TW_INLINE double exp(double x) { return __builtin_exp(x); }
TW_INLINE double exp2(double x) { return __builtin_exp2(x); }
TW_INLINE double log(double x) { return __builtin_log(x); }
TW_INLINE double log2(double x) { return __builtin_log2(x); }
TW_INLINE double tanh(double x) { return __builtin_tanh(x); }
TW_INLINE double erf(double x) { return __builtin_erf(x); }
TW_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
TW_INLINE double sqrt(double x) { return __builtin_sqrt(x); }

}  // namespace tilewright::device::cpu
