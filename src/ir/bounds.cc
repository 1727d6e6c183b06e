// Ranges of expressions.
#include "ir/bounds.h"

#include "ir/exact.h"

#include <algorithm>

namespace tilewright::ir {

namespace {

// Nodes visited for one range; beyond, the range of the dtype is the answer. Measured: 48 for the largest index in the
// lists of tests/ir/*_test.cc, 1843 for random trees. Shared subtrees would otherwise cost their unfolded size.
constexpr int kRangeBudget = 4096;

class RangeFinder {
 public:
  explicit RangeFinder(const Facts& facts) : facts_(facts) {}

  Range of(const Expr& e) {
    const Range nodes = of_node(e);
    return is_sum(e) ? intersect(nodes, of_sum(e)) : nodes;
  }
  std::optional<Range> of(const LinearForm& form);

 private:
  Range of_node(const Expr& e);
  Range of_kind(const Expr& e);
  Range of_cast(const Expr& e);
  Range of_select(const Expr& e);
  Range of_call(const Expr& e);
  Range of_operand(const Expr& e, const Expr& parent);
  // x - x cancels in the linear form only.
  Range of_sum(const Expr& e) {
    const std::optional<Range> sum = of(linear_form(e));
    return sum ? fit(sum->lo, sum->hi, e.dtype()) : range_of(e.dtype());
  }

  const Facts& facts_;
  int budget_ = kRangeBudget;
};

Range RangeFinder::of_node(const Expr& e) {
  const Range all = range_of(e.dtype());
  if (--budget_ < 0) return all;
  const Range found = of_kind(e);
  const Facts::Term* known = facts_.find(e);
  return known ? intersect(found, to_range(known->range, e.dtype())) : found;
}

Range RangeFinder::of_cast(const Expr& e) {
  const Expr& from = e.arg(0);
  if (!is_exact_dtype(from.dtype())) return range_of(e.dtype());
  const Range r = of(from);
  if (is_boolean(e.dtype())) return range_of_binary(ExprKind::ne, from.dtype(), r, {0, 0});
  return fit(r.lo, r.hi, e.dtype());
}

Range RangeFinder::of_select(const Expr& e) {
  const Range condition = of(e.arg(0));
  if (condition.is_constant()) return of(e.arg(condition.lo != 0 ? 1 : 2));
  return join(of(e.arg(1)), of(e.arg(2)));
}

Range RangeFinder::of_call(const Expr& e) {
  const Range all = range_of(e.dtype());
  switch (MathFn(e->i)) {
    case MathFn::abs: {
      if (!is_exact_dtype(e.dtype())) return all;
      const Range r = of(e.arg(0));
      return r.lo >= 0 ? r : fit(r.hi < 0 ? -r.hi : Wide(0), std::max(r.hi, -r.lo), e.dtype());
    }
    case MathFn::popcount:
    case MathFn::clz: return {0, bits_of(e.dtype())};
    case MathFn::blend: return is_exact_dtype(e.dtype()) ? join(of(e.arg(1)), of(e.arg(2))) : all;
    default: return all;
  }
}

// A sum inside of a sum is part of the linear form of the whole.
Range RangeFinder::of_operand(const Expr& e, const Expr& parent) {
  return is_sum(e) && is_sum(parent) ? of_node(e) : of(e);
}

Range RangeFinder::of_kind(const Expr& e) {
  const Range all = range_of(e.dtype());
  switch (e.kind()) {
    case ExprKind::int_imm: {
      const Wide value = e.dtype() == DType::u64 ? Wide(uint64_t(e->i)) : Wide(e->i);
      return {value, value};
    }
    case ExprKind::logical_not: {
      const Range r = of(e.arg(0));
      return {1 - r.hi, 1 - r.lo};
    }
    case ExprKind::select: return of_select(e);
    case ExprKind::cast: return of_cast(e);
    case ExprKind::call: return of_call(e);
    default: break;
  }
  if (!is_binary(e.kind()) || !is_exact_dtype(e.arg(0).dtype())) return all;
  const Range a = of_operand(e.arg(0), e), b = of_operand(e.arg(1), e);
  return range_of_binary(e.kind(), e.arg(0).dtype(), a, b);
}

std::optional<Range> RangeFinder::of(const LinearForm& form) {
  Range sum{form.constant, form.constant};
  for (const LinearTerm& t : form.terms) {
    const Range x = of(t.term);
    Wide p = 0, q = 0;
    if (__builtin_mul_overflow(x.lo, Wide(t.coefficient), &p) ||
        __builtin_mul_overflow(x.hi, Wide(t.coefficient), &q)) {
      return std::nullopt;
    }
    if (__builtin_add_overflow(sum.lo, std::min(p, q), &sum.lo)) return std::nullopt;
    if (__builtin_add_overflow(sum.hi, std::max(p, q), &sum.hi)) return std::nullopt;
  }
  return sum;
}

}  // namespace

Range range(const Expr& e, const Facts& facts) { return RangeFinder(facts).of(e); }

std::optional<Range> range(const LinearForm& form, const Facts& facts) { return RangeFinder(facts).of(form); }

Interval bounds(const Expr& e, const Facts& facts) {
  if (!is_exact_dtype(e.dtype())) return {};
  return to_interval(range(e, facts), e.dtype());
}

bool mentions(const Expr& e, VarId var) {
  if (e.is(ExprKind::var)) return e.var_id() == var;
  return std::any_of(e.args().begin(), e.args().end(), [&](const Expr& a) { return mentions(a, var); });
}

bool reads_tile(const Expr& e) {
  return e.is(ExprKind::load) || std::any_of(e.args().begin(), e.args().end(), reads_tile);
}

}  // namespace tilewright::ir
