#include "codegen/cpu_expr.h"

#include "passes/cpu_storage.h"
#include "support/error.h"

#include <array>
#include <cmath>
#include <set>

namespace tilewright::codegen {

using ir::Expr;
using ir::ExprKind;
using ir::Tile;
using ir::TileId;

namespace {

// Names that the generated text uses itself.
bool is_reserved(const std::string& name) {
  static const std::set<std::string, std::less<>> kReserved = {"tensors", "scalars", "first", "last", "scratch",
                                                               "failure", "block",   "cells", "tw"};
  return kReserved.contains(name);
}

// Binding strength of the C++ operators that are written infix; larger binds tighter.
struct Infix {
  const char* symbol;
  int precedence;
};

const Infix* infix(ExprKind kind) {
  static constexpr Infix kMul{" * ", 10}, kDiv{" / ", 10}, kAdd{" + ", 9}, kSub{" - ", 9}, kLt{" < ", 7},
      kLe{" <= ", 7}, kEq{" == ", 6}, kNe{" != ", 6}, kAnd{" & ", 5}, kXor{" ^ ", 4}, kOr{" | ", 3};
  switch (kind) {
    case ExprKind::mul: return &kMul;
    case ExprKind::div: return &kDiv;
    case ExprKind::add: return &kAdd;
    case ExprKind::sub: return &kSub;
    case ExprKind::lt: return &kLt;
    case ExprKind::le: return &kLe;
    case ExprKind::eq: return &kEq;
    case ExprKind::ne: return &kNe;
    case ExprKind::bit_and:
    case ExprKind::logical_and: return &kAnd;
    case ExprKind::bit_xor: return &kXor;
    case ExprKind::bit_or:
    case ExprKind::logical_or: return &kOr;
    default: return nullptr;
  }
}

constexpr int kTernary = 1;
constexpr int kUnary = 11;

std::string parenthesized(std::string text, int precedence, int parent) {
  return precedence < parent ? "(" + text + ")" : text;
}

std::string float_literal(double value, DType dtype) {
  if (std::isnan(value)) return dtype == DType::f64 ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (std::isinf(value)) {
    return fmt::format("{}{}", value < 0 ? "-" : "", dtype == DType::f64 ? "__builtin_inf()" : "__builtin_inff()");
  }
  std::string text = dtype == DType::f64 ? fmt::format("{}", value) : fmt::format("{}", float(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return dtype == DType::f64 ? text : text + "f";
}

std::string int_literal(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::boolean: return value ? "true" : "false";
    case DType::i64:
      if (value == INT64_MIN) return "(-9223372036854775807ll - 1)";
      return value >= INT32_MIN && value <= INT32_MAX ? fmt::format("{}", value) : fmt::format("{}ll", value);
    case DType::u64: return fmt::format("{}ull", uint64_t(value));
    case DType::u32: return fmt::format("{}u", value);
    case DType::i32: return value == INT32_MIN ? "(-2147483647 - 1)" : fmt::format("{}", value);
    default: return fmt::format("{}({})", value_type(dtype), value);
  }
}

// Elements have their own width, as in global memory.
bool as_in_memory(const Tile& tile) { return !tile.on_chip() || tile.packed; }

bool is_narrow_int(DType t) { return is_integer(t) && bytes_of(t) < 4; }

}  // namespace

std::string value_type(DType t) {
  switch (t) {
    case DType::boolean: return "bool";
    case DType::f64: return "double";
    case DType::f16:
    case DType::bf16:
    case DType::f32: return "float";
    default: return fmt::format("tw::{}", to_string(t));
  }
}

std::string CpuNames::var(const Expr& v) const { return fmt::format("{}_{}", v->name, v->i); }

std::string CpuNames::tile(TileId id) const {
  const std::string& name = kernel_.tile(id).name;
  return is_reserved(name) ? name + "_tile" : name;
}

std::string CpuNames::memory_type(TileId id) const {
  const Tile& t = kernel_.tile(id);
  if (t.on_chip() && !t.packed) return value_type(passes::storage_of(t));
  switch (t.dtype) {
    case DType::f16: return "tw::F16";
    case DType::bf16: return "tw::BF16";
    case DType::boolean: return "tw::u8";
    default: return value_type(t.dtype);
  }
}

std::vector<Expr> CpuNames::strides(TileId id) const {
  const Tile& t = kernel_.tile(id);
  if (!t.on_chip()) return ir::strides_of(program_.tensors[size_t(t.tensor)]);
  if (!t.layout) throw internal_error(t.loc, "tile {} has no layout", t.name);
  std::vector<Expr> out;
  for (size_t d = 0; d < t.shape.size(); ++d) out.push_back(ir::int_imm(layout::stride_of(*t.layout, d)));
  return out;
}

std::string CpuExprWriter::rounded(DType dtype, std::string value) {
  if (dtype == DType::f16) return "tw::round_f16(" + value + ")";
  if (dtype == DType::bf16) return "tw::round_bf16(" + value + ")";
  if (is_narrow_int(dtype)) return value_type(dtype) + "(" + value + ")";
  return value;
}

std::string CpuExprWriter::binary(const Expr& e, int parent) {
  const DType operand = e.arg(0).dtype();
  const Infix* op = infix(e.kind());
  if (op == nullptr) {
    static constexpr std::array<std::pair<ExprKind, const char*>, 6> kCalls = {{{ExprKind::floordiv, "floordiv"},
                                                                                {ExprKind::floormod, "floormod"},
                                                                                {ExprKind::min, "minimum"},
                                                                                {ExprKind::max, "maximum"},
                                                                                {ExprKind::shl, "shl"},
                                                                                {ExprKind::shr, "shr"}}};
    for (const auto& [kind, name] : kCalls) {
      if (kind != e.kind()) continue;
      return fmt::format("tw::{}<{}>({}, {})", name, value_type(operand), text(e.arg(0)), text(e.arg(1)));
    }
    throw internal_error(e.loc(), "no C++ text for {}", to_string(e.kind()));
  }
  const bool needs_rounding = !ir::is_comparison(e.kind()) && rounded(operand, "x") != "x";
  const int outer = needs_rounding ? 0 : parent;
  std::string out = text(e.arg(0), op->precedence) + op->symbol + text(e.arg(1), op->precedence + 1);
  // -5 after a minus or plus reads better, and `a + -5` is still right.
  out = parenthesized(std::move(out), op->precedence, outer);
  return needs_rounding ? rounded(operand, std::move(out)) : out;
}

std::string CpuExprWriter::cast(const Expr& e) {
  const DType from = e.arg(0).dtype(), to = e.dtype();
  const std::string value = text(e.arg(0));
  if (is_boolean(to)) return fmt::format("({} != 0)", text(e.arg(0), 7));
  if (to == DType::f16)
    return from == DType::boolean ? fmt::format("float({})", value) : fmt::format("tw::to_f16({})", value);
  if (to == DType::bf16)
    return from == DType::boolean ? fmt::format("float({})", value) : fmt::format("tw::to_bf16({})", value);
  if (to == DType::f32 && (from == DType::f16 || from == DType::bf16)) return text(e.arg(0), kUnary);
  if (is_float(from) && is_integer(to)) return fmt::format("tw::saturate<{}>({})", value_type(to), value);
  return fmt::format("{}({})", value_type(to), value);
}

std::string CpuExprWriter::offset(TileId tile, std::span<const Expr> at) {
  const std::vector<Expr> strides = names_.strides(tile);
  Expr sum = ir::int_imm(0);
  for (size_t d = 0; d < at.size(); ++d) sum = sum + at[d] * strides[d];
  return text(sum);
}

std::string CpuExprWriter::element(TileId tile, std::span<const Expr> at) {
  const Tile& t = names_.kernel().tile(tile);
  if (t.on_chip() && t.rank() == 0) return names_.tile(tile);
  return fmt::format("{}[{}]", names_.tile(tile), offset(tile, at));
}

std::string CpuExprWriter::address(const ir::TileRef& ref) {
  std::vector<Expr> at;
  for (const ir::RegionDim& dim : ref.region) at.push_back(dim.begin);
  const Tile& t = names_.kernel().tile(ref.tile);
  if (t.on_chip() && t.rank() == 0) return "&" + names_.tile(ref.tile);
  const std::string at_text = offset(ref.tile, at);
  return at_text == "0" ? names_.tile(ref.tile) : fmt::format("{} + ({})", names_.tile(ref.tile), at_text);
}

std::string CpuExprWriter::in_bounds(const Tile& tile, std::span<const Expr> at) {
  std::string out;
  for (size_t d = 0; d < at.size(); ++d) {
    // One unsigned comparison covers both ends.
    out += fmt::format("{}tw::u64({}) < tw::u64({})", d ? " && " : "", text(at[d]), text(tile.shape[d]));
  }
  return out;
}

std::string CpuExprWriter::fail_arguments(const Tile& tile, std::span<const Expr> at, bool is_store, const Loc& loc) {
  const std::string described = ir::describe(tile);
  sites_.push_back({.tile = tile.name,
                    .shape = described.substr(described.find('[')),
                    .is_store = is_store,
                    .loc = loc,
                    .declared = tile.loc});
  std::string out = fmt::format("failure, {}", sites_.size());
  for (const Expr& e : at) out += ", " + text(e);
  return out;
}

std::string CpuExprWriter::load(const Expr& e) {
  const TileId id = e.tile_id();
  const Tile& tile = names_.kernel().tile(id);
  std::string value = element(id, e.args());
  if (as_in_memory(tile)) {
    if (tile.dtype == DType::f16 || tile.dtype == DType::bf16) value = "tw::to_f32(" + value + ")";
    if (is_boolean(tile.dtype)) value = "(" + value + " != 0)";
  }
  if (tile.unchecked || tile.rank() == 0) return value;
  if (!tile.on_chip()) {
    return fmt::format("({} ? {} : {})", in_bounds(tile, e.args()), value, text(ir::imm(tile.safe_value, tile.dtype)));
  }
  return fmt::format("({} ? {} : tw::failed<{}>({}))", in_bounds(tile, e.args()), value, value_type(tile.dtype),
                     fail_arguments(tile, e.args(), false, e.loc()));
}

std::string CpuExprWriter::store(const ir::StoreStmt& store, const Loc& loc) {
  const Tile& tile = names_.kernel().tile(store.tile);
  std::string value;
  if (as_in_memory(tile) && (tile.dtype == DType::f16 || tile.dtype == DType::bf16)) {
    // Storing rounds, so a cast from f32 need not round before.
    const bool narrowing = store.value.is(ExprKind::cast) && store.value.arg(0).dtype() == DType::f32;
    value = fmt::format("tw::from_f32<{}>({})", names_.memory_type(store.tile),
                        text(narrowing ? store.value.arg(0) : store.value));
  } else {
    value = text(store.value);
  }
  const std::string assignment = fmt::format("{} = {};", element(store.tile, store.indices), value);
  if (tile.unchecked || tile.rank() == 0) return assignment;
  const std::string condition = in_bounds(tile, store.indices);
  if (!tile.on_chip()) return fmt::format("if ({}) {}", condition, assignment);
  return fmt::format("if ({}) {} else tw::fail({});", condition, assignment,
                     fail_arguments(tile, store.indices, true, loc));
}

std::string CpuExprWriter::atomic(const ir::AtomicStmt& atomic, const Loc& loc) {
  const Tile& tile = names_.kernel().tile(atomic.tile);
  const Expr old = ir::load(atomic.tile, tile.name, tile.dtype, atomic.indices, loc);
  const std::string bind =
      atomic.prev ? fmt::format("const {} {} = ", value_type(tile.dtype), names_.var(atomic.prev)) : std::string();
  if (tile.on_chip()) {  // one thread runs the block
    const std::optional<ExprKind> kind = ir::expr_kind(atomic.kind);
    std::string out = atomic.prev ? fmt::format("{}{};", bind, text(old)) : std::string();
    if (atomic.kind == ir::AtomicKind::load) return out;
    const Expr& x = atomic.prev ? atomic.prev : old;
    const ir::StoreStmt update{.tile = atomic.tile,
                               .indices = atomic.indices,
                               .value = kind ? ir::binary(*kind, x, atomic.value, loc) : atomic.value};
    return out + (out.empty() ? "" : " ") + store(update, loc);
  }
  const std::string value = atomic.value ? ", " + text(atomic.value) : "";
  const std::string call = fmt::format("tw::atomic_{}<tw::k_{}>({}{})", to_string(atomic.kind), to_string(atomic.order),
                                       "&" + element(atomic.tile, atomic.indices), value);
  if (tile.unchecked || tile.rank() == 0) return bind + call + ";";
  const std::string condition = in_bounds(tile, atomic.indices);
  if (!atomic.prev) return fmt::format("if ({}) {};", condition, call);
  return fmt::format("{}{} ? {} : {};", bind, condition, call, text(ir::imm(tile.safe_value, tile.dtype)));
}

std::string CpuExprWriter::text(const Expr& e, int parent) {
  switch (e.kind()) {
    case ExprKind::int_imm: {
      std::string out = int_literal(e->i, e.dtype());
      return out[0] == '-' && parent > 0 ? "(" + out + ")" : out;
    }
    case ExprKind::float_imm: {
      std::string out = float_literal(e->f, e.dtype());
      return out[0] == '-' && parent > 0 ? "(" + out + ")" : out;
    }
    case ExprKind::var: return names_.var(e);
    case ExprKind::load: return load(e);
    case ExprKind::logical_not: return "!" + text(e.arg(0), kUnary);
    case ExprKind::select:
      return parenthesized(fmt::format("{} ? {} : {}", text(e.arg(0), kTernary + 1), text(e.arg(1), kTernary + 1),
                                       text(e.arg(2), kTernary)),
                           kTernary, parent);
    case ExprKind::cast: return cast(e);
    case ExprKind::call:
      return rounded(e.dtype(), fmt::format("tw::{}({})", to_string(ir::MathFn(e->i)), text(e.arg(0))));
    default: return binary(e, parent);
  }
}

}  // namespace tilewright::codegen
