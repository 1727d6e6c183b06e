#include "ops/gather.h"

#include "ops/access.h"
#include "support/error.h"

#include <numeric>

namespace tilewright::ops {

using ir::Block;
using ir::ExpandContext;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;
using ir::TileRef;

namespace {

// The one dimension of an index vector that may be wide.
int vector_dim(const TileRef& index) {
  const std::vector<int> wide = wide_dims(index);
  return wide.empty() ? int(index.region.size()) - 1 : wide[0];
}

void verify_index(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const TileRef& index = op.tiles[1];
  const Tile& tile = kernel.tile(index.tile);
  if (!is_integer(tile.dtype)) {
    throw with_declarations(invalid_kernel(loc, "gather: the indices {} are {}", tile.name, to_string(tile.dtype)),
                            kernel, {index.tile})
        .hint("indices are integers");
  }
  if (!index.region.empty() && wide_dims(index).size() <= 1) return;
  throw with_declarations(invalid_kernel(loc, "gather: the indices {} are no vector", tile.name), kernel, {index.tile})
      .hint("slice them so that one dimension is left; T::reshape makes a matrix a vector");
}

void verify_gather(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const TileRef &src = op.tiles[0], &index = op.tiles[1], &dst = op.tiles[2];
  const Tile &from = kernel.tile(src.tile), &to = kernel.tile(dst.tile);
  verify_index(op, kernel, loc);
  check_distinct("gather", src, dst, kernel, loc);
  check_distinct("gather", index, dst, kernel, loc);
  if (src.region.empty() || src.region.size() != dst.region.size()) {
    throw with_declarations(invalid_kernel(loc, "gather: {} has {} dimensions but {} has {}", from.name,
                                           src.region.size(), to.name, dst.region.size()),
                            kernel, {src.tile, dst.tile})
        .hint("[n, ...] by [m] indices gives [m, ...]");
  }
  if (!src.region[0].begin.is_int(0) || !ir::equal(src.region[0].extent, from.shape[0])) {
    throw with_declarations(invalid_kernel(loc, "gather: a part of the first dimension of {} is given", from.name),
                            kernel, {src.tile})
        .hint("give all of it; the indices choose");
  }
  const auto check_extent = [&](const Expr& wanted, size_t d) {
    if (ir::equal(wanted, dst.region[d].extent)) return;
    const auto text = [](const Expr& e) { return e.as_int() ? fmt::format("{}", *e.as_int()) : std::string("?"); };
    throw with_declarations(invalid_kernel(loc, "gather: dimension {} of {} is {} but must be {}", d, to.name,
                                           text(dst.region[d].extent), text(wanted)),
                            kernel, {src.tile, index.tile, dst.tile})
        .hint("[n, ...] by [m] indices gives [m, ...]");
  };
  check_extent(index.region[size_t(vector_dim(index))].extent, 0);
  for (size_t d = 1; d < src.region.size(); ++d) check_extent(src.region[d].extent, d);
}

std::vector<ir::Access> gather_effects(const OpStmt& op, const Kernel&) {
  return {{.ref = op.tiles[0], .mode = ir::Mode::read},
          {.ref = op.tiles[1], .mode = ir::Mode::read},
          {.ref = op.tiles[2], .mode = ir::Mode::write}};
}

Block expand_gather(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const TileRef &src = op.tiles[0], &index = op.tiles[1], &dst = op.tiles[2];
  const Kernel& kernel = context.kernel;
  std::vector<int> dims(dst.region.size());
  std::iota(dims.begin(), dims.end(), 0);
  const std::vector<Expr> vars = fresh_indices(context, dims.size());
  Expr row =
      read(kernel, index, coordinates(index, {vector_dim(index)}, {vars[0]}), kernel.tile(index.tile).dtype, loc);
  // Only a u64 above all i64 could wrap into the range; it is outside every extent.
  if (row.dtype() == DType::u64) row = ir::binary(ir::ExprKind::min, row, ir::int_imm(INT64_MAX, DType::u64), loc);
  std::vector<Expr> from = vars;
  from[0] = ir::cast(row, ir::kIndex, loc);
  const Expr value = read(kernel, src, coordinates(src, dims, from), kernel.tile(dst.tile).dtype, loc);
  const Stmt store = write(kernel, dst, coordinates(dst, dims, vars), value, loc);
  return nest(kernel, dst, vars, extents_of(dst, dims), {store}, loc);
}

}  // namespace

const ir::OpDef& gather_op() {
  static constexpr ir::OpDef kOp{.name = "gather",
                                 .num_tiles = 3,
                                 .num_scalars = 0,
                                 .verify = verify_gather,
                                 .effects = gather_effects,
                                 .expand = expand_gather};
  return kOp;
}

Stmt make_gather(const Operand& src, const Operand& index, const Operand& dst, const Kernel& kernel, const Loc& loc) {
  OpStmt op{.def = &gather_op(),
            .tiles = {resolve(src, kernel, "gather"), resolve(index, kernel, "gather"), resolve(dst, kernel, "gather")},
            .scalars = {},
            .attrs = {}};
  // A head address of dst has the extents that the others give.
  if (dst.head_address() && op.tiles[0].region.size() == op.tiles[2].region.size()) {
    for (size_t d = 0; d < op.tiles[2].region.size(); ++d) {
      const TileRef& index_ref = op.tiles[1];
      op.tiles[2].region[d].extent = d > 0 ? op.tiles[0].region[d].extent
                                     : index_ref.region.empty()
                                         ? ir::int_imm(1)
                                         : index_ref.region[size_t(vector_dim(index_ref))].extent;
    }
  }
  verify_gather(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

}  // namespace tilewright::ops
