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
//   TW_INLINE     how functions are declared                      default: always inlined. Without optimisation that
//                 only repeats them: "inline" compiles twice as fast

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

#ifndef TW_INLINE
#define TW_INLINE inline __attribute__((always_inline))
#endif
#define TW_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define TW_UNROLL(n) TW_PRAGMA(clang loop unroll_count(n))
#define TW_VECTORIZE TW_PRAGMA(clang loop vectorize(enable) interleave(enable))
#define TW_SCALAR_LOOP
#else
// First in the body of a loop around loops with conditional accesses. g++ 12.2 unrolls a short inner loop, vectorises
// the outer one with masked loads, and permutes their lanes wrongly (rows of 16 bytes read under a condition, AVX-512).
#define TW_SCALAR_LOOP asm volatile("");
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

// The numbers of lanes, for __builtin_shufflevector.
template <int... I>
struct Lanes {};
#if defined(__clang__)
template <class, int... I>
using LanesOf = Lanes<I...>;
template <int N>
using FirstLanes = __make_integer_seq<LanesOf, int, N>;
#else
template <int N>
using FirstLanes = Lanes<__integer_pack(N)...>;
#endif

template <class To, class From>
TW_INLINE To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  __builtin_memcpy(&y, &x, sizeof(To));
  return y;
}

constexpr int round_up(int x, int to) { return (x + to - 1) / to * to; }
constexpr int ceil_div(int x, int by) { return (x + by - 1) / by; }

// ---- narrow floats
// ----------------------------------------------------------------------------------------------------------------
// Storage only: arithmetic is done in f32. Conversions are exact upwards and round to nearest even downwards;
// subnormals, infinities and NaN (quieted, top payload bits kept) of 16-bit floats agree bit for bit with VCVTPH2PS and
// VCVTPS2PH. The 8-bit floats are OCP's (E4M3 without infinity, and E5M2) and saturate; a NaN becomes one pattern.

struct F16 {
  unsigned short bits;
};
struct BF16 {
  unsigned short bits;
};
struct F8E4M3 {
  unsigned char bits;
};
struct F8E5M2 {
  unsigned char bits;
};
// F8E5M2 as a number of another type becomes it: an infinity saturates too.
struct F8E5M2Finite {
  unsigned char bits;
};
// A 32-bit float in memory; read and written rounded to 10 fraction bits.
struct TF32 {
  float value;
};

template <class T>
constexpr bool kIsNarrow = false;
template <>
inline constexpr bool kIsNarrow<F16> = true;
template <>
inline constexpr bool kIsNarrow<BF16> = true;
template <>
inline constexpr bool kIsNarrow<F8E4M3> = true;
template <>
inline constexpr bool kIsNarrow<F8E5M2> = true;
template <>
inline constexpr bool kIsNarrow<F8E5M2Finite> = true;
template <>
inline constexpr bool kIsNarrow<TF32> = true;

TW_INLINE float round_tf32(float x) {
  const unsigned u = bit_cast<unsigned>(x);
  const unsigned rounded = (u + 0xfffu + ((u >> 13) & 1u)) & ~0x1fffu;
  return bit_cast<float>((u & 0x7fffffffu) > 0x7f800000u ? u | 0x400000u : rounded);
}

TW_INLINE float to_f32(float x) { return x; }

TW_INLINE float to_f32(TF32 x) { return round_tf32(x.value); }

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

// The upper half of an f16.
TW_INLINE float to_f32(F8E5M2 x) { return to_f32(F16{(unsigned short)(x.bits << 8)}); }

TW_INLINE float to_f32(F8E4M3 x) {
  const unsigned magnitude = (x.bits & 0x7fu) << 20;
  const unsigned sign = (x.bits & 0x80u) << 24;
  const unsigned normal = magnitude == (0x7fu << 20) ? 0x7fc00000u : magnitude + (120u << 23);
  // m * 2^-9 = 2^-6 * (1 + m / 8) - 2^-6.
  const unsigned subnormal = bit_cast<unsigned>(bit_cast<float>(magnitude + (121u << 23)) - 0x1p-6f);
  return bit_cast<float>(sign | (magnitude < (1u << 23) ? subnormal : normal));
}

template <class D>
TW_INLINE D from_f32(float x);

template <>
TW_INLINE float from_f32<float>(float x) {
  return x;
}

template <>
TW_INLINE TF32 from_f32<TF32>(float x) {
  return {round_tf32(x)};
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

template <>
TW_INLINE F8E4M3 from_f32<F8E4M3>(float x) {
  const unsigned u = bit_cast<unsigned>(x);
  const unsigned magnitude = u & 0x7fffffffu;
  const unsigned rebased = magnitude - (120u << 23);
  const unsigned normal = (rebased + 0x7ffffu + ((rebased >> 20) & 1u)) >> 20;
  // One unit in the last place of 2^14 is 2^-9.
  const unsigned subnormal = bit_cast<unsigned>(bit_cast<float>(magnitude) + 0x1p14f) - 0x46800000u;
  const unsigned finite = magnitude < (121u << 23) ? subnormal : normal;
  const unsigned number = finite > 0x7eu ? 0x7eu : finite;
  return {(unsigned char)((magnitude > 0x7f800000u ? 0x7fu : number) | ((u >> 24) & 0x80u))};
}

template <>
TW_INLINE F8E5M2Finite from_f32<F8E5M2Finite>(float x) {
  const unsigned u = bit_cast<unsigned>(x);
  const unsigned magnitude = u & 0x7fffffffu;
  const unsigned rebased = magnitude - (112u << 23);
  const unsigned normal = (rebased + 0xfffffu + ((rebased >> 21) & 1u)) >> 21;
  // One unit in the last place of 2^7 is 2^-16.
  const unsigned subnormal = bit_cast<unsigned>(bit_cast<float>(magnitude) + 0x1p7f) - 0x43000000u;
  const unsigned finite = magnitude < (113u << 23) ? subnormal : normal;
  const unsigned number = finite > 0x7bu ? 0x7bu : finite;
  return {(unsigned char)((magnitude > 0x7f800000u ? 0x7eu : number) | ((u >> 24) & 0x80u))};
}

// Of a value of F8E5M2, which may be infinite.
template <>
TW_INLINE F8E5M2 from_f32<F8E5M2>(float x) {
  const unsigned u = bit_cast<unsigned>(x);
  const unsigned infinity = 0x7cu | ((u >> 24) & 0x80u);
  return {(unsigned char)((u & 0x7fffffffu) == 0x7f800000u ? infinity : from_f32<F8E5M2Finite>(x).bits)};
}

TW_INLINE float round_f16(float x) { return to_f32(from_f32<F16>(x)); }
TW_INLINE float round_bf16(float x) { return to_f32(from_f32<BF16>(x)); }
TW_INLINE float round_f8e4m3(float x) { return to_f32(from_f32<F8E4M3>(x)); }
TW_INLINE float round_f8e5m2(float x) { return to_f32(F8E5M2{from_f32<F8E5M2Finite>(x).bits}); }

// convert: n elements of S to D. Narrow floats go through f32; any other pair is a static_cast.
template <class D, class S>
struct Convert {
  static TW_INLINE D one(S x) {
    if constexpr (kIsNarrow<S> && kIsNarrow<D>) {
      return from_f32<D>(to_f32(x));
    } else if constexpr (kIsNarrow<S>) {
      return static_cast<D>(to_f32(x));
    } else if constexpr (kIsNarrow<D>) {
      return from_f32<D>(static_cast<float>(x));
    } else {
      return static_cast<D>(x);
    }
  }
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
