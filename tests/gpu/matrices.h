// Random matrices of any element type with their values, and products with their error bounds.
#pragma once

#include "gpu/number_formats.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace tilewright::test {

enum class Type { f16, bf16, tf32, e4m3, e5m2, s8, u8, f32, s32 };

inline bool is_integer(Type t) { return t == Type::s8 || t == Type::u8 || t == Type::s32; }
inline int bits_of(Type t) {
  switch (t) {
    case Type::f16:
    case Type::bf16: return 16;
    case Type::e4m3:
    case Type::e5m2:
    case Type::s8:
    case Type::u8: return 8;
    default: return 32;
  }
}

inline const Format& format_of(Type t) {
  return t == Type::f16 ? kF16 : t == Type::bf16 ? kBf16 : t == Type::e4m3 ? kE4m3 : t == Type::e5m2 ? kE5m2 : kTf32;
}

inline uint32_t encode(Type t, double x) {
  switch (t) {
    case Type::s8:
    case Type::u8: return uint32_t(int(x)) & 0xff;
    case Type::s32: return uint32_t(int64_t(x));
    case Type::f32: {
      const float f = float(x);
      uint32_t out;
      std::memcpy(&out, &f, 4);
      return out;
    }
    case Type::tf32: return encode(kTf32, x) << 13;
    default: return encode(format_of(t), x);
  }
}

inline double decode(Type t, uint32_t bits) {
  switch (t) {
    case Type::s8: return int8_t(bits);
    case Type::u8: return uint8_t(bits);
    case Type::s32: return int32_t(bits);
    case Type::f32: {
      float out;
      std::memcpy(&out, &bits, 4);
      return out;
    }
    case Type::tf32: return decode(kTf32, bits >> 13);
    default: return decode(format_of(t), bits);
  }
}

// What a unit in the last place of the sums is, relative: sums of products are cut, not rounded, to the accumulator's
// mantissa; of fp8 products to about 14 bits.
inline double accumulator_unit(Type accumulator, Type operand) {
  if (accumulator == Type::f16) return std::ldexp(1, -10);
  return std::ldexp(1, bits_of(operand) == 8 ? -13 : -23);
}

struct Matrix {
  int rows = 0, columns = 0;
  Type type = Type::f32;
  std::vector<uint32_t> bits;
  std::vector<double> values;  // of the bits

  uint32_t at(int row, int column) const { return bits[size_t(row * columns + column)]; }
  double value(int row, int column) const { return values[size_t(row * columns + column)]; }
};

// `small_integers`: from -2 to 2 (0 to 4), so that sums of up to 512 products are exact in every accumulator.
inline Matrix random_matrix(int rows, int columns, Type type, bool small_integers, std::mt19937& random) {
  Matrix out{rows, columns, type, {}, {}};
  std::uniform_real_distribution<double> real(-1, 1);
  for (int i = 0; i < rows * columns; ++i) {
    double x = real(random);
    if (type == Type::s8) x = std::floor(x * 128);
    if (type == Type::u8) x = std::floor((x + 1) * 128);
    if (type == Type::s32) x = std::floor(x * 1e6);
    if (small_integers) x = type == Type::u8 ? int(random() % 5) : int(random() % 5) - 2;
    out.bits.push_back(encode(type, x));
    out.values.push_back(decode(type, out.bits.back()));
  }
  return out;
}

struct Sum {
  double value;      // c + sum of a * b
  double magnitude;  // the same of absolute values
};
inline Sum product_at(const Matrix& a, const Matrix& b, int row, int column, double c) {
  Sum out{c, std::fabs(c)};
  for (int k = 0; k < a.columns; ++k) {
    const double x = a.value(row, k) * b.value(k, column);
    out.value += x;
    out.magnitude += std::fabs(x);
  }
  return out;
}

// Of a result of which no element may differ by more than
//   (k + 2) * unit * (|a| |b| + |c|): k + 1 cuts against the largest term, one rounding of the result.
struct Comparison {
  double worst = 0;  // error over bound
  std::string where;

  void add(double got, const Sum& want, double bound, const std::string& place) {
    const double error = std::fabs(got - want.value);
    const double ratio = error == 0 ? 0 : error / bound;
    if (!(ratio <= worst) || std::isnan(got)) {
      worst = std::isnan(got) ? std::numeric_limits<double>::infinity() : ratio;
      where = place + ": " + std::to_string(got) + " instead of " + std::to_string(want.value);
    }
  }
};

}  // namespace tilewright::test
