// Programs compiled for the CPU.
#pragma once

#include "codegen/cpu.h"
#include "driver/executable.h"
#include "target/cpu.h"

namespace tilewright {

// Lowers, compiles or loads from the cache.
std::shared_ptr<Executable> make_cpu_executable(const ir::Program& program, const CpuTarget& target,
                                                const CompileOptions& options, std::vector<Remark>& remarks,
                                                std::string& lowered_tiles);

}  // namespace tilewright
