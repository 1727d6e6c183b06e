// Statements that work row by row: which rows of which tiles they touch, and what they do in one of them.
#pragma once

#include "ir/kernel.h"

#include <map>
#include <optional>
#include <string>

namespace tilewright::passes {

// The name of a tile's storage, by which passes know it: checked and unchecked rows of the table share theirs, and
// views have that of what they are views of.
const std::string& storage_name(const ir::Kernel& kernel, ir::TileId id);
// Whether views share the storage of a tile, which may be one of them.
bool has_views(const ir::Kernel& kernel, ir::TileId id);

// How some statements touch one storage.
struct RowUse {
  int reads = 0, writes = 0;
  bool by_row = true;    // every access is to the row of the loop's iteration
  bool checked = false;  // an access may fail at run time

  void add(const RowUse& other);
};
using RowUses = std::map<std::string, RowUse>;  // by the storage's name

// `row` is the variable that means the row; empty where there is none.
RowUses row_uses(const ir::Block& block, const ir::Kernel& kernel, const ir::Expr& row);

// A statement as a loop over rows: what it does in the iteration `row`.
struct RowLoop {
  ir::Stmt stmt;
  int64_t rows = 0;
  ir::Expr row;
  ir::Block body = {};
  RowUses uses = {};
};

// A copy of several rows, a nest whose first dimension counts rows, or the loop around reductions of rows; nothing for
// other statements, and where an access may fail, a jump leaves the loop or a tile is private to an iteration.
std::optional<RowLoop> as_row_loop(const ir::Stmt& stmt, const ir::Kernel& kernel, ir::VarId& next_var);

// A copy between a tensor and a tile, as an atom; one into the tensor.
bool is_copy_atom(const ir::Stmt& stmt);
bool is_copy_out(const ir::Stmt& stmt);

// Whether an access to the tile is checked when it runs.
bool may_fail(const ir::Tile& tile);

}  // namespace tilewright::passes
