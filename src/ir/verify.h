// The structural rules of programs: what every pass may rely on.
#pragma once

#include "ir/kernel.h"

namespace tilewright::ir {

// Throws Error{invalid_kernel}, with positions, notes at the declarations and a hint, for the first rule that
// `program` breaks: names, ids, dtypes, ranks, scopes, control flow, parallel loops, accesses that are provably outside
// an on-chip tile, operands of operations, and reads of tiles that nothing can have written. Passes keep these rules.
void verify(const Program& program);

}  // namespace tilewright::ir
