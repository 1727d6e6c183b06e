// Proofs of conditions.
//
// a < b becomes "b - a - 1 >= 0" over exact linear forms. A form is non-negative when the lower ends of its terms say
// so; otherwise one term is replaced by something that makes the form no larger (a symbolic bound of a variable, the
// dividend of a division, one side of a min), or a fact g >= 0 is subtracted so that a term cancels, and the smaller
// form is tried.
#include "ir/bounds.h"
#include "ir/exact.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace tilewright::ir {

namespace {

// Forms tried in one proof, and replacements in a row. Measured: the longest proof of the lists in tests/ir/*_test.cc
// (of tiled, split and swizzled indices) tries 36 forms, 3 in a row, and a failed one of them 9; proofs of random
// conditions take up to 155 forms and 8 in a row.
constexpr int kProofBudget = 160;
constexpr int kMaxDepth = 8;

class Prover {
 public:
  explicit Prover(const Facts& facts) : facts_(facts) {}

  // form >= 0 over mathematical integers.
  bool nonnegative(const LinearForm& form, int depth = 0);

 private:
  bool replaced(const LinearForm& form, size_t index, int depth);
  bool with(const LinearForm& form, size_t index, int64_t scale, const LinearForm& bound, int64_t factor, int depth);
  bool with_var_bound(const LinearForm& form, size_t index, int depth);
  bool with_dividend(const LinearForm& form, size_t index, int depth);
  bool with_remainder(const LinearForm& form, size_t index, int depth);
  bool with_side(const LinearForm& form, size_t index, int depth);
  bool with_fact(const LinearForm& form, const LinearForm& fact, int depth);

  const Facts& facts_;
  int budget_ = kProofBudget;
};

// scale * (form without its term `index`) + factor * bound, for scale > 0.
bool Prover::with(const LinearForm& form, size_t index, int64_t scale, const LinearForm& bound, int64_t factor,
                  int depth) {
  LinearForm rest = form;
  rest.terms.erase(rest.terms.begin() + std::ptrdiff_t(index));
  const std::optional<LinearForm> next = combine(rest, scale, bound, factor);
  return next && nonnegative(*next, depth + 1);
}

bool Prover::with_var_bound(const LinearForm& form, size_t index, int depth) {
  const LinearTerm& t = form.terms[index];
  const Facts::Term* known = facts_.find(t.term);
  if (known == nullptr) return false;
  const std::optional<LinearForm>& bound = t.coefficient > 0 ? known->lower : known->upper;
  return bound && with(form, index, 1, *bound, t.coefficient, depth);
}

// x - (c - 1) <= c * (x floordiv c) <= x; exactly x - r when x = r modulo c is known.
bool Prover::with_dividend(const LinearForm& form, size_t index, int depth) {
  const LinearTerm& t = form.terms[index];
  const std::optional<int64_t> c = positive_constant(t.term.arg(1));
  if (!c || t.coefficient == std::numeric_limits<int64_t>::min()) return false;
  const Expr& x = t.term.arg(0);
  LinearForm dividend = exact_form(x, facts_);
  const std::optional<int64_t> r = congruence(x, facts_).modulo(*c);
  const int64_t lost = r ? *r : t.coefficient > 0 ? *c - 1 : 0;
  if (__builtin_sub_overflow(dividend.constant, lost, &dividend.constant)) return false;
  const int64_t scale = *c / std::gcd(*c, std::abs(t.coefficient));
  int64_t scaled = 0;
  if (__builtin_mul_overflow(t.coefficient, scale, &scaled)) return false;
  return with(form, index, scale, dividend, scaled / *c, depth);
}

// x mod c is x - c * (x floordiv c), and at most x when x >= 0.
bool Prover::with_remainder(const LinearForm& form, size_t index, int depth) {
  const LinearTerm& t = form.terms[index];
  const std::optional<int64_t> c = positive_constant(t.term.arg(1));
  if (!c) return false;
  const Expr& x = t.term.arg(0);
  const LinearForm dividend = exact_form(x, facts_);
  if (t.coefficient < 0 && range(x, facts_).lo >= 0 && with(form, index, 1, dividend, t.coefficient, depth))
    return true;
  const Expr quotient = binary(ExprKind::floordiv, x, t.term.arg(1));
  const std::optional<LinearForm> exact = combine(dividend, 1, exact_form(quotient, facts_), -*c);
  return exact && with(form, index, 1, *exact, t.coefficient, depth);
}

// A min is at most each side, a max at least; both are one of their sides, and so is a select.
bool Prover::with_side(const LinearForm& form, size_t index, int depth) {
  const LinearTerm& t = form.terms[index];
  const Expr& e = t.term;
  const size_t first = e.is(ExprKind::select) ? 1 : 0;
  const LinearForm a = exact_form(e.arg(first), facts_), b = exact_form(e.arg(first + 1), facts_);
  const bool one_is_enough = (e.is(ExprKind::min) && t.coefficient < 0) || (e.is(ExprKind::max) && t.coefficient > 0);
  const bool by_a = with(form, index, 1, a, t.coefficient, depth);
  if (by_a == one_is_enough) return by_a;
  return with(form, index, 1, b, t.coefficient, depth);
}

bool Prover::replaced(const LinearForm& form, size_t index, int depth) {
  if (with_var_bound(form, index, depth)) return true;
  switch (form.terms[index].term.kind()) {
    case ExprKind::floordiv: return with_dividend(form, index, depth);
    case ExprKind::floormod: return with_remainder(form, index, depth);
    case ExprKind::min:
    case ExprKind::max:
    case ExprKind::select: return with_side(form, index, depth);
    default: return false;
  }
}

// Subtracts a multiple of fact >= 0 that cancels a term.
bool Prover::with_fact(const LinearForm& form, const LinearForm& fact, int depth) {
  for (const LinearTerm& t : form.terms) {
    for (const LinearTerm& f : fact.terms) {
      if ((t.coefficient > 0) != (f.coefficient > 0) || !equal(t.term, f.term)) continue;
      if (t.coefficient == std::numeric_limits<int64_t>::min()) continue;
      if (f.coefficient == std::numeric_limits<int64_t>::min()) continue;
      const int64_t g = std::gcd(std::abs(t.coefficient), std::abs(f.coefficient));
      const std::optional<LinearForm> rest =
          combine(form, std::abs(f.coefficient) / g, fact, -(std::abs(t.coefficient) / g));
      if (rest && nonnegative(*rest, depth + 1)) return true;
    }
  }
  return false;
}

bool Prover::nonnegative(const LinearForm& form, int depth) {
  if (--budget_ < 0) return false;
  const std::optional<Range> r = range(form, facts_);
  if (r && r->lo >= 0) return true;
  if (depth >= kMaxDepth || (r && r->hi < 0)) return false;
  for (size_t i = 0; i < form.terms.size(); ++i) {
    if (replaced(form, i, depth)) return true;
  }
  for (const LinearForm& fact : facts_.nonnegative()) {
    if (fact.terms.size() > 1 && with_fact(form, fact, depth)) return true;
  }
  return false;
}

// a + gap <= b.
bool prove_order(const Expr& a, const Expr& b, int64_t gap, const Facts& facts) {
  std::optional<LinearForm> difference = combine(exact_form(b, facts), 1, exact_form(a, facts), -1);
  if (!difference || __builtin_sub_overflow(difference->constant, gap, &difference->constant)) return false;
  return Prover(facts).nonnegative(*difference);
}

// Equal modulo the wrap-around of the dtype, or of the same form.
bool prove_equal(const Expr& a, const Expr& b, const Facts& facts) {
  const LinearForm difference = linear_form(a) - linear_form(b);
  if (difference.terms.empty() && wrap_to(a.dtype(), difference.constant) == 0) return true;
  return prove_order(a, b, 0, facts) && prove_order(b, a, 0, facts);
}

bool prove_different(const Expr& a, const Expr& b, const Facts& facts) {
  const LinearForm difference = linear_form(a) - linear_form(b);
  if (difference.terms.empty() && wrap_to(a.dtype(), difference.constant) != 0) return true;
  const Congruence x = congruence(a, facts), y = congruence(b, facts);
  const int64_t shared = std::gcd(x.modulus, y.modulus);
  if (shared > 0 && floormod_value(x.residue, shared) != floormod_value(y.residue, shared)) return true;
  return prove_order(a, b, 1, facts) || prove_order(b, a, 1, facts);
}

bool prove_comparison(const Expr& condition, const Facts& facts) {
  const Expr &a = condition.arg(0), &b = condition.arg(1);
  if (!is_integer(a.dtype())) return false;
  switch (condition.kind()) {
    case ExprKind::lt: return prove_order(a, b, 1, facts);
    case ExprKind::le: return prove_order(a, b, 0, facts);
    case ExprKind::eq: return prove_equal(a, b, facts);
    default: return prove_different(a, b, facts);
  }
}

// Parts of a condition looked at in one proof; shared parts would otherwise cost their unfolded size. Conditions of
// kernels have fewer than ten.
constexpr int kConditionBudget = 48;

class ConditionProver {
 public:
  explicit ConditionProver(const Facts& facts) : facts_(facts) {}

  bool holds(const Expr& condition) {
    if (--budget_ < 0 || !is_boolean(condition.dtype())) return false;
    if (range(condition, facts_).lo == 1) return true;
    if (is_comparison(condition.kind())) return prove_comparison(condition, facts_);
    if (condition.is(ExprKind::logical_and)) return holds(condition.arg(0)) && holds(condition.arg(1));
    if (condition.is(ExprKind::logical_or)) return holds(condition.arg(0)) || holds(condition.arg(1));
    return condition.is(ExprKind::logical_not) && fails(condition.arg(0));
  }

 private:
  bool fails(const Expr& c) {
    if (c.is(ExprKind::logical_and)) return holds(negation(c.arg(0))) || holds(negation(c.arg(1)));
    if (c.is(ExprKind::logical_or)) return holds(negation(c.arg(0))) && holds(negation(c.arg(1)));
    const Expr opposite = negation(c);
    return !opposite.is(ExprKind::logical_not) && holds(opposite);
  }

  const Facts& facts_;
  int budget_ = kConditionBudget;
};

}  // namespace

bool prove(const Expr& condition, const Facts& facts) { return ConditionProver(facts).holds(condition); }

}  // namespace tilewright::ir
