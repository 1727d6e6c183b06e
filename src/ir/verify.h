// The structural rules of programs: what every pass may rely on.
#pragma once

#include "ir/kernel.h"

namespace tilewright::ir {

// Throws Error{invalid_kernel}, with positions, notes at the declarations and a hint, for the first rule that
// `program` breaks: names, ids, dtypes, ranks, scopes, control flow, parallel loops, accesses that are provably outside
// an on-chip tile, operands of operations, and reads of tiles that nothing can have written. Passes keep these rules.
void verify(const Program& program);

// The same for what a pass made, without the rules that an author's mistake breaks only once simplification finds it:
// indices that turn out to be outside of a tile, reads of what nothing wrote, loops without end.
void verify_structure(const Program& program);

// Refuses what only passes give to a verified program: layouts, stages, marks of tiles, code of single threads. They
// hold by the way they were made, not by any rule that could be checked here.
void verify_authored(const Program& program);

}  // namespace tilewright::ir
