// transpose: the last two dimensions of a region exchanged.
#pragma once

#include "ir/op.h"
#include "ops/operand.h"

namespace tilewright::ops {

// tiles = {src [..., m, n], dst [..., n, m]}: dst[..., j, i] = cast(src[..., i, j]). Leading dimensions pair as for
// copy. src and dst are different tiles. Elements in any order; outside of a tile as for copy.
const ir::OpDef& transpose_op();
ir::Stmt make_transpose(const Operand& src, const Operand& dst, const ir::Kernel& kernel, const Loc& loc);

}  // namespace tilewright::ops
