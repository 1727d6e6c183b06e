#include "passes/chunk_tiles.h"

#include "ir/rewrite.h"
#include "layout/layout.h"
#include "passes/cpu_atoms.h"
#include "passes/row_loops.h"

#include <algorithm>
#include <optional>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::Tile;
using ir::TileId;
using ir::TileRef;

namespace {

// Counts the stores to a tile in a body, those under conditions too.
class CountStores : public ir::Visitor {
 public:
  CountStores(const Kernel& kernel, const std::string& name) : kernel_(kernel), name_(name) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    const auto* store = ir::get_if<ir::StoreStmt>(stmt);
    if (store && storage_name(kernel_, store->tile) == name_) ++count;
    visit_parts(stmt);
  }
  int count = 0;

 private:
  const Kernel& kernel_;
  const std::string& name_;
};

// Whether a statement writes every column of a row, each by one store at most.
bool writes_all(const Stmt& stmt, const Kernel& kernel, const std::string& name) {
  if (const auto* op = ir::get_if<OpStmt>(stmt)) return op->def == &cpu_copy_in();
  const auto* nest = ir::get_if<ir::ForStmt>(stmt);
  CountStores stores(kernel, name);
  stores.visit(nest->body);
  const auto stores_here = [&](const Stmt& s) {
    const auto* store = ir::get_if<ir::StoreStmt>(s);
    return store && storage_name(kernel, store->tile) == name;
  };
  return stores.count == 1 && std::any_of(nest->body.begin(), nest->body.end(), stores_here);
}

// The statement that writes the row, where every use of it in the group is by column.
std::optional<size_t> writer_of(const std::vector<ColumnLoop>& group, const Kernel& kernel, const Tile& row) {
  const std::string& name = row.name;
  const int64_t row_cols = *row.shape.back().as_int();
  std::optional<size_t> writer;
  for (size_t k = 0; k < group.size(); ++k) {
    const auto use = group[k].uses.find(name);
    if (use == group[k].uses.end()) continue;
    if (!use->second.by_column) return std::nullopt;
    if (use->second.writes && !writer) writer = k;
    // Columns that the writer leaves out keep what the row held, padding apart.
    if (writer && group[*writer].cols < std::min(group[k].cols, row_cols)) return std::nullopt;
  }
  return writer && writes_all(group[*writer].stmt, kernel, name) ? writer : std::nullopt;
}

}  // namespace

class ChunkAccesses : public ir::Rewriter {
 public:
  ChunkAccesses(const ChunkTiles& chunks, size_t statement, const Expr& column)
      : chunks_(chunks), statement_(statement), column_(column) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& e) override {
    if (!e || !e.is(ir::ExprKind::load)) return e ? rewrite_args(e) : e;
    const ChunkTiles::Moved* moved = chunks_.moved(e.tile_id());
    if (moved == nullptr || !is_written(*moved)) return rewrite_args(e);
    return ir::load(moved->unchecked, chunks_.kernel_.tile(moved->unchecked).name, e.dtype(), {column_}, e.loc());
  }
  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* store = ir::get_if<ir::StoreStmt>(stmt);
    const ChunkTiles::Moved* moved = store ? chunks_.moved(store->tile) : nullptr;
    if (moved == nullptr || statement_ < moved->writer) return Rewriter::rewrite(stmt, out);
    ir::StoreStmt rebuilt = *store;
    rebuilt.value = rewrite(store->value);
    rebuilt.tile = moved->unchecked;
    rebuilt.indices = {column_};
    out.push_back(ir::make_stmt(std::move(rebuilt), stmt->loc));
    stored_.insert(moved->name);
  }

 private:
  bool is_written(const ChunkTiles::Moved& moved) const {
    return statement_ > moved.writer || stored_.contains(moved.name);
  }

  const ChunkTiles& chunks_;
  const size_t statement_;
  const Expr& column_;
  std::set<std::string> stored_;  // in this body so far
};

ChunkTiles::ChunkTiles(Kernel& kernel, const std::vector<ColumnLoop>& group, const std::set<std::string>& ends_here,
                       int64_t cols)
    : kernel_(kernel), cols_(cols) {
  for (const std::string& name : ends_here) {
    const auto row = std::find_if(kernel.tiles.begin(), kernel.tiles.end(),
                                  [&](const Tile& t) { return t.name == name && !t.unchecked; });
    const std::optional<size_t> writer = writer_of(group, kernel, *row);
    if (!writer) continue;
    Tile chunk = *row;
    chunk.name += "_chunk";
    while (std::any_of(kernel.tiles.begin(), kernel.tiles.end(), [&](const Tile& t) { return t.name == chunk.name; }))
      chunk.name += "_";
    chunk.shape = {ir::int_imm(cols)};
    const std::vector<int64_t> extents = {cols}, strides = {1};
    chunk.layout = layout::strided(extents, strides);
    Moved moved{.name = name, .writer = *writer, .tile = TileId(kernel.tiles.size())};
    moved.unchecked = moved.tile + 1;
    kernel.tiles.push_back(chunk);
    chunk.unchecked = true;
    kernel.tiles.push_back(std::move(chunk));
    moved_.push_back(std::move(moved));
  }
}

const ChunkTiles::Moved* ChunkTiles::moved(TileId id) const {
  const std::string& name = storage_name(kernel_, id);
  const auto it = std::find_if(moved_.begin(), moved_.end(), [&](const Moved& m) { return m.name == name; });
  return it != moved_.end() ? &*it : nullptr;
}

Block ChunkTiles::declarations(const Loc& loc) const {
  Block out;
  for (const Moved& m : moved_) {
    TileRef whole{.tile = m.tile, .region = {{.begin = ir::int_imm(0), .extent = ir::int_imm(cols_)}}, .slot = {}};
    out.push_back(ir::make_stmt(OpStmt{.def = &cpu_row_tile(), .tiles = {std::move(whole)}}, loc));
  }
  return out;
}

TileRef ChunkTiles::of_chunk(const TileRef& ref, size_t statement) const {
  const Moved* m = moved(ref.tile);
  // A statement that is no nest does not read the row that it writes.
  if (m == nullptr || statement < m->writer) return ref;
  return {.tile = m->tile, .region = {{.begin = ir::int_imm(0), .extent = ref.region.back().extent}}, .slot = {}};
}

Block ChunkTiles::of_nest(const Block& body, size_t statement, const Expr& column) const {
  return ChunkAccesses(*this, statement, column).rewrite(body);
}

}  // namespace tilewright::passes
