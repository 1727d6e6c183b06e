#pragma once
// PTX: cvt, prmt, lop3, dp4a. Numbers by their bits (IEEE 754-2019 3.4; OCP 8-bit floating point): rounded to nearest
// even.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

namespace sim {
// The magnitude bits of a format with `kFraction` fraction bits and exponent bias `kBias` that hold |x| rounded; may
// reach the infinity of the format and beyond. Exact arithmetic in double: one quantum is the value of the last place.
template <int kFraction, int kBias>
inline u32 rounded_magnitude(float x) {
  const double magnitude = fabs(double(x));
  int exponent = int(u64(__double_as_longlong(magnitude)) >> 52) - 1023;
  if (exponent < 1 - kBias) exponent = 1 - kBias;
  const double quantum = __longlong_as_double(i64(u64(exponent - kFraction + 1023) << 52));
  const u32 steps = u32(rint(magnitude / quantum));  // at most 2^(kFraction + 1)
  return (u32(exponent + kBias - 1) << kFraction) + steps;
}
template <int kFraction, int kBias>
inline double magnitude_value(u32 bits) {
  const int exponent = int(bits >> kFraction);
  const u32 fraction = bits & ((1u << kFraction) - 1);
  const int scale = (exponent == 0 ? 1 : exponent) - kBias - kFraction;
  return double(exponent == 0 ? fraction : fraction | 1u << kFraction) *
         __longlong_as_double(i64(u64(scale + 1023) << 52));
}
template <u32 kLargest>
inline u8 saturated(u32 magnitude, float x) {
  return u8((magnitude > kLargest ? kLargest : magnitude) | (bits_of(x) >> 24 & 0x80u));
}
}  // namespace sim

TW_ATOM u16 f16_from_f32(float x) {
  const u16 sign = u16(bits_of(x) >> 16 & 0x8000u);
  if (x != x) return 0x7fff;
  if (fabsf(x) >= 65520.0f) return u16(sign | 0x7c00u);
  return u16(sign | sim::rounded_magnitude<10, 15>(x));
}
TW_ATOM float f32_from_f16(u16 x) {
  const u32 magnitude = x & 0x7fffu, sign = u32(x & 0x8000u) << 16;
  if (magnitude > 0x7c00u) return float_of(0x7fffffffu);  // the one NaN of an H200
  if (magnitude == 0x7c00u) return float_of(sign | 0x7f800000u);
  return float_of(sign | bits_of(float(sim::magnitude_value<10, 15>(magnitude))));
}
TW_ATOM u16 bf16_from_f32(float x) {
  const u32 bits = bits_of(x), low = bits & 0xffffu;
  if (x != x) return 0x7fff;
  u32 high = bits >> 16;
  if (low > 0x8000u || (low == 0x8000u && (high & 1u))) ++high;
  return u16(high);
}
TW_ATOM float f32_from_bf16(u16 x) { return float_of(u32(x) << 16); }

TW_ATOM u32 f16x2_from_f32(float low, float high) { return pack16(f16_from_f32(low), f16_from_f32(high)); }
TW_ATOM u32 bf16x2_from_f32(float low, float high) { return pack16(bf16_from_f32(low), bf16_from_f32(high)); }
namespace sim {
inline float relu(float x) { return x > 0 || x != x ? x : 0.0f; }
}  // namespace sim
TW_ATOM u32 f16x2_from_f32_relu(float low, float high) { return f16x2_from_f32(sim::relu(low), sim::relu(high)); }
TW_ATOM u32 bf16x2_from_f32_relu(float low, float high) { return bf16x2_from_f32(sim::relu(low), sim::relu(high)); }

TW_ATOM void f32_from_f16x2(float* out, u32 x) {
  out[0] = f32_from_f16(low16(x));
  out[1] = f32_from_f16(high16(x));
}
TW_ATOM void f32_from_bf16x2(float* out, u32 x) {
  out[0] = f32_from_bf16(low16(x));
  out[1] = f32_from_bf16(high16(x));
}

// Ties away from zero. (PTX: cvt.rna.tf32)
TW_ATOM u32 tf32_from_f32(float x) {
  const u32 bits = bits_of(x);
  return (bits & 0x7fffffffu) >= 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}

#if TW_CUDA_ARCH >= 890
namespace sim {
inline u8 e4m3(float x) {
  return x != x ? u8(0x7f) : saturated<0x7e>(rounded_magnitude<3, 7>(fabsf(x) < 512 ? x : 512), x);
}
inline u8 e5m2(float x) {
  return x != x ? u8(0x7f) : saturated<0x7b>(rounded_magnitude<2, 15>(fabsf(x) < 65536 ? x : 65536), x);
}
inline u16 f16_from_e4m3(u8 x) {
  const u32 magnitude = x & 0x7fu, sign = u32(x & 0x80u) << 8;
  if (magnitude == 0x7fu) return 0x7fff;
  return u16(sign | f16_from_f32(float(magnitude_value<3, 7>(magnitude))));
}
}  // namespace sim
TW_ATOM u16 e4m3x2_from_f32(float low, float high) { return u16(sim::e4m3(low) | sim::e4m3(high) << 8); }
TW_ATOM u16 e5m2x2_from_f32(float low, float high) { return u16(sim::e5m2(low) | sim::e5m2(high) << 8); }
TW_ATOM u16 e4m3x2_from_f32_relu(float low, float high) { return e4m3x2_from_f32(sim::relu(low), sim::relu(high)); }
TW_ATOM u16 e5m2x2_from_f32_relu(float low, float high) { return e5m2x2_from_f32(sim::relu(low), sim::relu(high)); }
TW_ATOM u16 e4m3x2_from_f16x2(u32 x) { return e4m3x2_from_f32(f32_from_f16(low16(x)), f32_from_f16(high16(x))); }
TW_ATOM u16 e5m2x2_from_f16x2(u32 x) { return e5m2x2_from_f32(f32_from_f16(low16(x)), f32_from_f16(high16(x))); }
TW_ATOM u32 f16x2_from_e4m3x2(u16 x) { return pack16(sim::f16_from_e4m3(u8(x)), sim::f16_from_e4m3(u8(x >> 8))); }
namespace sim {
// The high byte of an f16; a NaN becomes the one that all conversions give.
inline u16 f16_of_e5m2(unsigned x) { return u16((x & 0x7cu) == 0x7cu && (x & 3u) != 0 ? 0x7fffu : x << 8); }
}  // namespace sim
TW_ATOM u32 f16x2_from_e5m2x2(u16 x) { return pack16(sim::f16_of_e5m2(x & 0xffu), sim::f16_of_e5m2(x >> 8)); }
#endif

TW_ATOM u32 permute_bytes(u32 a, u32 b, u32 selector) { return __byte_perm(a, b, selector); }
template <u32 kTable>
TW_ATOM u32 logic3(u32 a, u32 b, u32 c) {
  u32 out = 0;
  for (u32 i = 0; i < 32; ++i) {
    const u32 row = (a >> i & 1u) * 4 + (b >> i & 1u) * 2 + (c >> i & 1u);
    out |= (kTable >> row & 1u) << i;
  }
  return out;
}
TW_ATOM i32 dot4(u32 x, u32 y, i32 sum) {
  u32 out = u32(sum);
  for (u32 i = 0; i < 4; ++i) out += u32(i32(i8(x >> 8 * i)) * i32(i8(y >> 8 * i)));
  return i32(out);
}

}  // namespace tilewright::device
