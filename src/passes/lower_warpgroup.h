// Bulk copies and products of warpgroups as calls: boxes, descriptors of swizzled panels, instructions.
#pragma once

#include "ir/op.h"

namespace tilewright::passes {

// One bulk_load for each box of a bulk_copy. `kernel` has the layouts.
ir::Block lower_bulk_copy(const ir::OpStmt& op, const ir::Kernel& kernel, ir::ExpandContext& context, const Loc& loc);

// The products of a warpgroup_gemm for thread `thread`, counted from the first of the warps that execute it. `kernel`
// has fragments and layouts, the context's kernel the arrays of registers. Throws Error{unsupported} where shape, types
// or layouts have no such instruction.
ir::Block lower_warpgroup_gemm(const ir::OpStmt& op, const ir::Kernel& kernel, ir::ExpandContext& context,
                               const ir::Expr& thread, const Loc& loc);

// A call with its tiles as arrays of registers.
ir::Stmt with_registers(const ir::OpStmt& op, const ir::Kernel& registers, const Loc& loc);

}  // namespace tilewright::passes
