#include "passes/row_loops.h"

#include "ir/rewrite.h"
#include "ops/operand.h"
#include "passes/cpu_atoms.h"

#include <algorithm>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;

namespace {

class FindUses : public ir::Visitor {
 public:
  FindUses(const Kernel& kernel, Expr row) : kernel_(kernel), row_(std::move(row)) {}
  using Visitor::visit;

  void visit(const Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
      add(store->tile, true, !store->indices.empty() && is_row(store->indices[0]), may_fail(kernel_.tile(store->tile)));
    }
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
      const bool by_row = !atomic->indices.empty() && is_row(atomic->indices[0]);
      for (const bool writes : {false, true}) add(atomic->tile, writes, by_row, may_fail(kernel_.tile(atomic->tile)));
    }
    if (const auto* op = ir::get_if<OpStmt>(stmt)) {
      for (const ir::Access& access : op->def->effects(*op, kernel_)) {
        const ir::Region& region = access.ref.region;
        const bool by_row = !region.empty() && is_row(region[0].begin) && region[0].extent.is_int(1);
        if (access.mode != ir::Mode::write) add(access.ref.tile, false, by_row, false);
        if (access.mode != ir::Mode::read) add(access.ref.tile, true, by_row, false);
      }
    }
    visit_parts(stmt);
  }
  void visit(const Expr& e) override {
    if (!e) return;
    if (e.is(ExprKind::load))
      add(e.tile_id(), false, !e.args().empty() && is_row(e.arg(0)), may_fail(kernel_.tile(e.tile_id())));
    visit_args(e);
  }
  RowUses uses;

 private:
  bool is_row(const Expr& e) const { return row_ && e.is(ExprKind::var) && e.var_id() == row_.var_id(); }
  void add(ir::TileId id, bool writes, bool by_row, bool checked) {
    // Rows of two views of one storage are not the same rows.
    const bool same = by_row && !has_views(kernel_, id);
    uses[storage_name(kernel_, id)].add({.reads = !writes, .writes = writes, .by_row = same, .checked = checked});
  }

  const Kernel& kernel_;
  const Expr row_;
};

// A copy of several rows that begins at the first row of its on-chip tile.
std::optional<RowLoop> row_of_copy(const Stmt& stmt, const OpStmt& op, ir::VarId& next_var) {
  const bool in = op.def == &cpu_copy_in();
  if (!in && op.def != &cpu_copy_out()) return std::nullopt;
  const size_t chip = in ? 1 : 0, global = 1 - chip;
  const std::vector<int> chip_dims = ops::wide_dims(op.tiles[chip]), global_dims = ops::wide_dims(op.tiles[global]);
  if (chip_dims.size() != 2 || chip_dims[0] != 0 || !op.tiles[chip].region[0].begin.is_int(0)) return std::nullopt;
  RowLoop out{.stmt = stmt,
              .rows = ir::int_attr(op.attrs, "rows", 0),
              .row = ir::var(next_var++, "row", ir::kIndex, stmt->loc)};
  OpStmt row = op;
  ir::RegionDim& from = row.tiles[chip].region[0];
  from = {.begin = out.row, .extent = ir::int_imm(1)};
  ir::RegionDim& to = row.tiles[global].region[size_t(global_dims[0])];
  to = {.begin = to.begin + out.row, .extent = ir::int_imm(1)};
  row.scalars[2] = op.scalars[2] - out.row;
  for (auto& [name, value] : row.attrs) {
    if (name == "rows") value = int64_t(1);
  }
  out.body = {ir::make_stmt(std::move(row), stmt->loc)};
  return out;
}

// A nest whose first dimension counts rows, or the loop around reductions of rows.
std::optional<RowLoop> row_of_loop(const Stmt& stmt, const ir::ForStmt& loop) {
  const ir::LoopDim& first = loop.dims[0];
  const bool plain = first.begin.is_int(0) && first.step == 1 && first.extent.as_int();
  const bool known = loop.kind == ir::LoopKind::parallel || loop.kind == ir::LoopKind::serial;
  if (!plain || !known) return std::nullopt;
  RowLoop out{.stmt = stmt, .rows = *first.extent.as_int(), .row = first.var, .body = loop.body};
  if (loop.dims.size() > 1) {
    ir::ForStmt rest = loop;
    rest.dims.erase(rest.dims.begin());
    out.body = {ir::make_stmt(std::move(rest), stmt->loc)};
  }
  return out;
}

// Jumps, atomics, reports, and tiles that a parallel loop makes private, keep their loop.
class KeepsLoop : public ir::Visitor {
 public:
  explicit KeepsLoop(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    const auto* store = ir::get_if<ir::StoreStmt>(stmt);
    // Reports come in the order of the program.
    const auto* op = ir::get_if<OpStmt>(stmt);
    const bool plain = ir::get_if<ir::ForStmt>(stmt) || ir::get_if<ir::IfStmt>(stmt) || ir::get_if<ir::LetStmt>(stmt) ||
                       (op && !op->def->reports) || store;
    if (!plain || (store && kernel_.tile(store->tile).space == ir::Space::local)) result = true;
    visit_parts(stmt);
  }
  bool result = false;

 private:
  const Kernel& kernel_;
};

}  // namespace

const std::string& storage_name(const Kernel& kernel, ir::TileId id) { return kernel.tile(kernel.storage_of(id)).name; }

bool has_views(const Kernel& kernel, ir::TileId id) {
  const std::string& name = storage_name(kernel, id);
  return std::any_of(kernel.tiles.begin(), kernel.tiles.end(),
                     [&](const Tile& t) { return t.view_of >= 0 && kernel.tile(t.view_of).name == name; });
}

void RowUse::add(const RowUse& other) {
  reads += other.reads, writes += other.writes;
  by_row &= other.by_row, checked |= other.checked;
}

RowUses row_uses(const Block& block, const Kernel& kernel, const Expr& row) {
  FindUses find(kernel, row);
  find.visit(block);
  return std::move(find.uses);
}

std::optional<RowLoop> as_row_loop(const Stmt& stmt, const Kernel& kernel, ir::VarId& next_var) {
  std::optional<RowLoop> out;
  if (const auto* op = ir::get_if<OpStmt>(stmt)) out = row_of_copy(stmt, *op, next_var);
  if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) out = row_of_loop(stmt, *loop);
  if (!out || out->rows < 2) return std::nullopt;
  KeepsLoop keeps(kernel);
  keeps.visit(out->body);
  out->uses = row_uses(out->body, kernel, out->row);
  const bool checked = std::any_of(out->uses.begin(), out->uses.end(), [](const auto& u) { return u.second.checked; });
  if (keeps.result || checked) return std::nullopt;
  return out;
}

bool is_copy_atom(const Stmt& stmt) {
  const auto* op = ir::get_if<OpStmt>(stmt);
  return (op && op->def == &cpu_copy_in()) || is_copy_out(stmt);
}

bool is_copy_out(const Stmt& stmt) {
  const auto* op = ir::get_if<OpStmt>(stmt);
  return op && op->def == &cpu_copy_out();
}

bool may_fail(const Tile& tile) { return tile.on_chip() && tile.rank() > 0 && !tile.unchecked; }

}  // namespace tilewright::passes
