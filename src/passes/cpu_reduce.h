// Which vector code a reduction becomes.
#pragma once

#include "ir/op.h"

#include <optional>
#include <string>

namespace tilewright::passes {

// The statements that reduce by vectors, cpu.reduce_row or cpu.reduce_columns in loops over the remaining dimensions;
// nothing where no atom has the operator, the dtypes, the options or the strides of `op`. Requires layouts, and regions
// that lie inside their tiles.
std::optional<ir::Block> reduce_by_vectors(const ir::OpStmt& op, ir::ExpandContext& context, const Loc& loc);

}  // namespace tilewright::passes
