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

// Largest derivative on [lo, hi]; infinity where there is none.
double lipschitz(MathFn fn, double lo, double hi) {
  switch (fn) {
    case MathFn::exp: return std::exp(hi);
    case MathFn::exp2: return std::numbers::ln2 * std::exp2(hi);
    case MathFn::log: return lo > 0 ? 1 / lo : kInfinity;
    case MathFn::log2: return lo > 0 ? std::numbers::log2e / lo : kInfinity;
    case MathFn::sqrt: return lo > 0 ? 0.5 / std::sqrt(lo) : kInfinity;
    case MathFn::rsqrt: return lo > 0 ? 0.5 / (lo * std::sqrt(lo)) : kInfinity;
    case MathFn::erf: return 2 * std::numbers::inv_sqrtpi;
    case MathFn::sigmoid: return 0.25;
    default: return 1;  // sin, cos, tanh
  }
}

double step_value(MathFn fn, double value) {
  return fn == MathFn::floor ? std::floor(value) : fn == MathFn::ceil ? std::ceil(value) : std::nearbyint(value);
}

template <class T>
T call_in(MathFn fn, T x) {
  switch (fn) {
    case MathFn::abs: return std::abs(x);
    case MathFn::exp: return std::exp(x);
    case MathFn::exp2: return std::exp2(x);
    case MathFn::log: return std::log(x);
    case MathFn::log2: return std::log2(x);
    case MathFn::sqrt: return std::sqrt(x);
    case MathFn::rsqrt: return T(1) / std::sqrt(x);
    case MathFn::sin: return std::sin(x);
    case MathFn::cos: return std::cos(x);
    case MathFn::tanh: return std::tanh(x);
    case MathFn::erf: return std::erf(x);
    case MathFn::sigmoid: return T(1) / (T(1) + std::exp(-x));
    case MathFn::floor: return std::floor(x);
    case MathFn::ceil: return std::ceil(x);
    case MathFn::round: return std::nearbyint(x);
  }
  return x;
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

TrackedFloat tracked_call(MathFn fn, DType dtype, const TrackedFloat& a) {
  const double value = call_value(fn, dtype, a.value);
  const double err = a.bound.err;
  const double lo = a.value - 2 * err, hi = a.value + 2 * err;
  switch (fn) {
    case MathFn::abs: return single_term(value, err);
    case MathFn::floor:
    case MathFn::ceil:
    case MathFn::round: {
      const double distance = err == 0 ? 0 : step_value(fn, hi) - step_value(fn, lo);
      return single_term(value, std::isnan(distance) ? kInfinity : distance);
    }
    default: break;
  }
  double moved = err == 0 ? 0 : lipschitz(fn, lo, hi) * err;
  if (fn == MathFn::sqrt && err > 0 && lo >= 0)
    moved = std::min(moved, std::sqrt(err));  // |sqrt a - sqrt r|^2 <= |a - r|
  return checked_term(dtype, value, moved + rounding_error(dtype, value, moved, kMathUlps), err == 0);
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

double call_value(MathFn fn, DType dtype, double value) {
  if (dtype == DType::f64) return double(call_in<long double>(fn, value));
  return rounded(dtype, call_in<double>(fn, value));
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
