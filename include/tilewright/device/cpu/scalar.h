#pragma once
// Scalar operations of generated CPU code, with the exact meanings of docs/language.md: total integer division,
// saturating casts, NaN-ignoring min and max. Each is branch-free where a loop over it must vectorise.
#include "vector.h"

namespace tilewright::device::cpu {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

// Towards minus infinity; x / 0 is 0 and x mod 0 is x. Compiled with -fwrapv, so that the smallest value divided by -1
// wraps; that division itself would trap, hence the test.
template <class T>
TW_INLINE T floordiv(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(-a);
    const T q = T(a / b);
    return T(q - ((a % b != T(0)) & ((a < T(0)) != (b < T(0)))));
  } else {
    return T(a / b);
  }
}
template <class T>
TW_INLINE T floormod(T a, T b) {
  if (b == T(0)) return a;
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(0);
    const T r = T(a % b);
    return T(r + (((r != T(0)) & ((r < T(0)) != (b < T(0)))) ? b : T(0)));
  } else {
    return T(a % b);
  }
}

// An amount outside [0, bits) gives 0, or the sign for a signed right shift.
template <class T>
TW_INLINE T shl(T a, T b) {
  return u64(b) < 8 * sizeof(T) ? T(u64(a) << u64(b)) : T(0);
}
template <class T>
TW_INLINE T shr(T a, T b) {
  constexpr bool kSigned = T(-1) < T(0);
  const bool inside = u64(b) < 8 * sizeof(T);
  return T(a >> (inside ? u64(b) : kSigned ? 8 * sizeof(T) - 1 : 0)) & T(inside || kSigned ? T(-1) : T(0));
}

// Integers, and floats where a NaN operand is ignored.
template <class T>
TW_INLINE T minimum(T a, T b) {
  return ((a < b) | (b != b)) ? a : b;
}
template <class T>
TW_INLINE T maximum(T a, T b) {
  return ((a > b) | (b != b)) ? a : b;
}

// Truncates and saturates; NaN gives 0.
template <class T, class F>
TW_INLINE T saturate(F x) {
  constexpr bool kSigned = T(-1) < T(0);
  constexpr T kMax =
      kSigned ? T(~(u64(1) << (8 * sizeof(T) - 1)) & (sizeof(T) == 8 ? ~u64(0) : (u64(1) << (8 * sizeof(T) - 1)) - 1))
              : T(-1);
  constexpr T kMin = kSigned ? T(-kMax - 1) : T(0);
  // The first float above kMax: kMax + 1 is a power of two and so exact.
  constexpr F kAbove = F(2) * F(u64(1) << (8 * sizeof(T) - (kSigned ? 2 : 1)));
  const bool below = !(x > F(kMin)), above = x >= kAbove;
  const T inside = T((below | above | (x != x)) ? F(0) : x);
  return x != x ? T(0) : above ? kMax : below ? kMin : inside;
}

// A double rounded to float towards the odd neighbour: rounding the result again to a narrower format equals rounding
// once (Boldo and Melquiond 2008).
TW_INLINE float to_odd(double x) {
  const float f = float(x);
  const u32 bits = bit_cast<u32>(f);
  const double back = f;
  const bool inexact = back != x && back == back;
  const bool away = inexact && ((back > x) == (x > 0));
  return bit_cast<float>(inexact ? (away ? bits - 1 : bits) | 1u : bits);
}
TW_INLINE double to_odd(i64 x) {
  const double d = double(x);
  const bool negative = x < 0;
  const u64 magnitude = negative ? 0 - u64(x) : u64(x);
  const u64 high = magnitude >> 11 << 11;
  const bool exact = magnitude < (u64(1) << 53) || high == magnitude;
  const double truncated = double(high | (exact ? 0 : u64(1) << 11));
  return exact ? d : negative ? -truncated : truncated;
}

// A value of another type as the f32 that holds it rounded to a 16-bit float.
TW_INLINE float to_f16(float x) { return round_f16(x); }
TW_INLINE float to_bf16(float x) { return round_bf16(x); }
TW_INLINE float to_f16(double x) { return round_f16(to_odd(x)); }
TW_INLINE float to_bf16(double x) { return round_bf16(to_odd(x)); }
template <class I>
TW_INLINE float to_f16(I x) {
  return to_f16(to_odd(i64(x)));
}
template <class I>
TW_INLINE float to_bf16(I x) {
  return to_bf16(to_odd(i64(x)));
}
template <>
TW_INLINE float to_f16(u64 x) {
  return to_f16(to_odd(i64(x > (u64(1) << 62) ? u64(1) << 62 : x)));
}
template <>
TW_INLINE float to_bf16(u64 x) {
  return u64(x) >> 63 ? 2.0f * to_bf16(to_odd(i64(x >> 1 | (x & 1)))) : to_bf16(to_odd(i64(x)));
}

// Reports the first failed check of a launch; the host turns `site` into an error at the author's line. Prints and
// assertions call `report` with their number and values; the host sets `site` below 0 after a failed assertion.
struct Failure {
  i64 site;
  i64 at[7];
  void (*report)(void* host, i64 number, const i64* cells);
  void* host;
};
TW_INLINE bool stopped(Failure* failure) { return __atomic_load_n(&failure->site, __ATOMIC_RELAXED) < 0; }

// A value as 64 bits for the host.
template <class I>
TW_INLINE i64 cell(I x) {
  return i64(x);
}
template <>
TW_INLINE i64 cell(float x) {
  return bit_cast<i64>(double(x));
}
template <>
TW_INLINE i64 cell(double x) {
  return bit_cast<i64>(x);
}
template <class... I>
__attribute__((noinline, cold)) void fail(Failure* failure, i64 site, I... at) {
  i64 none = 0;
  if (!__atomic_compare_exchange_n(&failure->site, &none, site, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  const i64 coordinates[] = {at..., 0};
  for (int i = 0; i < int(sizeof...(I)) && i < 7; ++i) failure->at[i] = coordinates[i];
}
// The value of a failed read.
template <class T, class... I>
TW_INLINE T failed(Failure* failure, i64 site, I... at) {
  fail(failure, site, at...);
  return T(0);
}

}  // namespace tilewright::device::cpu
