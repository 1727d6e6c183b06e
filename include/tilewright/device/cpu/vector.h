#pragma once
// SIMD values for generated CPU code.
//
// Everything here is written with the vector extensions that g++ and clang share, never with <immintrin.h>: that header
// alone costs 0.6 s of compile time (reference/backends.md section 1), more than a whole generated kernel. Compile with
// -ffp-contract=fast.
//
// The generated text may define, before including this header,
//   TW_VEC_BYTES  bytes of one vector register (16, 32 or 64)     default: widest that the compiler flags allow
//   TW_VEC_REGS   number of vector registers (16 or 32)           default: 32 with AVX-512 and on aarch64, else 16

#ifndef TW_VEC_BYTES
#if defined(__AVX512F__)
#define TW_VEC_BYTES 64
#elif defined(__AVX__)
#define TW_VEC_BYTES 32
#else
#define TW_VEC_BYTES 16
#endif
#endif

#ifndef TW_VEC_REGS
#if defined(__AVX512F__) || defined(__aarch64__)
#define TW_VEC_REGS 32
#else
#define TW_VEC_REGS 16
#endif
#endif

#define TW_INLINE inline __attribute__((always_inline))
#define TW_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define TW_UNROLL(n) TW_PRAGMA(clang loop unroll_count(n))
#define TW_VECTORIZE TW_PRAGMA(clang loop vectorize(enable) interleave(enable))
#else
#define TW_UNROLL(n) TW_PRAGMA(GCC unroll n)
#define TW_VECTORIZE TW_PRAGMA(GCC ivdep)
#endif

namespace tilewright::device::cpu {

template <class T, int kBytes = TW_VEC_BYTES>
struct VecOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T, int kBytes = TW_VEC_BYTES>
using Vec = typename VecOf<T, kBytes>::type;

template <class V, class T>
TW_INLINE V load(const T* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}
template <class V, class T>
TW_INLINE void store(T* to, V v) {
  __builtin_memcpy(to, &v, sizeof(V));
}
template <class V, class T>
TW_INLINE V broadcast(T x) {
  return x - V{};  // exact for every x, -0 included (x + 0 would lose its sign)
}

template <class To, class From>
TW_INLINE To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  __builtin_memcpy(&y, &x, sizeof(To));
  return y;
}

constexpr int round_up(int x, int to) { return (x + to - 1) / to * to; }
constexpr int ceil_div(int x, int by) { return (x + by - 1) / by; }

// ---- 16-bit floats
// ------------------------------------------------------------------------------------------------------------- Storage
// only: arithmetic is done in f32. Conversions are exact upwards and round to nearest even downwards; subnormals,
// infinities and NaN (quieted, top payload bits kept) agree bit for bit with VCVTPH2PS and VCVTPS2PH.

struct F16 {
  unsigned short bits;
};
struct BF16 {
  unsigned short bits;
};

TW_INLINE float to_f32(float x) { return x; }

TW_INLINE float to_f32(BF16 x) {
  const unsigned wide = unsigned(x.bits) << 16;
  return bit_cast<float>(wide | ((wide & 0x7fffffffu) > 0x7f800000u ? 0x400000u : 0u));
}

TW_INLINE float to_f32(F16 x) {
  const unsigned magnitude = (x.bits & 0x7fffu) << 13;
  const unsigned sign = (x.bits & 0x8000u) << 16;
  const unsigned normal = magnitude + (112u << 23);
  const unsigned special = (magnitude + (224u << 23)) | (magnitude > (31u << 23) ? 0x400000u : 0u);
  // A subnormal is m * 2^-24 = 2^-14 * (1 + m / 1024) - 2^-14, and the subtraction is exact.
  const unsigned subnormal = bit_cast<unsigned>(bit_cast<float>(magnitude + (113u << 23)) - 0x1p-14f);
  const unsigned finite = magnitude < (1u << 23) ? subnormal : normal;
  return bit_cast<float>(sign | (magnitude >= (31u << 23) ? special : finite));
}

template <class D>
TW_INLINE D from_f32(float x);

template <>
TW_INLINE float from_f32<float>(float x) {
  return x;
}

template <>
TW_INLINE BF16 from_f32<BF16>(float x) {
  const unsigned u = bit_cast<unsigned>(x);
  const unsigned rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const unsigned nan = (u >> 16) | 0x40u;
  return {(unsigned short)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

template <>
TW_INLINE F16 from_f32<F16>(float x) {
  const unsigned u = bit_cast<unsigned>(x);
  const unsigned magnitude = u & 0x7fffffffu;
  const unsigned rebased = magnitude - (112u << 23);
  const unsigned normal = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;  // 65520 carries into infinity, as it must
  // One unit in the last place of 0.5 is 2^-24, the f16 subnormal step: the addition does the rounding.
  const unsigned subnormal = bit_cast<unsigned>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const unsigned special = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x1ffu) : 0x7c00u;
  const unsigned finite = magnitude < (113u << 23) ? subnormal : normal;
  const unsigned half = magnitude >= 0x47800000u ? special : finite;
  return {(unsigned short)(half | ((u >> 16) & 0x8000u))};
}

TW_INLINE float round_f16(float x) { return to_f32(from_f32<F16>(x)); }
TW_INLINE float round_bf16(float x) { return to_f32(from_f32<BF16>(x)); }

// convert: n elements of S to D. 16-bit floats go through f32; any other pair is a static_cast.
template <class D, class S>
struct Convert {
  static TW_INLINE D one(S x) { return static_cast<D>(x); }
};
template <class D>
struct Convert<D, F16> {
  static TW_INLINE D one(F16 x) { return static_cast<D>(to_f32(x)); }
};
template <class D>
struct Convert<D, BF16> {
  static TW_INLINE D one(BF16 x) { return static_cast<D>(to_f32(x)); }
};
template <class S>
struct Convert<F16, S> {
  static TW_INLINE F16 one(S x) { return from_f32<F16>(static_cast<float>(x)); }
};
template <class S>
struct Convert<BF16, S> {
  static TW_INLINE BF16 one(S x) { return from_f32<BF16>(static_cast<float>(x)); }
};
template <>
struct Convert<F16, F16> {
  static TW_INLINE F16 one(F16 x) { return x; }
};
template <>
struct Convert<BF16, BF16> {
  static TW_INLINE BF16 one(BF16 x) { return x; }
};
template <>
struct Convert<F16, BF16> {
  static TW_INLINE F16 one(BF16 x) { return from_f32<F16>(to_f32(x)); }
};
template <>
struct Convert<BF16, F16> {
  static TW_INLINE BF16 one(F16 x) { return from_f32<BF16>(to_f32(x)); }
};

template <class D, class S>
TW_INLINE void convert(D* __restrict to, const S* __restrict from, int n) {
  TW_VECTORIZE for (int i = 0; i < n; ++i) to[i] = Convert<D, S>::one(from[i]);
}

template <class T>
TW_INLINE void convert(T* __restrict to, const T* __restrict from, int n) {
  using V = Vec<T>;
  constexpr int kLanes = sizeof(V) / sizeof(T);
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) store(to + i, load<V>(from + i));
  for (; i < n; ++i) to[i] = from[i];
}

#if defined(__F16C__)
TW_INLINE void convert(float* __restrict to, const F16* __restrict from, int n) {
  typedef short Half8 __attribute__((vector_size(16)));
  int i = 0;
  for (; i + 8 <= n; i += 8) store(to + i, __builtin_ia32_vcvtph2ps256(load<Half8>(from + i)));
  for (; i < n; ++i) to[i] = to_f32(from[i]);
}
TW_INLINE void convert(F16* __restrict to, const float* __restrict from, int n) {
  int i = 0;
  for (; i + 8 <= n; i += 8) store(to + i, __builtin_ia32_vcvtps2ph256(load<Vec<float, 32>>(from + i), 0));
  for (; i < n; ++i) to[i] = from_f32<F16>(from[i]);
}
#endif

}  // namespace tilewright::device::cpu
