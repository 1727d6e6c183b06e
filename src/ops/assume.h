// assume: a condition that the rest of the block may take for granted.
#pragma once

#include "ir/op.h"

namespace tilewright::ops {

// No tiles; scalars = {condition: bool}. After it the condition holds, which the compiler's proofs use: bounds of
// indices, divisibility of extents. Where it does not hold the program is in error: the interpreter and compiled code
// check it once where it stands, unless it is proved. It stays what it is when ops are expanded.
const ir::OpDef& assume_op();
ir::Stmt make_assume(ir::Expr condition, const ir::Kernel& kernel, const Loc& loc);

}  // namespace tilewright::ops
