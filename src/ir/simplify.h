// Smaller expressions and statements with the same meaning.
#pragma once

#include "ir/bounds.h"
#include "ir/kernel.h"

namespace tilewright::ir {

// Equal to `e` wherever the facts hold, wrap-around included. Sums are reordered freely (they are exact modulo 2^64);
// division rules apply only where the dividend cannot wrap. Float arithmetic is not touched.
Expr simplify(const Expr& e, const Facts& facts);

// Every expression simplified with the facts of its place; branches with a decided condition, loops without iterations
// and lets of constants and variables disappear; a loop of one iteration becomes its body.
Program simplify(const Program& program);

// Records the range of a let's variable.
void note_let(const Expr& var, const Expr& value, Facts& facts);

// What holds in a whole kernel: extents are not negative and below kMaxExtent, block indices lie in the grid.
Facts kernel_facts(const Program& program, const Kernel& kernel);
// No tensor of a 64-bit machine is larger; index arithmetic on extents and strides thus does not wrap.
inline constexpr int64_t kMaxExtent = int64_t(1) << 48;

}  // namespace tilewright::ir
