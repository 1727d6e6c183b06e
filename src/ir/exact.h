// Mathematical integers behind the analyses of ir/bounds.h: ranges, exact linear forms, congruences.
#pragma once

#include "ir/bounds.h"

#include <optional>

namespace tilewright::ir {

__extension__ typedef __int128 Wide;

// lo <= x <= hi, never empty; wide enough for every dtype.
struct Range {
  Wide lo, hi;
  bool is_constant() const { return lo == hi; }
  bool within(Wide a, Wide b) const { return lo >= a && hi <= b; }
};

// All values of an integer or bool dtype.
Range range_of(DType dtype);
bool is_exact_dtype(DType dtype);  // integer or bool
Range to_range(const Interval& interval, DType dtype);
Interval to_interval(const Range& range, DType dtype);
// [lo, hi], or everything when a value in it would wrap.
Range fit(Wide lo, Wide hi, DType dtype);
// Of two ranges that both hold; `a` when they contradict each other (the place is not reached).
Range intersect(const Range& a, const Range& b);
Range join(const Range& a, const Range& b);
// Of `a kind b` on integers of `dtype` (the operands').
Range range_of_binary(ExprKind kind, DType dtype, const Range& a, const Range& b);

Range range(const Expr& e, const Facts& facts);
// Of a form over mathematical integers; absent when it does not fit a Wide.
std::optional<Range> range(const LinearForm& form, const Facts& facts);

bool is_cast_of_same_value(const Expr& e, const Facts& facts);
// A form whose value over mathematical integers is the value of `e`; in the worst case `e` itself as the only term.
LinearForm exact_form(const Expr& e, const Facts& facts);
// Whether the wrapping computation of `form` in `dtype` gives its mathematical value.
bool cannot_wrap(const LinearForm& form, DType dtype, const Facts& facts);
// a * factor_a + b * factor_b over mathematical integers; absent when a coefficient overflows.
std::optional<LinearForm> combine(const LinearForm& a, int64_t factor_a, const LinearForm& b, int64_t factor_b);
LinearForm single(const Expr& term);
bool is_sum(const Expr& e);

// value = residue modulo `modulus`, 0 <= residue < modulus; modulus 0: value = residue.
struct Congruence {
  int64_t modulus = 1, residue = 0;
  // The residue modulo c > 0, when it is decided.
  std::optional<int64_t> modulo(int64_t c) const;
};
Congruence congruence(const Expr& e, const Facts& facts);

// c when `e` is a constant > 0 (of u64: < 2^63).
std::optional<int64_t> positive_constant(const Expr& e);

}  // namespace tilewright::ir
