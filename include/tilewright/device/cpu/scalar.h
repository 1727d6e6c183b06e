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

template <class F>
constexpr TW_INLINE F infinity() {
  return F(__builtin_inff());
}
template <class F>
constexpr TW_INLINE F not_a_number() {
  return F(__builtin_nanf(""));
}

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

// Towards zero; total in the same way.
template <class T>
TW_INLINE T truncdiv(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(-a);
  }
  return T(a / b);
}
template <class T>
TW_INLINE T truncmod(T a, T b) {
  if (b == T(0)) return a;
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(0);
  }
  return T(a % b);
}

template <class T>
constexpr u64 kAllBits = ~u64(0) >> (64 - 8 * sizeof(T));
template <class T>
TW_INLINE T popcount(T x) {
  return T(__builtin_popcountll(u64(x) & kAllBits<T>));
}
template <class T>
TW_INLINE T clz(T x) {
  return x == T(0) ? T(8 * sizeof(T)) : T(__builtin_clzll(u64(x) & kAllBits<T>) - int(64 - 8 * sizeof(T)));
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

// A number of any type as an f32 that rounds to a narrow float as the number itself does: the number where f32 holds
// it, else odd.
TW_INLINE float to_odd_f32(float x) { return x; }
TW_INLINE float to_odd_f32(double x) { return to_odd(x); }
TW_INLINE float to_odd_f32(u64 x) {
  return u64(x) >> 63 ? 2.0f * to_odd(to_odd(i64(x >> 1 | (x & 1)))) : to_odd(to_odd(i64(x)));
}
template <class I>
TW_INLINE float to_odd_f32(I x) {
  return to_odd(to_odd(i64(x)));
}

// A value of another type as the f32 that holds it rounded to a narrow float.
template <class T>
TW_INLINE float to_f16(T x) {
  return round_f16(to_odd_f32(x));
}
template <class T>
TW_INLINE float to_bf16(T x) {
  return round_bf16(to_odd_f32(x));
}
template <class T>
TW_INLINE float to_tf32(T x) {
  return round_tf32(to_odd_f32(x));
}
template <class T>
TW_INLINE float to_f8e4m3(T x) {
  return round_f8e4m3(to_odd_f32(x));
}
template <class T>
TW_INLINE float to_f8e5m2(T x) {
  return round_f8e5m2(to_odd_f32(x));
}

// Reports the first failed check of a launch; the host turns `site` into an error at the author's line. Prints and
// assertions call `report` with their number and values; the host sets `site` below 0 after a failed assertion.
struct Failure {
  i64 site;
  i64 at[7];
  const unsigned* interrupts;  // grows when launches are to stop
  unsigned interrupts_before;  // its value when this launch began
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

// Whether a while loop must be left, with everything around it: another block failed, or the launch was interrupted.
__attribute__((noinline, cold)) inline bool must_stop(Failure* failure, i64 site) {
  if (__atomic_load_n(&failure->site, __ATOMIC_RELAXED) != 0) return true;
  if (__atomic_load_n(failure->interrupts, __ATOMIC_RELAXED) == failure->interrupts_before) return false;
  fail(failure, site);
  return true;
}
// The same, asked on every 1024th turn, so that a loop which ends pays one counter in a register.
TW_INLINE bool stops(unsigned turn, Failure* failure, i64 site) {
  return (turn & 1023) == 0 && must_stop(failure, site);
}

}  // namespace tilewright::device::cpu
