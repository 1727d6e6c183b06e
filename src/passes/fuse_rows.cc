#include "ir/bounds.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "layout/layout.h"
#include "ops/access.h"
#include "passes/cpu_atoms.h"
#include "passes/cpu_storage.h"
#include "passes/passes.h"
#include "passes/row_loops.h"

#include <algorithm>
#include <optional>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;
using ir::TileRef;

namespace {

// Bytes between a row and the one that is fetched while it is worked on: what a core has in flight from memory, twice.
constexpr int64_t kAheadBytes = 4096;
// Of a kernel's row tiles on a thread's stack: several rows of a few thousand elements, a small part of any stack.
constexpr int64_t kMaxVariableBytes = 64 << 10;

class RowFusion : public ir::Rewriter {
 public:
  RowFusion(Kernel& kernel, ir::VarId& next_var) : kernel_(kernel), next_var_(next_var) {
    all_uses_ = row_uses(kernel.body, kernel, {});
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
  bool joins(const RowUses& group, const RowUses& more) const;
  bool shares_a_result(const std::vector<RowLoop>& group) const;
  bool leaves_no_trace(const std::vector<RowLoop>& group) const;
  Expr end_with_tensors(const std::vector<RowLoop>& group, const Expr& row, Block& body) const;
  bool continues(const Expr& begin, const Expr& row, int64_t rows) const;
  Block with_prefetches(const Block& body, const Expr& row, int64_t rows) const;
  std::optional<Stmt> prefetch(const Stmt& stmt, const Expr& row, int64_t rows, bool next) const;
  void emit(std::vector<RowLoop>& group, const RowUses& uses, Block& out);
  void keep_one_row(const RowUses& uses, Block& body, const Loc& loc);

  Kernel& kernel_;
  ir::VarId& next_var_;
  RowUses all_uses_;  // of the whole kernel
  int64_t variable_bytes_ = 0;
  int depth_ = 0;
};

// Running both row by row changes nothing: what either writes, both touch in the same row only. Of tensors, whose rows
// are not compared, one statement may write and none read.
bool RowFusion::joins(const RowUses& group, const RowUses& more) const {
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
  RowUses before;
  for (const RowLoop& loop : group) {
    for (const auto& [name, use] : loop.uses) {
      if (before.contains(name) && before.at(name).writes > 0) return true;
    }
    for (const auto& [name, use] : loop.uses) before[name].add(use);
  }
  return false;
}

// A tile that no statement outside touches holds one row at a time; a small one in a variable of the row's own.
void RowFusion::keep_one_row(const RowUses& uses, Block& body, const Loc& loc) {
  for (const auto& [name, use] : uses) {
    const RowUse& all = all_uses_.at(name);
    if (!use.by_row || use.reads != all.reads || use.writes != all.writes) continue;
    ir::TileId first = -1;
    for (size_t id = kernel_.tiles.size(); id-- > 0;) {
      Tile& tile = kernel_.tiles[id];
      if (tile.name != name || !tile.on_chip() || tile.rank() == 0) continue;
      const std::vector<int64_t> extents = tile.extents();
      std::vector<int64_t> strides;
      for (size_t d = 0; d < extents.size(); ++d) strides.push_back(layout::stride_of(*tile.layout, d));
      strides[0] = 0;
      tile.layout = layout::strided(extents, strides);
      first = ir::TileId(id);
    }
    if (first < 0) continue;
    const Tile& tile = kernel_.tile(first);
    const int64_t bytes = storage_bytes(tile);
    if (variable_bytes_ + bytes > kMaxVariableBytes) continue;
    variable_bytes_ += bytes;
    TileRef whole{.tile = first, .region = {}, .slot = {}};
    for (const Expr& extent : tile.shape) whole.region.push_back({.begin = ir::int_imm(0), .extent = extent});
    OpStmt own{.def = &cpu_row_tile(), .tiles = {whole}, .scalars = {}, .attrs = {}};
    body.insert(body.begin(), ir::make_stmt(std::move(own), loc));
  }
}

// Whether the next block begins, in one dimension of a region, where the rows of this one end.
bool RowFusion::continues(const Expr& begin, const Expr& row, int64_t rows) const {
  const Expr& block = kernel_.block_vars[0];
  const std::vector<Expr> from = {block, row}, to = {block + 1, row - rows};
  return depth_ == 0 && ir::equal(ir::simplify(ir::substitute(begin, from, to), {}), ir::simplify(begin, {}));
}

// Fetches the row some rows after the one that `stmt` copies in: one that lies kAheadBytes away, into the second-level
// cache, or the `next` one into the first.
std::optional<Stmt> RowFusion::prefetch(const Stmt& stmt, const Expr& row, int64_t rows, bool next) const {
  const auto* op = ir::get_if<OpStmt>(stmt);
  if (op == nullptr || op->def != &cpu_copy_in() || !op->scalars[1].is_int(1)) return std::nullopt;
  const ir::Region& region = op->tiles[0].region;
  const int64_t cols = ir::int_attr(op->attrs, "cols", 0);
  const int64_t row_bytes = std::max<int64_t>(1, cols * bytes_of(kernel_.tile(op->tiles[0].tile).dtype));
  const int64_t rows_ahead = next ? 1 : std::max<int64_t>(1, kAheadBytes / row_bytes);
  Expr distance = op->scalars[0] * rows_ahead;
  const bool follows =
      std::all_of(region.begin(), region.end(), [&](const ir::RegionDim& d) { return continues(d.begin, row, rows); });
  if (!follows && rows_ahead >= rows) return std::nullopt;
  // Else the last rows of a block fetch nothing new.
  if (!follows) distance = ir::select(ir::lt(row + rows_ahead, ir::int_imm(rows)), distance, ir::int_imm(0));
  OpStmt fetch{.def = &cpu_prefetch(), .tiles = {op->tiles[0]}, .scalars = {distance}, .attrs = {}};
  fetch.attrs = {{"cols", cols}, {"level", int64_t(next ? 1 : 2)}};
  return ir::make_stmt(std::move(fetch), stmt->loc);
}

// The statements of a row with a prefetch for each copy into it. Where rows are only read, the processor's own
// prefetchers, which stop at the end of a page, leave a third of the speed: a row far ahead. Where rows are written
// too, the buffers for misses are full while rows are copied; the next row is for the time in between (fuse_columns).
Block RowFusion::with_prefetches(const Block& body, const Expr& row, int64_t rows) const {
  const bool writes = std::any_of(body.begin(), body.end(), is_copy_out);
  Block out;
  for (const Stmt& stmt : body) {
    if (const std::optional<Stmt> fetch = prefetch(stmt, row, rows, writes)) out.push_back(*fetch);
    out.push_back(stmt);
  }
  return out;
}

// Whether an iteration whose copies find nothing inside their tensors leaves no trace: it writes only tiles of one row.
bool RowFusion::leaves_no_trace(const std::vector<RowLoop>& group) const {
  for (const RowLoop& loop : group) {
    if (is_copy_out(loop.stmt)) continue;
    for (const auto& [name, use] : loop.uses) {
      const auto tile =
          std::find_if(kernel_.tiles.begin(), kernel_.tiles.end(), [&](const Tile& t) { return t.name == name; });
      const bool one_row = tile->on_chip() && tile->rank() > 0 && layout::stride_of(*tile->layout, 0) == 0;
      if (use.writes > 0 && !one_row) return false;
    }
  }
  return true;
}

// How many rows the loop has when it ends with the tensors, where that is allowed; its copies check no row then.
Expr RowFusion::end_with_tensors(const std::vector<RowLoop>& group, const Expr& row, Block& body) const {
  const Expr all = ir::int_imm(group[0].rows);
  Expr inside;
  for (const Stmt& stmt : body) {
    if (!is_copy_atom(stmt)) continue;
    const auto& copy = *ir::get_if<OpStmt>(stmt);
    const Expr rows = ir::simplify(copy.scalars[2] + row, {});
    // Loops that the author wrote hold copies of several rows, and others whose count is not that of the loop.
    const bool one_row = ir::int_attr(copy.attrs, "rows", 0) == 1 && !ir::mentions(rows, row.var_id());
    if (!one_row || (inside && !ir::equal(inside, rows))) return all;
    inside = rows;
  }
  const bool whole = inside && inside.as_int().value_or(0) >= group[0].rows;
  if (!inside || !(whole || leaves_no_trace(group))) return all;
  for (Stmt& stmt : body) {
    if (!is_copy_atom(stmt)) continue;
    OpStmt op = *ir::get_if<OpStmt>(stmt);
    op.scalars[2] = ir::int_imm(1);
    stmt = ir::make_stmt(std::move(op), stmt->loc);
  }
  return whole ? all : ir::binary(ExprKind::min, inside, all);
}

void RowFusion::emit(std::vector<RowLoop>& group, const RowUses& uses, Block& out) {
  if (group.size() < 2 || !shares_a_result(group)) {
    for (const RowLoop& loop : group) rewrite(loop.stmt, out);
    group.clear();
    return;
  }
  const Loc& loc = group[0].stmt->loc;
  const Expr row = ir::var(next_var_++, "row", ir::kIndex, loc);
  const std::vector<Expr> to = {row};
  Block body;
  for (const RowLoop& loop : group) {
    const std::vector<Expr> from = {loop.row};
    const Block part = ir::substitute(loop.body, from, to);
    body.insert(body.end(), part.begin(), part.end());
  }
  const int64_t rows = group[0].rows;
  body = with_prefetches(body, row, rows);
  // In a loop of the kernel a row may stay from one iteration to the next.
  if (depth_ == 0) keep_one_row(uses, body, loc);
  const Expr count = end_with_tensors(group, row, body);
  out.push_back(ops::serial(row, count, std::move(body), loc));
  group.clear();
}

Block RowFusion::rewrite(const Block& block) {
  Block out;
  std::vector<RowLoop> group;
  RowUses uses;
  for (const Stmt& stmt : block) {
    std::optional<RowLoop> loop = as_row_loop(stmt, kernel_, next_var_);
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
