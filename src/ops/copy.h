// copy: dst[...] = cast(src[...]) over two regions, and fill: dst[...] = value.
#pragma once

#include "ir/op.h"
#include "ops/operand.h"

namespace tilewright::ops {

// tiles = {src, dst}. The k-th dimension of src with an extent other than 1 pairs with the k-th of dst; extents must
// agree. Reads outside a global tensor give its safe value, writes outside are dropped; the same holds for on-chip
// tiles when a region's begin is not a constant. src and dst are different tiles. Elements in any order.
const ir::OpDef& copy_op();
ir::Stmt make_copy(const Operand& src, const Operand& dst, const ir::Kernel& kernel, const Loc& loc);

// tiles = {dst}; scalars = {value}, cast to the tile's dtype. Elements in any order.
const ir::OpDef& fill_op();
ir::Stmt make_fill(const Operand& dst, ir::Expr value, const ir::Kernel& kernel, const Loc& loc);

}  // namespace tilewright::ops
