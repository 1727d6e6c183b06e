#include "target/dtype.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tilewright {

namespace {

// A binary float format with `digits` significand bits and exponents as in IEEE 754.
struct Format {
  int digits;
  int min_exponent;  // of the smallest normal: 2^min_exponent
  int max_exponent;  // largest finite is below 2^(max_exponent + 1)
};

Format format_of(DType t) {
  switch (t) {
    case DType::f16: return {11, -14, 15};
    case DType::bf16: return {8, -126, 127};
    case DType::f32: return {24, -126, 127};
    default: return {53, -1022, 1023};
  }
}

// Rounds to nearest even in the format's spacing; exact, since the scaled value is rounded once.
double round_in_format(const Format& format, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const int ulp_exponent = std::max(exponent - 1, format.min_exponent) - (format.digits - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -ulp_exponent)), ulp_exponent);
  if (std::abs(rounded) >= std::ldexp(1.0, format.max_exponent + 1)) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return rounded;
}

uint16_t encode_16(const Format& format, double value) {
  const int mantissa_bits = format.digits - 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = uint16_t(((2 * format.max_exponent + 1)) << mantissa_bits);
  if (std::isnan(value)) return uint16_t(sign | infinity | (1 << (mantissa_bits - 1)));
  const double magnitude = std::abs(round_in_format(format, value));
  if (std::isinf(magnitude)) return uint16_t(sign | infinity);
  if (magnitude < std::ldexp(1.0, format.min_exponent)) {
    return uint16_t(sign | uint16_t(std::ldexp(magnitude, mantissa_bits - format.min_exponent)));
  }
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  const auto mantissa = uint16_t(std::ldexp(fraction, format.digits)) & ((1 << mantissa_bits) - 1);
  return uint16_t(sign | ((exponent - 1 + format.max_exponent) << mantissa_bits) | mantissa);
}

double decode_16(const Format& format, uint16_t bits) {
  const int mantissa_bits = format.digits - 1;
  const double sign = (bits & 0x8000) ? -1.0 : 1.0;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  if (exponent == 2 * format.max_exponent + 1) {
    if (mantissa == 0) return sign * std::numeric_limits<double>::infinity();
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, format.min_exponent - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - format.max_exponent - mantissa_bits);
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
  return round_in_format(format_of(t), value);
}

int significand_digits(DType t) { return format_of(t).digits; }
double unit_roundoff(DType t) { return std::ldexp(1.0, -significand_digits(t)); }

double smallest_subnormal(DType t) {
  const Format format = format_of(t);
  return std::ldexp(1.0, format.min_exponent - (format.digits - 1));
}

double largest_finite(DType t) {
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

uint16_t f16_bits(double value) { return encode_16(format_of(DType::f16), value); }
uint16_t bf16_bits(double value) { return encode_16(format_of(DType::bf16), value); }
double f16_value(uint16_t bits) { return decode_16(format_of(DType::f16), bits); }
double bf16_value(uint16_t bits) { return decode_16(format_of(DType::bf16), bits); }

double load_float(DType t, const void* address) {
  switch (t) {
    case DType::f16: return f16_value(read<uint16_t>(address));
    case DType::bf16: return bf16_value(read<uint16_t>(address));
    case DType::f32: return read<float>(address);
    default: return read<double>(address);
  }
}

void store_float(DType t, void* address, double value) {
  switch (t) {
    case DType::f16: return write(address, f16_bits(value));
    case DType::bf16: return write(address, bf16_bits(value));
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
