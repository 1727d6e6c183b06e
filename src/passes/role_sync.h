// What synchronises the code of one role.
#pragma once

#include "passes/channel_handover.h"

namespace tilewright::passes {

struct RoleWarps {
  ir::ExecSet exec;
  int barrier_id = 0;    // of its threads, where they are not all of the block
  bool elected = false;  // one thread runs it
};

// `body` with calls in place of the steps of channels, fences, groups and waits around products, and the barrier that
// counts its bytes at each bulk copy. Kernel::thread_var is set.
ir::Block synchronise_role(const ir::Kernel& kernel, const std::vector<Handover>& plans, const RoleWarps& warps,
                           const ir::Block& body);

// A statement that calls `def`.
ir::Stmt make_call(const ir::OpDef& def, std::vector<ir::TileRef> tiles, std::vector<ir::Expr> scalars, ir::Attrs attrs,
                   const Loc& loc);

}  // namespace tilewright::passes
