// Rounding a double to a float dtype inline; the same function as round_to, at a few instructions.
#pragma once

#include <tilewright/dtype.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tilewright::interp {

// To nearest even at `kDigits` significand bits and exponents as in IEEE 754.
template <int kDigits, int kMinExponent, int kMaxExponent>
inline double round_narrow(double value) {
  constexpr int kDropped = 53 - kDigits;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const int exponent = int((bits >> 52) & 0x7ff) - 1023;
  if (exponent == 1024) return value;
  if (exponent < kMinExponent) {  // a subnormal result: adding the constant leaves its spacing
    const double shift = std::bit_cast<double>(uint64_t(1023 + kMinExponent - (kDigits - 1) + 52) << 52) * 1.5;
    return std::copysign((std::abs(value) + shift) - shift, value);
  }
  const uint64_t odd = (bits >> kDropped) & 1;
  const uint64_t rounded = (bits + ((uint64_t(1) << (kDropped - 1)) - 1 + odd)) & ~((uint64_t(1) << kDropped) - 1);
  if (int((rounded >> 52) & 0x7ff) - 1023 > kMaxExponent) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return std::bit_cast<double>(rounded);
}

// The same, but from `largest` on everything is `largest`: the 8-bit floats.
template <int kDigits, int kMinExponent, int kMaxExponent>
inline double round_saturating(double value, double largest) {
  const double result = round_narrow<kDigits, kMinExponent, kMaxExponent>(value);
  return std::abs(result) > largest ? std::copysign(largest, value) : result;
}

template <DType kDType>
inline double rounded(double value) {
  if constexpr (kDType == DType::f8e4m3) return round_saturating<4, -6, 8>(value, 448);
  if constexpr (kDType == DType::f8e5m2) return round_saturating<3, -14, 15>(value, 57344);
  if constexpr (kDType == DType::f16) return round_narrow<11, -14, 15>(value);
  if constexpr (kDType == DType::bf16) return round_narrow<8, -126, 127>(value);
  if constexpr (kDType == DType::tf32) return round_narrow<11, -126, 127>(value);
  if constexpr (kDType == DType::f32) return double(float(value));
  return value;
}

inline double rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::f8e4m3: return rounded<DType::f8e4m3>(value);
    case DType::f8e5m2: return rounded<DType::f8e5m2>(value);
    case DType::f16: return rounded<DType::f16>(value);
    case DType::bf16: return rounded<DType::bf16>(value);
    case DType::tf32: return rounded<DType::tf32>(value);
    case DType::f32: return rounded<DType::f32>(value);
    default: return value;
  }
}

}  // namespace tilewright::interp
