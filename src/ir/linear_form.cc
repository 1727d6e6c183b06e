// Linear forms and congruences.
#include "ir/exact.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tilewright::ir {

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

int64_t wrapping_mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
int64_t wrapping_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }

// The residue modulo 2^bits nearest to zero.
int64_t centred(int64_t value, DType dtype) {
  switch (bits_of(dtype)) {
    case 8: return int8_t(value);
    case 16: return int16_t(value);
    case 32: return int32_t(value);
    default: return value;
  }
}

void add_term(LinearForm& form, const Expr& term, int64_t coefficient) {
  for (LinearTerm& t : form.terms) {
    if (!equal(t.term, term)) continue;
    t.coefficient = wrapping_add(t.coefficient, coefficient);
    return;
  }
  form.terms.push_back({.term = term, .coefficient = coefficient});
}

void drop_zero_terms(LinearForm& form) {
  std::erase_if(form.terms, [](const LinearTerm& t) { return t.coefficient == 0; });
}

// Bounds the unfolding of shared subtrees: terms of one form.
constexpr size_t kMaxTerms = 256;

void collect(LinearForm& form, const Expr& e, int64_t factor) {
  if (e.is(ExprKind::int_imm)) {
    form.constant = wrapping_add(form.constant, wrapping_mul(factor, e->i));
    return;
  }
  if (!is_sum(e) || form.terms.size() >= kMaxTerms) return add_term(form, e, factor);
  if (e.is(ExprKind::mul)) return collect(form, e.arg(0), wrapping_mul(factor, e.arg(1)->i));
  collect(form, e.arg(0), factor);
  collect(form, e.arg(1), e.is(ExprKind::add) ? factor : wrapping_mul(factor, -1));
}

}  // namespace

bool is_sum(const Expr& e) {
  if (!is_integer(e.dtype())) return false;
  return e.is(ExprKind::add) || e.is(ExprKind::sub) || (e.is(ExprKind::mul) && e.arg(1).is(ExprKind::int_imm));
}

std::optional<int64_t> positive_constant(const Expr& e) {
  const std::optional<int64_t> c = e.as_int();
  return c && *c > 0 ? c : std::nullopt;
}

LinearForm linear_form(const Expr& e) {
  LinearForm form;
  collect(form, e, 1);
  for (LinearTerm& t : form.terms) t.coefficient = centred(t.coefficient, e.dtype());
  form.constant = centred(form.constant, e.dtype());
  drop_zero_terms(form);
  return form;
}

LinearForm operator-(const LinearForm& a, const LinearForm& b) {
  LinearForm out = a;
  for (const LinearTerm& t : b.terms) add_term(out, t.term, wrapping_mul(t.coefficient, -1));
  out.constant = wrapping_add(out.constant, wrapping_mul(b.constant, -1));
  drop_zero_terms(out);
  return out;
}

LinearForm single(const Expr& term) { return {.terms = {{.term = term, .coefficient = 1}}, .constant = 0}; }

Expr to_expr(const LinearForm& form, DType dtype) {
  const bool all_negative =
      std::none_of(form.terms.begin(), form.terms.end(), [](const LinearTerm& t) { return t.coefficient > 0; });
  // k - x, not x * -1 + k.
  const bool leads_with_constant = all_negative && form.constant != 0;
  Expr sum = leads_with_constant ? int_imm(form.constant, dtype) : Expr();
  // Positive terms first, so that no leading minus is needed.
  for (const bool positive : {true, false}) {
    for (const LinearTerm& t : form.terms) {
      if ((t.coefficient > 0) != positive) continue;
      const bool subtract = !positive && sum && t.coefficient != kMin;
      const Expr scaled = t.term * (subtract ? -t.coefficient : t.coefficient);
      sum = !sum ? scaled : subtract ? sum - scaled : sum + scaled;
    }
  }
  if (!sum) return int_imm(form.constant, dtype);
  return leads_with_constant ? sum : sum + form.constant;
}

std::optional<int64_t> coefficient_of(const Expr& e, const Expr& var) {
  int64_t coefficient = 0;
  for (const LinearTerm& t : linear_form(e).terms) {
    if (t.term.is(ExprKind::var) && t.term.var_id() == var.var_id())
      coefficient = t.coefficient;
    else if (mentions(t.term, var.var_id()))
      return std::nullopt;
  }
  return coefficient;
}

// ---- exact forms ----

std::optional<LinearForm> combine(const LinearForm& a, int64_t factor_a, const LinearForm& b, int64_t factor_b) {
  LinearForm out;
  const auto add = [&](const Expr& term, int64_t coefficient, int64_t factor) {
    int64_t product = 0;
    if (__builtin_mul_overflow(coefficient, factor, &product)) return false;
    for (LinearTerm& t : out.terms) {
      if (equal(t.term, term)) return !__builtin_add_overflow(t.coefficient, product, &t.coefficient);
    }
    out.terms.push_back({.term = term, .coefficient = product});
    return true;
  };
  for (const LinearTerm& t : a.terms) {
    if (!add(t.term, t.coefficient, factor_a)) return std::nullopt;
  }
  for (const LinearTerm& t : b.terms) {
    if (!add(t.term, t.coefficient, factor_b)) return std::nullopt;
  }
  int64_t x = 0, y = 0;
  if (__builtin_mul_overflow(a.constant, factor_a, &x) || __builtin_mul_overflow(b.constant, factor_b, &y) ||
      __builtin_add_overflow(x, y, &out.constant)) {
    return std::nullopt;
  }
  drop_zero_terms(out);
  return out;
}

bool cannot_wrap(const LinearForm& form, DType dtype, const Facts& facts) {
  const std::optional<Range> r = range(form, facts);
  const Range all = range_of(dtype);
  return r && r->within(all.lo, all.hi);
}

bool is_cast_of_same_value(const Expr& e, const Facts& facts) {
  if (!e.is(ExprKind::cast) || !is_exact_dtype(e.dtype()) || !is_exact_dtype(e.arg(0).dtype())) return false;
  const Range from = range_of(e.arg(0).dtype()), to = range_of(e.dtype());
  if (from.within(to.lo, to.hi)) return true;
  return range(e.arg(0), facts).within(to.lo, to.hi);
}

LinearForm exact_form(const Expr& e, const Facts& facts) {
  if (is_cast_of_same_value(e, facts)) return exact_form(e.arg(0), facts);
  if (!is_sum(e) && !(e.is(ExprKind::int_imm) && (e.dtype() != DType::u64 || e->i >= 0))) return single(e);
  const LinearForm form = linear_form(e);
  // Centred residues of an unsigned constant are off by 2^bits; the check finds that as well.
  if (!cannot_wrap(form, e.dtype(), facts)) return single(e);
  LinearForm out{.terms = {}, .constant = form.constant};
  for (const LinearTerm& t : form.terms) {
    const LinearForm inner = is_cast_of_same_value(t.term, facts) ? exact_form(t.term, facts) : single(t.term);
    const std::optional<LinearForm> sum = combine(out, 1, inner, t.coefficient);
    if (!sum) return form;
    out = *sum;
  }
  return out;
}

// ---- congruences ----

std::optional<int64_t> Congruence::modulo(int64_t c) const {
  return modulus % c == 0 ? std::optional(floormod_value(residue, c)) : std::nullopt;
}

namespace {

Congruence reduced(int64_t modulus, Wide residue) {
  if (modulus == 0) return {0, int64_t(residue)};
  const Wide r = residue % modulus;
  return {modulus, int64_t(r < 0 ? r + modulus : r)};
}

Congruence constant_congruence(int64_t value) { return {0, value}; }

int64_t magnitude(int64_t x) { return x == kMin ? int64_t(1) << 62 : std::abs(x); }  // 2^62 divides 2^63

Congruence join(const Congruence& a, const Congruence& b) {
  const Wide apart = Wide(a.residue) - b.residue;
  if (apart != Wide(int64_t(apart))) return {};
  return reduced(std::gcd(std::gcd(a.modulus, b.modulus), magnitude(int64_t(apart))), a.residue);
}

// (m, r) * k: modulo m * k.
Congruence times(const Congruence& a, int64_t k) {
  int64_t modulus = 0, residue = 0;
  if (k == kMin || __builtin_mul_overflow(a.modulus, std::abs(k), &modulus)) return reduced(magnitude(k), 0);
  if (__builtin_mul_overflow(a.residue, k, &residue)) return reduced(magnitude(k), 0);
  return reduced(modulus, residue);
}

Congruence plus(const Congruence& a, const Congruence& b) {
  const int64_t modulus = std::gcd(a.modulus, b.modulus);
  const Wide sum = Wide(a.residue) + b.residue;
  if (modulus == 0 && sum != Wide(int64_t(sum))) return {};
  return reduced(modulus, sum);
}

// Expressions nest deeper than this without telling more about divisibility.
constexpr int kMaxDepth = 12;

class CongruenceFinder {
 public:
  explicit CongruenceFinder(const Facts& facts) : facts_(facts) {}

  Congruence of(const Expr& e, int depth = 0) {
    if (depth > kMaxDepth || !is_exact_dtype(e.dtype())) return {};
    if (const Facts::Term* known = facts_.find(e); known && known->modulus > 1) return {known->modulus, known->residue};
    if (e.is(ExprKind::int_imm)) return e.dtype() == DType::u64 && e->i < 0 ? Congruence{} : constant_congruence(e->i);
    if (is_sum(e)) return of_sum(e, depth);
    switch (e.kind()) {
      case ExprKind::floormod: return of_floormod(e, depth);
      case ExprKind::min:
      case ExprKind::max: return join(of(e.arg(0), depth + 1), of(e.arg(1), depth + 1));
      case ExprKind::select: return join(of(e.arg(1), depth + 1), of(e.arg(2), depth + 1));
      case ExprKind::cast: return is_cast_of_same_value(e, facts_) ? of(e.arg(0), depth + 1) : Congruence{};
      case ExprKind::mul: return of_product(e, depth);
      default: return {};
    }
  }

 private:
  // Wrapping keeps a value only modulo 2^bits.
  Congruence wrapped(const Congruence& c, DType dtype) {
    const int64_t period = int64_t(1) << std::min(bits_of(dtype), 62);
    return reduced(std::gcd(c.modulus, period), c.residue);
  }
  Congruence of_sum(const Expr& e, int depth) {
    const LinearForm form = linear_form(e);
    Congruence sum = constant_congruence(form.constant);
    for (const LinearTerm& t : form.terms) sum = plus(sum, times(of(t.term, depth + 1), t.coefficient));
    return cannot_wrap(form, e.dtype(), facts_) ? sum : wrapped(sum, e.dtype());
  }
  Congruence of_product(const Expr& e, int depth) {
    const Congruence a = of(e.arg(0), depth + 1), b = of(e.arg(1), depth + 1);
    const int64_t da = std::gcd(a.modulus, magnitude(a.residue)), db = std::gcd(b.modulus, magnitude(b.residue));
    int64_t d = 0;
    if (__builtin_mul_overflow(da, db, &d)) return {};
    const DType t = e.dtype();
    const Range x = range(e.arg(0), facts_), y = range(e.arg(1), facts_), all = range_of(t);
    const Wide most = std::max({x.hi, -x.lo, Wide(1)}),
               limit = std::min(all.hi, Wide(std::numeric_limits<int64_t>::max()));
    const bool exact = std::max(y.hi, -y.lo) <= limit / most && (all.lo < 0 || (x.lo >= 0 && y.lo >= 0));
    return exact ? reduced(d, 0) : wrapped(reduced(d, 0), t);
  }
  Congruence of_floormod(const Expr& e, int depth) {
    const std::optional<int64_t> c = positive_constant(e.arg(1));
    if (!c) return {};
    const Congruence x = of(e.arg(0), depth + 1);
    if (const std::optional<int64_t> r = x.modulo(*c)) return constant_congruence(*r);
    return reduced(std::gcd(x.modulus, *c), x.residue);
  }

  const Facts& facts_;
};

}  // namespace

Congruence congruence(const Expr& e, const Facts& facts) { return CongruenceFinder(facts).of(e); }

int64_t known_divisor(const Expr& e, const Facts& facts) {
  const Congruence c = congruence(e, facts);
  return std::gcd(c.modulus, magnitude(c.residue));
}

}  // namespace tilewright::ir
