#include "runtime/interp/tracked.h"

#include "runtime/interp/interp.h"
#include "runtime/interp/rounding.h"
#include "target/dtype.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tilewright::interp {

using ir::MathFn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// (1 + u)^n - 1, from above.
double growth(double u, double n) {
  const double x = n * u;
  return x <= 1 ? x + x * x : std::expm1(x) * (1 + 1e-12);
}

// A single term; no bound when an inexact value may pass the largest finite one or is not finite.
TrackedFloat checked_term(DType dtype, double value, double err, bool exact_operands) {
  if (!std::isfinite(value)) return single_term(value, exact_operands ? 0 : kInfinity);
  if (std::isnan(err)) err = kInfinity;
  if (!exact_operands && std::abs(value) + 2 * err > largest_finite(dtype)) err = kInfinity;
  return single_term(value, err);
}

double rounding_error(DType dtype, double value, double err, double ulps = 0.5) {
  return ulps * (2 * unit_roundoff(dtype) * (std::abs(value) + 2 * err) + 2 * smallest_subnormal(dtype));
}

TrackedFloat sum_of(DType dtype, double value, const Bound& a, const Bound& b) {
  TrackedFloat out{value, {.err = 0, .mag = a.mag + b.mag, .base = a.base + b.base, .adds = a.adds + b.adds + 1}};
  const double terms = out.bound.mag + 2 * out.bound.base;
  const double g = growth(unit_roundoff(dtype), out.bound.adds);
  const bool may_overflow = terms * (1 + g) > largest_finite(dtype);
  if (!std::isfinite(value)) {
    // Decided by the infinite and NaN terms alone, in any order, unless a partial sum overflows.
    const bool single = out.bound.adds == 1 && out.bound.base == 0;
    out.bound.err = single || (!may_overflow && out.bound.base < kInfinity) ? 0 : kInfinity;
    return out;
  }
  out.bound.err = may_overflow ? kInfinity : out.bound.base + g * terms + smallest_subnormal(dtype);
  return out;
}

// Words of the columns `slope` and `moved` in ir/math_functions.inc.
constexpr double kNone = kInfinity;
constexpr double kSteps = -1;
constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;

// Where an operand of admissible results may be: within 2 err of the interpreter's value, |a - r| <= err.
struct Box {
  double value, err, lo, hi;
  explicit Box(const TrackedFloat& x)
      : value(x.value), err(x.bound.err), lo(x.value - 2 * x.bound.err), hi(x.value + 2 * x.bound.err) {}
  double magnitude() const { return std::max(std::abs(lo), std::abs(hi)); }
  // Of the member nearest to 0.
  double nearest() const { return lo > 0 ? lo : hi < 0 ? -hi : 0; }
};

double tan_slope(double lo, double hi) {
  const auto branch = [](double x) { return std::floor(x * std::numbers::inv_pi + 0.5); };
  if (branch(lo) != branch(hi)) return kNone;
  const double a = std::tan(lo), b = std::tan(hi);
  return 1 + std::max(a * a, b * b);
}

double inverse_sine_slope(double lo, double hi) {
  const double m = std::max(-lo, hi);
  return m < 1 ? 1 / std::sqrt((1 - m) * (1 + m)) : kNone;
}

double reciprocal_slope(double lo, double hi) {
  const double nearest = lo > 0 ? lo : -hi;
  return lo > 0 || hi < 0 ? 1 / (nearest * nearest) : kNone;
}

bool sign_is_certain(const Box& x) { return x.lo > 0 || x.hi < 0; }

double product_moved(const Box& a, const Box& b) {
  return a.err * (std::abs(b.value) + b.err) + b.err * (std::abs(a.value) + 2 * a.err);
}

double quotient_moved(const Box& a, const Box& b) {
  const double smallest = b.nearest();
  return smallest > 0 ? a.err / smallest + (std::abs(a.value) + a.err) * b.err / smallest / smallest : kNone;
}

// The gradient of atan2 has length 1 / |(x, y)|; it jumps where y changes its sign left of 0.
double atan2_moved(const Box& y, const Box& x) {
  const double radius = std::hypot(y.nearest(), x.nearest());
  if (radius == 0 || (x.lo <= 0 && y.lo <= 0 && y.hi >= 0)) return kNone;
  return (y.err + x.err) / radius;
}

// On x > 0: y x^(y - 1) and x^y log x, each factor monotone in x and in y, so that corners bound it.
double pow_moved(const Box& x, const Box& y) {
  if (!(x.lo > 0)) return kNone;
  double by_x = 0, by_y = 0;
  for (const double base : {x.lo, x.hi}) {
    for (const double exponent : {y.lo, y.hi}) {
      by_x = std::max(by_x, std::pow(base, exponent - 1));
      by_y = std::max(by_y, std::pow(base, exponent));
    }
  }
  const double log = std::max(std::abs(std::log(x.lo)), std::abs(std::log(x.hi)));
  // 0 * infinity is no bound either.
  return (x.err > 0 ? x.err * y.magnitude() * by_x : 0) + (y.err > 0 ? y.err * by_y * log : 0);
}

// slope * err, for a step function the height of the steps in between.
double moved_by(MathFn fn, DType dtype, const Box& a, double slope) {
  if (slope != kSteps) return slope * a.err;
  return ir::float_value(fn, dtype, {a.hi, 0, 0}) - ir::float_value(fn, dtype, {a.lo, 0, 0});
}

double moved(MathFn fn, DType dtype, const std::array<TrackedFloat, 3>& operands) {
  const Box a(operands[0]), b(operands[1]), c(operands[2]);
  const double lo = a.lo, hi = a.hi;
#define TW_FLOAT_1(name, kinds, ulps, meaning, slope, cpu) \
  if (fn == MathFn::name) return moved_by(fn, dtype, a, slope);
#define TW_FLOAT_2(name, kinds, ulps, meaning, moved, cpu) \
  if (fn == MathFn::name) return moved;
#define TW_FLOAT_3(name, kinds, ulps, meaning, moved, cpu) \
  if (fn == MathFn::name) return moved;
#include "ir/math_functions.inc"
  return kNone;
}

}  // namespace

TrackedFloat single_term(double value, double err) {
  return {value, {.err = err, .mag = std::isfinite(value) ? std::abs(value) : 0, .base = err, .adds = 0}};
}

TrackedFloat tracked_add(DType dtype, const TrackedFloat& a, const TrackedFloat& b) {
  return sum_of(dtype, rounded(dtype, a.value + b.value), a.bound, b.bound);
}

TrackedFloat tracked_sub(DType dtype, const TrackedFloat& a, const TrackedFloat& b) {
  return sum_of(dtype, rounded(dtype, a.value - b.value), a.bound, b.bound);
}

TrackedFloat tracked_mul(DType dtype, const TrackedFloat& a, const TrackedFloat& b) {
  const double value = rounded(dtype, a.value * b.value);
  const double ea = a.bound.err, eb = b.bound.err;
  const auto sign_is_certain = [](const TrackedFloat& x) { return std::abs(x.value) > 2 * x.bound.err; };
  if ((std::isinf(a.value) && ea == 0 && sign_is_certain(b)) ||
      (std::isinf(b.value) && eb == 0 && sign_is_certain(a))) {
    return single_term(value, 0);
  }
  const double err = ea * (std::abs(b.value) + eb) + eb * (std::abs(a.value) + 2 * ea);
  return checked_term(dtype, value, err + rounding_error(dtype, value, err), ea == 0 && eb == 0);
}

TrackedFloat tracked_div(DType dtype, const TrackedFloat& a, const TrackedFloat& b) {
  const double value = rounded(dtype, a.value / b.value);
  const double ea = a.bound.err, eb = b.bound.err;
  const double smallest = std::abs(b.value) - 2 * eb;
  double err = 0;
  if (ea > 0 || eb > 0) {
    err = smallest > 0 ? ea / smallest + (std::abs(a.value) + ea) * eb / smallest / smallest : kInfinity;
  }
  return checked_term(dtype, value, err + rounding_error(dtype, value, err), ea == 0 && eb == 0);
}

TrackedFloat tracked_call(MathFn fn, DType dtype, const std::array<TrackedFloat, 3>& operands) {
  const ir::MathInfo& info = ir::math_info(fn);
  const TrackedFloat& a = operands[0];
  const double value = call_value(fn, dtype, {a.value, operands[1].value, operands[2].value});
  bool exact = true;
  for (int i = 0; i < info.arity; ++i) exact = exact && operands[size_t(i)].bound.err == 0;
  double err = exact ? 0 : moved(fn, dtype, operands);
  if (fn == MathFn::sqrt && !exact && a.value - 2 * a.bound.err >= 0)
    err = std::min(err, std::sqrt(a.bound.err));  // |sqrt a - sqrt r|^2 <= |a - r|
  if (std::isnan(err)) err = kInfinity;
  if (info.ulps == 0) return single_term(value, err);
  // A narrow float is computed in f32 and rounded once.
  const double ulps = is_narrow_float(dtype) ? std::min(info.ulps, 1.0) : info.ulps;
  return checked_term(dtype, value, err + rounding_error(dtype, value, err, ulps), exact);
}

TrackedInt tracked_test(MathFn fn, const TrackedFloat& a) {
  // What may be infinite or NaN in one admissible result only has no bound.
  const bool certain = a.bound.err == 0 || (a.bound.err < kInfinity && std::isfinite(a.value));
  return {ir::test_value(fn, a.value), !certain};
}

TrackedFloat tracked_cast(DType from, DType to, const TrackedFloat& a) {
  const double value = rounded(to, a.value), err = a.bound.err;
  const bool widens = to == DType::f64 || (to == DType::f32 && from != DType::f64);
  if (widens || err == 0) return single_term(value, err);
  return checked_term(to, value, err + rounding_error(to, value, err), false);
}

TrackedFloat tracked_from_int(DType from, DType to, const TrackedInt& a) {
  return single_term(from_int_value(from, to, a.value), a.undetermined ? kInfinity : 0);
}

TrackedInt tracked_to_int(DType dtype, const TrackedFloat& a) {
  const int64_t value = saturate_to_int(dtype, a.value);
  const double err = a.bound.err;
  if (err == 0) return {value, false};
  if (is_boolean(dtype)) return {value, !(std::abs(a.value) > 2 * err)};
  const bool moves = saturate_to_int(dtype, a.value - 2 * err) != saturate_to_int(dtype, a.value + 2 * err);
  return {value, moves || !(err < kInfinity)};
}

bool may_flip(const TrackedFloat& a, const TrackedFloat& b) {
  const double err = a.bound.err + b.bound.err;
  if (err == 0 || (std::isnan(a.value) && a.bound.err == 0) || (std::isnan(b.value) && b.bound.err == 0)) return false;
  return !(std::abs(a.value - b.value) > 2 * err);
}

TrackedFloat either_of(const TrackedFloat& taken, const TrackedFloat& other) {
  // The real result may be one side's and the admissible result the other's.
  const double err = std::abs(taken.value - other.value) + 2 * (taken.bound.err + other.bound.err);
  const bool same = taken.bound.err == 0 && other.bound.err == 0 &&
                    (taken.value == other.value || (std::isnan(taken.value) && std::isnan(other.value)));
  return single_term(taken.value, same ? 0 : std::isnan(err) ? kInfinity : err);
}

TrackedInt either_of(const TrackedInt& taken, const TrackedInt& other) {
  return {taken.value, taken.undetermined || other.undetermined || taken.value != other.value};
}

double call_value(MathFn fn, DType dtype, const std::array<double, 3>& operands) {
  const double value = ir::float_value(fn, dtype, operands);
  return ir::math_info(fn).ulps == 0 ? value : rounded(dtype, value);
}

namespace {

// An element in memory with room for any dtype.
int64_t bytes_of_float(DType t, double value) {
  int64_t memory = 0;
  store_float(t, &memory, value);
  return memory;
}

int64_t bytes_of_int(DType t, int64_t value) {
  int64_t memory = 0;
  store_int(t, &memory, value);
  return memory;
}

}  // namespace

double reinterpreted_float(DType from, DType to, double value) {
  const int64_t memory = bytes_of_float(from, value);
  return load_float(to, &memory);
}
double reinterpreted_float(DType from, DType to, int64_t value) {
  const int64_t memory = bytes_of_int(from, value);
  return load_float(to, &memory);
}
int64_t reinterpreted_int(DType from, DType to, double value) {
  const int64_t memory = bytes_of_float(from, value);
  return load_int(to, &memory);
}
int64_t reinterpreted_int(DType from, DType to, int64_t value) {
  const int64_t memory = bytes_of_int(from, value);
  return load_int(to, &memory);
}

double from_int_value(DType from, DType to, int64_t value) {
  const bool is_u64 = from == DType::u64;
  if (to == DType::f64) return is_u64 ? double(uint64_t(value)) : double(value);
  if (to == DType::f32) return double(is_u64 ? float(uint64_t(value)) : float(value));
  // Below f32: 64 bits do not fit a double; a sticky bit keeps the second rounding right.
  const bool negative = !is_u64 && value < 0;
  uint64_t magnitude = negative ? 0 - uint64_t(value) : uint64_t(value);
  if (magnitude >> 53) magnitude = (magnitude & ~uint64_t(0x1fff)) | ((magnitude & 0x1fff) ? 0x1000u : 0u);
  const double result = rounded(to, double(magnitude));
  return negative ? -result : result;
}

}  // namespace tilewright::interp
