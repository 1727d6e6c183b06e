#include "ir/expr.h"

#include "ir/simplify.h"
#include "lang/convert.h"
#include "support/error.h"

#include <cmath>
#include <limits>

namespace tilewright::lang {

namespace {

ir::Expr raw(const Expr& e) { return ir::Expr(e.node()); }

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
  const Loc& loc = loc_of(x, y);
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

}  // namespace

Expr Expr::integer(int64_t value, bool is_bool) {
  return literal(is_bool ? ir::bool_imm(value != 0) : ir::int_imm(value));
}
Expr Expr::floating(double value) { return float_literal(value); }
DType Expr::dtype() const { return to_strong(*this).dtype(); }

Expr from_ir(const ir::Expr& e) { return Expr(e.node(), false); }

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
  // -0.0 - a would lose the sign of zero; multiplication keeps it.
  return is_float(raw(a).dtype()) ? a * Expr(-1.0) : Expr(0) - a;
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

Expr if_then_else(const Expr& condition, const Expr& then, const Expr& otherwise) {
  const Loc loc = loc_of(raw(then), raw(otherwise));
  const bool literals = then.is_literal() && otherwise.is_literal();
  const DType wide = common_dtype(then, otherwise);
  const DType dtype = literals && is_float(wide) ? DType::f32 : wide;
  return from_ir(
      ir::select(to_condition(condition, loc), to_dtype(then, dtype, loc), to_dtype(otherwise, dtype, loc), loc));
}

Expr cast(const Expr& value, DType dtype) {
  const ir::Expr x = raw(value);
  return from_ir(ir::cast(x, dtype, x.loc()));
}

Expr infinity(DType dtype) {
  if (!is_float(dtype)) {
    throw invalid_kernel({}, "infinity is not defined on {}", to_string(dtype)).hint("integers have no infinity");
  }
  return from_ir(ir::float_imm(std::numeric_limits<double>::infinity(), dtype));
}

Expr abs(const Expr& x) { return call(ir::MathFn::abs, x); }
Expr exp(const Expr& x) { return call(ir::MathFn::exp, x); }
Expr exp2(const Expr& x) { return call(ir::MathFn::exp2, x); }
Expr log(const Expr& x) { return call(ir::MathFn::log, x); }
Expr log2(const Expr& x) { return call(ir::MathFn::log2, x); }
Expr sqrt(const Expr& x) { return call(ir::MathFn::sqrt, x); }
Expr rsqrt(const Expr& x) { return call(ir::MathFn::rsqrt, x); }
Expr sin(const Expr& x) { return call(ir::MathFn::sin, x); }
Expr cos(const Expr& x) { return call(ir::MathFn::cos, x); }
Expr tanh(const Expr& x) { return call(ir::MathFn::tanh, x); }
Expr erf(const Expr& x) { return call(ir::MathFn::erf, x); }
Expr sigmoid(const Expr& x) { return call(ir::MathFn::sigmoid, x); }
Expr floor(const Expr& x) { return call(ir::MathFn::floor, x); }
Expr ceil(const Expr& x) { return call(ir::MathFn::ceil, x); }
Expr round(const Expr& x) { return call(ir::MathFn::round, x); }

}  // namespace tilewright::lang
