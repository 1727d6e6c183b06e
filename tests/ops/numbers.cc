#include "ops/numbers.h"

#include <limits>

namespace tilewright::tests {

FloatFormat format_of(DType t) {
  switch (t) {
    case DType::f8e4m3: return {4, -6, 8};
    case DType::f8e5m2: return {3, -14, 15};
    case DType::tf32: return {11, -126, 127};
    case DType::f16: return {11, -14, 15};
    case DType::bf16: return {8, -126, 127};
    case DType::f32: return {24, -126, 127};
    default: return {53, -1022, 1023};
  }
}

Real ulp(DType t, Real value) {
  const FloatFormat f = format_of(t);
  const int exponent = value == 0 ? f.min_exponent : std::ilogb(value);
  return std::ldexp(Real(1), std::max(exponent, f.min_exponent) - f.digits + 1);
}

Real unit_of(DType t) { return std::ldexp(Real(1), -format_of(t).digits); }
Real subnormal_of(DType t) { return std::ldexp(Real(1), format_of(t).min_exponent - format_of(t).digits + 1); }

bool is_8_bit_float(DType t) { return t == DType::f8e4m3 || t == DType::f8e5m2; }

Real top_of(DType t) {
  // E4M3 gives up its largest pattern, 1.875 * 2^8, for NaN.
  if (t == DType::f8e4m3) return 448;
  return std::ldexp(2 - 2 * unit_of(t), format_of(t).max_exponent);
}

Real round_real(DType t, Real value) {
  if (value == 0 || std::isnan(value)) return value;
  const Real beyond = is_8_bit_float(t) ? top_of(t) : std::numeric_limits<Real>::infinity();
  if (std::isinf(value)) return std::copysign(beyond, value);
  const Real step = ulp(t, value);
  const Real rounded = std::nearbyint(value / step) * step;
  return std::copysign(std::fabs(rounded) > top_of(t) ? beyond : rounded, value);
}

Real value_of_bits(DType t, uint32_t bits) {
  const FloatFormat f = format_of(t);
  const int width = bits_of(t), fraction_bits = t == DType::tf32 ? 23 : f.digits - 1;
  const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const uint32_t exponent = (bits >> fraction_bits) & ((1u << (width - 1 - fraction_bits)) - 1);
  const bool top = exponent == (1u << (width - 1 - fraction_bits)) - 1;
  const Real sign = (bits >> (width - 1)) & 1 ? -1 : 1;
  if (t == DType::f8e4m3 ? top && fraction == 7 : top && fraction != 0) return std::numeric_limits<Real>::quiet_NaN();
  if (top && t != DType::f8e4m3) return sign * std::numeric_limits<Real>::infinity();
  const Real unit = std::ldexp(Real(1), -fraction_bits);
  const Real magnitude = exponent == 0 ? std::ldexp(fraction * unit, f.min_exponent)
                                       : std::ldexp(1 + fraction * unit, int(exponent) - 1 + f.min_exponent);
  return t == DType::tf32 ? round_real(t, sign * magnitude) : sign * magnitude;
}

Real neighbour(DType t, Real x, Real to) {
  if (std::isnan(x) || std::isnan(to)) return std::numeric_limits<Real>::quiet_NaN();
  if (x == to) return to;
  const Real way = to > x ? 1 : -1;
  if (std::isinf(x)) return std::copysign(top_of(t), x);
  if (x == 0) return way * subnormal_of(t);
  if (std::fabs(x) == top_of(t) && (way > 0) == (x > 0)) {
    return t == DType::f8e4m3 ? x : std::copysign(std::numeric_limits<Real>::infinity(), x);
  }
  // Half a step down from a power of two is a number, unless it is below all of them.
  const Real step = way * ulp(t, x), half = x + step / 2;
  return round_real(t, half) == half && std::fabs(half) < std::fabs(x) ? half : x + step;
}

Real wrap_real(DType t, uint64_t bits) {
  if (is_boolean(t)) return bits != 0;
  const int width = bits_of(t);
  if (width < 64) bits &= (uint64_t(1) << width) - 1;
  if (is_unsigned(t)) return static_cast<Real>(bits);
  const bool negative = (bits >> (width - 1)) & 1;
  return static_cast<Real>(bits) - (negative ? std::ldexp(Real(1), width) : Real(0));
}

uint64_t bits_of_int(Real value) {
  return value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
}

Real cast_real(Real value, DType from, DType to) {
  if (is_boolean(to)) return value != 0;
  if (from == to) return value;
  if (is_float(to)) return round_real(to, value);
  if (!is_float(from)) return wrap_real(to, bits_of_int(value));
  if (std::isnan(value)) return 0;
  const int magnitude_bits = bits_of(to) - (is_unsigned(to) ? 0 : 1);
  const Real high = std::ldexp(Real(1), magnitude_bits) - 1;
  const Real low = is_unsigned(to) ? Real(0) : -std::ldexp(Real(1), magnitude_bits);
  return std::min(std::max(std::trunc(value), low), high) + Real(0);
}

}  // namespace tilewright::tests
