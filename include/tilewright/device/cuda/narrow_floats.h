#pragma once
// The narrow floats of the language in memory, and their values, which are held and computed in f32. Conversions are
// exact upwards and round to nearest even downwards; the 8-bit floats are OCP's (E4M3 without infinity, and E5M2) and
// saturate. Which NaN a NaN becomes is free.
#include <tilewright/device/cuda/convert.h>
#include <tilewright/device/cuda/memory.h>

namespace tilewright::device {

struct F16 {
  u16 bits;
};
struct BF16 {
  u16 bits;
};
struct F8E4M3 {
  u8 bits;
};
struct F8E5M2 {
  u8 bits;
};
// F8E5M2 as a number of another type becomes it: an infinity saturates too.
struct F8E5M2Finite {
  u8 bits;
};
// A 32-bit float in memory; read and written rounded to 10 fraction bits.
struct TF32 {
  float value;
};

// The same bytes as another type.
template <class To, class From>
TW_ATOM To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From), "types of one size");
  union {
    From from;
    To to;
  } both;
  both.from = x;
  return both.to;
}

// To nearest even; a carry may reach infinity, as it must. cvt.rna.tf32 rounds ties away from zero.
TW_ATOM float round_tf32(float x) {
  const u32 u = bits_of(x);
  return x != x ? x : float_of((u + 0xfffu + (u >> 13 & 1u)) & ~0x1fffu);
}

// ---- upwards ----
TW_ATOM float to_f32(float x) { return x; }
TW_ATOM float to_f32(F16 x) { return f32_from_f16(x.bits); }
TW_ATOM float to_f32(BF16 x) { return f32_from_bf16(x.bits); }
TW_ATOM float to_f32(TF32 x) { return round_tf32(x.value); }
// The upper half of an f16.
TW_ATOM float to_f32(F8E5M2 x) { return f32_from_f16(u16(x.bits << 8)); }
TW_ATOM float to_f32(F8E4M3 x) {
#if TW_CUDA_ARCH >= 890
  return f32_from_f16(low16(f16x2_from_e4m3x2(x.bits)));
#else
  const u32 magnitude = (x.bits & 0x7fu) << 20, sign = (x.bits & 0x80u) << 24;
  const u32 normal = magnitude == (0x7fu << 20) ? 0x7fc00000u : magnitude + (120u << 23);
  // m * 2^-9 = 2^-6 * (1 + m / 8) - 2^-6, and the subtraction is exact.
  const u32 subnormal = bits_of(float_of(magnitude + (121u << 23)) - 0x1p-6f);
  return float_of(sign | (magnitude < (1u << 23) ? subnormal : normal));
#endif
}

// ---- downwards ----
#if TW_CUDA_ARCH < 890
// An 8-bit float of `mantissa_bits` fraction bits whose exponents begin at that of f32 number `first`, saturated. One
// unit in the last place of `anchor` is the smallest subnormal, so that adding it rounds.
template <u32 kMantissaBits, u32 kFirst, u32 kLargest>
TW_ATOM u8 f8_from_f32(float x, float anchor) {
  constexpr u32 kDropped = 23 - kMantissaBits;
  const u32 u = bits_of(x), magnitude = u & 0x7fffffffu;
  const u32 rebased = magnitude - ((kFirst - 1) << 23);
  const u32 normal = (rebased + ((1u << (kDropped - 1)) - 1) + (rebased >> kDropped & 1u)) >> kDropped;
  const u32 subnormal = bits_of(float_of(magnitude) + anchor) - bits_of(anchor);
  const u32 finite = magnitude < (kFirst << 23) ? subnormal : normal;
  const u32 number = magnitude > 0x7f800000u ? 0x7fu : finite > kLargest ? kLargest : finite;
  return u8(number | (u >> 24 & 0x80u));
}
#endif

template <class T>
TW_ATOM T from_f32(float x);
template <>
TW_ATOM float from_f32<float>(float x) {
  return x;
}
template <>
TW_ATOM TF32 from_f32<TF32>(float x) {
  return {round_tf32(x)};
}
template <>
TW_ATOM F16 from_f32<F16>(float x) {
  return {f16_from_f32(x)};
}
template <>
TW_ATOM BF16 from_f32<BF16>(float x) {
#if TW_CUDA_ARCH >= 800
  return {bf16_from_f32(x)};
#else
  const u32 u = bits_of(x);
  return {x != x ? u16(0x7fff) : u16((u + 0x7fffu + (u >> 16 & 1u)) >> 16)};
#endif
}
template <>
TW_ATOM F8E4M3 from_f32<F8E4M3>(float x) {
#if TW_CUDA_ARCH >= 890
  return {u8(e4m3x2_from_f32(x, 0.0f))};
#else
  return {f8_from_f32<3, 121, 0x7e>(x, 0x1p14f)};
#endif
}
template <>
TW_ATOM F8E5M2Finite from_f32<F8E5M2Finite>(float x) {
#if TW_CUDA_ARCH >= 890
  return {u8(e5m2x2_from_f32(x, 0.0f))};
#else
  return {f8_from_f32<2, 113, 0x7b>(x, 0x1p7f)};
#endif
}
// Of a value of F8E5M2, which may be infinite.
template <>
TW_ATOM F8E5M2 from_f32<F8E5M2>(float x) {
  const u32 u = bits_of(x), infinity = 0x7cu | (u >> 24 & 0x80u);
  return {u8((u & 0x7fffffffu) == 0x7f800000u ? infinity : from_f32<F8E5M2Finite>(x).bits)};
}

TW_ATOM float round_f16(float x) { return to_f32(from_f32<F16>(x)); }
TW_ATOM float round_bf16(float x) { return to_f32(from_f32<BF16>(x)); }
TW_ATOM float round_f8e4m3(float x) { return to_f32(from_f32<F8E4M3>(x)); }
TW_ATOM float round_f8e5m2(float x) { return to_f32(F8E5M2{from_f32<F8E5M2Finite>(x).bits}); }

// ---- the value of an element in memory, and the element of a value ----
template <class T>
TW_ATOM T value_of(T x) {
  return x;
}
template <class T, class Value>
TW_ATOM T memory_of(Value x) {
  return T(x);
}
#define TW_NARROW(T)                                \
  TW_ATOM float value_of(T x) { return to_f32(x); } \
  template <>                                       \
  TW_ATOM T memory_of<T, float>(float x) {          \
    return from_f32<T>(x);                          \
  }
TW_NARROW(F16)
TW_NARROW(BF16)
TW_NARROW(TF32)
TW_NARROW(F8E4M3)
TW_NARROW(F8E5M2)
#undef TW_NARROW
template <>
TW_ATOM F8E5M2Finite memory_of<F8E5M2Finite, float>(float x) {
  return from_f32<F8E5M2Finite>(x);
}

// ---- vectors: kCount adjacent elements in one access; their address is a multiple of their bytes ----
//
// They are put together from bits in registers. A union of elements and bytes says the same, but its copies can come
// apart into bytes, and ptxas 13.0 takes the low byte of a bf16 that it has just rounded for a conversion to u8.
template <u32 kBytes>
struct Unsigned;
template <>
struct Unsigned<1> {
  using Type = u8;
};
template <>
struct Unsigned<2> {
  using Type = u16;
};
template <>
struct Unsigned<4> {
  using Type = u32;
};
template <>
struct Unsigned<8> {
  using Type = u64;
};
template <class T>
TW_ATOM typename Unsigned<sizeof(T)>::Type element_bits(T x) {
  union {
    T x;
    typename Unsigned<sizeof(T)>::Type bits;
  } v{x};
  return v.bits;
}
template <class T>
TW_ATOM T element_of(typename Unsigned<sizeof(T)>::Type bits) {
  union {
    typename Unsigned<sizeof(T)>::Type bits;
    T x;
  } v{bits};
  return v.x;
}

// Words of 4 bytes, or the one smaller number that holds all bytes.
template <u32 kBytes, u32 kWordBytes = kBytes<4 ? kBytes : 4> struct alignas(kBytes) Words {
  typename Unsigned<kWordBytes>::Type at[kBytes / kWordBytes];
};
template <StoreHint kHint, u32 kBytes>
TW_ATOM void store_words(void* to, const Words<kBytes>& words) {
  if constexpr (kHint == StoreHint::normal || kBytes < 4) {
    *static_cast<Words<kBytes>*>(to) = words;
  } else if constexpr (kBytes == 4) {
    store_global_v1<kHint>(to, words.at);
  } else if constexpr (kBytes == 8) {
    store_global_v2<kHint>(to, words.at);
  } else {
    store_global_v4<kHint>(to, words.at);
  }
}
template <u32 kCount, class T, class Value>
TW_ATOM void take_words(Value* to, const Words<kCount * sizeof(T)>& words) {
  constexpr u32 kWordBytes = sizeof(words.at[0]), kPerWord = kWordBytes / sizeof(T);
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) {
    if constexpr (sizeof(T) == 8) {
      to[i] = value_of(element_of<T>(u64(words.at[2 * i]) | u64(words.at[2 * i + 1]) << 32));
    } else {
      using Bits = typename Unsigned<sizeof(T)>::Type;
      to[i] = value_of(element_of<T>(Bits(words.at[i / kPerWord] >> i % kPerWord * sizeof(T) * 8)));
    }
  }
}
template <u32 kCount, LoadHint kHint = LoadHint::normal, class Value, class T>
TW_ATOM void load_vector(Value* to, const T* from) {
  constexpr u32 kBytes = kCount * sizeof(T);
  if constexpr (kHint == LoadHint::normal || kBytes < 4) {
    const auto words = *reinterpret_cast<const Words<kBytes>*>(from);
    take_words<kCount, T>(to, words);
  } else {
    Words<kBytes> words;
    if constexpr (kBytes == 4) load_global_v1<kHint>(words.at, from);
    if constexpr (kBytes == 8) load_global_v2<kHint>(words.at, from);
    if constexpr (kBytes == 16) load_global_v4<kHint>(words.at, from);
    take_words<kCount, T>(to, words);
  }
}
template <u32 kCount, StoreHint kHint = StoreHint::normal, class T, class Value>
TW_ATOM void store_vector(T* to, const Value* from) {
  Words<kCount * sizeof(T)> words{};
  constexpr u32 kWordBytes = sizeof(words.at[0]), kPerWord = kWordBytes / sizeof(T);
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) {
    const auto bits = element_bits(memory_of<T>(from[i]));
    if constexpr (sizeof(T) == 8) {
      words.at[2 * i] = u32(bits);
      words.at[2 * i + 1] = u32(bits >> 32);
    } else {
      words.at[i / kPerWord] |= u32(bits) << i % kPerWord * sizeof(T) * 8;
    }
  }
  store_words<kHint>(to, words);
}

}  // namespace tilewright::device
