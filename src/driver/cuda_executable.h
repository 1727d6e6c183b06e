// Programs compiled for NVIDIA GPUs.
#pragma once

#include "driver/executable.h"
#include "target/cuda.h"

namespace tilewright {

// Lowers and writes the text. Machine code is made, or loaded from the cache, when it is first bound; at once where
// this machine has a GPU of the target's architecture.
std::shared_ptr<Executable> make_cuda_executable(const ir::Program& program, const CudaTarget& target,
                                                 const CompileOptions& options, std::vector<Remark>& remarks,
                                                 std::string& lowered_tiles);

}  // namespace tilewright
