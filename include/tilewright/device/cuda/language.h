#pragma once
// Scalar operations of generated CUDA code, with the exact meanings of docs/language.md: total integer division,
// saturating casts, NaN-ignoring min and max, 16-bit floats computed in f32.

#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// ---- 16-bit floats in memory. PTX ISA 9.7.9.21, cvt ----
struct F16 {
  u16 bits;
};
struct BF16 {
  u16 bits;
};

TW_ATOM float to_f32(F16 x) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x.bits));
  return out;
}
TW_ATOM float to_f32(BF16 x) { return __uint_as_float(u32(x.bits) << 16); }

// Rounds to nearest even.
template <class T>
TW_ATOM T from_f32(float x);
template <>
TW_ATOM F16 from_f32<F16>(float x) {
  F16 out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
  return out;
}
template <>
TW_ATOM BF16 from_f32<BF16>(float x) {
  BF16 out;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
#else
  const u32 u = __float_as_uint(x);
  out.bits = x != x ? u16(0x7fff) : u16((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
#endif
  return out;
}

TW_ATOM float round_f16(float x) { return to_f32(from_f32<F16>(x)); }
TW_ATOM float round_bf16(float x) { return to_f32(from_f32<BF16>(x)); }

// The value of an element in memory, and the element of a value.
TW_ATOM float value_of(F16 x) { return to_f32(x); }
TW_ATOM float value_of(BF16 x) { return to_f32(x); }
template <class T>
TW_ATOM T value_of(T x) {
  return x;
}
template <class T, class Value>
TW_ATOM T memory_of(Value x) {
  return T(x);
}
template <>
TW_ATOM F16 memory_of<F16, float>(float x) {
  return from_f32<F16>(x);
}
template <>
TW_ATOM BF16 memory_of<BF16, float>(float x) {
  return from_f32<BF16>(x);
}

template <class F>
TW_ATOM F infinity() {
  return F(__uint_as_float(0x7f800000u));
}
template <class F>
TW_ATOM F not_a_number() {
  return F(__uint_as_float(0x7fc00000u));
}

// ---- vectors: kCount adjacent elements in one access; their address is a multiple of their bytes ----
template <u32 kBytes>
struct alignas(kBytes) Bytes {
  u8 at[kBytes];
};
template <u32 kCount, class Value, class T>
TW_ATOM void load_vector(Value* to, const T* from) {
  union {
    Bytes<kCount * sizeof(T)> bytes;
    T x[kCount];
  } v;
  v.bytes = *reinterpret_cast<const Bytes<kCount * sizeof(T)>*>(from);
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) to[i] = value_of(v.x[i]);
}
template <u32 kCount, class T, class Value>
TW_ATOM void store_vector(T* to, const Value* from) {
  union {
    Bytes<kCount * sizeof(T)> bytes;
    T x[kCount];
  } v;
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) v.x[i] = memory_of<T>(from[i]);
  *reinterpret_cast<Bytes<kCount * sizeof(T)>*>(to) = v.bytes;
}

// ---- integers ----
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

// Integers, and floats where a NaN operand is ignored.
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
  return fminf(a, b);
}
template <>
TW_ATOM float maximum(float a, float b) {
  return fmaxf(a, b);
}

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

// A value of another type as the f32 that holds it rounded to a 16-bit float.
TW_ATOM float to_f16(float x) { return round_f16(x); }
TW_ATOM float to_bf16(float x) { return round_bf16(x); }
TW_ATOM float to_f16(double x) { return round_f16(to_odd(x)); }
TW_ATOM float to_bf16(double x) { return round_bf16(to_odd(x)); }
template <class I>
TW_ATOM float to_f16(I x) {
  return to_f16(to_odd(i64(x)));
}
template <class I>
TW_ATOM float to_bf16(I x) {
  return to_bf16(to_odd(i64(x)));
}
template <>
TW_ATOM float to_f16(u64 x) {
  return to_f16(to_odd(x));
}
template <>
TW_ATOM float to_bf16(u64 x) {
  return to_bf16(to_odd(x));
}

// ---- elementary functions; largest error 4 ulp (CUDA C++ Programming Guide, "Mathematical Functions") ----
#define TW_FUNCTION(name)                              \
  TW_ATOM float name(float x) { return ::name##f(x); } \
  TW_ATOM double name(double x) { return ::name(x); }
TW_FUNCTION(exp)
TW_FUNCTION(exp2)
TW_FUNCTION(log)
TW_FUNCTION(log2)
TW_FUNCTION(sqrt)
TW_FUNCTION(rsqrt)
TW_FUNCTION(sin)
TW_FUNCTION(cos)
TW_FUNCTION(tanh)
TW_FUNCTION(erf)
TW_FUNCTION(floor)
TW_FUNCTION(ceil)
#undef TW_FUNCTION
TW_ATOM float round(float x) { return ::rintf(x); }  // to nearest even
TW_ATOM double round(double x) { return ::rint(x); }
TW_ATOM float abs(float x) { return ::fabsf(x); }
TW_ATOM double abs(double x) { return ::fabs(x); }
template <class I>
TW_ATOM I abs(I x) {
  return x < I(0) ? I(-x) : x;
}
// 1 / (1 + e^-x), from e^-|x|, which neither overflows nor loses a small result.
template <class F>
TW_ATOM F sigmoid(F x) {
  const F e = exp(-abs(x));
  return (x < F(0) ? e : F(1)) / (F(1) + e);
}

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

// ---- failed checks ----
// The first failed check of a launch; the host turns `site` into an error at the author's line.
struct Failure {
  i64 site;
  i64 at[7];
};
template <class... I>
static __device__ __noinline__ void fail(Failure* failure, i64 site, I... at) {
  if (atomicCAS(reinterpret_cast<u64*>(&failure->site), u64(0), u64(site)) != 0) return;
  const i64 coordinates[] = {at..., 0};
  for (int i = 0; i < int(sizeof...(I)) && i < 7; ++i) failure->at[i] = coordinates[i];
}
// The value of a failed read.
template <class T, class... I>
TW_ATOM T failed(Failure* failure, i64 site, I... at) {
  fail(failure, site, at...);
  return T(0);
}

}  // namespace tilewright::device
