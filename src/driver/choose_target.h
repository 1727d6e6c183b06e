// The name of a target as a user writes it, and what it means on this machine.
#pragma once

#include "target/cpu.h"
#include "target/cuda.h"
#include "target/sim.h"

#include <string>
#include <variant>

namespace tilewright {

using AnyTarget = std::variant<CpuTarget, CudaTarget, SimTarget>;

// What a target is for: code that runs here, or text, for which any CPU level will do.
enum class TargetUse : uint8_t { run, text };

// Throws Error: invalid_argument for a name that is none or a CPU level that this machine lacks, unsupported for a
// family that is not built yet, toolchain for "cuda" without a GPU.
AnyTarget choose_target(const std::string& requested, TargetUse use);
std::string name_of(const AnyTarget& target);

}  // namespace tilewright
