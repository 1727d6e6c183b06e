// Ranges of single operations.
#include "ir/exact.h"

#include "target/dtype.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

namespace tilewright::ir {

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

Range hull(std::initializer_list<Wide> values) { return {std::min(values), std::max(values)}; }

Wide floordiv_wide(Wide a, Wide b) {
  const Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

// Joins the results of the parts of an operand's range, e.g. of its negative and its positive values.
struct Union {
  std::optional<Range> range;
  void add(const Range& part) { range = range ? join(*range, part) : part; }
};

Range mul(const Range& a, const Range& b, DType t) {
  Wide p[4];
  const Wide xs[] = {a.lo, a.lo, a.hi, a.hi}, ys[] = {b.lo, b.hi, b.lo, b.hi};
  for (int i = 0; i < 4; ++i) {
    if (__builtin_mul_overflow(xs[i], ys[i], &p[i])) return range_of(t);
  }
  return fit(*std::min_element(p, p + 4), *std::max_element(p, p + 4), t);
}

// For divisors of one sign the quotient is monotone in each operand, so that the corners bound it.
Range divide_corners(const Range& a, const Range& b) {
  return hull(
      {floordiv_wide(a.lo, b.lo), floordiv_wide(a.lo, b.hi), floordiv_wide(a.hi, b.lo), floordiv_wide(a.hi, b.hi)});
}

Range divide(const Range& a, const Range& b, DType t) {
  Union out;
  if (b.lo < 0) out.add(divide_corners(a, {b.lo, std::min<Wide>(b.hi, -1)}));
  if (b.lo <= 0 && b.hi >= 0) out.add({0, 0});
  if (b.hi > 0) out.add(divide_corners(a, {std::max<Wide>(b.lo, 1), b.hi}));
  return fit(out.range->lo, out.range->hi, t);
}

Range modulo_positive(const Range& a, const Range& b) {
  if (a.lo >= 0 && a.hi < b.lo) return a;
  if (b.is_constant() && floordiv_wide(a.lo, b.lo) == floordiv_wide(a.hi, b.lo)) {
    const Wide whole = floordiv_wide(a.lo, b.lo) * b.lo;
    return {a.lo - whole, a.hi - whole};
  }
  return {0, a.lo >= 0 ? std::min(a.hi, b.hi - 1) : b.hi - 1};
}

Range modulo(const Range& a, const Range& b) {
  Union out;
  if (b.lo < 0) out.add({b.lo + 1, 0});
  if (b.lo <= 0 && b.hi >= 0) out.add(a);
  if (b.hi > 0) out.add(modulo_positive(a, {std::max<Wide>(b.lo, 1), b.hi}));
  return *out.range;
}

// [-2^k, 2^k) or, without negative values, [0, 2^k) is closed under bitwise operations.
Range bit_window(const Range& a, const Range& b) {
  Wide top = 1;
  const Wide most = std::max({a.hi, b.hi, -1 - a.lo, -1 - b.lo});
  while (top <= most) top *= 2;
  return {a.lo < 0 || b.lo < 0 ? -top : Wide(0), top - 1};
}

Range bitwise(ExprKind kind, const Range& a, const Range& b) {
  Range out = bit_window(a, b);
  if (kind == ExprKind::bit_and) {
    if (a.lo >= 0) out = intersect({0, a.hi}, out);
    if (b.lo >= 0) out = a.lo >= 0 ? Range{0, std::min(a.hi, b.hi)} : Range{0, b.hi};
  }
  if (kind == ExprKind::bit_or && a.lo >= 0 && b.lo >= 0) out.lo = std::max(a.lo, b.lo);
  return out;
}

Range shift(ExprKind kind, const Range& a, const Range& b, DType t) {
  Union out;
  const Wide last = bits_of(t) - 1;
  const bool left = kind == ExprKind::shl;
  if (b.lo < 0 || b.hi > last) {
    out.add(left || is_unsigned(t) ? Range{0, 0} : Range{a.lo < 0 ? -1 : 0, a.hi < 0 ? -1 : 0});
  }
  const Wide first = std::max<Wide>(b.lo, 0), final = std::min(b.hi, last);
  if (first <= final) {
    if (left)
      out.add(mul(a, {Wide(1) << first, Wide(1) << final}, t));
    else
      out.add(divide_corners(a, {Wide(1) << first, Wide(1) << final}));
  }
  return *out.range;
}

Range decided(bool always, bool never) { return {always ? 1 : 0, never ? 0 : 1}; }

Range compare(ExprKind kind, const Range& a, const Range& b) {
  const bool same = a.is_constant() && b.is_constant() && a.lo == b.lo;
  const bool apart = a.hi < b.lo || b.hi < a.lo;
  switch (kind) {
    case ExprKind::eq: return decided(same, apart);
    case ExprKind::ne: return decided(apart, same);
    case ExprKind::lt: return decided(a.hi < b.lo, a.lo >= b.hi);
    default: return decided(a.hi <= b.lo, a.lo > b.hi);
  }
}

}  // namespace

bool is_exact_dtype(DType dtype) { return !is_float(dtype); }

Range range_of(DType dtype) {
  if (dtype == DType::u64) return {0, (Wide(1) << 64) - 1};
  return {min_value(dtype), max_value(dtype)};
}

Range to_range(const Interval& interval, DType dtype) {
  Range out = range_of(dtype);
  if (interval.lo && *interval.lo <= out.hi) out.lo = std::max<Wide>(out.lo, *interval.lo);
  if (interval.hi && *interval.hi >= out.lo) out.hi = std::min<Wide>(out.hi, *interval.hi);
  return out;
}

Interval to_interval(const Range& range, DType dtype) {
  Interval out;
  const bool narrow = bits_of(dtype) < 64;
  if (narrow || range.lo > kMin) out.lo = int64_t(std::min<Wide>(range.lo, kMax));
  if (narrow || range.hi < kMax) out.hi = int64_t(range.hi);
  return out;
}

Range fit(Wide lo, Wide hi, DType dtype) {
  const Range all = range_of(dtype);
  return lo < all.lo || hi > all.hi ? all : Range{lo, hi};
}

Range intersect(const Range& a, const Range& b) {
  const Range out{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return out.lo <= out.hi ? out : a;
}

Range join(const Range& a, const Range& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Range range_of_binary(ExprKind kind, DType dtype, const Range& a, const Range& b) {
  switch (kind) {
    case ExprKind::add: return fit(a.lo + b.lo, a.hi + b.hi, dtype);
    case ExprKind::sub: return fit(a.lo - b.hi, a.hi - b.lo, dtype);
    case ExprKind::mul: return mul(a, b, dtype);
    case ExprKind::floordiv: return divide(a, b, dtype);
    case ExprKind::floormod: return modulo(a, b);
    case ExprKind::min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case ExprKind::max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case ExprKind::logical_and: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case ExprKind::logical_or: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case ExprKind::bit_and:
    case ExprKind::bit_or:
    case ExprKind::bit_xor: return bitwise(kind, a, b);
    case ExprKind::shl:
    case ExprKind::shr: return shift(kind, a, b, dtype);
    default: return compare(kind, a, b);
  }
}

}  // namespace tilewright::ir
