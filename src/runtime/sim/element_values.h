// Elements of products: their values, in registers and in memory.
#pragma once

#include "target/dtype.h"

#include <tilewright/device/sim/hooks.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tilewright::sim {

using device::sim::Element;

// f16_value of target/dtype.h, which made a product of 256 x 256 x 256 take 3.7 times as long.
inline float value_of_f16(uint16_t bits) {
  const uint32_t magnitude = uint32_t(bits & 0x7fffu) << 13, sign = uint32_t(bits & 0x8000u) << 16;
  // The exponent's bias goes from 15 to 127; an infinity and NaN keep theirs.
  const float finite = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t value = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : std::bit_cast<uint32_t>(finite);
  return std::bit_cast<float>(value | sign);
}

// PTX: NaN of f16 is 0x7fff.
inline uint16_t f16_result(float x) { return std::isnan(x) ? 0x7fff : f16_bits(double(x)); }

template <class Bits>
Bits bits_at(const void* registers, int i) {
  Bits out;
  std::memcpy(&out, static_cast<const unsigned char*>(registers) + sizeof(Bits) * size_t(i), sizeof(Bits));
  return out;
}

template <class Bits>
void put(void* registers, int i, Bits bits) {
  std::memcpy(static_cast<unsigned char*>(registers) + sizeof(Bits) * size_t(i), &bits, sizeof(Bits));
}

// The type that elements are multiplied and summed in. Integers have no sign there: sums wrap around.
template <Element kType>
using Value = std::conditional_t<kType == Element::f64, double,
                                 std::conditional_t<kType == Element::s8 || kType == Element::u8, uint32_t, float>>;

// Element `i` of a lane's registers.
template <Element kType>
Value<kType> element(const void* registers, int i) {
  if constexpr (kType == Element::f64) return bits_at<double>(registers, i);
  if constexpr (kType == Element::f16) return value_of_f16(bits_at<uint16_t>(registers, i));
  if constexpr (kType == Element::bf16) return std::bit_cast<float>(uint32_t(bits_at<uint16_t>(registers, i)) << 16);
  // The lower bits are ignored.
  if constexpr (kType == Element::tf32) return std::bit_cast<float>(bits_at<uint32_t>(registers, i) & ~0x1fffu);
  if constexpr (kType == Element::e4m3) return float(f8e4m3_value(bits_at<uint8_t>(registers, i)));
  if constexpr (kType == Element::e5m2) return value_of_f16(uint16_t(bits_at<uint8_t>(registers, i) << 8));
  if constexpr (kType == Element::s8) return uint32_t(int32_t(bits_at<int8_t>(registers, i)));
  if constexpr (kType == Element::u8) return bits_at<uint8_t>(registers, i);
}

}  // namespace tilewright::sim
