#pragma once
// What generated CUDA code calls, with the exact meanings of docs/language.md: narrow floats in memory
// (narrow_floats.h), arithmetic (functions.h), and here conversions and run-time checks.

#include <tilewright/device/cuda/functions.h>

namespace tilewright::device {

// ---- conversions ----
// Truncates and saturates; NaN gives 0.
template <class T, class F>
TW_ATOM T saturate(F x) {
  constexpr bool kSigned = T(-1) < T(0);
  constexpr u64 kHalf = u64(1) << (8 * sizeof(T) - 1);
  constexpr T kMax = kSigned ? T(kHalf - 1) : T(-1);
  constexpr T kMin = kSigned ? T(-kMax - 1) : T(0);
  // The first float above kMax: kMax + 1 is a power of two and so exact.
  constexpr F kAbove = F(2) * F(u64(1) << (8 * sizeof(T) - (kSigned ? 2 : 1)));
  if (x != x) return T(0);
  if (x >= kAbove) return kMax;
  return x > F(kMin) ? T(x) : kMin;
}

// Rounded towards the odd neighbour: rounding the result again to a narrower format equals rounding once (Boldo and
// Melquiond 2008).
TW_ATOM float to_odd(double x) {
  const float f = __double2float_rz(x);
  const u32 bits = __float_as_uint(f);
  return f == f && double(f) != x ? __uint_as_float(bits | 1u) : f;
}
TW_ATOM double to_odd(u64 x) {
  const double d = __ull2double_rz(x);
  const bool exact = x < (u64(1) << 53) || __double2ull_rz(d) == x;
  return exact ? d : __longlong_as_double(__double_as_longlong(d) | 1);
}
TW_ATOM double to_odd(i64 x) { return x < 0 ? -to_odd(u64(0) - u64(x)) : to_odd(u64(x)); }

// A number of any type as an f32 that rounds to a narrow float as the number itself does: the number where f32 holds
// it, else odd.
TW_ATOM float to_odd_f32(float x) { return x; }
TW_ATOM float to_odd_f32(double x) { return to_odd(x); }
TW_ATOM float to_odd_f32(u64 x) { return to_odd(to_odd(x)); }
template <class I>
TW_ATOM float to_odd_f32(I x) {
  return to_odd(to_odd(i64(x)));
}

// A value of another type as the f32 that holds it rounded to a narrow float.
#define TW_ROUNDED(name)                \
  template <class T>                    \
  TW_ATOM float to_##name(T x) {        \
    return round_##name(to_odd_f32(x)); \
  }
TW_ROUNDED(f16)
TW_ROUNDED(bf16)
TW_ROUNDED(tf32)
TW_ROUNDED(f8e4m3)
TW_ROUNDED(f8e5m2)
#undef TW_ROUNDED

// The value of the lane whose number differs in the bits of `lanes`, of any type. (PTX: shfl.sync)
template <class T>
TW_ATOM T shuffle_lanes(T x, int lanes) {
  if constexpr (sizeof(T) == 8) {
    union {
      T value;
      u32 words[2];
    } v{x};
    v.words[0] = __shfl_xor_sync(kFullMask, v.words[0], lanes);
    v.words[1] = __shfl_xor_sync(kFullMask, v.words[1], lanes);
    return v.value;
  } else if constexpr (sizeof(T) == 4) {
    return __shfl_xor_sync(kFullMask, x, lanes);
  } else {
    return T(__shfl_xor_sync(kFullMask, int(x), lanes));
  }
}

// ---- what the host is told ----
// The first failed check or assertion of a launch, whose `site` the host turns into an error at the author's line, and
// what is printed.
constexpr int kMaxFailureCells = 24;
struct Failure {
  i64 site;
  i64 at[kMaxFailureCells];
  // Reports, each its number and its cells, one behind the other. `used` counts on where they fit no more.
  u64 used, capacity;
  i64 cells[1];
};
template <class... I>
static __device__ __noinline__ void fail(Failure* failure, i64 site, I... at) {
  if (atomicCAS(reinterpret_cast<u64*>(&failure->site), u64(0), u64(site)) != 0) return;
  const i64 coordinates[] = {at..., 0};
  for (int i = 0; i < int(sizeof...(I)) && i < kMaxFailureCells; ++i) failure->at[i] = coordinates[i];
}
template <int kCells>
static __device__ __noinline__ void report(Failure* failure, i64 number, const i64 (&cells)[kCells]) {
  const u64 first = atomicAdd(&failure->used, u64(kCells + 1));
  if (first + kCells + 1 > failure->capacity) {
    if (first < failure->capacity) failure->cells[first] = -1;  // ends what is read
    return;
  }
  i64* const to = failure->cells + first;
  to[0] = number;
  for (int i = 0; i < kCells; ++i) to[i + 1] = cells[i];
}
// A value as 64 bits.
template <class I>
TW_ATOM i64 cell(I x) {
  return i64(x);
}
template <>
TW_ATOM i64 cell(float x) {
  return __double_as_longlong(double(x));
}
template <>
TW_ATOM i64 cell(double x) {
  return __double_as_longlong(x);
}
// Whether a while loop must be left, with everything around it, because a check failed: threads that left may be those
// that its condition waits for. Asked on every 1024th turn. `failure` is null where nothing is checked.
TW_ATOM bool stops(u32 turn, const Failure* failure) {
  return (turn & 1023) == 0 && failure != nullptr && *static_cast<const volatile i64*>(&failure->site) != 0;
}
// The value of a failed read.
template <class T, class... I>
TW_ATOM T failed(Failure* failure, i64 site, I... at) {
  fail(failure, site, at...);
  return T(0);
}

}  // namespace tilewright::device
