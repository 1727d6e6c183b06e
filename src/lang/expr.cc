#include "ir/expr.h"
#include "ir/verify_parts.h"

#include "ir/simplify.h"
#include "lang/convert.h"
#include "support/error.h"
#include "target/dtype.h"

#include <cmath>
#include <limits>

namespace tilewright::lang {

namespace {

ir::Expr raw(const Expr& e) {
  if (e.node()) return ir::Expr(e.node());
  throw invalid_kernel({}, "an expression without a value is used").hint("it was moved from; copy it instead");
}

const Loc& loc_of(const ir::Expr& a, const ir::Expr& b) { return a.loc().known() ? a.loc() : b.loc(); }

// The number in a literal.
double number(const ir::Expr& e) { return e.is(ir::ExprKind::float_imm) ? e->f : double(e->i); }

Expr literal(const ir::Expr& e) { return Expr(e.node(), true); }

Expr float_literal(double value) { return literal(ir::float_imm(value, DType::f64)); }

double eval_float(ir::ExprKind kind, double a, double b) {
  switch (kind) {
    case ir::ExprKind::add: return a + b;
    case ir::ExprKind::sub: return a - b;
    case ir::ExprKind::mul: return a * b;
    case ir::ExprKind::div: return a / b;
    case ir::ExprKind::min: return std::fmin(a, b);
    default: return std::fmax(a, b);
  }
}

bool is_arithmetic(ir::ExprKind kind) {
  return kind == ir::ExprKind::add || kind == ir::ExprKind::sub || kind == ir::ExprKind::mul ||
         kind == ir::ExprKind::div || kind == ir::ExprKind::min || kind == ir::ExprKind::max;
}

// The dtype in which `a kind b` is done: literals adapt to the other side, a float literal makes integers f32.
DType common_dtype(const Expr& a, const Expr& b) {
  const DType ta = raw(a).dtype(), tb = raw(b).dtype();
  if (a.is_literal() == b.is_literal()) return ir::promote(ta, tb);
  const DType strong = a.is_literal() ? tb : ta;
  const DType weak = a.is_literal() ? ta : tb;
  if (is_float(weak) && !is_float(strong)) return DType::f32;
  if (is_boolean(strong) && !is_boolean(weak)) return DType::i32;
  return strong;
}

Expr binary(ir::ExprKind kind, const Expr& a, const Expr& b) {
  const ir::Expr x = raw(a), y = raw(b);
  const bool floats = is_float(x.dtype()) || is_float(y.dtype());
  if (a.is_literal() && b.is_literal() && floats && is_arithmetic(kind)) {
    return float_literal(eval_float(kind, number(x), number(y)));
  }
  const Loc loc = loc_of(x, y);
  const DType dtype = common_dtype(a, b);
  const ir::Expr result = ir::binary(kind, to_dtype(a, dtype, loc), to_dtype(b, dtype, loc), loc);
  const bool stays_literal = a.is_literal() && b.is_literal() && result.as_int().has_value();
  return stays_literal ? literal(result) : from_ir(result);
}

Expr logical(ir::ExprKind kind, const Expr& a, const Expr& b) {
  const Loc loc = loc_of(raw(a), raw(b));
  return from_ir(ir::binary(kind, to_condition(a, loc), to_condition(b, loc), loc));
}

Expr call(ir::MathFn fn, const Expr& x) {
  const ir::Expr value = to_strong(x);
  return from_ir(ir::call(fn, value, value.loc()));
}

// The dtype in which an operation on `a` and `b` is done when no literal survives it.
DType strong_dtype(const Expr& a, const Expr& b) {
  const DType t = common_dtype(a, b);
  return a.is_literal() && b.is_literal() && is_float(t) ? DType::f32 : t;
}

Expr call(ir::MathFn fn, const Expr& x, const Expr& y) {
  const Loc loc = loc_of(raw(x), raw(y));
  if (ir::math_info(fn).operands == ir::MathOperands::scaled) {
    return from_ir(ir::call(fn, {to_strong(x), to_strong(y)}, loc));
  }
  const DType t = strong_dtype(x, y);
  return from_ir(ir::call(fn, {to_dtype(x, t, loc), to_dtype(y, t, loc)}, loc));
}

Expr call(ir::MathFn fn, const Expr& x, const Expr& y, const Expr& z) {
  const Loc loc = loc_of(raw(x), raw(y).loc().known() ? raw(y) : raw(z));
  // A literal adapts to what is no literal, wherever that stands.
  const Expr* strong = !x.is_literal() ? &x : !y.is_literal() ? &y : &z;
  DType t = strong_dtype(*strong, *strong);
  for (const Expr* e : {&x, &y, &z}) {
    if (!e->is_literal()) t = ir::promote(t, raw(*e).dtype());
  }
  return from_ir(ir::call(fn, {to_dtype(x, t, loc), to_dtype(y, t, loc), to_dtype(z, t, loc)}, loc));
}

void check_rounding(std::string_view rounding, const Loc& loc) {
  if (rounding == "rn") return;
  if (rounding == "rz" || rounding == "ru" || rounding == "rd") {
    throw unsupported(loc, "rounding \"{}\" is not built yet; \"rn\" is to nearest even", rounding);
  }
  throw invalid_kernel(loc, "there is no rounding \"{}\"", rounding).hint("rn, rz, ru or rd");
}

}  // namespace

Expr Expr::integer(int64_t value, bool is_bool) {
  return literal(is_bool ? ir::bool_imm(value != 0) : ir::int_imm(value));
}
Expr Expr::floating(double value) { return float_literal(value); }
DType Expr::dtype() const { return to_strong(*this).dtype(); }

// Bounded where it grows, so that a C++ loop cannot make what no stack holds and no text can spell.
Expr from_ir(const ir::Expr& e) {
  ir::check_size(e, e.loc());
  return Expr(e.node(), false);
}

ir::Expr to_strong(const Expr& e) {
  const ir::Expr x = raw(e);
  return e.is_literal() && is_float(x.dtype()) ? ir::cast(x, DType::f32) : x;
}

ir::Expr to_dtype(const Expr& e, DType dtype, const Loc& loc) {
  const ir::Expr x = raw(e);
  if (e.is_literal() && x.is(ir::ExprKind::int_imm) && is_integer(dtype) && ir::wrap_to(dtype, x->i) != x->i) {
    throw invalid_kernel(loc, "{} does not fit {}", x->i, to_string(dtype)).hint("use T::cast to wrap on purpose");
  }
  return ir::cast(x, dtype, loc);
}

ir::Expr to_index(const Expr& e, const char* what, const Loc& loc) {
  const ir::Expr x = raw(e);
  if (!is_integer(x.dtype())) {
    throw invalid_kernel(loc, "{} has dtype {}", what, to_string(x.dtype()))
        .hint("use an integer; T::cast(x, T::i32) truncates");
  }
  return ir::cast(x, ir::kIndex, loc);
}

ir::Expr to_condition(const Expr& e, const Loc& loc) {
  const ir::Expr x = raw(e);
  if (!is_boolean(x.dtype())) {
    throw invalid_kernel(loc, "a condition has dtype {}", to_string(x.dtype())).hint("compare with 0");
  }
  return x;
}

ir::Expr difference(const ir::Expr& a, const ir::Expr& b) { return ir::simplify(a - b, ir::Facts()); }

Expr operator+(const Expr& a, const Expr& b) { return binary(ir::ExprKind::add, a, b); }
Expr operator-(const Expr& a, const Expr& b) { return binary(ir::ExprKind::sub, a, b); }
Expr operator*(const Expr& a, const Expr& b) { return binary(ir::ExprKind::mul, a, b); }
Expr operator-(const Expr& a) {
  const ir::Expr x = raw(a);
  if (x.is(ir::ExprKind::float_imm) && !a.is_literal()) return from_ir(ir::float_imm(-x->f, x.dtype(), x.loc()));
  // -0.0 - a would lose the sign of zero; multiplication keeps it.
  return is_float(x.dtype()) ? a * Expr(-1.0) : Expr(0) - a;
}
Expr operator/(const Expr& a, const Expr& b) {
  return binary(is_float(common_dtype(a, b)) ? ir::ExprKind::div : ir::ExprKind::floordiv, a, b);
}
Expr operator%(const Expr& a, const Expr& b) { return binary(ir::ExprKind::floormod, a, b); }
Expr operator==(const Expr& a, const Expr& b) { return binary(ir::ExprKind::eq, a, b); }
Expr operator!=(const Expr& a, const Expr& b) { return binary(ir::ExprKind::ne, a, b); }
Expr operator<(const Expr& a, const Expr& b) { return binary(ir::ExprKind::lt, a, b); }
Expr operator<=(const Expr& a, const Expr& b) { return binary(ir::ExprKind::le, a, b); }
Expr operator>(const Expr& a, const Expr& b) { return binary(ir::ExprKind::lt, b, a); }
Expr operator>=(const Expr& a, const Expr& b) { return binary(ir::ExprKind::le, b, a); }
Expr operator&&(const Expr& a, const Expr& b) { return logical(ir::ExprKind::logical_and, a, b); }
Expr operator||(const Expr& a, const Expr& b) { return logical(ir::ExprKind::logical_or, a, b); }
Expr operator!(const Expr& a) {
  const ir::Expr x = raw(a);
  return from_ir(ir::logical_not(to_condition(a, x.loc()), x.loc()));
}
Expr operator&(const Expr& a, const Expr& b) { return binary(ir::ExprKind::bit_and, a, b); }
Expr operator|(const Expr& a, const Expr& b) { return binary(ir::ExprKind::bit_or, a, b); }
Expr operator^(const Expr& a, const Expr& b) { return binary(ir::ExprKind::bit_xor, a, b); }
Expr operator<<(const Expr& a, const Expr& b) { return binary(ir::ExprKind::shl, a, b); }
Expr operator>>(const Expr& a, const Expr& b) { return binary(ir::ExprKind::shr, a, b); }

Expr ceildiv(const Expr& a, const Expr& b) { return floordiv(a + (b - 1), b); }
Expr floordiv(const Expr& a, const Expr& b) { return binary(ir::ExprKind::floordiv, a, b); }
Expr floormod(const Expr& a, const Expr& b) { return binary(ir::ExprKind::floormod, a, b); }
Expr max(const Expr& a, const Expr& b) { return binary(ir::ExprKind::max, a, b); }
Expr min(const Expr& a, const Expr& b) { return binary(ir::ExprKind::min, a, b); }

namespace {

struct Choice {
  ir::Expr condition, then, otherwise;
  Loc loc;
};

Choice choice(const Expr& condition, const Expr& then, const Expr& otherwise) {
  const Loc sides = loc_of(raw(then), raw(otherwise));
  const Loc loc = sides.known() ? sides : raw(condition).loc();
  const DType t = strong_dtype(then, otherwise);
  return {to_condition(condition, loc), to_dtype(then, t, loc), to_dtype(otherwise, t, loc), loc};
}

}  // namespace

Expr if_then_else(const Expr& condition, const Expr& then, const Expr& otherwise) {
  const Choice c = choice(condition, then, otherwise);
  return from_ir(ir::select(c.condition, c.then, c.otherwise, c.loc));
}

Expr select(const Expr& condition, const Expr& then, const Expr& otherwise) {
  const Choice c = choice(condition, then, otherwise);
  return from_ir(ir::call(ir::MathFn::blend, {c.condition, c.then, c.otherwise}, c.loc));
}

Expr clamp(const Expr& x, const Expr& low, const Expr& high) { return min(max(x, low), high); }

Expr cast(const Expr& value, DType dtype) {
  const ir::Expr x = raw(value);
  return from_ir(ir::cast(x, dtype, x.loc()));
}

Expr reinterpret(const Expr& value, DType dtype) {
  const ir::Expr x = to_strong(value);
  return from_ir(ir::reinterpret(x, dtype, x.loc()));
}

Expr infinity(DType dtype) {
  if (!is_float(dtype)) {
    throw invalid_kernel({}, "infinity is not defined on {}", to_string(dtype)).hint("integers have no infinity");
  }
  if (!has_infinity(dtype)) {
    throw invalid_kernel({}, "{} has no infinity", to_string(dtype)).hint("T::max_value is its largest number");
  }
  return from_ir(ir::float_imm(std::numeric_limits<double>::infinity(), dtype));
}

Expr max_value(DType dtype) {
  if (is_float(dtype)) return from_ir(ir::float_imm(largest_finite(dtype), dtype));
  return from_ir(ir::int_imm(tilewright::max_value(dtype), dtype));
}
Expr min_value(DType dtype) {
  if (is_float(dtype)) return from_ir(ir::float_imm(-largest_finite(dtype), dtype));
  return from_ir(ir::int_imm(tilewright::min_value(dtype), dtype));
}

Expr likely(const Expr& condition) { return from_ir(to_condition(condition, raw(condition).loc())); }

Expr align_up(const Expr& x, const Expr& to) { return ceildiv(x, to) * to; }
Expr shift_left(const Expr& a, const Expr& b) { return a << b; }
Expr shift_right(const Expr& a, const Expr& b) { return a >> b; }
Expr bitwise_and(const Expr& a, const Expr& b) { return a & b; }
Expr bitwise_or(const Expr& a, const Expr& b) { return a | b; }
Expr bitwise_xor(const Expr& a, const Expr& b) { return a ^ b; }
Expr bitwise_not(const Expr& x) {
  const ir::Expr value = to_strong(x);
  return x ^ from_ir(ir::int_imm(-1, value.dtype()));
}

Expr nearbyint(const Expr& x) { return round(x); }

// A word for each row.
#define TW_WORD_1(name) \
  Expr name(const Expr& x) { return call(ir::MathFn::name, x); }
#define TW_WORD_2(name) \
  Expr name(const Expr& x, const Expr& y) { return call(ir::MathFn::name, x, y); }
#define TW_FLOAT_1(name, ...) TW_WORD_1(name)
#define TW_FLOAT_2(name, ...) TW_WORD_2(name)
#define TW_TEST(name, ...) TW_WORD_1(name)
#define TW_INT_1(name, ...) TW_WORD_1(name)
#define TW_INT_2(name, ...) TW_WORD_2(name)
#define TW_IEEE_1(name, ...)                            \
  Expr name(const Expr& x, std::string_view rounding) { \
    check_rounding(rounding, raw(x).loc());             \
    return call(ir::MathFn::name, x);                   \
  }
#define TW_IEEE_2(name, ...)                                           \
  Expr name(const Expr& x, const Expr& y, std::string_view rounding) { \
    check_rounding(rounding, loc_of(raw(x), raw(y)));                  \
    return call(ir::MathFn::name, x, y);                               \
  }
#define TW_IEEE_3(name, ...)                                                          \
  Expr name(const Expr& x, const Expr& y, const Expr& z, std::string_view rounding) { \
    check_rounding(rounding, loc_of(raw(x), raw(y)));                                 \
    return call(ir::MathFn::name, x, y, z);                                           \
  }
#include "ir/math_functions.inc"
#undef TW_WORD_1
#undef TW_WORD_2

}  // namespace tilewright::lang
