#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "layout/layout.h"
#include "ops/access.h"
#include "ops/operand.h"
#include "passes/cpu_atoms.h"
#include "passes/passes.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;

namespace {

// Bytes between a row and the one that is fetched while it is worked on: what a core has in flight from memory, twice.
constexpr int64_t kAheadBytes = 4096;
constexpr int64_t kLineBytes = 64;

// How some statements touch one tile. Tiles are known by name: checked and unchecked rows of the table share it.
struct Use {
  int reads = 0, writes = 0;
  bool by_row = true;    // every access is to the row of the loop's iteration
  bool checked = false;  // an access may fail at run time

  void add(const Use& other) {
    reads += other.reads, writes += other.writes;
    by_row &= other.by_row, checked |= other.checked;
  }
};
using Uses = std::map<std::string, Use>;

class FindUses : public ir::Visitor {
 public:
  // `row`: the variable that means the row; empty where there is none.
  FindUses(const Kernel& kernel, Expr row) : kernel_(kernel), row_(std::move(row)) {}
  using Visitor::visit;

  void visit(const Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
      add(store->tile, true, !store->indices.empty() && is_row(store->indices[0]), may_fail(store->tile));
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
    if (e.is(ExprKind::load)) add(e.tile_id(), false, !e.args().empty() && is_row(e.arg(0)), may_fail(e.tile_id()));
    visit_args(e);
  }
  Uses uses;

 private:
  bool is_row(const Expr& e) const { return row_ && e.is(ExprKind::var) && e.var_id() == row_.var_id(); }
  bool may_fail(ir::TileId id) const {
    const Tile& tile = kernel_.tile(id);
    return tile.on_chip() && tile.rank() > 0 && !tile.unchecked;
  }
  void add(ir::TileId id, bool writes, bool by_row, bool checked) {
    // Rows of two views of one storage are not the same rows.
    const ir::TileId storage = kernel_.storage_of(id);
    const bool viewed =
        std::any_of(kernel_.tiles.begin(), kernel_.tiles.end(), [&](const Tile& t) { return t.view_of == storage; });
    uses[kernel_.tile(storage).name].add(
        {.reads = !writes, .writes = writes, .by_row = by_row && !viewed, .checked = checked});
  }

  const Kernel& kernel_;
  const Expr row_;
};

// A statement as a loop over rows: what it does in the iteration `row`.
struct RowLoop {
  Stmt stmt;
  int64_t rows = 0;
  Expr row;
  Block body = {};
  Uses uses = {};
};

class RowFusion : public ir::Rewriter {
 public:
  RowFusion(Kernel& kernel, ir::VarId& next_var) : kernel_(kernel), next_var_(next_var) {
    FindUses all(kernel, {});
    all.visit(kernel.body);
    all_uses_ = std::move(all.uses);
  }
  using Rewriter::rewrite;

  Block rewrite(const Block& block) override;
  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop && loop->kind == ir::LoopKind::parallel) return out.push_back(stmt);
    ++depth_;
    Rewriter::rewrite(stmt, out);
    --depth_;
  }

 private:
  std::optional<RowLoop> as_row_loop(const Stmt& stmt) const;
  std::optional<RowLoop> row_of_copy(const Stmt& stmt, const OpStmt& op) const;
  std::optional<RowLoop> row_of_loop(const Stmt& stmt, const ir::ForStmt& loop) const;
  bool joins(const Uses& group, const Uses& more) const;
  bool shares_a_result(const std::vector<RowLoop>& group) const;
  bool continues(const Expr& begin, const Expr& row, int64_t rows) const;
  Block with_prefetches(const Block& body, const Expr& row, int64_t rows) const;
  std::optional<Stmt> prefetch_part(const Stmt& stmt, const Expr& row, int64_t rows, size_t part, size_t parts) const;
  void emit(std::vector<RowLoop>& group, const Uses& uses, Block& out);
  void keep_one_row(const Uses& uses);

  Kernel& kernel_;
  ir::VarId& next_var_;
  Uses all_uses_;  // of the whole kernel
  int depth_ = 0;
};

Expr fresh_row(ir::VarId& next_var, const Loc& loc) { return ir::var(next_var++, "row", ir::kIndex, loc); }

// A copy of several rows that begins at the first row of its on-chip tile.
std::optional<RowLoop> RowFusion::row_of_copy(const Stmt& stmt, const OpStmt& op) const {
  const bool in = op.def == &cpu_copy_in();
  if (!in && op.def != &cpu_copy_out()) return std::nullopt;
  const size_t chip = in ? 1 : 0, global = 1 - chip;
  const std::vector<int> chip_dims = ops::wide_dims(op.tiles[chip]), global_dims = ops::wide_dims(op.tiles[global]);
  if (chip_dims.size() != 2 || chip_dims[0] != 0 || !op.tiles[chip].region[0].begin.is_int(0)) return std::nullopt;
  RowLoop out{.stmt = stmt, .rows = ir::int_attr(op.attrs, "rows", 0), .row = fresh_row(next_var_, stmt->loc)};
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
std::optional<RowLoop> RowFusion::row_of_loop(const Stmt& stmt, const ir::ForStmt& loop) const {
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

// Jumps, and tiles that a parallel loop makes private, keep their loop.
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

std::optional<RowLoop> RowFusion::as_row_loop(const Stmt& stmt) const {
  std::optional<RowLoop> out;
  if (const auto* op = ir::get_if<OpStmt>(stmt)) out = row_of_copy(stmt, *op);
  if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) out = row_of_loop(stmt, *loop);
  if (!out || out->rows < 2) return std::nullopt;
  KeepsLoop keeps(kernel_);
  keeps.visit(out->body);
  FindUses find(kernel_, out->row);
  find.visit(out->body);
  out->uses = std::move(find.uses);
  const bool checked = std::any_of(out->uses.begin(), out->uses.end(), [](const auto& u) { return u.second.checked; });
  if (keeps.result || checked) return std::nullopt;
  return out;
}

// Running both row by row changes nothing: what either writes, both touch in the same row only. Of tensors, whose rows
// are not compared, one statement may write and none read.
bool RowFusion::joins(const Uses& group, const Uses& more) const {
  for (const auto& [name, use] : more) {
    const auto it = group.find(name);
    if (it == group.end() || use.writes + it->second.writes == 0) continue;
    const auto tile =
        std::find_if(kernel_.tiles.begin(), kernel_.tiles.end(), [&](const Tile& t) { return t.name == name; });
    if (!tile->on_chip() || !use.by_row || !it->second.by_row) return false;
  }
  return true;
}

// Some statement uses what another one made: else there is nothing to gain.
bool RowFusion::shares_a_result(const std::vector<RowLoop>& group) const {
  Uses before;
  for (const RowLoop& loop : group) {
    for (const auto& [name, use] : loop.uses) {
      if (before.contains(name) && before.at(name).writes > 0) return true;
    }
    for (const auto& [name, use] : loop.uses) before[name].add(use);
  }
  return false;
}

// A tile that no statement outside touches holds one row at a time.
void RowFusion::keep_one_row(const Uses& uses) {
  for (const auto& [name, use] : uses) {
    const Use& all = all_uses_.at(name);
    if (!use.by_row || use.reads != all.reads || use.writes != all.writes) continue;
    for (Tile& tile : kernel_.tiles) {
      if (tile.name != name || !tile.on_chip() || tile.rank() == 0) continue;
      const std::vector<int64_t> extents = tile.extents();
      std::vector<int64_t> strides;
      for (size_t d = 0; d < extents.size(); ++d) strides.push_back(layout::stride_of(*tile.layout, d));
      strides[0] = 0;
      tile.layout = layout::strided(extents, strides);
    }
  }
}

// Whether the next block begins, in one dimension of a region, where the rows of this one end.
bool RowFusion::continues(const Expr& begin, const Expr& row, int64_t rows) const {
  const Expr& block = kernel_.block_vars[0];
  const std::vector<Expr> from = {block, row}, to = {block + 1, row - rows};
  return depth_ == 0 && ir::equal(ir::simplify(ir::substitute(begin, from, to), {}), ir::simplify(begin, {}));
}

// A share of the lines of a row some rows after the one that `stmt` copies in. All at once would fill the buffers for
// misses and stop the row's own work.
std::optional<Stmt> RowFusion::prefetch_part(const Stmt& stmt, const Expr& row, int64_t rows, size_t part,
                                             size_t parts) const {
  const auto* op = ir::get_if<OpStmt>(stmt);
  if (op == nullptr || op->def != &cpu_copy_in() || !op->scalars[1].is_int(1)) return std::nullopt;
  const int64_t elem_bytes = bytes_of(kernel_.tile(op->tiles[0].tile).dtype);
  const int64_t row_bytes = std::max<int64_t>(1, ir::int_attr(op->attrs, "cols", 1) * elem_bytes);
  const int64_t lines = (row_bytes + kLineBytes - 1) / kLineBytes, count = int64_t(parts);
  const int64_t first = lines * int64_t(part) / count, last = lines * int64_t(part + 1) / count;
  if (first == last) return std::nullopt;
  const int64_t rows_ahead = std::max<int64_t>(1, kAheadBytes / row_bytes);
  Expr distance = op->scalars[0] * rows_ahead;
  const ir::Region& region = op->tiles[0].region;
  const bool follows =
      std::all_of(region.begin(), region.end(), [&](const ir::RegionDim& d) { return continues(d.begin, row, rows); });
  if (!follows && rows_ahead >= rows) return std::nullopt;
  // Else the last rows of a block fetch nothing new.
  if (!follows) distance = ir::select(ir::lt(row + rows_ahead, ir::int_imm(rows)), distance, ir::int_imm(0));
  OpStmt fetch{.def = &cpu_prefetch(), .tiles = {op->tiles[0]}, .scalars = {}, .attrs = {{"lines", last - first}}};
  fetch.scalars = {distance + first * kLineBytes / elem_bytes};
  return ir::make_stmt(std::move(fetch), stmt->loc);
}

// The statements of a row, with its prefetches spread between them.
Block RowFusion::with_prefetches(const Block& body, const Expr& row, int64_t rows) const {
  Block out;
  for (size_t part = 0; part < body.size(); ++part) {
    for (const Stmt& stmt : body) {
      const std::optional<Stmt> fetch = prefetch_part(stmt, row, rows, part, body.size());
      if (fetch) out.push_back(*fetch);
    }
    out.push_back(body[part]);
  }
  return out;
}

void RowFusion::emit(std::vector<RowLoop>& group, const Uses& uses, Block& out) {
  if (group.size() < 2 || !shares_a_result(group)) {
    for (const RowLoop& loop : group) rewrite(loop.stmt, out);
    group.clear();
    return;
  }
  const Loc& loc = group[0].stmt->loc;
  const Expr row = fresh_row(next_var_, loc);
  const std::vector<Expr> to = {row};
  Block body;
  for (const RowLoop& loop : group) {
    const std::vector<Expr> from = {loop.row};
    const Block part = ir::substitute(loop.body, from, to);
    body.insert(body.end(), part.begin(), part.end());
  }
  // In a loop of the kernel a row may stay from one iteration to the next.
  if (depth_ == 0) keep_one_row(uses);
  const int64_t rows = group[0].rows;
  out.push_back(ops::serial(row, ir::int_imm(rows), with_prefetches(body, row, rows), loc));
  group.clear();
}

Block RowFusion::rewrite(const Block& block) {
  Block out;
  std::vector<RowLoop> group;
  Uses uses;
  for (const Stmt& stmt : block) {
    std::optional<RowLoop> loop = as_row_loop(stmt);
    const bool follows = loop && !group.empty() && loop->rows == group[0].rows && joins(uses, loop->uses);
    if (!follows) {
      emit(group, uses, out);
      uses.clear();
    }
    if (!loop) {
      rewrite(stmt, out);
      continue;
    }
    for (const auto& [name, use] : loop->uses) uses[name].add(use);
    group.push_back(std::move(*loop));
  }
  emit(group, uses, out);
  return out;
}

}  // namespace

ir::Program fuse_rows(const ir::Program& program) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Block body = kernel.body;
    kernel.body = RowFusion(kernel, out.next_var).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
