// What is known about integer expressions: intervals, linear forms, divisibility, and proofs of conditions.
//
// Everything here is sound under the wrapping arithmetic of ir/expr.h. Intervals and proofs speak of the integer that
// an expression computes (a u64 is the non-negative number, not the bit pattern). A sum is taken apart only when no
// assignment allowed by the facts makes it leave its dtype, so that the integers of the computation are those of
// mathematics; otherwise the sum is one opaque term. Work is bounded by kRangeBudget and kProofBudget.
#pragma once

#include "ir/kernel.h"

#include <optional>
#include <vector>

namespace tilewright::ir {

// lo <= x <= hi; an absent end is the end of the dtype (or unknown, for floats).
struct Interval {
  std::optional<int64_t> lo, hi;

  bool is_constant() const { return lo && hi && *lo == *hi; }
  bool within(int64_t a, int64_t b) const { return lo && hi && *lo >= a && *hi <= b; }
};

// sum of coefficient * term + constant, modulo 2^bits of the dtype; no term occurs twice, none has coefficient 0, none
// is itself a sum or a product with a constant.
struct LinearTerm {
  Expr term;
  int64_t coefficient = 0;
};
struct LinearForm {
  std::vector<LinearTerm> terms;
  int64_t constant = 0;
};
// Of an integer expression. Coefficients are residues modulo 2^bits nearest to zero.
LinearForm linear_form(const Expr& e);
Expr to_expr(const LinearForm& form, DType dtype = kIndex);
// Wraps around, as linear forms of 64-bit expressions do.
LinearForm operator-(const LinearForm& a, const LinearForm& b);

// Whether a condition that loads from tiles keeps its value while the fact is in use.
enum class Reads : uint8_t {
  may_change,  // statements may store in between: parts that load are not used
  stable,      // used inside one expression only
};

// Knowledge in scope. Variables are immutable, so a fact without loads holds for the rest of its scope.
class Facts {
 public:
  void push();
  void pop();

  // Inside a loop: var = begin + t * step with 0 <= t < extent (so that extent >= 1).
  void bind(const Expr& var, const Expr& begin, const Expr& extent, int64_t step = 1);
  // lo <= term <= hi.
  void bound(const Expr& term, int64_t lo, int64_t hi);
  // A let: var has the value that `value` had when it was bound.
  void equate(const Expr& var, const Expr& value);
  // A condition that holds here. Used: conjunctions, negations, comparisons of integers, `x % c == r`, and any
  // condition as itself (it is true when it occurs again).
  void assume(const Expr& condition, Reads reads = Reads::may_change);

  // What is known of one term: interval, exact symbolic bounds (inclusive, over mathematical integers), and
  // term = residue modulo `modulus`.
  struct Term {
    Expr term;
    Interval range;
    std::optional<LinearForm> lower, upper;
    int64_t modulus = 1, residue = 0;
  };
  const Term* find(const Expr& term) const;  // the innermost; null when nothing is known
  const std::vector<LinearForm>& nonnegative() const { return nonnegative_; }

 private:
  struct Mark {
    size_t terms = 0, nonnegative = 0;
  };
  void add(Term term);
  Term known(const Expr& term) const;
  void sharpen(const Expr& term, const Interval& range);
  void assume_nonnegative(const LinearForm& form);
  void assume_dividend(const Expr& quotient, bool at_least, int64_t q);
  void assume_comparison(const Expr& condition);
  void assume_different(const Expr& a, const Expr& b);
  void assume_residue(const Expr& x, int64_t modulus, int64_t residue);

  std::vector<Term> terms_;
  std::vector<uint64_t> hashes_;  // of each term: `find`, where most of the time of the passes goes, looks at them only
  std::vector<LinearForm> nonnegative_;  // each is >= 0 over mathematical integers
  std::vector<Mark> marks_;
};

// An interval that contains every value of an integer or bool expression.
Interval bounds(const Expr& e, const Facts& facts);
// True only when `condition` certainly holds.
bool prove(const Expr& condition, const Facts& facts);
// A number that certainly divides `e`: at least 1, or 0 when `e` is 0, so that `known_divisor(e, facts) % c == 0` says
// "c divides e" for every c > 0.
int64_t known_divisor(const Expr& e, const Facts& facts);
// The coefficient of `var` in an expression that is linear in it; absent when var occurs inside another term.
std::optional<int64_t> coefficient_of(const Expr& e, const Expr& var);
bool mentions(const Expr& e, VarId var);
bool reads_tile(const Expr& e);

// The condition that holds where `condition` does not.
Expr negation(const Expr& condition);

}  // namespace tilewright::ir
