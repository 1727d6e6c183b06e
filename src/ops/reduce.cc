#include "ops/reduce.h"

#include "ops/access.h"
#include "support/error.h"

namespace tilewright::ops {

using ir::Access;
using ir::Block;
using ir::ExpandContext;
using ir::Expr;
using ir::Kernel;
using ir::Mode;
using ir::OpStmt;
using ir::Stmt;
using ir::TileRef;

namespace {

bool clears(const OpStmt& op) { return ir::bool_attr(op.attrs, "clear", true); }

std::vector<int> dims_without(const TileRef& ref, int64_t dim) {
  std::vector<int> dims;
  for (int d = 0; d < int(ref.region.size()); ++d) {
    if (d != dim) dims.push_back(d);
  }
  return dims;
}

// dst's dimensions that pair with src's remaining ones: all of them, or all but the one of extent 1 at `dim`.
std::vector<int> kept_dims(const OpStmt& op, int64_t dim) {
  const TileRef& dst = op.tiles[1];
  return dims_without(dst, dst.region.size() == op.tiles[0].region.size() ? dim : -1);
}

void verify_reduce(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const TileRef& src = op.tiles[0];
  const TileRef& dst = op.tiles[1];
  const int64_t rank = int64_t(src.region.size());
  const int64_t dim = ir::int_attr(op.attrs, "dim", rank - 1);
  if (dim < 0 || dim >= rank) {
    throw with_declarations(invalid_kernel(loc, "{}: dim is {} but {} has {} dimensions", op.def->name, dim,
                                           kernel.tile(src.tile).name, rank),
                            kernel, {src.tile})
        .hint(fmt::format("dim counts from 0 to {}, or from -1 backwards", rank - 1));
  }
  const bool keeps = dst.region.size() == src.region.size();
  bool fits = keeps ? dst.region[size_t(dim)].extent.is_int(1) : dst.region.size() + 1 == src.region.size();
  if (fits) {
    const std::vector<int> from = dims_without(src, dim), to = kept_dims(op, dim);
    for (size_t k = 0; k < from.size(); ++k) {
      fits = fits && ir::equal(src.region[size_t(from[k])].extent, dst.region[size_t(to[k])].extent);
    }
  }
  if (!fits) {
    throw with_declarations(invalid_kernel(loc, "{}: {} does not have the extents of {} without dimension {}",
                                           op.def->name, kernel.tile(dst.tile).name, kernel.tile(src.tile).name, dim),
                            kernel, {src.tile, dst.tile})
        .hint("the output keeps the other dimensions, in order; the reduced one may stay with extent 1");
  }
  const DType from = kernel.tile(src.tile).dtype, to = kernel.tile(dst.tile).dtype;
  if (is_float(from) != is_float(to) || is_boolean(from) || is_boolean(to)) {
    throw with_declarations(
        invalid_kernel(loc, "{}: {} elements cannot be reduced into {}", op.def->name, to_string(from), to_string(to)),
        kernel, {src.tile, dst.tile})
        .hint("reduce floats into floats and integers into integers");
  }
  for (const TileRef& ref : op.tiles) {
    if (kernel.tile(ref.tile).on_chip()) continue;
    throw with_declarations(invalid_kernel(loc, "{}: {} is in global memory", op.def->name, kernel.tile(ref.tile).name),
                            kernel, {ref.tile})
        .hint("copy it into a fragment or shared tile first");
  }
  if (kernel.share_storage(src.tile, dst.tile)) {
    throw with_declarations(
        invalid_kernel(loc, "{}: {} is both source and result", op.def->name, kernel.tile(src.tile).name), kernel,
        {src.tile});
  }
}

std::vector<Access> reduce_effects(const OpStmt& op, const Kernel&) {
  return {{.ref = op.tiles[0], .mode = Mode::read},
          {.ref = op.tiles[1], .mode = clears(op) ? Mode::write : Mode::update}};
}

Expr identity(ReduceKind kind, DType dtype, const Loc& loc) {
  if (kind == ReduceKind::sum) return ir::imm(0, dtype, loc);
  return lowest(dtype, loc);
}

Block expand_reduce(ReduceKind kind, const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const TileRef& src = op.tiles[0];
  const TileRef& dst = op.tiles[1];
  const int64_t dim = ir::int_attr(op.attrs, "dim", int64_t(src.region.size()) - 1);
  const DType to = context.kernel.tile(dst.tile).dtype;
  const DType dtype = kind == ReduceKind::sum ? accumulator_dtype(to) : to;
  const ir::TileId acc = context.fresh_scalar_tile("acc", dtype, op.def->name, loc);
  const Kernel& kernel = context.kernel;

  const std::vector<int> kept = dims_without(src, dim);
  const std::vector<Expr> vars = fresh_indices(context, kept.size());
  const Expr r = context.fresh_var("r");
  std::vector<int> src_dims = kept;
  std::vector<Expr> src_vars = vars;
  src_dims.push_back(int(dim));
  src_vars.push_back(r);
  const auto combine = [&](const Expr& x, const Expr& y) {
    return ir::binary(kind == ReduceKind::sum ? ir::ExprKind::add : ir::ExprKind::max, x, y, loc);
  };
  const auto set_acc = [&](Expr value) {
    return ir::make_stmt(ir::StoreStmt{.tile = acc, .indices = {}, .value = std::move(value)}, loc);
  };
  const std::vector<Expr> at = coordinates(dst, kept_dims(op, dim), vars);
  const Expr element = read(kernel, src, coordinates(src, src_dims, src_vars), dtype, loc);
  Block body;
  body.push_back(set_acc(clears(op) ? identity(kind, dtype, loc) : read(kernel, dst, at, dtype, loc)));
  body.push_back(
      serial(r, src.region[size_t(dim)].extent, {set_acc(combine(load_scalar(kernel, acc, loc), element))}, loc));
  body.push_back(write(kernel, dst, at, load_scalar(kernel, acc, loc), loc));
  std::vector<Expr> extents;
  for (int d : kept) extents.push_back(src.region[size_t(d)].extent);
  return nest(kernel, dst, vars, extents, std::move(body), loc);
}

Block expand_sum(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  return expand_reduce(ReduceKind::sum, op, context, loc);
}
Block expand_max(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  return expand_reduce(ReduceKind::max, op, context, loc);
}

}  // namespace

const ir::OpDef& reduce_op(ReduceKind kind) {
  static constexpr ir::OpDef kSum{.name = "reduce_sum",
                                  .num_tiles = 2,
                                  .num_scalars = 0,
                                  .verify = verify_reduce,
                                  .effects = reduce_effects,
                                  .expand = expand_sum};
  static constexpr ir::OpDef kMax{.name = "reduce_max",
                                  .num_tiles = 2,
                                  .num_scalars = 0,
                                  .verify = verify_reduce,
                                  .effects = reduce_effects,
                                  .expand = expand_max};
  return kind == ReduceKind::sum ? kSum : kMax;
}

Stmt make_reduce(ReduceKind kind, const Operand& src, const Operand& dst, int64_t dim, bool clear, const Kernel& kernel,
                 const Loc& loc) {
  const int64_t rank = kernel.tile(src.tile).rank();
  OpStmt op{.def = &reduce_op(kind), .tiles = {}, .scalars = {}, .attrs = {}};
  op.tiles = {resolve(src, kernel, op.def->name), resolve(dst, kernel, op.def->name)};
  op.attrs.emplace_back("dim", dim < 0 ? dim + rank : dim);
  if (!clear) op.attrs.emplace_back("clear", false);
  verify_reduce(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

}  // namespace tilewright::ops
