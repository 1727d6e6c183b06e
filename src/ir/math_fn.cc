#include "ir/math_fn.h"

#include "ir/expr.h"
#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace tilewright::ir {

namespace {

constexpr std::array<MathInfo, kNumMathFns> kTable = {{
#define TW_FLOAT_1(name, operands, ulps, meaning, slope, cpu) {#name, MathOperands::operands, 1, ulps, cpu},
#define TW_FLOAT_2(name, operands, ulps, meaning, moved, cpu) {#name, MathOperands::operands, 2, ulps, cpu},
#define TW_FLOAT_3(name, operands, ulps, meaning, moved, cpu) {#name, MathOperands::operands, 3, ulps, cpu},
#define TW_TEST(name, meaning, cpu) {#name, MathOperands::test, 1, 0, cpu},
#define TW_INT_1(name, meaning, cpu) {#name, MathOperands::integers, 1, 0, cpu},
#define TW_INT_2(name, meaning, cpu) {#name, MathOperands::integers, 2, 0, cpu},
#define TW_CHOICE(name, cpu) {#name, MathOperands::choice, 3, 0, cpu},
#include "ir/math_functions.inc"
}};

// The neighbour of x in dtype `t` towards y.
double next_after(DType t, double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  if (x == y) return y;
  if (t == DType::f64) return std::nextafter(x, y);
  if (x == 0) return std::copysign(smallest_subnormal(t), y);
  const double magnitude = std::abs(x), largest = largest_finite(t);
  const bool outwards = (y > x) == (x > 0);
  if (std::isinf(x)) return std::copysign(largest, x);
  if (outwards && magnitude == largest) return std::copysign(has_infinity(t) ? HUGE_VAL : largest, x);
  int exponent = 0;
  const bool power = std::frexp(magnitude, &exponent) == 0.5;
  // Below a power of two the spacing is half of that above.
  const int below = power && !outwards ? 1 : 0;
  const double spacing = std::ldexp(1.0, exponent - significand_digits(t) - below);
  const double step = std::max(spacing, smallest_subnormal(t));
  return std::copysign(magnitude + (outwards ? step : -step), x);
}

// x y + z, such that rounding it to `t` rounds once: below f64 with the last bit odd where inexact (Boldo and Melquiond
// 2008). Products of f32 are exact in double.
double fused(DType t, double x, double y, double z) {
  if (t == DType::f64) return std::fma(x, y, z);
  const double product = x * y, sum = product + z;
  if (!std::isfinite(sum)) return sum;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (z - back);  // Knuth's two-sum
  if (error == 0 || (std::bit_cast<uint64_t>(sum) & 1)) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

uint64_t unsigned_bits(DType t, int64_t x) {
  const int bits = bits_of(t);
  return bits == 64 ? uint64_t(x) : uint64_t(x) & ((uint64_t(1) << bits) - 1);
}

// Towards zero; x / 0 is 0, and the smallest value divided by -1 wraps.
int64_t truncated_quotient(DType t, int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (t == DType::u64) return int64_t(uint64_t(x) / uint64_t(y));
  return wrap_to(t, y == -1 ? int64_t(0 - uint64_t(x)) : x / y);
}

// With the sign of x; x mod 0 is x.
int64_t truncated_remainder(DType t, int64_t x, int64_t y) {
  if (y == 0) return x;
  if (t == DType::u64) return int64_t(uint64_t(x) % uint64_t(y));
  return y == -1 ? 0 : x % y;
}

template <class F>
double float_value_in(MathFn fn, DType t, F x, F y, F z) {
#define TW_FLOAT_1(name, operands, ulps, meaning, slope, cpu) \
  if (fn == MathFn::name) return double(meaning);
#define TW_FLOAT_2(name, operands, ulps, meaning, moved, cpu) \
  if (fn == MathFn::name) return double(meaning);
#define TW_FLOAT_3(name, operands, ulps, meaning, moved, cpu) \
  if (fn == MathFn::name) return double(meaning);
#include "ir/math_functions.inc"
  throw internal_error({}, "{} has no float result", to_string(fn));
}

}  // namespace

const MathInfo& math_info(MathFn fn) { return kTable[size_t(fn)]; }
std::string_view to_string(MathFn fn) { return math_info(fn).name; }

std::optional<MathFn> math_fn_from_string(std::string_view name) {
  const auto* it = std::find_if(kTable.begin(), kTable.end(), [&](const MathInfo& row) { return row.name == name; });
  if (it == kTable.end()) return std::nullopt;
  return MathFn(it - kTable.begin());
}

double float_value(MathFn fn, DType dtype, const std::array<double, 3>& operands) {
  const auto [x, y, z] = operands;
  // Twice the precision where that gives the nearest value; arithmetic itself rounds right only once.
  if (dtype != DType::f64 || math_info(fn).ulps <= 0.5) return float_value_in<double>(fn, dtype, x, y, z);
  return float_value_in<long double>(fn, dtype, x, y, z);
}

bool test_value(MathFn fn, double x) {
#define TW_TEST(name, meaning, cpu) \
  if (fn == MathFn::name) return meaning;
#include "ir/math_functions.inc"
  throw internal_error({}, "{} is no test", to_string(fn));
}

int64_t int_value(MathFn fn, DType t, int64_t x, int64_t y) {
  // The most negative value wraps to itself.
  if (fn == MathFn::abs) return x < 0 && !is_unsigned(t) ? wrap_to(t, int64_t(0 - uint64_t(x))) : x;
#define TW_INT_1(name, meaning, cpu) \
  if (fn == MathFn::name) return meaning;
#define TW_INT_2(name, meaning, cpu) \
  if (fn == MathFn::name) return meaning;
#include "ir/math_functions.inc"
  throw internal_error({}, "{} has no integer result", to_string(fn));
}

}  // namespace tilewright::ir
