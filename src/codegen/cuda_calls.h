// The calls of scheduled programs in CUDA C++.
#pragma once

#include "codegen/cpu_expr.h"
#include "ir/kernel.h"

#include <string>
#include <vector>

namespace tilewright::codegen {

// The lines of an operation of passes/schedule_ops.h; none for others.
std::vector<std::string> schedule_call(const ir::OpStmt& op, const ir::Kernel& kernel, CpuExprWriter& exprs);

// The device headers that scheduled kernels need beside those of all.
std::vector<std::string> schedule_headers(const ir::Program& program);

// The kernel parameter of a row of Kernel::maps.
std::string map_name(const ir::Kernel& kernel, int64_t map);

}  // namespace tilewright::codegen
