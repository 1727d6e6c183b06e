// Statements that work column by column on one row, and how they touch tiles.
#pragma once

#include "ir/kernel.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::passes {

// How a statement touches one tile.
struct ColumnUse {
  bool reads = false, writes = false;
  bool by_column = true;  // every access is to the column of the iteration, in the row `row`
  std::vector<ir::Expr> row;
};
using ColumnUses = std::map<std::string, ColumnUse>;  // by the storage's name

// The same column of the same row, in every access of both.
bool same_row(const ColumnUse& a, const ColumnUse& b);

struct ColumnLoop {
  ir::Stmt stmt;
  int64_t cols = 0;
  ColumnUses uses = {};
};

// A copy of one row, a nest of one dimension, a reduction of one row or a prefetch; nothing for other statements, and
// for nests whose iterations may fail or have tiles of their own.
std::optional<ColumnLoop> as_column_loop(const ir::Stmt& stmt, const ir::Kernel& kernel);

}  // namespace tilewright::passes
