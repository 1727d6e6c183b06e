// Values with error bounds: the arithmetic that interp.h derives.
#pragma once

#include "ir/expr.h"

#include <array>
#include <cstdint>

namespace tilewright::interp {

// What a value carries in tracked mode; see interp.h. For integers only `err` counts: 0 or, undetermined, infinity.
struct Bound {
  double err = 0;
  double mag = 0;
  double base = 0;
  double adds = 0;
};

struct TrackedFloat {
  double value = 0;
  Bound bound;
};

struct TrackedInt {
  int64_t value = 0;
  bool undetermined = false;
};

// A value that is no sum, known up to `err`.
TrackedFloat single_term(double value, double err);

TrackedFloat tracked_add(DType dtype, const TrackedFloat& a, const TrackedFloat& b);
TrackedFloat tracked_sub(DType dtype, const TrackedFloat& a, const TrackedFloat& b);
TrackedFloat tracked_mul(DType dtype, const TrackedFloat& a, const TrackedFloat& b);
TrackedFloat tracked_div(DType dtype, const TrackedFloat& a, const TrackedFloat& b);
// Operands beyond the function's own are not looked at; the integer of a scaling is given as a float.
TrackedFloat tracked_call(ir::MathFn fn, DType dtype, const std::array<TrackedFloat, 3>& operands);
TrackedInt tracked_test(ir::MathFn fn, const TrackedFloat& a);
TrackedFloat tracked_cast(DType from, DType to, const TrackedFloat& a);
TrackedFloat tracked_from_int(DType from, DType to, const TrackedInt& a);
TrackedInt tracked_to_int(DType dtype, const TrackedFloat& a);
// True when a comparison of the two may come out differently.
bool may_flip(const TrackedFloat& a, const TrackedFloat& b);
// What an undetermined select of the two may be; `taken` is the interpreter's.
TrackedFloat either_of(const TrackedFloat& taken, const TrackedFloat& other);
TrackedInt either_of(const TrackedInt& taken, const TrackedInt& other);

// The untracked functions, correctly rounded as far as libm in twice the precision gives.
double call_value(ir::MathFn fn, DType dtype, const std::array<double, 3>& operands);
// The bytes of an element read as an element of another dtype.
double reinterpreted_float(DType from, DType to, double value);
double reinterpreted_float(DType from, DType to, int64_t value);
int64_t reinterpreted_int(DType from, DType to, double value);
int64_t reinterpreted_int(DType from, DType to, int64_t value);
double from_int_value(DType from, DType to, int64_t value);

}  // namespace tilewright::interp
