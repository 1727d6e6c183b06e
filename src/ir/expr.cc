#include "ir/expr.h"

#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace tilewright::ir {

namespace {

constexpr std::array<std::string_view, 28> kKindNames = {
    "int_imm", "float_imm", "var", "load", "add",    "sub",  "mul",         "div", "floordiv", "floormod",
    "min",     "max",       "eq",  "ne",   "lt",     "le",   "and",         "or",  "not",      "bit_and",
    "bit_or",  "bit_xor",   "shl", "shr",  "select", "cast", "reinterpret", "call"};

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

Expr make(ExprNode node) {
  uint64_t h = mix(uint64_t(node.kind) + 1, uint64_t(node.dtype));
  h = mix(h, uint64_t(node.i));
  h = mix(h, std::bit_cast<uint64_t>(node.f));
  int64_t height = 0, size = 1;
  for (const Expr& a : node.args) {
    h = mix(h, a->hash);
    height = std::max<int64_t>(height, a->height);
    size += a->size;
  }
  node.hash = h;
  node.height = int32_t(std::min<int64_t>(height + 1, std::numeric_limits<int32_t>::max()));
  node.size = int32_t(std::min<int64_t>(size, std::numeric_limits<int32_t>::max()));
  return Expr(std::make_shared<const ExprNode>(std::move(node)));
}

bool is_imm(const Expr& e) { return e.is(ExprKind::int_imm) || e.is(ExprKind::float_imm); }

void check_operand_dtypes(ExprKind kind, const Expr& a, const Expr& b, const Loc& loc) {
  const DType t = a.dtype();
  if (t != b.dtype()) {
    throw internal_error(loc, "{}: operands have dtypes {} and {}", to_string(kind), to_string(t),
                         to_string(b.dtype()));
  }
  const bool wants_float = kind == ExprKind::div;
  const bool wants_bool = kind == ExprKind::logical_and || kind == ExprKind::logical_or;
  const bool wants_int =
      kind == ExprKind::floordiv || kind == ExprKind::floormod || (kind >= ExprKind::bit_and && kind <= ExprKind::shr);
  const bool bool_ok = wants_bool || is_comparison(kind) || (kind >= ExprKind::bit_and && kind <= ExprKind::bit_xor);
  if ((wants_float && !is_float(t)) || (wants_bool && !is_boolean(t)) ||
      (wants_int && !is_integer(t) && !(bool_ok && is_boolean(t))) || (is_boolean(t) && !bool_ok)) {
    throw invalid_kernel(loc, "{} is not defined on {}", to_string(kind), to_string(t))
        .hint(wants_float  ? "cast the operands to a float dtype, or use floordiv"
              : wants_bool ? "compare with 0 to get a condition"
                           : "cast the operands with T::cast first");
  }
}

// x op constant, where x is itself (y op constant) of the same kind: one constant is enough.
std::optional<Expr> fold_nested_constant(ExprKind kind, const Expr& a, const Expr& b, const Loc& loc) {
  if (!b.is(ExprKind::int_imm) || !a.is(kind) || !a.arg(1).is(ExprKind::int_imm)) return std::nullopt;
  if (kind != ExprKind::add && kind != ExprKind::mul) return std::nullopt;
  const int64_t folded = eval_int_binary(kind, a.dtype(), a.arg(1)->i, b->i);
  return binary(kind, a.arg(0), int_imm(folded, a.dtype(), loc), loc);
}

std::optional<Expr> fold_identity(ExprKind kind, const Expr& a, const Expr& b, const Loc& loc) {
  if (!is_integer(a.dtype()) && !is_boolean(a.dtype())) return std::nullopt;
  const std::optional<int64_t> c = b.as_int();
  switch (kind) {
    case ExprKind::add:
    case ExprKind::sub:
      if (c == 0) return a;
      if (kind == ExprKind::sub && equal(a, b)) return int_imm(0, a.dtype(), loc);
      break;
    case ExprKind::mul:
      if (c == 1) return a;
      if (c == 0) return int_imm(0, a.dtype(), loc);
      break;
    case ExprKind::floordiv:
      if (c == 1) return a;
      break;
    case ExprKind::floormod:
      if (c == 1) return int_imm(0, a.dtype(), loc);
      break;
    case ExprKind::logical_and:
      if (c) return *c ? a : bool_imm(false, loc);
      if (a.as_int()) return *a.as_int() ? b : bool_imm(false, loc);
      break;
    case ExprKind::logical_or:
      if (c) return *c ? bool_imm(true, loc) : a;
      if (a.as_int()) return *a.as_int() ? bool_imm(true, loc) : b;
      break;
    case ExprKind::min:
    case ExprKind::max:
      if (equal(a, b)) return a;
      break;
    default: break;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(ExprKind kind) { return kKindNames[size_t(kind)]; }

ExprKind Expr::kind() const { return node_->kind; }
DType Expr::dtype() const { return node_->dtype; }
const Loc& Expr::loc() const { return node_->loc; }
std::span<const Expr> Expr::args() const { return node_->args; }
const Expr& Expr::arg(size_t i) const { return node_->args[i]; }
VarId Expr::var_id() const { return VarId(node_->i); }
TileId Expr::tile_id() const { return TileId(node_->i); }

std::optional<int64_t> Expr::as_int() const {
  if (!is(ExprKind::int_imm)) return std::nullopt;
  return node_->i;
}

bool equal(const Expr& a, const Expr& b) {
  if (!a || !b) return !a && !b;
  if (&*a == &*b) return true;
  if (a->hash != b->hash || a->kind != b->kind || a->dtype != b->dtype || a->i != b->i) return false;
  if (std::bit_cast<uint64_t>(a->f) != std::bit_cast<uint64_t>(b->f)) return false;
  return equal(a.args(), b.args());
}

bool equal(std::span<const Expr> a, std::span<const Expr> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) { return equal(x, y); });
}

bool is_comparison(ExprKind kind) { return kind >= ExprKind::eq && kind <= ExprKind::le; }
bool is_binary(ExprKind kind) {
  return (kind >= ExprKind::add && kind <= ExprKind::logical_or) ||
         (kind >= ExprKind::bit_and && kind <= ExprKind::shr);
}
bool is_commutative(ExprKind kind) {
  switch (kind) {
    case ExprKind::add:
    case ExprKind::mul:
    case ExprKind::eq:
    case ExprKind::ne:
    case ExprKind::logical_and:
    case ExprKind::logical_or:
    case ExprKind::bit_and:
    case ExprKind::bit_or:
    case ExprKind::bit_xor: return true;
    default: return false;
  }
}

int64_t wrap_to(DType dtype, int64_t value) {
  if (is_boolean(dtype)) return value != 0;
  switch (dtype) {
    case DType::i8: return int8_t(value);
    case DType::i16: return int16_t(value);
    case DType::i32: return int32_t(value);
    case DType::u8: return uint8_t(value);
    case DType::u16: return uint16_t(value);
    case DType::u32: return uint32_t(value);
    default: return value;
  }
}

int64_t floordiv_value(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return int64_t(0 - uint64_t(a));
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

int64_t floormod_value(int64_t a, int64_t b) {
  if (b == 0) return a;
  if (b == -1) return 0;
  const int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

namespace {

// Operations whose result depends on reading the 64 bits as unsigned.
int64_t eval_unsigned(ExprKind kind, uint64_t a, uint64_t b) {
  switch (kind) {
    case ExprKind::floordiv: return int64_t(b == 0 ? 0 : a / b);
    case ExprKind::floormod: return int64_t(b == 0 ? a : a % b);
    case ExprKind::min: return int64_t(std::min(a, b));
    case ExprKind::max: return int64_t(std::max(a, b));
    case ExprKind::lt: return a < b;
    default: return a <= b;
  }
}

int64_t eval_shift(ExprKind kind, DType dtype, int64_t a, int64_t b) {
  const int bits = bits_of(dtype);
  const bool outside = b < 0 || b >= bits;
  if (kind == ExprKind::shl) return outside ? 0 : int64_t(uint64_t(a) << b);
  if (is_unsigned(dtype)) return outside ? 0 : int64_t(uint64_t(a) >> b);
  return a >> (outside ? 63 : b);
}

}  // namespace

int64_t eval_int_binary(ExprKind kind, DType dtype, int64_t a, int64_t b) {
  const bool order = kind == ExprKind::floordiv || kind == ExprKind::floormod || kind == ExprKind::min ||
                     kind == ExprKind::max || kind == ExprKind::lt || kind == ExprKind::le;
  if (dtype == DType::u64 && order) return eval_unsigned(kind, uint64_t(a), uint64_t(b));
  switch (kind) {
    case ExprKind::add: return wrap_to(dtype, int64_t(uint64_t(a) + uint64_t(b)));
    case ExprKind::sub: return wrap_to(dtype, int64_t(uint64_t(a) - uint64_t(b)));
    case ExprKind::mul: return wrap_to(dtype, int64_t(uint64_t(a) * uint64_t(b)));
    case ExprKind::floordiv: return wrap_to(dtype, floordiv_value(a, b));
    case ExprKind::floormod: return wrap_to(dtype, floormod_value(a, b));
    case ExprKind::min: return std::min(a, b);
    case ExprKind::max: return std::max(a, b);
    case ExprKind::eq: return a == b;
    case ExprKind::ne: return a != b;
    case ExprKind::lt: return a < b;
    case ExprKind::le: return a <= b;
    case ExprKind::logical_and: return a && b;
    case ExprKind::logical_or: return a || b;
    case ExprKind::bit_and: return a & b;
    case ExprKind::bit_or: return a | b;
    case ExprKind::bit_xor: return wrap_to(dtype, a ^ b);
    default: return wrap_to(dtype, eval_shift(kind, dtype, a, b));
  }
}

Expr int_imm(int64_t value, DType dtype, Loc loc) {
  return make({.kind = ExprKind::int_imm,
               .dtype = dtype,
               .i = wrap_to(dtype, value),
               .name = {},
               .args = {},
               .loc = std::move(loc)});
}

Expr bool_imm(bool value, Loc loc) { return int_imm(value, DType::boolean, std::move(loc)); }

Expr float_imm(double value, DType dtype, Loc loc) {
  // One NaN, so that equal expressions have equal bits on every host.
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return make({.kind = ExprKind::float_imm,
               .dtype = dtype,
               .f = constant_of(dtype, value),
               .name = {},
               .args = {},
               .loc = std::move(loc)});
}

Expr imm(double value, DType dtype, Loc loc) {
  if (is_float(dtype)) return float_imm(value, dtype, std::move(loc));
  return int_imm(saturate_to_int(dtype, value), dtype, std::move(loc));
}

Expr var(VarId id, std::string name, DType dtype, Loc loc) {
  return make(
      {.kind = ExprKind::var, .dtype = dtype, .i = id, .name = std::move(name), .args = {}, .loc = std::move(loc)});
}

Expr load(TileId tile, std::string name, DType dtype, std::vector<Expr> indices, Loc loc) {
  for (const Expr& index : indices) {
    if (index.dtype() != kIndex)
      throw internal_error(loc, "an index of {} has dtype {}", name, to_string(index.dtype()));
  }
  return make({.kind = ExprKind::load,
               .dtype = dtype,
               .i = tile,
               .name = std::move(name),
               .args = std::move(indices),
               .loc = std::move(loc)});
}

Expr binary(ExprKind kind, Expr a, Expr b, Loc loc) {
  check_operand_dtypes(kind, a, b, loc);
  if (a.is(ExprKind::int_imm) && b.is(ExprKind::int_imm)) {
    const DType result = is_comparison(kind) ? DType::boolean : a.dtype();
    return int_imm(eval_int_binary(kind, a.dtype(), a->i, b->i), result, std::move(loc));
  }
  if (is_commutative(kind) && is_imm(a) && !is_imm(b)) std::swap(a, b);
  if (kind == ExprKind::sub && b.is(ExprKind::int_imm)) {
    return binary(ExprKind::add, std::move(a), int_imm(int64_t(0 - uint64_t(b->i)), b.dtype()), std::move(loc));
  }
  if (std::optional<Expr> folded = fold_identity(kind, a, b, loc)) return *folded;
  if (std::optional<Expr> folded = fold_nested_constant(kind, a, b, loc)) return *folded;
  const DType dtype = is_comparison(kind) ? DType::boolean : a.dtype();
  return make({.kind = kind, .dtype = dtype, .name = {}, .args = {std::move(a), std::move(b)}, .loc = std::move(loc)});
}

Expr logical_not(Expr a, Loc loc) {
  if (!is_boolean(a.dtype())) {
    throw invalid_kernel(loc, "not is not defined on {}", to_string(a.dtype()))
        .hint("compare with 0 to get a condition");
  }
  if (a.as_int()) return bool_imm(!*a.as_int(), std::move(loc));
  if (a.is(ExprKind::logical_not)) return a.arg(0);
  return make({.kind = ExprKind::logical_not,
               .dtype = DType::boolean,
               .name = {},
               .args = {std::move(a)},
               .loc = std::move(loc)});
}

Expr select(Expr condition, Expr then, Expr otherwise, Loc loc) {
  if (!is_boolean(condition.dtype())) {
    throw invalid_kernel(loc, "the condition of a select has dtype {}", to_string(condition.dtype()))
        .hint("compare with 0 to get a condition");
  }
  if (then.dtype() != otherwise.dtype()) {
    throw internal_error(loc, "select: branches have dtypes {} and {}", to_string(then.dtype()),
                         to_string(otherwise.dtype()));
  }
  if (condition.as_int()) return *condition.as_int() ? then : otherwise;
  if (equal(then, otherwise)) return then;
  const DType dtype = then.dtype();
  return make({.kind = ExprKind::select,
               .dtype = dtype,
               .name = {},
               .args = {std::move(condition), std::move(then), std::move(otherwise)},
               .loc = std::move(loc)});
}

Expr cast(Expr value, DType dtype, Loc loc) {
  const DType from = value.dtype();
  if (from == dtype) return value;
  if (value.is(ExprKind::int_imm)) {
    if (!is_float(dtype)) return int_imm(value->i, dtype, std::move(loc));
    const double f = from == DType::u64 ? double(uint64_t(value->i)) : double(value->i);
    // A 64-bit integer may round twice on its way to a narrow float; keep the cast then.
    if (std::abs(f) < 9007199254740992.0) return float_imm(f, dtype, std::move(loc));
  }
  if (value.is(ExprKind::float_imm)) {
    if (is_float(dtype)) return float_imm(round_to(dtype, value->f), dtype, std::move(loc));
    return int_imm(saturate_to_int(dtype, value->f), dtype, std::move(loc));
  }
  return make({.kind = ExprKind::cast, .dtype = dtype, .name = {}, .args = {std::move(value)}, .loc = std::move(loc)});
}

Expr reinterpret(Expr value, DType dtype, Loc loc) {
  const DType from = value.dtype();
  if (bytes_of(from) != bytes_of(dtype)) {
    throw invalid_kernel(loc, "reinterpret of {} as {}: {} and {} bits", to_string(from), to_string(dtype),
                         bits_of(from), bits_of(dtype))
        .hint("both dtypes have the same size; T::cast converts values");
  }
  if (from == dtype) return value;
  int64_t memory = 0;
  if (value.is(ExprKind::int_imm)) {
    store_int(from, &memory, value->i);
    return is_float(dtype) ? float_imm(load_float(dtype, &memory), dtype, std::move(loc))
                           : int_imm(load_int(dtype, &memory), dtype, std::move(loc));
  }
  return make(
      {.kind = ExprKind::reinterpret, .dtype = dtype, .name = {}, .args = {std::move(value)}, .loc = std::move(loc)});
}

namespace {

bool takes(MathOperands operands, DType t) {
  switch (operands) {
    case MathOperands::wide_floats: return t == DType::f32 || t == DType::f64;
    case MathOperands::f32_only: return t == DType::f32;
    case MathOperands::numbers: return is_float(t) || is_integer(t);
    case MathOperands::integers: return is_integer(t);
    case MathOperands::choice: return true;
    default: return is_float(t);
  }
}

const char* operand_hint(MathOperands operands) {
  switch (operands) {
    case MathOperands::wide_floats: return "cast the operands to f32 or f64 with T::cast";
    case MathOperands::f32_only: return "cast the operand to f32 with T::cast";
    case MathOperands::integers: return "it takes integers";
    default: return "cast the operand to a float dtype with T::cast";
  }
}

// The operands whose dtype is the function's: all but the condition of a choice and the exponent of a scaling.
std::span<const Expr> alike_operands(const MathInfo& info, std::span<const Expr> args) {
  if (info.operands == MathOperands::choice) return args.subspan(1);
  return info.operands == MathOperands::scaled ? args.first(1) : args;
}

void check_call(MathFn fn, std::span<const Expr> args, const Loc& loc) {
  const MathInfo& info = math_info(fn);
  if (int(args.size()) != info.arity) {
    throw internal_error(loc, "{} takes {} operands, but {} are given", info.name, info.arity, args.size());
  }
  const std::span<const Expr> alike = alike_operands(info, args);
  for (const Expr& a : alike) {
    if (!takes(info.operands, a.dtype())) {
      throw invalid_kernel(loc, "{} is not defined on {}", info.name, to_string(a.dtype()))
          .hint(operand_hint(info.operands));
    }
    if (a.dtype() == alike[0].dtype()) continue;
    throw invalid_kernel(loc, "{} of {} and {}", info.name, to_string(alike[0].dtype()), to_string(a.dtype()))
        .hint("cast one of the operands");
  }
  if (info.operands == MathOperands::choice && !is_boolean(args[0].dtype())) {
    throw invalid_kernel(loc, "the condition of {} has dtype {}", info.name, to_string(args[0].dtype()))
        .hint("compare with 0 to get a condition");
  }
  if (info.operands == MathOperands::scaled && !is_integer(args[1].dtype())) {
    throw invalid_kernel(loc, "the exponent of {} has dtype {}", info.name, to_string(args[1].dtype()))
        .hint("the exponent is an integer");
  }
}

}  // namespace

Expr call(MathFn fn, std::vector<Expr> args, Loc loc) {
  check_call(fn, args, loc);
  const MathInfo& info = math_info(fn);
  const DType t = alike_operands(info, args)[0].dtype();
  const bool folds = (info.operands == MathOperands::integers || (fn == MathFn::abs && is_integer(t))) &&
                     std::all_of(args.begin(), args.end(), [](const Expr& a) { return a.is(ExprKind::int_imm); });
  if (folds) return int_imm(int_value(fn, t, args[0]->i, args.back()->i), t, std::move(loc));
  return make({.kind = ExprKind::call,
               .dtype = info.operands == MathOperands::test ? DType::boolean : t,
               .i = int64_t(fn),
               .name = {},
               .args = std::move(args),
               .loc = std::move(loc)});
}

Expr call(MathFn fn, Expr value, Loc loc) { return call(fn, std::vector<Expr>{std::move(value)}, std::move(loc)); }

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (is_float(a)) {
    if (bytes_of(a) == bytes_of(b)) return DType::f32;
    return bytes_of(a) > bytes_of(b) ? a : b;
  }
  if (is_boolean(a)) return b;
  if (is_boolean(b)) return a;
  if (bytes_of(a) == bytes_of(b)) return is_unsigned(a) ? a : b;
  return bytes_of(a) > bytes_of(b) ? a : b;
}

Expr operator+(const Expr& a, const Expr& b) { return binary(ExprKind::add, a, b, a.loc()); }
Expr operator-(const Expr& a, const Expr& b) { return binary(ExprKind::sub, a, b, a.loc()); }
Expr operator*(const Expr& a, const Expr& b) { return binary(ExprKind::mul, a, b, a.loc()); }
Expr operator+(const Expr& a, int64_t b) { return a + int_imm(b, a.dtype()); }
Expr operator-(const Expr& a, int64_t b) { return a - int_imm(b, a.dtype()); }
Expr operator*(const Expr& a, int64_t b) { return a * int_imm(b, a.dtype()); }
Expr floordiv(const Expr& a, const Expr& b) { return binary(ExprKind::floordiv, a, b, a.loc()); }
Expr floordiv(const Expr& a, int64_t b) { return floordiv(a, int_imm(b, a.dtype())); }
Expr floormod(const Expr& a, const Expr& b) { return binary(ExprKind::floormod, a, b, a.loc()); }
Expr floormod(const Expr& a, int64_t b) { return floormod(a, int_imm(b, a.dtype())); }
Expr ceildiv(const Expr& a, const Expr& b) { return floordiv(a + (b - 1), b); }
Expr lt(const Expr& a, const Expr& b) { return binary(ExprKind::lt, a, b, a.loc()); }
Expr le(const Expr& a, const Expr& b) { return binary(ExprKind::le, a, b, a.loc()); }
Expr logical_and(const Expr& a, const Expr& b) { return binary(ExprKind::logical_and, a, b, a.loc()); }

Expr with_args(const Expr& e, std::vector<Expr> args) {
  switch (e.kind()) {
    case ExprKind::int_imm:
    case ExprKind::float_imm:
    case ExprKind::var: return e;
    case ExprKind::load: return load(e.tile_id(), e->name, e.dtype(), std::move(args), e.loc());
    case ExprKind::logical_not: return logical_not(std::move(args[0]), e.loc());
    case ExprKind::select: return select(std::move(args[0]), std::move(args[1]), std::move(args[2]), e.loc());
    case ExprKind::cast: return cast(std::move(args[0]), e.dtype(), e.loc());
    case ExprKind::reinterpret: return reinterpret(std::move(args[0]), e.dtype(), e.loc());
    case ExprKind::call: return call(MathFn(e->i), std::move(args), e.loc());
    default: return binary(e.kind(), std::move(args[0]), std::move(args[1]), e.loc());
  }
}

}  // namespace tilewright::ir
