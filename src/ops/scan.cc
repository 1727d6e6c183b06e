#include "ops/scan.h"

#include "ops/access.h"
#include "support/error.h"

#include <algorithm>
#include <array>

namespace tilewright::ops {

using ir::Access;
using ir::Block;
using ir::ExpandContext;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::Mode;
using ir::OpStmt;
using ir::Stmt;
using ir::TileRef;

namespace {

// One operator.
struct Scan {
  std::string_view name;
  Combine combine;
};

// In the order of ScanKind.
constexpr std::array kScans = {
    Scan{.name = "cumsum", .combine = {ExprKind::add}},
    Scan{.name = "cummax", .combine = {ExprKind::max}},
};

constexpr std::array<AttrRule, 4> kAttrs = {{{"dim", AttrType::integer},
                                             {"reverse", AttrType::boolean},
                                             {"nan_propagate", AttrType::boolean},
                                             {"accumulate", AttrType::dtype}}};

const Scan& scan_of(const OpStmt& op) { return kScans[size_t(op.def - scan_ops().data())]; }

void verify_extents(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const std::vector<int> from = wide_dims(src), to = wide_dims(dst);
  const bool fits = std::equal(from.begin(), from.end(), to.begin(), to.end(), [&](int a, int b) {
    return ir::equal(src.region[size_t(a)].extent, dst.region[size_t(b)].extent);
  });
  if (fits) return;
  throw with_declarations(invalid_kernel(loc, "{}: {} does not have the extents of {}", op.def->name,
                                         kernel.tile(dst.tile).name, kernel.tile(src.tile).name),
                          kernel, {src.tile, dst.tile})
      .hint("the result has one element for each element of the source; slice the larger side");
}

void verify_scan(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  verify_attrs(op, kAttrs, loc);
  const ScanAttrs attrs = ScanAttrs::from(op.attrs);
  verify_dim(op.def->name, attrs.dim, attrs.dim, src, kernel, loc);
  verify_extents(op, kernel, loc);
  verify_elements(op.def->name, Elements::numbers, src, dst, kernel, loc);
  attrs.combine.verify(op.def->name, scan_of(op).combine, dst, kernel, loc);
  if (!kernel.share_storage(src.tile, dst.tile) || ir::equal(src, dst)) return;
  throw with_declarations(
      invalid_kernel(loc, "{}: source and result are different parts of {}", op.def->name, kernel.tile(src.tile).name),
      kernel, {src.tile})
      .hint("scan a part in place, or into another tile");
}

std::vector<Access> scan_effects(const OpStmt& op, const Kernel&) {
  return {{.ref = op.tiles[0], .mode = Mode::read}, {.ref = op.tiles[1], .mode = Mode::write}};
}

Block expand_scan(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const ScanAttrs attrs = ScanAttrs::from(op.attrs);
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const DType from = context.kernel.tile(src.tile).dtype, to = context.kernel.tile(dst.tile).dtype;
  Accumulator acc(scan_of(op).combine, attrs.combine.accumulate.value_or(default_accumulate(from, to)),
                  attrs.combine.nan_propagate, context, op.def->name, loc);

  const std::vector<int> src_dims = wide_dims(src), dst_dims = wide_dims(dst);
  const Expr length = src.region[size_t(attrs.dim)].extent;
  const Expr r = context.fresh_var("r");
  const Expr place = attrs.reverse ? length - 1 - r : r;
  const std::vector<Expr> names = fresh_indices(context, src_dims.size());
  std::vector<Expr> offsets, lines, extents;  // lines: the variables of the other dimensions
  for (size_t k = 0; k < src_dims.size(); ++k) {
    const bool scanned = src_dims[k] == attrs.dim;
    offsets.push_back(scanned ? place : names[k]);
    if (scanned) continue;
    lines.push_back(names[k]);
    extents.push_back(src.region[size_t(src_dims[k])].extent);
  }
  Block step;
  acc.take(read(context.kernel, src, coordinates(src, src_dims, offsets), acc.dtype(), loc), step);
  step.push_back(write(context.kernel, dst, coordinates(dst, dst_dims, offsets), acc.value(), loc));
  return nest(context.kernel, dst, lines, extents, {acc.reset(), serial(r, length, std::move(step), loc)}, loc);
}

constexpr std::array<ir::OpDef, kScans.size()> kOps = [] {
  std::array<ir::OpDef, kScans.size()> ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i] = {.name = kScans[i].name,
              .num_tiles = 2,
              .num_scalars = 0,
              .verify = verify_scan,
              .effects = scan_effects,
              .expand = expand_scan};
  }
  return ops;
}();

}  // namespace

ScanAttrs ScanAttrs::from(const ir::Attrs& attrs) {
  return {.dim = ir::int_attr(attrs, "dim", 0),
          .reverse = ir::bool_attr(attrs, "reverse", false),
          .combine = CombineAttrs::from(attrs)};
}

ir::Attrs ScanAttrs::to_attrs() const {
  ir::Attrs attrs = {{"dim", dim}};
  if (reverse) attrs.emplace_back("reverse", true);
  combine.append_to(attrs);
  return attrs;
}

std::span<const ir::OpDef> scan_ops() { return kOps; }
const ir::OpDef& scan_op(ScanKind kind) { return kOps[size_t(kind)]; }

bool is_scan(const OpStmt& op) {
  return std::any_of(kOps.begin(), kOps.end(), [&](const ir::OpDef& def) { return op.def == &def; });
}

Stmt make_scan(ScanKind kind, const Operand& src, const Operand& dst, const ScanAttrs& attrs, const Kernel& kernel,
               const Loc& loc) {
  OpStmt op{.def = &scan_op(kind), .tiles = {}, .scalars = {}, .attrs = {}};
  Pair pair = resolve_pair(src, dst, kernel, op.def->name);
  const int64_t dim = attrs.dim < 0 ? attrs.dim + int64_t(pair.first.region.size()) : attrs.dim;
  verify_dim(op.def->name, dim, attrs.dim, pair.first, kernel, loc);
  op.tiles = {std::move(pair.first), std::move(pair.second)};
  op.attrs = ScanAttrs{.dim = dim, .reverse = attrs.reverse, .combine = attrs.combine}.to_attrs();
  verify_scan(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

}  // namespace tilewright::ops
