// Atomic updates: of the elements of a region, and the pieces from which the language makes the scalar forms.
#pragma once

#include "ir/op.h"
#include "ops/operand.h"

#include <string>

namespace tilewright::ops {

// atomic_add, atomic_max, atomic_min, atomic_and, atomic_or, atomic_xor (not load and store).
// tiles = {src, dst}; attrs: memory_order. dst = kind(dst, cast(src)) for each element as one ir::AtomicStmt; extents
// pair as for copy. dst is global or shared. Elements in any order; the sums of several blocks are reassociable.
// Outside a tile: as for copy.
const ir::OpDef& atomic_op(ir::AtomicKind kind);
ir::Stmt make_atomic(ir::AtomicKind kind, const Operand& src, const Operand& dst, ir::MemoryOrder order,
                     const ir::Kernel& kernel, const Loc& loc);

// The same with one value for every element of a region; `vars` are fresh, one for each of its wide dimensions.
ir::Block atomic_loop(ir::AtomicKind kind, const ir::TileRef& dst, const ir::Expr& value, ir::MemoryOrder order,
                      const std::vector<ir::Expr>& vars, const ir::Kernel& kernel, const Loc& loc);

// "relaxed", ...; throws for other names.
ir::MemoryOrder memory_order(const std::string& name, std::string_view word, const Loc& loc);

}  // namespace tilewright::ops
