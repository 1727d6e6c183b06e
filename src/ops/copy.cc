#include "ops/copy.h"

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
using ir::Tile;
using ir::TileRef;

namespace {

void verify_copy(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  check_distinct("copy", op.tiles[0], op.tiles[1], kernel, loc);
  check_same_extents("copy", op.tiles[0], op.tiles[1], kernel, loc);
}

std::vector<Access> copy_effects(const OpStmt& op, const Kernel&) {
  return {{.ref = op.tiles[0], .mode = Mode::read}, {.ref = op.tiles[1], .mode = Mode::write}};
}

Block expand_copy(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const TileRef& src = op.tiles[0];
  const TileRef& dst = op.tiles[1];
  const std::vector<int> dst_dims = wide_dims(dst);
  const std::vector<Expr> vars = fresh_indices(context, dst_dims.size());
  const DType dtype = context.kernel.tile(dst.tile).dtype;
  const Expr value = read(context.kernel, src, coordinates(src, wide_dims(src), vars), dtype, loc);
  const Stmt store = write(context.kernel, dst, coordinates(dst, dst_dims, vars), value, loc);
  return nest(context.kernel, dst, vars, extents_of(dst, dst_dims), {store}, loc);
}

void verify_fill(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const Tile& tile = kernel.tile(op.tiles[0].tile);
  if (op.scalars[0].dtype() == tile.dtype) return;
  throw with_declarations(invalid_kernel(loc, "fill: the value has dtype {} but {} holds {}",
                                         to_string(op.scalars[0].dtype()), tile.name, to_string(tile.dtype)),
                          kernel, {op.tiles[0].tile});
}

std::vector<Access> fill_effects(const OpStmt& op, const Kernel&) {
  return {{.ref = op.tiles[0], .mode = Mode::write}};
}

Block expand_fill(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const TileRef& dst = op.tiles[0];
  const std::vector<int> dims = wide_dims(dst);
  const std::vector<Expr> vars = fresh_indices(context, dims.size());
  Block out;
  const Expr value = once(context, op.scalars[0], out, loc);
  const Stmt store = write(context.kernel, dst, coordinates(dst, dims, vars), value, loc);
  for (Stmt& s : nest(context.kernel, dst, vars, extents_of(dst, dims), {store}, loc)) out.push_back(std::move(s));
  return out;
}

}  // namespace

const ir::OpDef& copy_op() {
  static constexpr ir::OpDef kOp{.name = "copy",
                                 .num_tiles = 2,
                                 .num_scalars = 0,
                                 .verify = verify_copy,
                                 .effects = copy_effects,
                                 .expand = expand_copy};
  return kOp;
}

const ir::OpDef& fill_op() {
  static constexpr ir::OpDef kOp{.name = "fill",
                                 .num_tiles = 1,
                                 .num_scalars = 1,
                                 .verify = verify_fill,
                                 .effects = fill_effects,
                                 .expand = expand_fill};
  return kOp;
}

Stmt make_copy(const Operand& src, const Operand& dst, const Kernel& kernel, const Loc& loc) {
  Pair pair = resolve_pair(src, dst, kernel, "copy");
  OpStmt op{.def = &copy_op(), .tiles = {std::move(pair.first), std::move(pair.second)}, .scalars = {}, .attrs = {}};
  verify_copy(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

Stmt make_fill(const Operand& dst, Expr value, const Kernel& kernel, const Loc& loc) {
  value = ir::cast(std::move(value), kernel.tile(dst.tile).dtype, loc);
  OpStmt op{.def = &fill_op(), .tiles = {resolve(dst, kernel, "fill")}, .scalars = {std::move(value)}, .attrs = {}};
  return ir::make_stmt(std::move(op), loc);
}

}  // namespace tilewright::ops
