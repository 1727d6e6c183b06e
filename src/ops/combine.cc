#include "ops/combine.h"

#include "ops/access.h"
#include "ops/operand.h"
#include "support/error.h"
#include "target/dtype.h"

#include <algorithm>
#include <limits>

namespace tilewright::ops {

using ir::Block;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::TileRef;

namespace {

// The value that changes nothing when it is combined.
Expr identity(const Combine& combine, DType dtype, const Loc& loc) {
  if (combine.kind == ExprKind::mul) return ir::imm(1, dtype, loc);
  if (combine.kind == ExprKind::bit_and) return ir::int_imm(-1, dtype, loc);
  if (!is_order(combine) || combine.of_abs) return ir::imm(0, dtype, loc);
  if (combine.kind == ExprKind::max) return lowest(dtype, loc);
  if (is_float(dtype)) return ir::float_imm(std::numeric_limits<double>::infinity(), dtype, loc);
  return ir::int_imm(max_value(dtype), dtype, loc);
}

bool fits(Elements rule, DType from, DType to) {
  switch (rule) {
    case Elements::numbers: return is_float(from) ? is_float(to) : is_integer(to);
    case Elements::bits: return is_boolean(from) ? is_boolean(to) : is_integer(from) && is_integer(to);
    case Elements::truths: break;
  }
  return is_boolean(to);
}

const char* hint_of(Elements rule) {
  switch (rule) {
    case Elements::numbers: return "floats go into floats, integers and booleans into integers";
    case Elements::bits: return "bits are combined of integers into integers, or of booleans into booleans";
    case Elements::truths: break;
  }
  return "the result is a boolean tile; elements of any dtype count as true when they are not 0";
}

bool same_family(DType a, DType b) { return is_float(a) == is_float(b) && is_boolean(a) == is_boolean(b); }

bool has_type(const ir::AttrValue& value, AttrType type) {
  switch (type) {
    case AttrType::boolean: return std::holds_alternative<bool>(value);
    case AttrType::integer: return std::holds_alternative<int64_t>(value);
    case AttrType::dtype: break;
  }
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && dtype_from_string(*text).has_value();
}

const char* to_string(AttrType type) {
  constexpr const char* kNames[] = {"true or false", "an integer", "the name of a dtype"};
  return kNames[size_t(type)];
}

}  // namespace

DType default_accumulate(DType from, DType to) {
  if (!is_float(to)) return to;
  return from == DType::f64 || to == DType::f64 ? DType::f64 : DType::f32;
}

void verify_elements(std::string_view op, Elements rule, const TileRef& src, const TileRef& dst, const Kernel& kernel,
                     const Loc& loc) {
  const DType from = kernel.tile(src.tile).dtype, to = kernel.tile(dst.tile).dtype;
  if (fits(rule, from, to)) return;
  throw with_declarations(invalid_kernel(loc, "{}: {} elements cannot be combined into {}", op,
                                         tilewright::to_string(from), tilewright::to_string(to)),
                          kernel, {src.tile, dst.tile})
      .hint(hint_of(rule));
}

void verify_dim(std::string_view op, int64_t dim, int64_t written, const TileRef& ref, const Kernel& kernel,
                const Loc& loc) {
  const auto rank = int64_t(ref.region.size());
  if (dim >= 0 && dim < rank) return;
  throw with_declarations(
      invalid_kernel(loc, "{}: dim is {} but {} has {} dimensions", op, written, kernel.tile(ref.tile).name, rank),
      kernel, {ref.tile})
      .hint(rank == 0 ? "a tile without dimensions has one element; use it as it is"
                      : fmt::format("dim counts from 0 to {}, or from -1 backwards", rank - 1));
}

void verify_attrs(const OpStmt& op, std::span<const AttrRule> rules, const Loc& loc) {
  for (const auto& [name, value] : op.attrs) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const AttrRule& r) { return r.name == name; });
    if (rule == rules.end()) {
      std::string known;
      for (const AttrRule& r : rules) known += (known.empty() ? "" : ", ") + std::string(r.name);
      throw invalid_kernel(loc, "{} has no attribute {}", op.def->name, name).hint("its attributes are " + known);
    }
    if (has_type(value, rule->type)) continue;
    throw invalid_kernel(loc, "{}: attribute {} has a value of another type", op.def->name, name)
        .hint(fmt::format("{} is {}", name, to_string(rule->type)));
  }
}

CombineAttrs CombineAttrs::from(const ir::Attrs& attrs) {
  CombineAttrs out{.nan_propagate = ir::bool_attr(attrs, "nan_propagate", false), .accumulate = {}};
  const ir::AttrValue* value = ir::find_attr(attrs, "accumulate");
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  if (text) out.accumulate = dtype_from_string(*text);
  return out;
}

void CombineAttrs::append_to(ir::Attrs& attrs) const {
  if (nan_propagate) attrs.emplace_back("nan_propagate", true);
  if (accumulate) attrs.emplace_back("accumulate", std::string(tilewright::to_string(*accumulate)));
}

void CombineAttrs::verify(std::string_view op, const Combine& combine, const TileRef& dst, const Kernel& kernel,
                          const Loc& loc) const {
  const ir::Tile& tile = kernel.tile(dst.tile);
  if (nan_propagate && !is_order(combine)) {
    throw invalid_kernel(loc, "{}: nan_propagate is an option of minima and maxima", op)
        .hint("leave it out: a sum with a NaN element is NaN, and bits have none");
  }
  if (!accumulate || same_family(*accumulate, tile.dtype)) return;
  throw with_declarations(
      invalid_kernel(loc, "{}: accumulate is {} but {} holds {}", op, tilewright::to_string(*accumulate), tile.name,
                     tilewright::to_string(tile.dtype)),
      kernel, {dst.tile})
      .hint(is_float(tile.dtype)     ? "accumulate in f16, bf16, f32 or f64"
            : is_integer(tile.dtype) ? "accumulate in an integer dtype"
                                     : "leave it out: booleans are combined as booleans");
}

Accumulator::Accumulator(const Combine& combine, DType dtype, bool nan_propagate, ir::ExpandContext& context,
                         std::string_view origin, const Loc& loc)
    : combine_(combine),
      dtype_(dtype),
      nan_propagate_(nan_propagate && is_float(dtype)),
      context_(context),
      tile_(context.fresh_scalar_tile("acc", dtype, origin, loc)),
      loc_(loc) {}

Expr Accumulator::value() const { return load_scalar(context_.kernel, tile_, loc_); }

Stmt Accumulator::set(Expr value) const {
  return ir::make_stmt(ir::StoreStmt{.tile = tile_, .indices = {}, .value = std::move(value)}, loc_);
}

Stmt Accumulator::reset() const { return set(identity(combine_, dtype_, loc_)); }

Expr Accumulator::combine(const Expr& a, const Expr& b) const {
  const Expr ignoring = ir::binary(combine_.kind, a, b, loc_);
  if (!nan_propagate_) return ignoring;
  const auto is_nan = [&](const Expr& x) { return ir::binary(ExprKind::ne, x, x, loc_); };
  return ir::select(is_nan(a), a, ir::select(is_nan(b), b, ignoring, loc_), loc_);
}

void Accumulator::take(const Expr& x, Block& out) {
  // Named where it stands more than once.
  const Expr element = nan_propagate_ ? once(context_, x, out, loc_) : x;
  out.push_back(set(combine(value(), element)));
}

Expr Accumulator::combined_with(const Expr& x, Block& out) {
  const Expr other = nan_propagate_ ? once(context_, x, out, loc_) : x;
  return combine(other, value());
}

}  // namespace tilewright::ops
