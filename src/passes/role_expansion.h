// The part of a kernel that one role runs, with its schedules written out.
#pragma once

#include "ir/kernel.h"

#include <map>

namespace tilewright::passes {

// The first row of Kernel::channels of each schedule's own.
using ChannelRows = std::map<const ir::Schedule*, int>;

// `body` as `role` runs it; statements that name no warps are those of the default role. Adds tiles to the kernel.
ir::Block expand_role(ir::Kernel& kernel, ir::VarId& next_var, const ChannelRows& rows, const ir::Role& role,
                      bool is_default, const ir::Block& body);

}  // namespace tilewright::passes
