#include "ops/numbers.h"

#include <limits>

namespace tilewright::tests {

FloatFormat format_of(DType t) {
  switch (t) {
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

Real round_real(DType t, Real value) {
  if (value == 0 || std::isnan(value) || std::isinf(value)) return value;
  const Real step = ulp(t, value);
  const Real rounded = std::nearbyint(value / step) * step;
  const Real limit = std::ldexp(Real(1), format_of(t).max_exponent + 1);
  if (std::fabs(rounded) >= limit) return std::copysign(std::numeric_limits<Real>::infinity(), value);
  return std::copysign(rounded, value);
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
  if (is_float(to)) return round_real(to, value);
  if (!is_float(from)) return wrap_real(to, bits_of_int(value));
  if (std::isnan(value)) return 0;
  const int magnitude_bits = bits_of(to) - (is_unsigned(to) ? 0 : 1);
  const Real high = std::ldexp(Real(1), magnitude_bits) - 1;
  const Real low = is_unsigned(to) ? Real(0) : -std::ldexp(Real(1), magnitude_bits);
  return std::min(std::max(std::trunc(value), low), high) + Real(0);
}

}  // namespace tilewright::tests
