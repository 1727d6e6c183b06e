#include "ops/reduce.h"

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

// One operator. Its word in language/operations.h has the same name.
struct Reduction {
  std::string_view name;
  Combine combine;
  Elements elements;
};

constexpr std::array kReductions = {
    Reduction{.name = "reduce_sum", .combine = {ExprKind::add}, .elements = Elements::numbers},
    Reduction{.name = "reduce_prod", .combine = {ExprKind::mul}, .elements = Elements::numbers},
    Reduction{.name = "reduce_max", .combine = {ExprKind::max}, .elements = Elements::numbers},
    Reduction{.name = "reduce_min", .combine = {ExprKind::min}, .elements = Elements::numbers},
    Reduction{.name = "reduce_abssum", .combine = {ExprKind::add, true}, .elements = Elements::numbers},
    Reduction{.name = "reduce_absmax", .combine = {ExprKind::max, true}, .elements = Elements::numbers},
    Reduction{.name = "reduce_bitand", .combine = {ExprKind::bit_and}, .elements = Elements::bits},
    Reduction{.name = "reduce_bitor", .combine = {ExprKind::bit_or}, .elements = Elements::bits},
    Reduction{.name = "reduce_bitxor", .combine = {ExprKind::bit_xor}, .elements = Elements::bits},
    Reduction{.name = "reduce_any", .combine = {ExprKind::bit_or}, .elements = Elements::truths},
    Reduction{.name = "reduce_all", .combine = {ExprKind::bit_and}, .elements = Elements::truths},
};

constexpr std::array<AttrRule, 5> kAttrs = {{{"dim", AttrType::integer},
                                             {"clear", AttrType::boolean},
                                             {"batch", AttrType::integer},
                                             {"nan_propagate", AttrType::boolean},
                                             {"accumulate", AttrType::dtype}}};

const Reduction& reduction_of(const OpStmt& op) { return kReductions[size_t(op.def - reduce_ops().data())]; }
ReduceAttrs attrs_of(const OpStmt& op) { return ReduceAttrs::from(op.attrs, op.tiles[0].region.size()); }

std::vector<int> wide_dims_without(const TileRef& ref, int64_t dim) {
  std::vector<int> dims = wide_dims(ref);
  std::erase(dims, int(dim));
  return dims;
}

void verify_extents(const OpStmt& op, int64_t dim, const Kernel& kernel, const Loc& loc) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const std::vector<int> from = wide_dims_without(src, dim), to = wide_dims(dst);
  const bool fits = std::equal(from.begin(), from.end(), to.begin(), to.end(), [&](int a, int b) {
    return ir::equal(src.region[size_t(a)].extent, dst.region[size_t(b)].extent);
  });
  if (fits) return;
  throw with_declarations(invalid_kernel(loc, "{}: {} does not have the extents of {} without dimension {}",
                                         op.def->name, kernel.tile(dst.tile).name, kernel.tile(src.tile).name, dim),
                          kernel, {src.tile, dst.tile})
      .hint("the output keeps the other dimensions, in order; the reduced one may stay with extent 1");
}

void verify_reduce(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  verify_attrs(op, kAttrs, loc);
  const ReduceAttrs attrs = attrs_of(op);
  verify_dim(op.def->name, attrs.dim, attrs.dim, src, kernel, loc);
  verify_extents(op, attrs.dim, kernel, loc);
  verify_elements(op.def->name, reduction_of(op).elements, src, dst, kernel, loc);
  attrs.combine.verify(op.def->name, reduction_of(op).combine, dst, kernel, loc);
  if (attrs.batch < 1) {
    throw invalid_kernel(loc, "{}: batch is {}, but must be at least 1", op.def->name, attrs.batch)
        .hint("batch counts the results that are reduced together");
  }
  if (!kernel.share_storage(src.tile, dst.tile)) return;
  throw with_declarations(
      invalid_kernel(loc, "{}: {} is both source and result", op.def->name, kernel.tile(src.tile).name), kernel,
      {src.tile})
      .hint("reduce into a tile of its own");
}

std::vector<Access> reduce_effects(const OpStmt& op, const Kernel&) {
  return {{.ref = op.tiles[0], .mode = Mode::read},
          {.ref = op.tiles[1], .mode = attrs_of(op).clear ? Mode::write : Mode::update}};
}

Block expand_reduce(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const Reduction& reduction = reduction_of(op);
  const ReduceAttrs attrs = attrs_of(op);
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const DType from = context.kernel.tile(src.tile).dtype, to = context.kernel.tile(dst.tile).dtype;
  Accumulator acc(reduction.combine, attrs.combine.accumulate.value_or(default_accumulate(from, to)),
                  attrs.combine.nan_propagate, context, op.def->name, loc);

  std::vector<int> src_dims = wide_dims_without(src, attrs.dim);
  std::vector<Expr> extents;
  for (int d : src_dims) extents.push_back(src.region[size_t(d)].extent);
  const std::vector<Expr> vars = fresh_indices(context, extents.size());
  std::vector<Expr> src_vars = vars;
  const Expr r = context.fresh_var("r");
  src_dims.push_back(int(attrs.dim));
  src_vars.push_back(r);

  Expr element = read(context.kernel, src, coordinates(src, src_dims, src_vars), acc.dtype(), loc);
  if (reduction.combine.of_abs) element = ir::call(ir::MathFn::abs, element, loc);
  Block step, body = {acc.reset()};
  acc.take(element, step);
  body.push_back(serial(r, src.region[size_t(attrs.dim)].extent, std::move(step), loc));
  const std::vector<Expr> at = coordinates(dst, wide_dims(dst), vars);
  const Expr result =
      attrs.clear ? acc.value() : acc.combined_with(read(context.kernel, dst, at, acc.dtype(), loc), body);
  body.push_back(write(context.kernel, dst, at, result, loc));
  return nest(context.kernel, dst, vars, extents, std::move(body), loc);
}

constexpr std::array<ir::OpDef, kReductions.size()> kOps = [] {
  std::array<ir::OpDef, kReductions.size()> ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i] = {.name = kReductions[i].name,
              .num_tiles = 2,
              .num_scalars = 0,
              .verify = verify_reduce,
              .effects = reduce_effects,
              .expand = expand_reduce};
  }
  return ops;
}();

bool same_extents(const ir::Region& a, const ir::Region& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::RegionDim& x, const ir::RegionDim& y) { return ir::equal(x.extent, y.extent); });
}

// The region that begins at a head address of dst. Aligning src's extents to its last dimensions has two readings, with
// the reduced dimension dropped and with extent 1.
TileRef resolve_head(const Operand& dst, const TileRef& src, int64_t dim, const Kernel& kernel, std::string_view op) {
  TileRef kept = src, dropped = src;
  kept.region[size_t(dim)].extent = ir::int_imm(1);
  dropped.region.erase(dropped.region.begin() + dim);
  const TileRef one = resolve_head_address(dst, dropped, kernel, op);
  if (dst.subscripts.size() < src.region.size()) return one;
  const TileRef other = resolve_head_address(dst, kept, kernel, op);
  if (same_extents(one.region, other.region)) return one;
  throw with_declarations(
      invalid_kernel(dst.loc, "{}: the part of {} is not clear from its head address", op, kernel.tile(dst.tile).name),
      kernel, {src.tile, dst.tile})
      .hint(fmt::format("give a slice: dimension {} of {} may be dropped or stay with extent 1", dim,
                        kernel.tile(src.tile).name));
}

}  // namespace

ReduceAttrs ReduceAttrs::from(const ir::Attrs& attrs, size_t rank) {
  return {.dim = ir::int_attr(attrs, "dim", int64_t(rank) - 1),
          .clear = ir::bool_attr(attrs, "clear", true),
          .batch = ir::int_attr(attrs, "batch", 1),
          .combine = CombineAttrs::from(attrs)};
}

ir::Attrs ReduceAttrs::to_attrs() const {
  ir::Attrs attrs = {{"dim", dim}};
  if (!clear) attrs.emplace_back("clear", false);
  if (batch != 1) attrs.emplace_back("batch", batch);
  combine.append_to(attrs);
  return attrs;
}

std::span<const ir::OpDef> reduce_ops() { return kOps; }
const ir::OpDef& reduce_op(std::string_view name) {
  const auto it = std::find_if(kOps.begin(), kOps.end(), [&](const ir::OpDef& def) { return def.name == name; });
  if (it == kOps.end()) throw internal_error({}, "there is no reduction {}", name);
  return *it;
}

bool is_reduce(const OpStmt& op) {
  return std::any_of(kOps.begin(), kOps.end(), [&](const ir::OpDef& def) { return op.def == &def; });
}

ReduceMeaning reduce_meaning(const OpStmt& op, const Kernel& kernel) {
  const Reduction& reduction = reduction_of(op);
  const CombineAttrs attrs = attrs_of(op).combine;
  const DType from = kernel.tile(op.tiles[0].tile).dtype, to = kernel.tile(op.tiles[1].tile).dtype;
  return {.combine = reduction.combine,
          .accumulate = attrs.accumulate.value_or(default_accumulate(from, to)),
          .nan_propagate = attrs.nan_propagate};
}

Stmt make_reduce(std::string_view name, const Operand& src, const Operand& dst, const ReduceAttrs& attrs,
                 const Kernel& kernel, const Loc& loc) {
  OpStmt op{.def = &reduce_op(name), .tiles = {}, .scalars = {}, .attrs = {}};
  if (src.head_address()) {
    throw with_declarations(invalid_kernel(loc, "{}: the extents of {} do not follow from its head address",
                                           op.def->name, kernel.tile(src.tile).name),
                            kernel, {src.tile})
        .hint("give a slice: T::slice(begin, end) or T::all where it is reduced");
  }
  const TileRef from = resolve(src, kernel, op.def->name);
  const int64_t dim = attrs.dim < 0 ? attrs.dim + int64_t(from.region.size()) : attrs.dim;
  verify_dim(op.def->name, dim, attrs.dim, from, kernel, loc);
  op.tiles = {from, dst.head_address() ? resolve_head(dst, from, dim, kernel, op.def->name)
                                       : resolve(dst, kernel, op.def->name)};
  op.attrs = ReduceAttrs{.dim = dim, .clear = attrs.clear, .batch = attrs.batch, .combine = attrs.combine}.to_attrs();
  verify_reduce(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

bool reduces_rows(const OpStmt& op, const Kernel& kernel) {
  if (!is_reduce(op)) return false;
  const Combine& combine = reduction_of(op).combine;
  if (combine.of_abs || (combine.kind != ExprKind::add && combine.kind != ExprKind::max)) return false;
  const ir::Tile &src = kernel.tile(op.tiles[0].tile), &dst = kernel.tile(op.tiles[1].tile);
  const ReduceAttrs attrs = attrs_of(op);
  const DType usual = default_accumulate(src.dtype, dst.dtype);
  if (!src.on_chip() || !dst.on_chip()) return false;
  if (attrs.combine.nan_propagate || attrs.combine.accumulate.value_or(usual) != usual) return false;
  const ir::Region &from = op.tiles[0].region, &to = op.tiles[1].region;
  const size_t rows = from.size() - 1;
  if (attrs.dim != int64_t(rows) || to.size() < rows || to.size() > rows + 1) return false;
  if (to.size() == rows + 1 && !to[rows].extent.is_int(1)) return false;
  return std::equal(from.begin(), from.begin() + int64_t(rows), to.begin(),
                    [](const ir::RegionDim& x, const ir::RegionDim& y) { return ir::equal(x.extent, y.extent); });
}

}  // namespace tilewright::ops
