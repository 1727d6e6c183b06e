#include "ir/parse.h"
#include "ir/parser.h"
#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace tilewright::ir {

namespace {

struct Infix {
  std::string_view symbol;
  int level;
  ExprKind kind;
  bool exchanged = false;  // a > b is b < a
};

constexpr std::array<Infix, 14> kInfix = {{{"||", 1, ExprKind::logical_or},
                                           {"&&", 2, ExprKind::logical_and},
                                           {"==", 3, ExprKind::eq},
                                           {"!=", 3, ExprKind::ne},
                                           {"<", 3, ExprKind::lt},
                                           {"<=", 3, ExprKind::le},
                                           {">", 3, ExprKind::lt, true},
                                           {">=", 3, ExprKind::le, true},
                                           {"+", 4, ExprKind::add},
                                           {"-", 4, ExprKind::sub},
                                           {"*", 5, ExprKind::mul},
                                           {"/", 5, ExprKind::div},
                                           {"//", 5, ExprKind::floordiv},
                                           {"%", 5, ExprKind::floormod}}};

// Binary kinds in function form.
constexpr std::array<ExprKind, 7> kBinaryFunctions = {
    ExprKind::min, ExprKind::max, ExprKind::bit_and, ExprKind::bit_or, ExprKind::bit_xor, ExprKind::shl, ExprKind::shr};

std::optional<ExprKind> binary_function(std::string_view word) {
  const auto* it = std::find_if(kBinaryFunctions.begin(), kBinaryFunctions.end(),
                                [&](ExprKind kind) { return to_string(kind) == word; });
  return it == kBinaryFunctions.end() ? std::nullopt : std::optional(*it);
}

void refuse_unbuilt(std::string_view name, const Loc& loc) {
  if (is_unbuilt_dtype(name)) throw unsupported(loc, "elements of dtype {} are not built yet", name);
}

constexpr std::string_view kOperandHint = "both operands need one dtype; f32(x) casts, i32(5) is a literal of a dtype";

}  // namespace

ExprParser::Nested::Nested(ExprParser& parser) : parser_(parser) {
  if (parser_.depth_ >= kMaxNesting) {
    parser_.form_ = "bind parts of a long expression with let";
    parser_.fail(parser_.here(), fmt::format("nested more than {} deep", kMaxNesting));
  }
  ++parser_.depth_;
}

ExprParser::Value ExprParser::grown(Expr e, int height, const Loc& loc) const {
  if (height < kMaxNesting) return {.e = std::move(e), .height = height + 1};
  throw invalid_kernel(loc, "an expression nested more than {} deep", kMaxNesting).hint("bind parts of it with let");
}

void ExprParser::require_dtype(const Expr& e, DType dtype, const Loc& loc, std::string_view what) const {
  if (e.dtype() == dtype) return;
  throw invalid_kernel(loc, "{} has dtype {}, but needs {}", what, to_string(e.dtype()), to_string(dtype))
      .hint(fmt::format("{}(x) casts", to_string(dtype)));
}

ExprParser::Value ExprParser::combine(ExprKind kind, Value a, Value b, const Loc& loc) {
  if (a.e.dtype() != b.e.dtype()) {
    throw invalid_kernel(loc, "{} of {} and {}", to_string(kind), to_string(a.e.dtype()), to_string(b.e.dtype()))
        .hint(std::string(kOperandHint));
  }
  const int height = std::max(a.height, b.height);
  return grown(binary(kind, std::move(a.e), std::move(b.e), loc), height, loc);
}

ExprParser::Value ExprParser::infix(int min_level) {
  const Nested nested(*this);
  Value left = unary();
  while (true) {
    const auto* op = std::find_if(kInfix.begin(), kInfix.end(), [&](const Infix& i) { return at(i.symbol); });
    if (op == kInfix.end() || op->level < min_level) return left;
    const Loc loc = loc_of(take());
    Value right = infix(op->level + 1);
    if (op->exchanged) std::swap(left, right);
    left = combine(op->kind, std::move(left), std::move(right), loc);
  }
}

ExprParser::Value ExprParser::unary() {
  std::vector<Loc> nots;
  while (at("!")) nots.push_back(loc_of(take()));
  Value value = primary();
  for (; !nots.empty(); nots.pop_back()) {
    value = grown(logical_not(std::move(value.e), nots.back()), value.height, nots.back());
  }
  return value;
}

ExprParser::Value ExprParser::parenthesised() {
  expect("(");
  Value value = infix(1);
  expect(")");
  return value;
}

ExprParser::Value ExprParser::primary() {
  form_ = "an expression is a literal, a variable, a load like a[i, j], a function call or an infix of them";
  if (at("(")) return parenthesised();
  if (std::optional<Value> value = literal()) return *value;
  const bool plain_name = peek().kind == TokenKind::name && !is_reserved_word(peek().text);
  if (plain_name && at("(", 1)) return function(here());
  if (!at_name() && !at("@")) fail_expected("an expression");
  // A load: row, optional dtype, "[".
  size_t ahead = at("@") ? 2 : at("@", 1) ? 3 : 1;
  if (at(".", ahead)) ahead += 2;
  return at("[", ahead) ? load() : variable();
}

// Reads "-5", "0.5", "true", "inf"; with a dtype, "u8(7)".
std::optional<ExprParser::Value> ExprParser::literal() {
  const Loc loc = here();
  if (at("true") || at("false")) return Value{.e = bool_imm(take().text == "true", loc)};
  const bool typed = at("(", 1) && peek().kind == TokenKind::name && dtype_from_string(peek().text).has_value();
  const DType type = typed ? dtype_from_string(peek().text).value_or(kIndex) : kIndex;
  const size_t begin = typed ? 2 : 0;
  const size_t negative = at("-", begin) ? 1 : 0;
  const Token& number = peek(begin + negative);
  const bool is_real = number.kind == TokenKind::real || at("inf", begin + negative) || at("nan", begin + negative);
  if (!is_real && number.kind != TokenKind::integer) {
    if (begin == 0 && negative == 1) fail(here(), "a minus sign before something that is not a number");
    return std::nullopt;
  }
  if (begin == 0) return typed_literal(is_real ? DType::f32 : kIndex, negative == 1, loc);
  // u8(7) is a literal; f32(7) and i32(0.5 + x) are casts.
  if (!at(")", begin + negative + 1) || (is_real ? !is_float(type) : !is_integer(type))) return std::nullopt;
  take();
  take();
  Value value = typed_literal(type, negative == 1, loc);
  expect(")");
  return value;
}

ExprParser::Value ExprParser::typed_literal(DType type, bool negative, const Loc& loc) {
  if (is_float(type)) {
    const double value = real();
    if (is_outside(type, value)) {
      fail(loc, fmt::format("{} is outside the range of {}", value, to_string(type)));
    }
    return {.e = float_imm(value, type, loc)};
  }
  if (type != DType::u64) return {.e = int_imm(integer(min_value(type), max_value(type)), type, loc)};
  if (negative) fail(loc, "a negative literal of u64");
  const std::string_view digits = take().text;
  uint64_t value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) {
    fail(loc, fmt::format("{} does not fit u64", digits));
  }
  return {.e = int_imm(int64_t(value), type, loc)};
}

ExprParser::Value ExprParser::variable() {
  const Loc loc = here();
  const std::string var_name = name("a variable");
  std::optional<VarNames::Entry> entry;
  if (accept("@")) {
    const auto id = VarId(integer(0, std::numeric_limits<VarId>::max()));
    std::optional<DType> type = names_.dtype_of(id);
    if (const std::string_view defined = names_.name_of(id); type && defined != var_name) {
      throw invalid_kernel(loc, "variable {} is {}, not {}", id, name_text(std::string(defined)), name_text(var_name))
          .hint("the name before @ is the one that the definition gives");
    }
    if (accept(".")) type = dtype();
    if (type) entry = {.id = id, .dtype = *type};
  } else {
    entry = names_.find(var_name);
  }
  if (!entry) {
    throw invalid_kernel(loc, "nothing defines the variable {} before", name_text(var_name))
        .hint("loops, lets, grids and scalars define variables; x@7.i64 names one by id and dtype");
  }
  return {.e = var(entry->id, var_name, entry->dtype, loc)};
}

ExprParser::Value ExprParser::load() {
  const Loc loc = here();
  const TileId id = tile_row();
  const Tile& tile = kernel_->tile(id);
  const DType type = accept(".") ? dtype() : tile.dtype;
  expect("[");
  int height = 0;
  std::vector<Expr> indices;
  for (Value& index : values("]")) {
    require_dtype(index.e, kIndex, index.e.loc(), "an index");
    height = std::max(height, index.height);
    indices.push_back(std::move(index.e));
  }
  return grown(ir::load(id, tile.name, type, std::move(indices), loc), height, loc);
}

std::vector<ExprParser::Value> ExprParser::values(std::string_view close) {
  std::vector<Value> out;
  if (accept(close)) return out;
  do {
    out.push_back(infix(1));
  } while (accept(","));
  expect(close);
  return out;
}

ExprParser::Value ExprParser::function(const Loc& loc) {
  const std::string_view word = take().text;
  expect("(");
  return build(word, values(")"), loc);
}

ExprParser::Value ExprParser::build(std::string_view word, std::vector<Value> args, const Loc& loc) {
  const std::optional<ExprKind> kind = binary_function(word);
  const std::optional<DType> type = dtype_from_string(word);
  const std::optional<MathFn> fn = math_fn_from_string(word);
  const std::optional<DType> bits = word.starts_with("as_") ? dtype_from_string(word.substr(3)) : std::nullopt;
  if (!kind && !type && !fn && !bits && word != "select") {
    refuse_unbuilt(word.starts_with("as_") ? word.substr(3) : word, loc);
    throw invalid_kernel(loc, "there is no function {}", word)
        .hint("functions are min, max, select, bit_and, bit_or, bit_xor, shl, shr, dtypes (casts) and math functions");
  }
  const size_t wanted = kind ? 2 : word == "select" ? 3 : fn ? size_t(math_info(*fn).arity) : 1;
  if (args.size() != wanted) {
    throw invalid_kernel(loc, "{} takes {} arguments, but {} are given", word, wanted, args.size())
        .hint("select takes a condition and two values; casts and most math functions take one value");
  }
  if (kind) return combine(*kind, std::move(args[0]), std::move(args[1]), loc);
  int height = 0;
  std::vector<Expr> operands;
  for (Value& v : args) {
    height = std::max(height, v.height);
    operands.push_back(std::move(v.e));
  }
  if (type) return grown(cast(std::move(operands[0]), *type, loc), height, loc);
  if (bits) return grown(reinterpret(std::move(operands[0]), *bits, loc), height, loc);
  if (fn) return grown(call(*fn, std::move(operands), loc), height, loc);
  require_dtype(operands[2], operands[1].dtype(), loc, "the last operand of select");
  return grown(select(std::move(operands[0]), std::move(operands[1]), std::move(operands[2]), loc), height, loc);
}

std::vector<Expr> ExprParser::exprs(std::string_view close) {
  std::vector<Expr> out;
  for (Value& v : values(close)) out.push_back(std::move(v.e));
  return out;
}

Expr ExprParser::definition(std::string_view what) {
  const Loc loc = here();
  const std::string var_name = name(what);
  expect("@");
  const auto id = VarId(integer(0, std::numeric_limits<VarId>::max()));
  const DType type = accept(":") ? dtype() : kIndex;
  names_.define(var_name, {.id = id, .dtype = type});
  return var(id, var_name, type, loc);
}

DType ExprParser::dtype() {
  const std::optional<DType> type = peek().kind == TokenKind::name ? dtype_from_string(peek().text) : std::nullopt;
  if (!type && peek().kind == TokenKind::name) refuse_unbuilt(peek().text, here());
  if (!type) fail_expected("a dtype like f16 or i64");
  take();
  return *type;
}

TileId ExprParser::tile_row() {
  const Loc loc = here();
  if (kernel_ == nullptr) fail(loc, "a tile is named outside a kernel");
  const bool named = at_name();
  const std::string tile_name = named ? name("a tile") : "";
  const size_t count = kernel_->tiles.size();
  if (at("@") || !named) {
    expect("@");
    if (count == 0) fail(loc, "the kernel has no tiles");
    return TileId(integer(0, int64_t(count) - 1));
  }
  TileId found = -1;
  for (size_t i = 0; i < count; ++i) {
    if (kernel_->tiles[i].name != tile_name) continue;
    if (found >= 0)
      fail(loc, fmt::format("several tiles are named {}; name@row tells them apart", name_text(tile_name)));
    found = TileId(i);
  }
  if (found < 0) fail(loc, fmt::format("no tile of this kernel is named {}", name_text(tile_name)));
  return found;
}

RegionDim ExprParser::range(bool allow_single) {
  const Loc loc = here();
  const Expr begin = expr();
  form_ = "a range is begin:end with constants, 0:extent or begin:+extent";
  if (accept(":+")) return {.begin = begin, .extent = expr()};
  if (allow_single && !at(":")) return {.begin = begin, .extent = int_imm(1, kIndex, loc)};
  expect(":");
  const Expr end = expr();
  form_ = "a range is begin:end with constants, 0:extent or begin:+extent";
  if (begin.is_int(0) && begin.dtype() == kIndex) return {.begin = begin, .extent = end};
  const bool constant = begin.as_int() && end.as_int() && begin.dtype() == kIndex && end.dtype() == kIndex;
  int64_t extent = 0;
  if (!constant || __builtin_sub_overflow(*end.as_int(), *begin.as_int(), &extent)) {
    fail(loc, "begin:end needs constants");
  }
  return {.begin = begin, .extent = int_imm(extent, kIndex, end.loc())};
}

TileRef ExprParser::tile_ref() {
  form_ = "an operand is a tile and one range or index for each dimension: a[0:16, k:+8]";
  TileRef ref{.tile = tile_row(), .region = {}, .slot = {}};
  expect("[");
  if (!accept("]")) {
    do {
      ref.region.push_back(range(true));
    } while (accept(","));
    expect("]");
  }
  if (!accept("slot")) return ref;
  expect("(");
  ref.slot = expr();
  expect(")");
  return ref;
}

}  // namespace tilewright::ir
