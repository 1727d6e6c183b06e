// Sums, quotients and remainders.
#include "ir/exact.h"
#include "ir/simplify_rules.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace tilewright::ir {

namespace {

Expr imm_like(int64_t value, const Expr& e) { return int_imm(value, e.dtype(), e.loc()); }

int64_t wrapping_mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

Wide floor_quotient(Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// A dividend as c * quotient + remainder, term by term.
struct Split {
  LinearForm quotient, remainder;
};

Split split_by(const LinearForm& form, int64_t c) {
  Split out;
  for (const LinearTerm& t : form.terms) {
    const bool whole = t.coefficient % c == 0;
    LinearForm& part = whole ? out.quotient : out.remainder;
    part.terms.push_back({.term = t.term, .coefficient = whole ? t.coefficient / c : t.coefficient});
  }
  out.quotient.constant = floordiv_value(form.constant, c);
  out.remainder.constant = floormod_value(form.constant, c);
  return out;
}

// k when floor(value / c) is k for every value of the form.
std::optional<int64_t> common_quotient(const LinearForm& form, int64_t c, const Facts& facts) {
  const std::optional<Range> r = range(form, facts);
  if (!r) return std::nullopt;
  const Wide low = floor_quotient(r->lo, c), high = floor_quotient(r->hi, c);
  return low == high && low == Wide(int64_t(low)) ? std::optional(int64_t(low)) : std::nullopt;
}

// (g x + y) / (g c) is x / c when 0 <= y < g.
Expr divide_common_factor(const Expr& e, const LinearForm& dividend, int64_t c, const Facts& facts) {
  for (const LinearTerm& candidate : dividend.terms) {
    const int64_t g = std::gcd(std::abs(candidate.coefficient), c);
    if (g <= 1) continue;
    const Split split = split_by(dividend, g);
    if (common_quotient(split.remainder, g, facts) != 0) continue;
    if (!cannot_wrap(split.quotient, e.dtype(), facts)) continue;
    return binary(ExprKind::floordiv, to_expr(split.quotient, e.dtype()), imm_like(c / g, e), e.loc());
  }
  return e;
}

Expr simplify_quotient(const Expr& e, int64_t c, const Facts& facts) {
  const Expr& x = e.arg(0);
  // (x / a) / b is x / (a b) over mathematical integers, and no quotient by a positive constant wraps.
  if (x.is(ExprKind::floordiv) && positive_constant(x.arg(1))) {
    int64_t product = 0;
    const bool fits =
        !__builtin_mul_overflow(c, *positive_constant(x.arg(1)), &product) && Wide(product) <= range_of(e.dtype()).hi;
    if (fits) return binary(ExprKind::floordiv, x.arg(0), imm_like(product, e), e.loc());
  }
  const LinearForm dividend = linear_form(x);
  if (!cannot_wrap(dividend, e.dtype(), facts)) return e;
  const Split split = split_by(dividend, c);
  if (const std::optional<int64_t> k = common_quotient(split.remainder, c, facts)) {
    return to_expr(split.quotient, e.dtype()) + *k;
  }
  if (!cannot_wrap(split.remainder, e.dtype(), facts)) return e;
  Expr rest = binary(ExprKind::floordiv, to_expr(split.remainder, e.dtype()), imm_like(c, e), e.loc());
  if (rest.is(ExprKind::floordiv)) rest = divide_common_factor(rest, split.remainder, c, facts);
  const Expr out = rest + to_expr(split.quotient, e.dtype());
  return num_nodes(out) < num_nodes(e) ? out : e;
}

// Inside a remainder by 2^n, (t mod m) * k is t * k when 2^n divides m k.
LinearForm without_inner_remainders(const LinearForm& form, int64_t c) {
  LinearForm out{.terms = {}, .constant = form.constant};
  for (const LinearTerm& t : form.terms) {
    const std::optional<int64_t> m = t.term.is(ExprKind::floormod) ? positive_constant(t.term.arg(1)) : std::nullopt;
    const bool redundant = m && wrapping_mul(*m % c, floormod_value(t.coefficient, c)) % c == 0;
    const LinearForm inner = redundant ? linear_form(t.term.arg(0)) : single(t.term);
    for (const LinearTerm& i : inner.terms) out.terms.push_back({i.term, wrapping_mul(i.coefficient, t.coefficient)});
    out.constant = int64_t(uint64_t(out.constant) + uint64_t(wrapping_mul(inner.constant, t.coefficient)));
  }
  return linear_form(to_expr(out, form.terms.empty() ? kIndex : form.terms[0].term.dtype()));
}

Expr simplify_remainder(const Expr& e, int64_t c, const Facts& facts) {
  const Expr& x = e.arg(0);
  if (const std::optional<int64_t> r = congruence(x, facts).modulo(c)) return imm_like(*r, e);
  // (x mod a) mod b is x mod b when b divides a.
  if (x.is(ExprKind::floormod) && positive_constant(x.arg(1)) && *positive_constant(x.arg(1)) % c == 0) {
    return binary(ExprKind::floormod, x.arg(0), imm_like(c, e), e.loc());
  }
  LinearForm dividend = linear_form(x);
  // A remainder by 2^n depends only on the low bits, which wrapping keeps.
  const bool low_bits = (c & (c - 1)) == 0;
  if (!low_bits && !cannot_wrap(dividend, e.dtype(), facts)) return e;
  if (low_bits) dividend = without_inner_remainders(dividend, c);
  const LinearForm rest = split_by(dividend, c).remainder;
  const bool exact = cannot_wrap(rest, e.dtype(), facts);
  if (exact) {
    if (const std::optional<int64_t> k = common_quotient(rest, c, facts)) {
      return to_expr(rest, e.dtype()) - wrapping_mul(*k, c);
    }
  }
  if (!exact && !low_bits) return e;
  const Expr out = binary(ExprKind::floormod, to_expr(rest, e.dtype()), imm_like(c, e), e.loc());
  return num_nodes(out) < num_nodes(e) ? out : e;
}

// form + (x / c) k where k = c j and x = r modulo c: (x / c) c is x - r.
bool replace_exact_quotient(LinearForm& form, const Facts& facts, DType dtype) {
  for (const LinearTerm& t : form.terms) {
    const std::optional<int64_t> c = t.term.is(ExprKind::floordiv) ? positive_constant(t.term.arg(1)) : std::nullopt;
    if (!c || t.coefficient % *c != 0) continue;
    const std::optional<int64_t> r = congruence(t.term.arg(0), facts).modulo(*c);
    if (!r) continue;
    LinearForm rest = form;
    std::erase_if(rest.terms, [&](const LinearTerm& other) { return equal(other.term, t.term); });
    form = linear_form(to_expr(rest, dtype) + (t.term.arg(0) - *r) * (t.coefficient / *c));
    return true;
  }
  return false;
}

// (x / c) * c + x mod c is x.
bool join_quotient_and_remainder(LinearForm& form, DType dtype) {
  for (const LinearTerm& m : form.terms) {
    if (!m.term.is(ExprKind::floormod) || !m.term.arg(1).as_int()) continue;
    const Expr quotient = binary(ExprKind::floordiv, m.term.arg(0), m.term.arg(1));
    const int64_t wanted = wrapping_mul(m.coefficient, *m.term.arg(1).as_int());
    for (const LinearTerm& q : form.terms) {
      if (!equal(q.term, quotient) || q.coefficient != wanted) continue;
      LinearForm rest{.terms = {}, .constant = form.constant};
      for (const LinearTerm& t : form.terms) {
        if (&t != &m && &t != &q) rest.terms.push_back(t);
      }
      form = linear_form(to_expr(rest, dtype) + m.term.arg(0) * m.coefficient);
      return true;
    }
  }
  return false;
}

}  // namespace

Expr simplify_sum(const Expr& e, const Facts& facts) {
  if (!is_integer(e.dtype())) return e;
  LinearForm form = linear_form(e);
  while (join_quotient_and_remainder(form, e.dtype()) || replace_exact_quotient(form, facts, e.dtype())) {
  }
  const Expr out = to_expr(form, e.dtype());
  return num_nodes(out) < num_nodes(e) ? out : e;
}

Expr simplify_division(const Expr& e, const Facts& facts) {
  const std::optional<int64_t> c = positive_constant(e.arg(1));
  if (c) return e.is(ExprKind::floordiv) ? simplify_quotient(e, *c, facts) : simplify_remainder(e, *c, facts);
  const Expr &a = e.arg(0), &b = e.arg(1);
  // Between 0 and a divisor that exceeds it.
  const Expr zero = imm_like(0, a);
  if (!is_integer(e.dtype()) || !prove(binary(ExprKind::le, zero, a), facts)) return e;
  if (!prove(binary(ExprKind::lt, a, b), facts)) return e;
  return e.is(ExprKind::floordiv) ? zero : a;
}

}  // namespace tilewright::ir
