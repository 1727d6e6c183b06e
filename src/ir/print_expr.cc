#include "ir/print_expr.h"

#include "ir/lexer.h"
#include "ir/print.h"
#include "target/dtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace tilewright::ir {

namespace {

struct Infix {
  std::string_view symbol;
  int level;  // binds tighter when higher; all group to the left
};

constexpr int kCompareLevel = 3;
constexpr int kUnaryLevel = 6;

// Empty for the kinds in function form.
Infix infix_of(ExprKind kind) {
  switch (kind) {
    case ExprKind::logical_or: return {"||", 1};
    case ExprKind::logical_and: return {"&&", 2};
    case ExprKind::eq: return {"==", kCompareLevel};
    case ExprKind::ne: return {"!=", kCompareLevel};
    case ExprKind::lt: return {"<", kCompareLevel};
    case ExprKind::le: return {"<=", kCompareLevel};
    case ExprKind::add: return {"+", 4};
    case ExprKind::sub: return {"-", 4};
    case ExprKind::mul: return {"*", 5};
    case ExprKind::div: return {"/", 5};
    case ExprKind::floordiv: return {"//", 5};
    case ExprKind::floormod: return {"%", 5};
    default: return {"", 0};
  }
}

std::string with_dtype(DType dtype, DType usual, std::string text) {
  return dtype == usual ? text : fmt::format("{}({})", to_string(dtype), text);
}

std::string int_text(int64_t value, DType dtype) {
  if (is_boolean(dtype)) return value ? "true" : "false";
  std::string digits = dtype == DType::u64 ? fmt::format("{}", uint64_t(value)) : fmt::format("{}", value);
  return with_dtype(dtype, kIndex, std::move(digits));
}

bool is_index_imm(const Expr& e) { return e.is(ExprKind::int_imm) && e.dtype() == kIndex; }

std::string join(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

}  // namespace

std::string float_text(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text = fmt::format("{:.{}g}", value, digits);
    if (round_to(dtype, std::strtod(text.c_str(), nullptr)) == value) break;
  }
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string ExprPrinter::bound(const Expr& e) const { return text(e, kCompareLevel + 1); }

std::string ExprPrinter::list(const std::vector<Expr>& exprs) const {
  std::vector<std::string> parts;
  for (const Expr& e : exprs) parts.push_back(text(e));
  return join(parts);
}

std::string ExprPrinter::definition(const Expr& var) {
  if (!var.is(ExprKind::var)) return text(var);
  std::string out = name_text(var->name);
  if (!with_ids_) return out;
  names_.define(var->name, {.id = var.var_id(), .dtype = var.dtype()});
  out += fmt::format("@{}", var.var_id());
  return var.dtype() == kIndex ? out : fmt::format("{}: {}", out, to_string(var.dtype()));
}

std::string ExprPrinter::tile(TileId id) const {
  if (kernel_ == nullptr || id < 0 || size_t(id) >= kernel_->tiles.size()) return fmt::format("@{}", id);
  const std::string& name = kernel_->tile(id).name;
  const auto count =
      std::count_if(kernel_->tiles.begin(), kernel_->tiles.end(), [&](const Tile& t) { return t.name == name; });
  return count == 1 ? name_text(name) : fmt::format("{}@{}", name_text(name), id);
}

std::string ExprPrinter::range(const Expr& begin, const Expr& extent) const {
  const bool from_zero = begin && is_index_imm(begin) && begin.is_int(0);
  if (from_zero && extent) return fmt::format("0:{}", text(extent));
  int64_t end = 0;
  const bool constant = begin && extent && is_index_imm(begin) && is_index_imm(extent) &&
                        !__builtin_add_overflow(begin->i, extent->i, &end);
  if (constant) return fmt::format("{}:{}", begin->i, end);
  return fmt::format("{}:+{}", text(begin), text(extent));
}

std::string ExprPrinter::ref(const TileRef& ref) const {
  std::vector<std::string> parts;
  for (const RegionDim& dim : ref.region) {
    const bool single = dim.extent && is_index_imm(dim.extent) && dim.extent.is_int(1);
    parts.push_back(single ? text(dim.begin) : range(dim.begin, dim.extent));
  }
  std::string out = fmt::format("{}[{}]", tile(ref.tile), join(parts));
  return ref.slot ? fmt::format("{} slot({})", out, text(ref.slot)) : out;
}

std::string ExprPrinter::dim(const LoopDim& dim) const {
  if (dim.step == 1) return range(dim.begin, dim.extent);
  return fmt::format("{}:+{} step {}", text(dim.begin), text(dim.extent), dim.step);
}

std::string ExprPrinter::var(const Expr& e) const {
  const std::string name = name_text(e->name);
  const VarNames::Entry entry{.id = e.var_id(), .dtype = e.dtype()};
  if (!with_ids_ || names_.find(e->name) == entry) return name;
  if (names_.dtype_of(entry.id) == entry.dtype) return fmt::format("{}@{}", name, entry.id);
  return fmt::format("{}@{}.{}", name, entry.id, to_string(entry.dtype));
}

std::string ExprPrinter::load(const Expr& e) const {
  std::string out = kernel_ ? tile(e.tile_id()) : name_text(e->name);
  const bool known = kernel_ && e.tile_id() >= 0 && size_t(e.tile_id()) < kernel_->tiles.size();
  if (known && kernel_->tile(e.tile_id()).dtype != e.dtype()) out += fmt::format(".{}", to_string(e.dtype()));
  return fmt::format("{}[{}]", out, list(e->args));
}

std::string ExprPrinter::binary(const Expr& e, int parent) const {
  const Infix infix = infix_of(e.kind());
  std::string symbol(infix.symbol);
  std::string right = text(e.arg(1), infix.level + 1);
  // x + (-5) reads x - 5: the constructor of sub makes it an add again.
  const bool negative = e.is(ExprKind::add) && e.arg(1).is(ExprKind::int_imm) && !is_unsigned(e.dtype()) &&
                        e.arg(1)->i < 0 && e.arg(1)->i > min_value(e.dtype());
  if (negative) {
    symbol = "-";
    right = int_text(-e.arg(1)->i, e.dtype());
  }
  std::string out = fmt::format("{} {} {}", text(e.arg(0), infix.level), symbol, right);
  return infix.level < parent ? fmt::format("({})", out) : out;
}

std::string ExprPrinter::function(const Expr& e) const {
  if (e.is(ExprKind::reinterpret)) return fmt::format("as_{}({})", to_string(e.dtype()), list(e->args));
  const std::string_view name = e.is(ExprKind::call)   ? to_string(MathFn(e->i))
                                : e.is(ExprKind::cast) ? to_string(e.dtype())
                                                       : to_string(e.kind());
  return fmt::format("{}({})", name, list(e->args));
}

std::string ExprPrinter::text(const Expr& e, int parent) const {
  if (!e) return "<nothing>";
  switch (e.kind()) {
    case ExprKind::int_imm: return int_text(e->i, e.dtype());
    case ExprKind::float_imm: return with_dtype(e.dtype(), DType::f32, float_text(e->f, e.dtype()));
    case ExprKind::var: return var(e);
    case ExprKind::load: return load(e);
    case ExprKind::logical_not: return "!" + text(e.arg(0), kUnaryLevel);
    default: return infix_of(e.kind()).level > 0 ? binary(e, parent) : function(e);
  }
}

namespace {

struct AttrText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
};

}  // namespace

std::string attrs_text(const Attrs& attrs) {
  if (attrs.empty()) return {};
  std::vector<std::string> parts;
  for (const auto& [name, value] : attrs) {
    parts.push_back(fmt::format("{} = {}", name_text(name), std::visit(AttrText(), value)));
  }
  return fmt::format(" {{{}}}", join(parts));
}

}  // namespace tilewright::ir
