#pragma once

#include "driver/executable.h"
#include "ir/kernel.h"
#include "target/sim.h"

namespace tilewright {

// CUDA text that the host compiler compiles and the simulator runs. Throws Error: unsupported where this processor has
// no simulator, toolchain where no host compiler is found.
std::shared_ptr<Executable> make_sim_executable(const ir::Program& program, const SimTarget& target,
                                                const CompileOptions& options, std::vector<Remark>& remarks,
                                                std::string& lowered_tiles);

}  // namespace tilewright
