// Comparisons, minima, bits, casts and selections.
#include "ir/simplify_rules.h"

#include "ir/exact.h"
#include "target/dtype.h"

#include <cstdlib>
#include <limits>
#include <numeric>

namespace tilewright::ir {

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

struct Sides {
  LinearForm left, right;
};

// difference = right - left, every coefficient positive, the constant where it is not negative.
std::optional<Sides> split_sides(const LinearForm& difference) {
  Sides out;
  for (const LinearTerm& t : difference.terms) {
    if (t.coefficient == kMin) return std::nullopt;
    if (t.coefficient > 0)
      out.right.terms.push_back(t);
    else
      out.left.terms.push_back({.term = t.term, .coefficient = -t.coefficient});
  }
  if (difference.constant == kMin) return std::nullopt;
  const bool on_right = out.right.terms.empty() || (difference.constant > 0 && !out.left.terms.empty());
  (on_right ? out.right : out.left).constant = on_right ? difference.constant : -difference.constant;
  return out;
}

// sum g u + k >= 0 says the same as sum u + floor(k / g) >= 0.
LinearForm without_common_factor(LinearForm form) {
  int64_t g = 0;
  for (const LinearTerm& t : form.terms) {
    if (t.coefficient == kMin) return form;
    g = std::gcd(g, std::abs(t.coefficient));
  }
  if (g <= 1) return form;
  for (LinearTerm& t : form.terms) t.coefficient /= g;
  form.constant = floordiv_value(form.constant, g);
  return form;
}

bool has_one_dtype(const LinearForm& form, DType dtype) {
  for (const LinearTerm& t : form.terms) {
    if (t.term.dtype() != dtype) return false;
  }
  return true;
}

// a <= b with common terms and factors cancelled; wraps neither before nor after.
Expr shorter_order(const Expr& e, const Facts& facts) {
  const Expr &a = e.arg(0), &b = e.arg(1);
  const DType t = a.dtype();
  const LinearForm x = linear_form(a), y = linear_form(b);
  if (!cannot_wrap(x, t, facts) || !cannot_wrap(y, t, facts)) return e;
  std::optional<LinearForm> difference = combine(y, 1, x, -1);
  const int64_t gap = e.is(ExprKind::lt) ? 1 : 0;
  if (!difference || __builtin_sub_overflow(difference->constant, gap, &difference->constant)) return e;
  LinearForm reduced = without_common_factor(*difference);
  // Back to the kind of the original: L <= R or L < R + 1.
  if (__builtin_add_overflow(reduced.constant, gap, &reduced.constant)) return e;
  const std::optional<Sides> sides = split_sides(reduced);
  if (!sides || !has_one_dtype(reduced, t)) return e;
  if (!cannot_wrap(sides->left, t, facts) || !cannot_wrap(sides->right, t, facts)) return e;
  const Expr out = binary(e.kind(), to_expr(sides->left, t), to_expr(sides->right, t), e.loc());
  return num_nodes(out) < num_nodes(e) ? out : e;
}

// a == b is a - b == 0 modulo 2^bits, whatever wraps.
Expr shorter_equality(const Expr& e) {
  const DType t = e.arg(0).dtype();
  const std::optional<Sides> sides = split_sides(linear_form(e.arg(1)) - linear_form(e.arg(0)));
  if (!sides) return e;
  const Expr out = binary(e.kind(), to_expr(sides->left, t), to_expr(sides->right, t), e.loc());
  return num_nodes(out) < num_nodes(e) ? out : e;
}

// Every value of `from` is one of `to`.
bool is_widening(DType from, DType to) {
  if (from == to) return true;
  if (is_float(from)) {
    if (!is_float(to) || bytes_of(to) <= bytes_of(from)) return false;
    return true;
  }
  if (is_float(to)) {
    const int digits = is_boolean(from) ? 1 : bits_of(from) - (is_unsigned(from) ? 0 : 1);
    return digits <= significand_digits(to) && !(to == DType::f16 && digits > 15);
  }
  const Range a = range_of(from), b = range_of(to);
  return a.within(b.lo, b.hi);
}

// x & (2^n - 1) when x is within the mask.
bool mask_keeps(const Expr& x, const Expr& mask, const Facts& facts) {
  const std::optional<int64_t> m = mask.as_int();
  return m && *m >= 0 && (uint64_t(*m) & (uint64_t(*m) + 1)) == 0 && range(x, facts).within(0, *m);
}

}  // namespace

Expr simplify_comparison(const Expr& e, const Facts& facts) {
  if (!is_integer(e.arg(0).dtype())) return e;
  if (prove(e, facts)) return bool_imm(true, e.loc());
  if (prove(negation(e), facts)) return bool_imm(false, e.loc());
  return e.is(ExprKind::lt) || e.is(ExprKind::le) ? shorter_order(e, facts) : shorter_equality(e);
}

Expr simplify_min_max(const Expr& e, const Facts& facts) {
  if (!is_integer(e.dtype())) return e;
  const Expr &a = e.arg(0), &b = e.arg(1);
  const bool is_min = e.is(ExprKind::min);
  if (prove(binary(ExprKind::le, a, b), facts)) return is_min ? a : b;
  if (prove(binary(ExprKind::le, b, a), facts)) return is_min ? b : a;
  // min(min(x, 5), 3) is min(x, 3).
  if (a.is(e.kind()) && a.arg(1).is(ExprKind::int_imm) && b.is(ExprKind::int_imm)) {
    return binary(e.kind(), a.arg(0), binary(e.kind(), a.arg(1), b), e.loc());
  }
  return e;
}

Expr simplify_not(const Expr& e) {
  const Expr opposite = negation(e.arg(0));
  return opposite.is(ExprKind::logical_not) ? e : opposite;
}

Expr simplify_bits(const Expr& e, const Facts& facts) {
  const Expr &a = e.arg(0), &b = e.arg(1);
  const bool same = equal(a, b);
  switch (e.kind()) {
    case ExprKind::bit_and:
      if (same || mask_keeps(a, b, facts)) return a;
      return b.is_int(wrap_to(e.dtype(), -1)) ? a : b.is_int(0) ? b : e;
    case ExprKind::bit_or: return same || b.is_int(0) ? a : e;
    case ExprKind::bit_xor:
      if (same) return int_imm(0, e.dtype(), e.loc());
      return b.is_int(0) ? a : e;
    default: return b.is_int(0) ? a : e;  // shifts
  }
}

Expr simplify_cast(const Expr& e, const Facts& facts) {
  const Expr& middle = e.arg(0);
  if (!middle.is(ExprKind::cast)) return e;
  const Expr& x = middle.arg(0);
  // A float saturates on its way to an integer, where the integer itself would wrap.
  const bool through_float = !is_float(x.dtype()) && is_float(middle.dtype()) && is_integer(e.dtype());
  if (through_float && !is_widening(x.dtype(), e.dtype())) return e;
  if (is_widening(x.dtype(), middle.dtype()) || is_cast_of_same_value(middle, facts)) {
    return cast(x, e.dtype(), e.loc());
  }
  // Wrapping twice is wrapping to the narrower one.
  const bool integers = is_integer(x.dtype()) && is_integer(middle.dtype()) && is_integer(e.dtype());
  if (integers && bits_of(e.dtype()) <= bits_of(middle.dtype())) return cast(x, e.dtype(), e.loc());
  return e;
}

Expr simplify_select(const Expr& e) {
  const Expr &condition = e.arg(0), &then = e.arg(1), &otherwise = e.arg(2);
  if (!is_boolean(e.dtype())) return e;
  if (then.is_int(1) && otherwise.is_int(0)) return condition;
  if (then.is_int(0) && otherwise.is_int(1)) return negation(condition);
  return e;
}

}  // namespace tilewright::ir
