#include "ops/transpose.h"

#include "ops/access.h"
#include "support/error.h"

#include <utility>

namespace tilewright::ops {

using ir::Block;
using ir::ExpandContext;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::TileRef;

namespace {

// The dimensions that a nest runs over: leading ones that are wide, and always the last two.
std::vector<int> nest_dims(const TileRef& ref) {
  const int rank = int(ref.region.size());
  std::vector<int> dims;
  for (int d : wide_dims(ref)) {
    if (d < rank - 2) dims.push_back(d);
  }
  dims.push_back(rank - 2);
  dims.push_back(rank - 1);
  return dims;
}

std::string extents_text(const std::vector<Expr>& extents) {
  std::string out = "[";
  for (const Expr& e : extents) {
    out += (out.size() > 1 ? ", " : "") + (e.as_int() ? fmt::format("{}", *e.as_int()) : std::string("?"));
  }
  return out + "]";
}

void verify_transpose(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  for (const TileRef& ref : op.tiles) {
    if (ref.region.size() >= 2) continue;
    throw with_declarations(
        invalid_kernel(loc, "transpose: {} has {} dimensions", kernel.tile(ref.tile).name, ref.region.size()), kernel,
        {ref.tile})
        .hint("transpose exchanges the last two dimensions; T::reshape gives a vector a second one");
  }
  check_distinct("transpose", src, dst, kernel, loc);
  std::vector<Expr> from = extents_of(src, nest_dims(src));
  const std::vector<Expr> to = extents_of(dst, nest_dims(dst));
  std::swap(from[from.size() - 1], from[from.size() - 2]);
  if (ir::equal(from, to)) return;
  throw with_declarations(invalid_kernel(loc, "transpose: {} transposed is {} but {} is {}", kernel.tile(src.tile).name,
                                         extents_text(from), kernel.tile(dst.tile).name, extents_text(to)),
                          kernel, {src.tile, dst.tile})
      .hint("[..., m, n] becomes [..., n, m]; leading dimensions stay");
}

std::vector<ir::Access> transpose_effects(const OpStmt& op, const Kernel&) {
  return {{.ref = op.tiles[0], .mode = ir::Mode::read}, {.ref = op.tiles[1], .mode = ir::Mode::write}};
}

Block expand_transpose(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const std::vector<int> dims = nest_dims(dst);
  const std::vector<Expr> vars = fresh_indices(context, dims.size());
  std::vector<Expr> swapped = vars;
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  const DType dtype = context.kernel.tile(dst.tile).dtype;
  const Expr value = read(context.kernel, src, coordinates(src, nest_dims(src), swapped), dtype, loc);
  const Stmt store = write(context.kernel, dst, coordinates(dst, dims, vars), value, loc);
  return nest(context.kernel, dst, vars, extents_of(dst, dims), {store}, loc);
}

}  // namespace

const ir::OpDef& transpose_op() {
  static constexpr ir::OpDef kOp{.name = "transpose",
                                 .num_tiles = 2,
                                 .num_scalars = 0,
                                 .verify = verify_transpose,
                                 .effects = transpose_effects,
                                 .expand = expand_transpose};
  return kOp;
}

Stmt make_transpose(const Operand& src, const Operand& dst, const Kernel& kernel, const Loc& loc) {
  Pair pair = resolve_pair(src, dst, kernel, "transpose");
  // A head address took the other side's extents as they are.
  const bool one_head = src.head_address() != dst.head_address();
  ir::Region& head = (src.head_address() ? pair.first : pair.second).region;
  if (one_head && head.size() >= 2) std::swap(head[head.size() - 1].extent, head[head.size() - 2].extent);
  OpStmt op{
      .def = &transpose_op(), .tiles = {std::move(pair.first), std::move(pair.second)}, .scalars = {}, .attrs = {}};
  verify_transpose(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

}  // namespace tilewright::ops
