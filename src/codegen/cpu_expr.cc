#include "codegen/cpu_expr.h"

#include "ir/exact.h"
#include "ir/layout_offset.h"
#include "ir/print.h"
#include "passes/cpu_storage.h"
#include "support/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace tilewright::codegen {

using ir::Expr;
using ir::ExprKind;
using ir::Tile;
using ir::TileId;

namespace {

// Names that the generated text, the device library or CUDA C++ use themselves.
bool is_reserved(std::string_view name) {
  static const std::set<std::string, std::less<>> kReserved = {
      "tensors",   "scalars",   "first",    "last",     "scratch",       "failure",
      "block",     "turn",      "cells",    "tw",       "shared_memory", "first_block",
      "this_warp", "threadIdx", "blockIdx", "blockDim", "gridDim",       "warpSize"};
  static constexpr std::string_view kPrefixes[] = {"tensor_", "stream_", "reduction_", "map_", "end_", "TW_", "__"};
  return kReserved.contains(name) || std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                                                 [&](std::string_view p) { return name.starts_with(p); });
}

// A tile's name in the text. No two names become one: what ends in the suffix and would collide gets another one.
std::string tile_name(const std::string& name) {
  constexpr std::string_view kSuffix = "_tile";
  std::string_view stem = name;
  while (stem.ends_with(kSuffix)) stem.remove_suffix(kSuffix.size());
  return is_reserved(stem) ? name + std::string(kSuffix) : name;
}

// Binding strength of the C++ operators that are written infix; larger binds tighter.
struct Infix {
  const char* symbol;
  int precedence;
};

constexpr int kSum = 9;

const Infix* infix(ExprKind kind) {
  static constexpr Infix kMul{" * ", 10}, kDiv{" / ", 10}, kAdd{" + ", kSum}, kSub{" - ", kSum}, kLt{" < ", 7},
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
  const char* type = dtype == DType::f64 ? "double" : "float";
  if (std::isnan(value)) return fmt::format("tw::not_a_number<{}>()", type);
  if (std::isinf(value)) return fmt::format("{}tw::infinity<{}>()", value < 0 ? "-" : "", type);
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

bool is_narrow_int(DType t) { return is_integer(t) && bytes_of(t) < 4; }

}  // namespace

std::string value_type(DType t) {
  switch (t) {
    case DType::boolean: return "bool";
    case DType::f64: return "double";
    default: return is_float(t) ? "float" : fmt::format("tw::{}", to_string(t));
  }
}

std::string memory_type(DType t) {
  switch (t) {
    case DType::f8e4m3: return "tw::F8E4M3";
    case DType::f8e5m2: return "tw::F8E5M2";
    case DType::f16: return "tw::F16";
    case DType::bf16: return "tw::BF16";
    case DType::tf32: return "tw::TF32";
    case DType::boolean: return "tw::u8";
    default: return value_type(t);
  }
}

std::string converting_type(DType from, DType to) {
  return to == DType::f8e5m2 && from != to ? "tw::F8E5M2Finite" : memory_type(to);
}

std::string rounded_text(DType dtype, std::string value) {
  if (is_narrow_float(dtype)) return fmt::format("tw::round_{}({})", to_string(dtype), value);
  if (is_narrow_int(dtype)) return value_type(dtype) + "(" + value + ")";
  return value;
}

CpuNames::CpuNames(const ir::Program& program, const ir::Kernel& kernel, Dialect dialect)
    : program_(program), kernel_(kernel), dialect_(dialect) {
  for (const Tile& tile : kernel.tiles) tile_names_.insert(tile_name(tile.name));
}

std::string CpuNames::var(const Expr& v) const {
  std::string name = fmt::format("{}_{}", v->name, v->i);
  while (is_reserved(name) || tile_names_.contains(name)) name = "v_" + name;
  return name;
}

std::string CpuNames::tile(TileId id) const { return tile_name(kernel_.tile(id).name); }

std::string CpuNames::memory_type(TileId id) const {
  const Tile& t = kernel_.tile(id);
  return is_narrow(t) ? codegen::memory_type(t.dtype) : value_type(passes::storage_of(t));
}

std::vector<Expr> CpuNames::strides(TileId id) const {
  const Tile& t = kernel_.tile(id);
  if (!t.on_chip()) return ir::strides_of(program_.tensors[size_t(t.tensor)]);
  if (!t.layout) throw internal_error(t.loc, "tile {} has no layout", t.name);
  std::vector<Expr> out;
  for (size_t d = 0; d < t.shape.size(); ++d) out.push_back(ir::int_imm(layout::stride_of(*t.layout, d)));
  return out;
}

std::string CpuExprWriter::define(const Expr& var, std::initializer_list<Expr> values) {
  if (facts_ == nullptr || var.dtype() != ir::kIndex) return value_type(var.dtype());
  for (const Expr& value : values) {
    if (!is_narrow(value)) return value_type(var.dtype());
  }
  narrow_vars_.insert(var.var_id());
  return value_type(DType::i32);
}

bool CpuExprWriter::is_narrow(const Expr& e) const {
  if (facts_ == nullptr || e.dtype() != ir::kIndex) return false;
  const auto fits = [&] { return ir::bounds(e, *facts_).within(INT32_MIN, INT32_MAX); };
  const auto all_narrow = [&](size_t first) {
    for (size_t i = first; i < e.args().size(); ++i) {
      if (!is_narrow(e.arg(i))) return false;
    }
    return true;
  };
  switch (e.kind()) {
    case ExprKind::int_imm: return fits();
    case ExprKind::var: return narrow_vars_.contains(e.var_id());
    case ExprKind::select: return all_narrow(1);
    case ExprKind::add:
    case ExprKind::sub:
    case ExprKind::mul:
    case ExprKind::floordiv:
    case ExprKind::floormod:
    case ExprKind::min:
    case ExprKind::max:
    case ExprKind::bit_and:
    case ExprKind::bit_or:
    case ExprKind::bit_xor: return all_narrow(0) && fits();
    default: return false;
  }
}

// Of operands that are both 32 bits wide: with a result that is, or one that is not and so needs a wide operand.
std::string CpuExprWriter::index_binary(const Expr& e, int parent) {
  const Expr &a = e.arg(0), &b = e.arg(1);
  const Infix* op = infix(e.kind());
  if (!is_narrow(e)) {
    const std::string wide = fmt::format("tw::i64({})", text(a));
    if (op == nullptr) return fmt::format("tw::{}<tw::i64>({}, {})", to_string(e.kind()), wide, text(b));
    return parenthesized(wide + op->symbol + text(b, op->precedence + 1), op->precedence, parent);
  }
  const bool natural = ir::bounds(a, *facts_).within(0, INT32_MAX) && ir::bounds(b, *facts_).within(1, INT32_MAX);
  const bool divides = e.kind() == ExprKind::floordiv || e.kind() == ExprKind::floormod;
  if (divides && natural) {
    return fmt::format("tw::{}({}, {})", e.kind() == ExprKind::floordiv ? "quotient" : "remainder", text(a), text(b));
  }
  const char* name = e.kind() == ExprKind::min ? "minimum" : e.kind() == ExprKind::max ? "maximum" : nullptr;
  if (divides || name) {
    return fmt::format("tw::{}<tw::i32>({}, {})", name ? name : to_string(e.kind()), text(a), text(b));
  }
  return parenthesized(text(a, op->precedence) + op->symbol + text(b, op->precedence + 1), op->precedence, parent);
}

bool CpuExprWriter::may_overflow(const Expr& e) const {
  const DType t = e.dtype();
  const bool sums = e.is(ExprKind::add) || e.is(ExprKind::sub) || e.is(ExprKind::mul);
  if (names_.dialect() != Dialect::cuda || !sums || !is_integer(t)) return false;
  // Narrower integers are computed in int, which holds all of their sums, and products of all but u16.
  if (bytes_of(t) < 4) return t == DType::u16 && e.is(ExprKind::mul);
  if (is_unsigned(t)) return false;
  const ir::Facts none;
  const ir::Range a = ir::range(e.arg(0), facts_ ? *facts_ : none), b = ir::range(e.arg(1), facts_ ? *facts_ : none);
  const ir::Range all = ir::range_of(t);
  if (e.is(ExprKind::add)) return a.lo + b.lo < all.lo || a.hi + b.hi > all.hi;
  if (e.is(ExprKind::sub)) return a.lo - b.hi < all.lo || a.hi - b.lo > all.hi;
  const std::array<ir::Wide, 4> corners = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
  return std::any_of(corners.begin(), corners.end(), [&](ir::Wide c) { return c < all.lo || c > all.hi; });
}

std::string CpuExprWriter::binary(const Expr& e, int parent) {
  const DType operand = e.arg(0).dtype();
  const bool shifts = e.kind() == ExprKind::shl || e.kind() == ExprKind::shr;
  if (!ir::is_comparison(e.kind()) && !shifts && is_narrow(e.arg(0)) && is_narrow(e.arg(1))) {
    return index_binary(e, parent);
  }
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
  if (may_overflow(e)) {
    const char* name = e.is(ExprKind::add) ? "add" : e.is(ExprKind::sub) ? "sub" : "mul";
    return fmt::format("tw::wrapping_{}<{}>({}, {})", name, value_type(operand), text(e.arg(0)), text(e.arg(1)));
  }
  // f32 keeps too few digits below its normal numbers to round a product or quotient of tf32 twice.
  if (operand == DType::tf32 && (e.is(ExprKind::mul) || e.is(ExprKind::div))) {
    return fmt::format("tw::to_tf32(double({}){}double({}))", text(e.arg(0)), op->symbol, text(e.arg(1)));
  }
  const bool needs_rounding = !ir::is_comparison(e.kind()) && rounded_text(operand, "x") != "x";
  const int outer = needs_rounding ? 0 : parent;
  std::string out = text(e.arg(0), op->precedence) + op->symbol + text(e.arg(1), op->precedence + 1);
  // -5 after a minus or plus reads better, and `a + -5` is still right.
  out = parenthesized(std::move(out), op->precedence, outer);
  return needs_rounding ? rounded_text(operand, std::move(out)) : out;
}

std::string CpuExprWriter::cast(const Expr& e) {
  const DType from = e.arg(0).dtype(), to = e.dtype();
  const std::string value = text(e.arg(0));
  if (is_boolean(to)) return fmt::format("({} != 0)", text(e.arg(0), 7));
  if (is_narrow_float(to)) {
    return from == DType::boolean ? fmt::format("float({})", value)
                                  : fmt::format("tw::to_{}({})", to_string(to), value);
  }
  if (to == DType::f32 && is_narrow_float(from)) return text(e.arg(0), kUnary);
  if (is_float(from) && is_integer(to)) return fmt::format("tw::saturate<{}>({})", value_type(to), value);
  return fmt::format("{}({})", value_type(to), value);
}

// In its own type: functions look at the width of their operands, which literals and narrow index arithmetic lack.
std::string CpuExprWriter::operand(const Expr& e) {
  const bool is_wide = is_integer(e.dtype()) && bytes_of(e.dtype()) == 8;
  if (!is_wide || (!e.is(ExprKind::int_imm) && !is_narrow(e))) return text(e);
  return fmt::format("{}({})", value_type(e.dtype()), text(e));
}

// The element in memory, its bytes as another type, and that element's value.
std::string CpuExprWriter::reinterpret(const Expr& e) {
  const DType from = e.arg(0).dtype(), to = e.dtype();
  std::string value = operand(e.arg(0));
  if (is_narrow_float(from)) value = fmt::format("tw::from_f32<{}>({})", memory_type(from), value);
  if (is_boolean(from)) value = fmt::format("tw::u8({})", value);
  if (memory_type(from) != memory_type(to)) value = fmt::format("tw::bit_cast<{}>({})", memory_type(to), value);
  if (is_narrow_float(to)) return fmt::format("tw::to_f32({})", value);
  return is_boolean(to) ? fmt::format("({} != 0)", value) : value;
}

// As the column `cpu` of ir/math_functions.inc says. CUDA has each function of the C library under its own name.
std::string CpuExprWriter::call(const Expr& e) {
  const ir::MathInfo& info = ir::math_info(ir::MathFn(e->i));
  std::string operands;
  for (const Expr& a : e.args()) operands += (operands.empty() ? "" : ", ") + operand(a);
  std::string name(info.cpu);
  if (name[0] == '@' && names_.dialect() == Dialect::cuda) name = "tw::" + name.substr(1);
  if (name[0] == '@') name = fmt::format("__builtin_{}{}", name.substr(1), e.dtype() == DType::f64 ? "" : "f");
  if (name.ends_with("<>")) name.insert(name.size() - 1, memory_type(e.dtype()));
  if (info.operands == ir::MathOperands::choice) name += "<" + value_type(e.dtype()) + ">";
  const std::string value = fmt::format("{}({})", name, operands);
  return is_float(e.dtype()) && info.ulps > 0 ? rounded_text(e.dtype(), value) : value;
}

std::string CpuExprWriter::offset(TileId tile, std::span<const Expr> at) {
  const Tile& t = names_.kernel().tile(tile);
  if (t.on_chip() && t.layout) {
    return text(facts_ ? ir::layout_offset(*t.layout, at, *facts_) : ir::layout_offset(*t.layout, at));
  }
  return linear_offset(at, names_.strides(tile), 0);
}

std::string CpuExprWriter::linear_offset(std::span<const Expr> at, std::span<const Expr> strides, int parent) {
  Expr sum = ir::int_imm(0);
  for (size_t d = 0; d < at.size(); ++d) sum = sum + at[d] * strides[d];
  if (!may_overflow(sum) || is_narrow(sum)) return text(sum, parent);
  return parenthesized(wide_offset(at, strides), kSum, parent);
}

std::string CpuExprWriter::wide_offset(std::span<const Expr> at, std::span<const Expr> strides) {
  std::string out;
  for (size_t d = 0; d < at.size(); ++d) {
    if (at[d].is_int(0) || strides[d].is_int(0)) continue;
    const std::string index = is_narrow(at[d]) ? fmt::format("tw::i64({})", text(at[d])) : text(at[d], 10);
    out += out.empty() ? "" : " + ";
    out += strides[d].is_int(1) ? index : fmt::format("{} * {}", index, text(strides[d], kUnary));
  }
  return out.empty() ? "0" : out;
}

std::string CpuExprWriter::element(TileId tile, std::span<const Expr> at) {
  const Tile& t = names_.kernel().tile(tile);
  if (is_variable(t)) return names_.tile(tile);
  return fmt::format("{}[{}]", names_.tile(tile), offset(tile, at));
}

std::string CpuExprWriter::address(const ir::TileRef& ref) {
  std::vector<Expr> at;
  for (const ir::RegionDim& dim : ref.region) at.push_back(dim.begin);
  const Tile& t = names_.kernel().tile(ref.tile);
  if (is_variable(t)) return "&" + names_.tile(ref.tile);
  if (names_.dialect() == Dialect::cuda && facts_) return staged_address(ref, at);
  const std::string at_text = offset(ref.tile, at);
  return at_text == "0" ? names_.tile(ref.tile) : fmt::format("{} + ({})", names_.tile(ref.tile), at_text);
}

int CpuExprWriter::level(const Expr& e, int depth) const {
  int out = -1;  // of the variables that are no constants
  bool unrolled = false;
  std::vector<Expr> pending = {e};
  while (!pending.empty()) {
    const Expr part = pending.back();
    pending.pop_back();
    if (part.is(ExprKind::load)) return depth;
    if (part.is(ExprKind::var)) {
      const auto found = levels_.find(part.var_id());
      const int of_var = found == levels_.end() ? 0 : found->second;
      if (of_var == kUnrolled)
        unrolled = true;
      else
        out = std::max(out, of_var);
    }
    for (const Expr& a : part.args()) pending.push_back(a);
  }
  return out >= 0 ? out : unrolled ? kUnrolled : 0;
}

std::string CpuExprWriter::staged_address(const ir::TileRef& ref, std::span<const Expr> at) {
  const Tile& t = names_.kernel().tile(ref.tile);
  const bool has_layout = t.on_chip() && t.layout;
  std::vector<Expr> index(at.begin(), at.end()), strides = {ir::int_imm(1)};
  if (has_layout)
    index = {ir::layout_offset(*t.layout, at, *facts_)};
  else
    strides = names_.strides(ref.tile);
  std::map<int, std::vector<Expr>> parts;
  const auto add = [&](int level, size_t d, const Expr& part) {
    auto& of_level = parts.try_emplace(level, index.size(), ir::int_imm(0)).first->second;
    of_level[d] = of_level[d] + part;
  };
  for (size_t d = 0; d < index.size(); ++d) {
    const ir::LinearForm form = ir::linear_form(index[d]);
    for (const ir::LinearTerm& term : form.terms) {
      const Expr part = ir::to_expr({.terms = {term}, .constant = 0});
      add(std::max(level(part, kUnrolled), strides[d].as_int() ? 0 : level(strides[d], 0)), d, part);
    }
    if (form.constant != 0) add(strides[d].as_int() ? kUnrolled : 0, d, ir::int_imm(form.constant));
  }
  std::string out = names_.tile(ref.tile);
  for (const auto& [level, of_level] : parts) {
    const std::string text = linear_offset(of_level, strides, kSum + 1);
    if (text != "0") out += " + " + text;
  }
  return out;
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
  if (names_.is_narrow(tile)) {
    if (is_narrow_float(tile.dtype)) value = "tw::to_f32(" + value + ")";
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
  if (names_.is_narrow(tile) && is_narrow_float(tile.dtype)) {
    // Storing rounds, so a cast from f32 need not round before.
    const bool narrowing = store.value.is(ExprKind::cast) && store.value.arg(0).dtype() == DType::f32;
    const DType from = narrowing ? DType::f32 : tile.dtype;
    const std::string rounds = fmt::format("tw::from_f32<{}>({})", converting_type(from, tile.dtype),
                                           text(narrowing ? store.value.arg(0) : store.value));
    const bool as_is = converting_type(from, tile.dtype) == memory_type(tile.dtype);
    value = as_is ? rounds : fmt::format("{}{{{}.bits}}", memory_type(tile.dtype), rounds);
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

std::string CpuExprWriter::assumption(const Expr& condition, const Loc& loc) {
  const std::string holds = text(condition, kUnary);
  sites_.push_back({.tile = {}, .shape = {}, .condition = ir::print(condition), .loc = loc, .declared = {}});
  return fmt::format("if (!{}) return tw::fail(failure, {});", holds, sites_.size());
}

std::string CpuExprWriter::atomic(const ir::AtomicStmt& atomic, const Loc& loc) {
  const Tile& tile = names_.kernel().tile(atomic.tile);
  const Expr old = ir::load(atomic.tile, tile.name, tile.dtype, atomic.indices, loc);
  const std::string bind =
      atomic.prev ? fmt::format("const {} {} = ", value_type(tile.dtype), names_.var(atomic.prev)) : std::string();
  const bool in_shared = names_.dialect() == Dialect::cuda && tile.space == ir::Space::shared;
  if (tile.on_chip() && !in_shared) {  // of one thread: on the CPU it runs the whole block
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
  std::string at = "&" + element(atomic.tile, atomic.indices);
  if (in_shared) at = fmt::format("tw::shared_cell({})", at);
  const std::string call =
      fmt::format("tw::atomic_{}<tw::k_{}>({}{})", to_string(atomic.kind), to_string(atomic.order), at, value);
  if (tile.unchecked || tile.rank() == 0) return bind + call + ";";
  const std::string condition = in_bounds(tile, atomic.indices);
  const std::string fail = in_shared ? fail_arguments(tile, atomic.indices, true, loc) : "";
  if (!atomic.prev) {
    const std::string otherwise = in_shared ? fmt::format(" else tw::fail({});", fail) : "";
    return fmt::format("if ({}) {};{}", condition, call, otherwise);
  }
  const std::string outside = in_shared ? fmt::format("tw::failed<{}>({})", value_type(tile.dtype), fail)
                                        : text(ir::imm(tile.safe_value, tile.dtype));
  return fmt::format("{}{} ? {} : {};", bind, condition, call, outside);
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
    case ExprKind::reinterpret: return reinterpret(e);
    case ExprKind::call: return call(e);
    default: return binary(e, parent);
  }
}

}  // namespace tilewright::codegen
