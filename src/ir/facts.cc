// Knowledge in scope.
#include "ir/bounds.h"
#include "ir/exact.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace tilewright::ir {

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

bool reads_tile(const LinearForm& form) {
  for (const LinearTerm& t : form.terms) {
    if (ir::reads_tile(t.term)) return true;
  }
  return false;
}

Wide floor_quotient(Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// The part of `range` whose members are residue modulo `modulus`.
Range shrink(const Range& range, int64_t modulus, int64_t residue) {
  const auto above = [&](Wide x) { return x - floor_quotient(x, modulus) * modulus; };
  const Wide lo = range.lo + above(residue - range.lo), hi = range.hi - above(range.hi - residue);
  return intersect(range, lo <= hi ? Range{lo, hi} : range);
}

bool on_integers(const Expr& comparison) { return is_integer(comparison.arg(0).dtype()); }

}  // namespace

Expr negation(const Expr& condition) {
  if (is_comparison(condition.kind()) && is_exact_dtype(condition.arg(0).dtype())) {
    const Expr &a = condition.arg(0), &b = condition.arg(1);
    switch (condition.kind()) {
      case ExprKind::lt: return binary(ExprKind::le, b, a, condition.loc());
      case ExprKind::le: return binary(ExprKind::lt, b, a, condition.loc());
      case ExprKind::eq: return binary(ExprKind::ne, a, b, condition.loc());
      default: return binary(ExprKind::eq, a, b, condition.loc());
    }
  }
  return logical_not(condition, condition.loc());
}

void Facts::push() { marks_.push_back({.terms = terms_.size(), .nonnegative = nonnegative_.size()}); }

void Facts::pop() {
  const Mark mark = marks_.back();
  marks_.pop_back();
  terms_.erase(terms_.begin() + std::ptrdiff_t(mark.terms), terms_.end());
  hashes_.resize(mark.terms);
  nonnegative_.erase(nonnegative_.begin() + std::ptrdiff_t(mark.nonnegative), nonnegative_.end());
}

void Facts::add(Term term) {
  hashes_.push_back(term.term->hash);
  terms_.push_back(std::move(term));
}

const Facts::Term* Facts::find(const Expr& term) const {
  const uint64_t hash = term->hash;
  for (size_t k = hashes_.size(); k-- > 0;) {
    if (hashes_[k] == hash && equal(terms_[k].term, term)) return &terms_[k];
  }
  return nullptr;
}

Facts::Term Facts::known(const Expr& term) const {
  if (const Term* old = find(term)) return *old;
  return {.term = term, .range = {}, .lower = {}, .upper = {}};
}

void Facts::sharpen(const Expr& term, const Interval& range) {
  Term entry = known(term);
  const DType t = term.dtype();
  Range sharper = intersect(to_range(entry.range, t), to_range(range, t));
  if (entry.modulus > 1) sharper = shrink(sharper, entry.modulus, entry.residue);
  entry.range = to_interval(sharper, t);
  add(std::move(entry));
}

void Facts::bound(const Expr& term, int64_t lo, int64_t hi) { sharpen(term, {.lo = lo, .hi = hi}); }

void Facts::bind(const Expr& var, const Expr& begin, const Expr& extent, int64_t step) {
  const Range first = range(begin, *this), n = range(extent, *this);
  const Wide last = std::max<Wide>(n.hi - 1, 0) * step;
  Term entry{.term = var, .range = {}, .lower = {}, .upper = {}};
  LinearForm low = exact_form(begin, *this);
  const LinearForm count = exact_form(extent, *this);
  if (!reads_tile(count)) {
    LinearForm positive = count;
    if (!__builtin_sub_overflow(count.constant, 1, &positive.constant)) assume_nonnegative(positive);
  }
  std::optional<LinearForm> high = combine(count, step, single(int_imm(0)), 0);
  if (high) high = combine(*high, 1, low, 1);
  if (high && __builtin_sub_overflow(high->constant, step, &high->constant)) high.reset();
  // The form of the end may tell more than the ends of its parts: begin + min(32, K - begin) does not pass K.
  const Range all = range_of(var.dtype());
  const Range spread{first.lo + std::min<Wide>(last, 0), first.hi + std::max<Wide>(last, 0)};
  if (spread.within(all.lo, all.hi)) {
    entry.range = to_interval(spread, var.dtype());
    if (!reads_tile(low)) (step > 0 ? entry.lower : entry.upper) = low;
    if (high && !reads_tile(*high)) (step > 0 ? entry.upper : entry.lower) = high;
  }
  const Congruence start = congruence(begin, *this);
  const int64_t period = spread.within(all.lo, all.hi) ? step : step & -step;
  const int64_t modulus = step == kMin ? 1 : std::gcd(start.modulus, std::abs(period));
  if (modulus > 1) {
    entry.modulus = modulus;
    entry.residue = floormod_value(start.residue, modulus);
  }
  add(std::move(entry));
}

void Facts::equate(const Expr& var, const Expr& value) {
  Term entry{.term = var, .range = {}, .lower = {}, .upper = {}};
  if (is_exact_dtype(var.dtype())) {
    entry.range = bounds(value, *this);
    const LinearForm form = exact_form(value, *this);
    if (!reads_tile(form)) entry.lower = entry.upper = form;
    const Congruence c = congruence(value, *this);
    if (c.modulus > 1) {
      entry.modulus = c.modulus;
      entry.residue = c.residue;
    }
  }
  add(std::move(entry));
}

void Facts::assume(const Expr& condition, Reads reads) {
  if (condition.is(ExprKind::logical_and)) {
    assume(condition.arg(0), reads);
    return assume(condition.arg(1), reads);
  }
  if (condition.is(ExprKind::logical_not)) {
    const Expr& c = condition.arg(0);
    if (c.is(ExprKind::logical_or)) {
      assume(negation(c.arg(0)), reads);
      return assume(negation(c.arg(1)), reads);
    }
    const Expr opposite = negation(c);
    if (!opposite.is(ExprKind::logical_not)) return assume(opposite, reads);
  }
  if (condition.as_int() || (reads == Reads::may_change && ir::reads_tile(condition))) return;
  bound(condition, 1, 1);
  const Expr opposite = negation(condition);
  if (!opposite.as_int()) bound(opposite, 0, 0);
  if (is_comparison(condition.kind()) && on_integers(condition)) assume_comparison(condition);
}

void Facts::assume_comparison(const Expr& condition) {
  const Expr &a = condition.arg(0), &b = condition.arg(1);
  if (condition.is(ExprKind::ne)) return assume_different(a, b);
  const LinearForm x = exact_form(a, *this), y = exact_form(b, *this);
  std::optional<LinearForm> difference = combine(y, 1, x, -1);
  if (!difference) return;
  const int64_t gap = condition.is(ExprKind::lt) ? 1 : 0;
  if (__builtin_sub_overflow(difference->constant, gap, &difference->constant)) return;
  assume_nonnegative(*difference);
  if (!condition.is(ExprKind::eq)) return;
  if (const std::optional<LinearForm> reverse = combine(x, 1, y, -1)) assume_nonnegative(*reverse);
  if (a.is(ExprKind::floormod) && positive_constant(a.arg(1)) && b.as_int()) {
    const int64_t c = *a.arg(1).as_int(), r = *b.as_int();
    if (r >= 0 && r < c) assume_residue(a.arg(0), c, r);
  }
}

void Facts::assume_different(const Expr& a, const Expr& b) {
  const Expr less = binary(ExprKind::lt, a, b), greater = binary(ExprKind::lt, b, a);
  if (prove(binary(ExprKind::le, a, b), *this))
    assume_comparison(less);
  else if (prove(binary(ExprKind::le, b, a), *this))
    assume_comparison(greater);
}

void Facts::assume_residue(const Expr& x, int64_t modulus, int64_t residue) {
  Term entry = known(x);
  if (entry.modulus % modulus == 0) return;
  const Wide both = Wide(entry.modulus) / std::gcd(entry.modulus, modulus) * modulus;
  // Two congruences: keep the sharper one, unless one number says both.
  if (entry.modulus > 1 && entry.residue == 0 && residue == 0 && both <= kMax)
    entry.modulus = int64_t(both);
  else if (modulus > entry.modulus)
    entry.modulus = modulus, entry.residue = residue;
  add(std::move(entry));
  sharpen(x, {});
}

void Facts::assume_nonnegative(const LinearForm& form) {
  if (form.terms.empty()) return;
  nonnegative_.push_back(form);
  if (form.terms.size() != 1) return;
  // c t + k >= 0 bounds t itself.
  const auto& [term, c] = form.terms[0];
  const Wide k = form.constant;
  const Wide end = c > 0 ? -floor_quotient(k, c) : floor_quotient(k, -Wide(c));
  if (end < kMin || end > kMax) return;
  if (c > 0)
    sharpen(term, {.lo = int64_t(end), .hi = {}});
  else
    sharpen(term, {.lo = {}, .hi = int64_t(end)});
  if (term.is(ExprKind::floordiv)) assume_dividend(term, c > 0, int64_t(end));
}

// x floordiv c >= q is x >= c q, and x floordiv c <= q is x <= c q + c - 1.
void Facts::assume_dividend(const Expr& quotient, bool at_least, int64_t q) {
  const std::optional<int64_t> c = positive_constant(quotient.arg(1));
  if (!c) return;
  const LinearForm x = exact_form(quotient.arg(0), *this);
  int64_t end = 0;
  if (__builtin_mul_overflow(q, *c, &end) || (!at_least && __builtin_add_overflow(end, *c - 1, &end))) return;
  const LinearForm bound{.terms = {}, .constant = end};
  const std::optional<LinearForm> difference = combine(x, at_least ? 1 : -1, bound, at_least ? -1 : 1);
  if (difference) assume_nonnegative(*difference);
}

}  // namespace tilewright::ir
