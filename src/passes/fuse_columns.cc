#include "ir/rewrite.h"
#include "ops/access.h"
#include "passes/chunk_tiles.h"
#include "passes/column_loops.h"
#include "passes/cpu_atoms.h"
#include "passes/cpu_storage.h"
#include "passes/passes.h"
#include "passes/row_loops.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;
using ir::TileRef;

namespace {

// Of rows with a gap between them: the lines that they begin and end in are not whole, and cost as much as many that
// are.
constexpr int64_t kLeastRaggedBytes = 1024;

class ColumnFusion : public ir::Rewriter {
 public:
  ColumnFusion(Kernel& kernel, const CpuTarget& target, ir::VarId& next_var)
      : kernel_(kernel),
        uses_(row_uses(kernel.body, kernel, {})),
        chunk_(target.vector_bytes()),
        stream_bytes_(target.stream_bytes),
        next_var_(next_var) {}
  using Rewriter::rewrite;

  Block rewrite(const Block& block) override;
  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop && loop->kind == ir::LoopKind::parallel) return out.push_back(stmt);
    Rewriter::rewrite(stmt, out);
  }

 private:
  bool joins(const std::vector<ColumnLoop>& group, const ColumnLoop& more) const;
  bool shares_a_result(const std::vector<ColumnLoop>& group) const;
  void choose_streams(std::vector<ColumnLoop>& group);
  OpStmt streamed(const OpStmt& copy);
  void emit(std::vector<ColumnLoop>& group, const std::set<std::string>& ends_here, Block& out);
  void emit_chunks(const std::vector<ColumnLoop>& group, int64_t chunks, const ChunkTiles& tiles, Block& out);
  // Some columns of the k-th statement of a group.
  struct Part {
    size_t k;
    Expr offset;  // the first column
    int64_t cols;
    int64_t accumulator;
  };
  Stmt part_of(const ColumnLoop& loop, const Part& part, const ChunkTiles& tiles) const;

  Kernel& kernel_;
  const RowUses uses_;  // of the whole kernel
  // Columns that pass through a group together: four vectors of f32, as many as a reduction keeps partial results.
  const int64_t chunk_;
  const int64_t stream_bytes_;
  std::vector<ColumnLoop> waiting_ = {};  // prefetches of the row so far
  bool only_computed_ = false;            // the row so far had a pass without copies
  ir::VarId& next_var_;
};

// Running both chunk by chunk changes nothing: what either writes, both touch in the same column of the same row only.
bool ColumnFusion::joins(const std::vector<ColumnLoop>& group, const ColumnLoop& more) const {
  for (const ColumnLoop& loop : group) {
    // Rows of different lengths, padding apart, have too little in common.
    if (std::abs(loop.cols - more.cols) >= chunk_) return false;
    for (const auto& [name, use] : more.uses) {
      const auto it = loop.uses.find(name);
      if (it == loop.uses.end() || !(use.writes || it->second.writes)) continue;
      if (!same_row(use, it->second)) return false;
    }
  }
  return true;
}

// Some statement uses what another one made: else there is nothing to gain.
bool ColumnFusion::shares_a_result(const std::vector<ColumnLoop>& group) const {
  for (size_t k = 1; k < group.size(); ++k) {
    for (size_t before = 0; before < k; ++before) {
      for (const auto& [name, use] : group[before].uses) {
        if (use.writes && group[k].uses.contains(name)) return true;
      }
    }
  }
  return false;
}

// What a statement does to a part of its columns.
Stmt ColumnFusion::part_of(const ColumnLoop& loop, const Part& part, const ChunkTiles& tiles) const {
  const Loc& loc = loop.stmt->loc;
  if (const auto* nest = ir::get_if<ir::ForStmt>(loop.stmt)) {
    // From 0, so that the host compiler sees a constant number of iterations.
    const ir::LoopDim& dim = nest->dims[0];
    const Expr column = ir::var(next_var_++, dim.var->name, ir::kIndex, dim.var.loc());
    const std::vector<Expr> from = {dim.var}, to = {part.offset + column};
    ir::ForStmt out = *nest;
    out.dims[0] = {.var = column, .begin = ir::int_imm(0), .extent = ir::int_imm(part.cols)};
    // A nest stands twice where columns are left behind the last chunk, and with it what its body names.
    out.body = ir::with_fresh_vars(ir::substitute(tiles.of_nest(nest->body, part.k, column), from, to), next_var_);
    return ir::make_stmt(std::move(out), loc);
  }
  OpStmt out = *ir::get_if<OpStmt>(loop.stmt);
  if (out.def == &cpu_reduce_row()) {
    out.tiles.resize(1);
    out.def = &cpu_accumulate();
    out.attrs = {{"accumulator", part.accumulator}, {"n", part.cols}};
  } else if (out.def != &cpu_prefetch()) {
    // Columns that are all inside stay so.
    const std::optional<int64_t> valid = out.scalars[3].as_int();
    out.scalars[3] = valid && *valid >= loop.cols ? ir::int_imm(part.cols) : out.scalars[3] - part.offset;
  }
  if (is_copy_atom(loop.stmt)) {
    const TileRef& chip = out.tiles[out.def == &cpu_copy_in() ? 1 : 0];
    // The padding behind a part is touched only where there is room for that of the whole row.
    const int64_t lanes = chunk_ / bytes_of(storage_of(kernel_.tile(chip.tile)));
    const int64_t padded = (loop.cols + lanes - 1) / lanes * lanes;
    const bool has_room = padded <= ir::int_attr(out.attrs, "ld", 0);
    for (auto& [name, value] : out.attrs) {
      if (name != "ld") continue;
      if (!has_room)
        value = part.cols;
      else if (tiles.moves(chip, part.k))
        value = tiles.cols();
    }
  }
  for (auto& [name, value] : out.attrs) {
    if (name == "cols") value = part.cols;
  }
  for (TileRef& ref : out.tiles) {
    ir::RegionDim& last = ref.region.back();
    last = {.begin = last.begin + part.offset, .extent = ir::int_imm(part.cols)};
    ref = tiles.of_chunk(ref, part.k);
  }
  return ir::make_stmt(std::move(out), loc);
}

// A copy out that goes past the caches where the tensor is too large for them.
OpStmt ColumnFusion::streamed(const OpStmt& copy) {
  const TileRef& to = copy.tiles[1];
  const Tile& global = kernel_.tile(to.tile);
  Expr elems = ir::int_imm(1);
  for (const Expr& extent : global.shape) elems = elems * extent;
  const int64_t elem_bytes = bytes_of(global.dtype), least = (stream_bytes_ + elem_bytes - 1) / elem_bytes;
  OpStmt out = copy;
  out.scalars[4] = ir::le(ir::int_imm(least), elems);
  if (out.scalars[4].is_int(0)) return copy;
  // What is kept of a line until it is whole must not be accessed by others.
  const RowUse& use = uses_.at(storage_name(kernel_, to.tile));
  const int64_t cols = ir::int_attr(copy.attrs, "cols", 0);
  const bool is_joined = copy.scalars[0].is_int(cols), ragged = is_joined || cols * elem_bytes >= kLeastRaggedBytes;
  const bool fits = cols * elem_bytes >= kLineBytes && (ragged || cols * elem_bytes % kLineBytes == 0);
  if (use.reads > 0 || use.writes > 1 || !fits) return out;
  out.attrs.emplace_back("stream", int64_t(next_var_++));
  out.attrs.emplace_back("ragged", int64_t(ragged));
  return out;
}

// Such stores leave in the order of the program and hold up what comes after them. Ordinary ones need their line, which
// the processor fetches ahead while a pass over the row only computes, and are faster then.
void ColumnFusion::choose_streams(std::vector<ColumnLoop>& group) {
  if (only_computed_) return;
  for (ColumnLoop& loop : group) {
    const auto* op = ir::get_if<OpStmt>(loop.stmt);
    if (is_copy_out(loop.stmt)) loop.stmt = ir::make_stmt(streamed(*op), loop.stmt->loc);
  }
}

void ColumnFusion::emit_chunks(const std::vector<ColumnLoop>& group, int64_t chunks, const ChunkTiles& tiles,
                               Block& out) {
  const Loc& loc = group[0].stmt->loc;
  const Expr chunk = ir::var(next_var_++, "chunk", ir::kIndex, loc);
  Block body = tiles.declarations(loc), tail, results;
  for (size_t k = 0; k < group.size(); ++k) {
    const ColumnLoop& loop = group[k];
    const auto* op = ir::get_if<OpStmt>(loop.stmt);
    int64_t accumulator = -1;
    if (op && op->def == &cpu_reduce_row()) {
      accumulator = next_var_++;
      OpStmt begin = *op, end = *op;
      begin.def = &cpu_begin_accumulate(), end.def = &cpu_end_accumulate();
      for (OpStmt* edge : {&begin, &end}) edge->attrs.emplace_back("accumulator", accumulator);
      out.push_back(ir::make_stmt(std::move(begin), loop.stmt->loc));
      results.push_back(ir::make_stmt(std::move(end), loop.stmt->loc));
    }
    body.push_back(
        part_of(loop, {.k = k, .offset = chunk * chunk_, .cols = chunk_, .accumulator = accumulator}, tiles));
    const int64_t first = chunks * chunk_, rest = loop.cols - first;
    if (rest > 0)
      tail.push_back(
          part_of(loop, {.k = k, .offset = ir::int_imm(first), .cols = rest, .accumulator = accumulator}, tiles));
  }
  out.push_back(ops::serial(chunk, ir::int_imm(chunks), std::move(body), loc));
  if (!tail.empty()) {
    const Block own = tiles.declarations(loc);
    tail.insert(tail.begin(), own.begin(), own.end());
  }
  out.insert(out.end(), tail.begin(), tail.end());
  out.insert(out.end(), results.begin(), results.end());
}

void ColumnFusion::emit(std::vector<ColumnLoop>& group, const std::set<std::string>& ends_here, Block& out) {
  choose_streams(group);
  // While nothing is copied, the memory has time for the next row.
  const bool copies = std::any_of(group.begin(), group.end(), [](const ColumnLoop& l) { return is_copy_atom(l.stmt); });
  if (group.size() > 1 && !copies) {
    only_computed_ = true;
    // Those of rows of another length wait for a pass over such a row.
    const auto fits = std::stable_partition(waiting_.begin(), waiting_.end(),
                                            [&](const ColumnLoop& fetch) { return !joins(group, fetch); });
    const std::vector<ColumnLoop> fetches(fits, waiting_.end());
    waiting_.erase(fits, waiting_.end());
    group.insert(group.begin(), fetches.begin(), fetches.end());
  }
  int64_t shortest = INT64_MAX;
  for (const ColumnLoop& loop : group) shortest = std::min(shortest, loop.cols);
  const int64_t chunks = shortest / chunk_;
  if (group.size() < 2 || chunks < 2 || !shares_a_result(group)) {
    for (const ColumnLoop& loop : group) out.push_back(loop.stmt);
  } else {
    // Room for a chunk and for what is left at the end, padding included.
    emit_chunks(group, chunks, ChunkTiles(kernel_, group, ends_here, 2 * chunk_), out);
  }
  group.clear();
}

Block ColumnFusion::rewrite(const Block& block) {
  Block out;
  std::vector<ColumnLoop> group;
  // A block inside of a row is no part of it.
  std::vector<ColumnLoop> outer = std::exchange(waiting_, {});
  const bool outer_computed = std::exchange(only_computed_, false);
  // The row tiles that are declared here, by the last statement that uses them.
  std::map<std::string, size_t> last_use;
  for (size_t i = 0; i < block.size(); ++i) {
    const auto* op = ir::get_if<OpStmt>(block[i]);
    if (op && op->def == &cpu_row_tile()) last_use.emplace(storage_name(kernel_, op->tiles[0].tile), i);
    for (const auto& [name, use] : row_uses({block[i]}, kernel_, {})) {
      if (const auto it = last_use.find(name); it != last_use.end()) it->second = i;
    }
  }
  const auto end_group = [&](size_t next) {
    std::set<std::string> ends_here;
    for (const auto& [name, last] : last_use) {
      if (last < next) ends_here.insert(name);
    }
    emit(group, ends_here, out);
  };
  for (size_t i = 0; i < block.size(); ++i) {
    const Stmt& stmt = block[i];
    const auto* op = ir::get_if<OpStmt>(stmt);
    if (op && op->def == &cpu_row_tile()) {
      out.push_back(stmt);
      continue;
    }
    std::optional<ColumnLoop> loop = as_column_loop(stmt, kernel_);
    if (op && op->def == &cpu_prefetch() && ir::int_attr(op->attrs, "level", 2) == 1) {
      waiting_.push_back(std::move(*loop));
      continue;
    }
    if (!loop || !joins(group, *loop)) end_group(i);
    if (loop)
      group.push_back(std::move(*loop));
    else
      rewrite(stmt, out);
  }
  end_group(block.size());
  waiting_ = std::move(outer);
  only_computed_ = outer_computed;
  return out;
}

}  // namespace

ir::Program fuse_columns(const ir::Program& program, const CpuTarget& target) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Block body = kernel.body;
    kernel.body = ColumnFusion(kernel, target, out.next_var).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
