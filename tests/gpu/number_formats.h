// Small floating-point formats by their definition, in double arithmetic.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tilewright::test {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;  // e4m3 has none: its last exponent holds numbers, and NaN where all bits are set

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  uint32_t magnitude_mask() const { return (1u << (exponent_bits + mantissa_bits)) - 1; }
};
constexpr Format kF16 = {5, 10, 15, true}, kBf16 = {8, 7, 127, true}, kE4m3 = {4, 3, 7, false},
                 kE5m2 = {5, 2, 15, true}, kTf32 = {8, 10, 127, true};

inline double decode(const Format& f, uint32_t bits) {
  const uint32_t magnitude = bits & f.magnitude_mask();
  const int exponent = int(magnitude >> f.mantissa_bits), last = (1 << f.exponent_bits) - 1;
  const int mantissa = int(magnitude & ((1u << f.mantissa_bits) - 1));
  const double sign = bits >> (f.bits() - 1) & 1 ? -1 : 1;
  if (f.has_infinity && exponent == last) {
    return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  if (!f.has_infinity && magnitude == f.magnitude_mask()) return std::nan("");
  const double significand = exponent ? mantissa + (1 << f.mantissa_bits) : mantissa;
  return sign * std::ldexp(significand, std::max(exponent, 1) - f.bias - f.mantissa_bits);
}

// The largest finite magnitude's bits.
inline uint32_t largest(const Format& f) {
  return f.has_infinity ? (((1u << f.exponent_bits) - 1) << f.mantissa_bits) - 1 : f.magnitude_mask() - 1;
}

// To nearest, ties to the even bits. Beyond the range: infinity, or the largest magnitude where `saturate`.
inline uint32_t encode(const Format& f, double x, bool saturate = false) {
  if (std::isnan(x)) return f.magnitude_mask();
  const uint32_t sign = std::signbit(x) ? 1u << (f.bits() - 1) : 0;
  const double magnitude = std::fabs(x);
  // Magnitudes grow with their bits, so the last one not above x is found by halving.
  uint32_t low = 0, high = largest(f) + 1;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (decode(f, middle) <= magnitude ? low : high) = middle;
  }
  const double step = decode(f, largest(f)) - decode(f, largest(f) - 1);
  const double below = decode(f, low);
  const double above = low == largest(f) ? below + step : decode(f, low + 1);
  const double middle = below + (above - below) / 2;
  uint32_t out = magnitude < middle || (magnitude == middle && low % 2 == 0) ? low : low + 1;
  if (out > largest(f) && (saturate || !f.has_infinity)) out = largest(f);
  return sign | out;
}

}  // namespace tilewright::test
