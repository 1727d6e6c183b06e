// The two arithmetics that programs are compiled for: plain values, and values with error bounds.
#pragma once

#include "ir/expr.h"
#include "runtime/interp/rounding.h"
#include "runtime/interp/tracked.h"
#include "target/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tilewright::interp {

// min and max ignore a NaN operand.
inline double min_value_of(double a, double b) { return a < b || std::isnan(b) ? a : b; }
inline double max_value_of(double a, double b) { return a > b || std::isnan(b) ? a : b; }

template <ir::ExprKind kKind>
inline bool compares(double a, double b) {
  if constexpr (kKind == ir::ExprKind::eq) return a == b;
  if constexpr (kKind == ir::ExprKind::ne) return a != b;
  if constexpr (kKind == ir::ExprKind::lt) return a < b;
  return a <= b;
}

struct Plain {
  using Float = double;
  using Int = int64_t;
  static constexpr bool kTracked = false;

  static Float float_imm(double v) { return v; }
  static Int int_imm(int64_t v) { return v; }
  static double value(Float a) { return a; }
  static int64_t value(Int a) { return a; }
  static bool undetermined(Int) { return false; }

  template <DType kDType>
  static Float add(Float a, Float b) {
    return rounded<kDType>(a + b);
  }
  template <DType kDType>
  static Float sub(Float a, Float b) {
    return rounded<kDType>(a - b);
  }
  template <DType kDType>
  static Float mul(Float a, Float b) {
    return rounded<kDType>(a * b);
  }
  template <DType kDType>
  static Float div(Float a, Float b) {
    return rounded<kDType>(a / b);
  }
  static Float min(Float a, Float b) { return min_value_of(a, b); }
  static Float max(Float a, Float b) { return max_value_of(a, b); }
  template <ir::ExprKind kKind>
  static Int compare(Float a, Float b) {
    return compares<kKind>(a, b);
  }
  static Int is_nan(Float a) { return std::isnan(a); }
  static Float call(ir::MathFn fn, DType dtype, const std::array<Float, 3>& x) { return call_value(fn, dtype, x); }
  static Int test(ir::MathFn fn, Float a) { return ir::test_value(fn, a); }
  template <class Value>
  static Value choose(Int condition, const Value& a, const Value& b) {
    return condition ? a : b;
  }
  template <class Value>
  static Float reinterpret_as_float(DType from, DType to, Value a) {
    return reinterpreted_float(from, to, a);
  }
  template <class Value>
  static Int reinterpret_as_int(DType from, DType to, Value a) {
    return reinterpreted_int(from, to, a);
  }
  static Float cast(DType, DType to, Float a) { return rounded(to, a); }
  static Float from_int(DType from, DType to, Int a) { return from_int_value(from, to, a); }
  static Int to_int(DType dtype, Float a) { return saturate_to_int(dtype, a); }
  template <class F>
  static Int map(F f, Int a) {
    return f(a);
  }
  template <class F>
  static Int map(F f, Int a, Int b) {
    return f(a, b);
  }
  static Int logical(bool, Int a, Int b, int64_t value) { return (void)a, (void)b, value; }
};

struct Tracked {
  static constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  using Float = TrackedFloat;
  using Int = TrackedInt;
  static constexpr bool kTracked = true;

  static Float float_imm(double v) { return single_term(v, 0); }
  static Int int_imm(int64_t v) { return {v, false}; }
  static double value(const Float& a) { return a.value; }
  static int64_t value(const Int& a) { return a.value; }
  static bool undetermined(const Int& a) { return a.undetermined; }

  template <DType kDType>
  static Float add(const Float& a, const Float& b) {
    return tracked_add(kDType, a, b);
  }
  template <DType kDType>
  static Float sub(const Float& a, const Float& b) {
    return tracked_sub(kDType, a, b);
  }
  template <DType kDType>
  static Float mul(const Float& a, const Float& b) {
    return tracked_mul(kDType, a, b);
  }
  template <DType kDType>
  static Float div(const Float& a, const Float& b) {
    return tracked_div(kDType, a, b);
  }
  static Float min(const Float& a, const Float& b) {
    return single_term(min_value_of(a.value, b.value), std::max(a.bound.err, b.bound.err));
  }
  static Float max(const Float& a, const Float& b) {
    return single_term(max_value_of(a.value, b.value), std::max(a.bound.err, b.bound.err));
  }
  template <ir::ExprKind kKind>
  static Int compare(const Float& a, const Float& b) {
    return {compares<kKind>(a.value, b.value), may_flip(a, b)};
  }
  // Every admissible result is a number where this one is, within its bound.
  static Int is_nan(const Float& a) { return {std::isnan(a.value), !(a.bound.err < kUnbounded)}; }
  static Float call(ir::MathFn fn, DType dtype, const std::array<Float, 3>& x) { return tracked_call(fn, dtype, x); }
  static Int test(ir::MathFn fn, const Float& a) { return tracked_test(fn, a); }
  template <class Value>
  static Value choose(const Int& condition, const Value& a, const Value& b) {
    const Value& taken = condition.value ? a : b;
    return condition.undetermined ? either_of(taken, condition.value ? b : a) : taken;
  }
  // An inexact number has other bits, and so have the zero of the other sign and other NaNs.
  static bool bits_differ(const Float& a) { return a.bound.err > 0 || a.value == 0 || std::isnan(a.value); }
  static bool bits_differ(const Int& a) { return a.undetermined; }
  template <class Value>
  static Float reinterpret_as_float(DType from, DType to, const Value& a) {
    const double err = bits_differ(a) ? std::numeric_limits<double>::infinity() : 0;
    return single_term(reinterpreted_float(from, to, a.value), err);
  }
  template <class Value>
  static Int reinterpret_as_int(DType from, DType to, const Value& a) {
    return {reinterpreted_int(from, to, a.value), bits_differ(a)};
  }
  static Float cast(DType from, DType to, const Float& a) { return tracked_cast(from, to, a); }
  static Float from_int(DType from, DType to, const Int& a) { return tracked_from_int(from, to, a); }
  static Int to_int(DType dtype, const Float& a) { return tracked_to_int(dtype, a); }
  template <class F>
  static Int map(F f, const Int& a) {
    return {f(a.value), a.undetermined};
  }
  template <class F>
  static Int map(F f, const Int& a, const Int& b) {
    return {f(a.value, b.value), a.undetermined || b.undetermined};
  }
  // and (or): a determined false (true) decides alone.
  static Int logical(bool is_and, const Int& a, const Int& b, int64_t value) {
    const auto decides = [&](const Int& x) { return !x.undetermined && (x.value != 0) != is_and; };
    return {value, !decides(a) && !decides(b) && (a.undetermined || b.undetermined)};
  }
};

}  // namespace tilewright::interp
