// Prints and assertions of fragments, whose elements no single thread has.
#pragma once

#include "ir/op.h"

namespace tilewright::passes {

// A print of a region of a fragment, outside of parallel loops: the elements that are printed are put down in shared
// memory by the threads that hold them, so that the fragment stays in registers, and one thread prints them.
ir::Block stage_print(const ir::OpStmt& print, ir::ExpandContext& context, const Loc& loc);

// A report outside of parallel loops: the same for each element of a fragment that its scalars load.
ir::Block stage_report(const ir::OpStmt& report, ir::ExpandContext& context, const Loc& loc);

}  // namespace tilewright::passes
