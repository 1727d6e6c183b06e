#include "passes/column_loops.h"

#include "ir/rewrite.h"
#include "ops/operand.h"
#include "passes/cpu_atoms.h"
#include "passes/row_loops.h"

#include <algorithm>

namespace tilewright::passes {

using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;
using ir::TileRef;

namespace {

void add_use(ColumnUses& uses, const Kernel& kernel, ir::TileId id, ColumnUse use) {
  // Columns of two views of one storage are not the same columns.
  use.by_column &= !has_views(kernel, id);
  const auto [it, is_new] = uses.try_emplace(storage_name(kernel, id), use);
  if (is_new) return;
  it->second.by_column = same_row(it->second, use);
  it->second.reads |= use.reads, it->second.writes |= use.writes;
}

// The uses of a nest over `column`; none where it may not be cut into chunks.
class NestUses : public ir::Visitor {
 public:
  NestUses(const Kernel& kernel, const Expr& column) : kernel_(kernel), column_(column) {}
  using Visitor::visit;

  void visit(const Stmt& stmt) override {
    allowed &= ir::get_if<ir::StoreStmt>(stmt) || ir::get_if<ir::LetStmt>(stmt) || ir::get_if<ir::IfStmt>(stmt);
    if (!allowed) return;
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) access(store->tile, store->indices, true);
    visit_parts(stmt);
  }
  void visit(const Expr& e) override {
    if (!e || !allowed) return;
    if (e.is(ExprKind::load)) access(e.tile_id(), e.args(), false);
    visit_args(e);
  }

  ColumnUses uses;
  bool allowed = true;

 private:
  bool is_column(const Expr& e) const { return e.is(ExprKind::var) && e.var_id() == column_.var_id(); }
  void access(ir::TileId id, std::span<const Expr> at, bool writes) {
    const Tile& tile = kernel_.tile(id);
    // What may fail must fail in order; a local tile is private to an iteration.
    if (may_fail(tile)) allowed = false;
    if (writes && tile.space == ir::Space::local) allowed = false;
    ColumnUse use{.reads = !writes, .writes = writes, .by_column = !at.empty() && is_column(at.back()), .row = {}};
    if (use.by_column) use.row.assign(at.begin(), at.end() - 1);
    add_use(uses, kernel_, id, std::move(use));
  }

  const Kernel& kernel_;
  const Expr column_;
};

// The coordinates of a region in front of its last dimension, which begins at 0; nothing where it is more than a row.
std::optional<std::vector<Expr>> row_of(const TileRef& ref) {
  if (ref.region.empty() || !ref.region.back().begin.is_int(0)) return std::nullopt;
  std::vector<Expr> row;
  for (size_t d = 0; d + 1 < ref.region.size(); ++d) {
    if (!ref.region[d].extent.is_int(1)) return std::nullopt;
    row.push_back(ref.region[d].begin);
  }
  return row;
}

std::optional<ColumnLoop> of_copy(const Stmt& stmt, const OpStmt& op, const Kernel& kernel) {
  const bool in = op.def == &cpu_copy_in();
  const TileRef &chip = op.tiles[in ? 1 : 0], &global = op.tiles[in ? 0 : 1];
  const std::optional<std::vector<Expr>> row = row_of(chip);
  const int last = int(global.region.size()) - 1;
  const bool along_rows = ops::wide_dims(global) == std::vector<int>{last};
  if (!row || !along_rows || ir::int_attr(op.attrs, "rows", 0) != 1 || !op.scalars[1].is_int(1)) return std::nullopt;
  ColumnLoop out{.stmt = stmt, .cols = ir::int_attr(op.attrs, "cols", 0)};
  add_use(out.uses, kernel, chip.tile, {.reads = !in, .writes = in, .by_column = true, .row = *row});
  add_use(out.uses, kernel, global.tile, {.reads = in, .writes = !in, .by_column = false, .row = {}});
  return out;
}

// Of a row whose storage goes on to the end of a line.
std::optional<ColumnLoop> of_reduction(const Stmt& stmt, const OpStmt& op, const Kernel& kernel) {
  const std::optional<std::vector<Expr>> row = row_of(op.tiles[0]);
  if (!row) return std::nullopt;
  if (ir::int_attr(op.attrs, "padded", 0) == 0) return std::nullopt;
  ColumnLoop out{.stmt = stmt, .cols = ir::int_attr(op.attrs, "n", 0)};
  add_use(out.uses, kernel, op.tiles[0].tile, {.reads = true, .by_column = true, .row = *row});
  add_use(out.uses, kernel, op.tiles[1].tile, {.reads = true, .writes = true, .by_column = false, .row = {}});
  return out;
}

}  // namespace

bool same_row(const ColumnUse& a, const ColumnUse& b) {
  return a.by_column && b.by_column && ir::equal(std::span<const Expr>(a.row), std::span<const Expr>(b.row));
}

std::optional<ColumnLoop> as_column_loop(const Stmt& stmt, const Kernel& kernel) {
  if (const auto* op = ir::get_if<OpStmt>(stmt)) {
    if (op->def == &cpu_copy_in() || op->def == &cpu_copy_out()) return of_copy(stmt, *op, kernel);
    if (op->def == &cpu_reduce_row()) return of_reduction(stmt, *op, kernel);
    if (op->def == &cpu_prefetch()) return ColumnLoop{.stmt = stmt, .cols = ir::int_attr(op->attrs, "cols", 0)};
    return std::nullopt;
  }
  const auto* loop = ir::get_if<ir::ForStmt>(stmt);
  if (loop == nullptr || loop->kind != ir::LoopKind::parallel || loop->dims.size() != 1) return std::nullopt;
  const ir::LoopDim& dim = loop->dims[0];
  if (!dim.begin.is_int(0) || dim.step != 1 || !dim.extent.as_int()) return std::nullopt;
  NestUses nest(kernel, dim.var);
  nest.visit(loop->body);
  if (!nest.allowed) return std::nullopt;
  return ColumnLoop{.stmt = stmt, .cols = *dim.extent.as_int(), .uses = std::move(nest.uses)};
}

}  // namespace tilewright::passes
