#include "target/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tilewright {

namespace {

// A binary float format with `digits` significand bits, exponents as in IEEE 754 and bias 1 - min_exponent.
struct Format {
  int digits;
  int min_exponent;  // of the smallest normal: 2^min_exponent
  int max_exponent;  // largest finite is below 2^(max_exponent + 1)
};

Format format_of(DType t) {
  switch (t) {
    case DType::f8e4m3: return {4, -6, 8};
    case DType::f8e5m2: return {3, -14, 15};
    case DType::f16: return {11, -14, 15};
    case DType::bf16: return {8, -126, 127};
    case DType::tf32: return {11, -126, 127};
    case DType::f32: return {24, -126, 127};
    default: return {53, -1022, 1023};
  }
}

// Rounds to nearest even in the format's spacing; exact, since the scaled value is rounded once.
double round_in_format(DType t, double value) {
  if (value == 0 || std::isnan(value)) return value;
  const Format format = format_of(t);
  const double beyond = saturates(t) ? largest_finite(t) : std::numeric_limits<double>::infinity();
  if (std::isinf(value)) return std::copysign(beyond, value);
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const int ulp_exponent = std::max(exponent - 1, format.min_exponent) - (format.digits - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -ulp_exponent)), ulp_exponent);
  return std::abs(rounded) > largest_finite(t) ? std::copysign(beyond, value) : rounded;
}

// Bits of an 8- or 16-bit format. The largest exponent field is for infinity and NaN, but in f8e4m3, where only the
// fraction of all ones is no number.
uint16_t encode(DType t, double value) {
  const Format format = format_of(t);
  const int mantissa_bits = format.digits - 1, bias = 1 - format.min_exponent;
  const auto sign = uint16_t(std::signbit(value) ? 1 << (bits_of(t) - 1) : 0);
  const auto infinity = uint16_t((2 * bias + 1) << mantissa_bits);
  if (std::isnan(value)) {
    return uint16_t(sign | infinity | (has_infinity(t) ? 1 << (mantissa_bits - 1) : (1 << mantissa_bits) - 1));
  }
  const double magnitude = std::abs(constant_of(t, value));
  if (std::isinf(magnitude)) return uint16_t(sign | infinity);
  if (magnitude < std::ldexp(1.0, format.min_exponent)) {
    return uint16_t(sign | uint16_t(std::ldexp(magnitude, mantissa_bits - format.min_exponent)));
  }
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  const auto mantissa = uint16_t(std::ldexp(fraction, format.digits)) & ((1 << mantissa_bits) - 1);
  return uint16_t(sign | ((exponent - 1 + bias) << mantissa_bits) | mantissa);
}

double decode(DType t, uint16_t bits) {
  const Format format = format_of(t);
  const int mantissa_bits = format.digits - 1, bias = 1 - format.min_exponent, sign_bit = 1 << (bits_of(t) - 1);
  const double sign = (bits & sign_bit) ? -1.0 : 1.0;
  const int exponent = (bits & (sign_bit - 1)) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const bool special = exponent == 2 * bias + 1 && (has_infinity(t) || mantissa == (1 << mantissa_bits) - 1);
  if (special && mantissa == 0) return sign * std::numeric_limits<double>::infinity();
  if (special) return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  if (exponent == 0) return sign * std::ldexp(mantissa, format.min_exponent - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

template <class T>
T read(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

template <class T>
void write(void* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

}  // namespace

double round_to(DType t, double value) {
  if (t == DType::f64) return value;
  if (t == DType::f32) return double(float(value));
  return round_in_format(t, value);
}

double constant_of(DType t, double value) { return std::isinf(value) && has_infinity(t) ? value : round_to(t, value); }

bool is_outside(DType t, double value) {
  if (!std::isfinite(value)) return std::isinf(value) && !has_infinity(t);
  if (t == DType::f64) return false;
  const Format format = format_of(t);
  return std::abs(value) >= largest_finite(t) + std::ldexp(0.5, format.max_exponent - format.digits + 1);
}

bool holds_all(DType to, DType from) {
  const Format wide = format_of(to), narrow = format_of(from);
  return wide.digits >= narrow.digits && smallest_subnormal(to) <= smallest_subnormal(from) &&
         largest_finite(to) >= largest_finite(from) && (has_infinity(to) || !has_infinity(from));
}

bool is_unbuilt_dtype(std::string_view name) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "i1",     "i2",     "i4",     "u1",     "u2",         "u4",         "f4e2m1",
      "f6e2m3", "f6e3m2", "f8e3m4", "f8e8m0", "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz",
      "f128",   "c64",    "c128"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

int significand_digits(DType t) { return format_of(t).digits; }
double unit_roundoff(DType t) { return std::ldexp(1.0, -significand_digits(t)); }

double smallest_subnormal(DType t) {
  const Format format = format_of(t);
  return std::ldexp(1.0, format.min_exponent - (format.digits - 1));
}

double largest_finite(DType t) {
  if (t == DType::f8e4m3) return 448;  // the pattern above is NaN
  const Format format = format_of(t);
  return std::ldexp(2.0 - std::ldexp(1.0, 1 - format.digits), format.max_exponent);
}

int64_t min_value(DType t) {
  if (is_unsigned(t) || is_boolean(t)) return 0;
  return t == DType::i64 ? std::numeric_limits<int64_t>::min() : -(int64_t(1) << (bits_of(t) - 1));
}

int64_t max_value(DType t) {
  switch (t) {
    case DType::boolean: return 1;
    case DType::i64: return std::numeric_limits<int64_t>::max();
    case DType::u64: return -1;
    default: return (int64_t(1) << (bits_of(t) - (is_unsigned(t) ? 0 : 1))) - 1;
  }
}

int64_t saturate_to_int(DType t, double value) {
  if (is_boolean(t)) return value != 0;  // also for NaN
  if (std::isnan(value)) return 0;
  const double truncated = std::trunc(value);
  if (t == DType::u64) {
    if (truncated <= 0) return 0;
    return truncated >= 18446744073709551616.0 ? -1 : std::bit_cast<int64_t>(uint64_t(truncated));
  }
  if (truncated <= double(min_value(t))) return min_value(t);
  // double(max_value(i64)) rounds up to 2^63, which is already out of range.
  return truncated >= double(max_value(t)) ? max_value(t) : int64_t(truncated);
}

uint8_t f8e4m3_bits(double value) { return uint8_t(encode(DType::f8e4m3, value)); }
uint8_t f8e5m2_bits(double value) { return uint8_t(encode(DType::f8e5m2, value)); }
uint16_t f16_bits(double value) { return encode(DType::f16, value); }
uint16_t bf16_bits(double value) { return encode(DType::bf16, value); }
double f8e4m3_value(uint8_t bits) { return decode(DType::f8e4m3, bits); }
double f8e5m2_value(uint8_t bits) { return decode(DType::f8e5m2, bits); }
double f16_value(uint16_t bits) { return decode(DType::f16, bits); }
double bf16_value(uint16_t bits) { return decode(DType::bf16, bits); }

double load_float(DType t, const void* address) {
  switch (t) {
    case DType::f8e4m3:
    case DType::f8e5m2: return decode(t, read<uint8_t>(address));
    case DType::f16:
    case DType::bf16: return decode(t, read<uint16_t>(address));
    case DType::tf32: return round_to(t, read<float>(address));
    case DType::f32: return read<float>(address);
    default: return read<double>(address);
  }
}

void store_float(DType t, void* address, double value) {
  switch (t) {
    case DType::f8e4m3:
    case DType::f8e5m2: return write(address, uint8_t(encode(t, value)));
    case DType::f16:
    case DType::bf16: return write(address, encode(t, value));
    case DType::tf32: return write(address, float(round_to(t, value)));
    case DType::f32: return write(address, float(value));
    default: return write(address, value);
  }
}

int64_t load_int(DType t, const void* address) {
  switch (t) {
    case DType::boolean: return read<uint8_t>(address) != 0;
    case DType::i8: return read<int8_t>(address);
    case DType::i16: return read<int16_t>(address);
    case DType::i32: return read<int32_t>(address);
    case DType::u8: return read<uint8_t>(address);
    case DType::u16: return read<uint16_t>(address);
    case DType::u32: return read<uint32_t>(address);
    default: return read<int64_t>(address);
  }
}

void store_int(DType t, void* address, int64_t value) {
  switch (bytes_of(t)) {
    case 1: return write(address, is_boolean(t) ? uint8_t(value != 0) : uint8_t(value));
    case 2: return write(address, uint16_t(value));
    case 4: return write(address, uint32_t(value));
    default: return write(address, value);
  }
}

}  // namespace tilewright
