// What the CUDA compiler says about a kernel besides errors: resources, and choices of its assembler that cost speed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::cuda {

// Of one function, from the lines that ptxas prints with -v.
struct FunctionResources {
  std::string name;  // as in the module (mangled, unless extern "C")
  int num_registers = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int static_shared_bytes = 0;
  int num_barriers = 0;
};

// One advisory of ptxas. They are information to it; for generated code each is a defect of the generator.
struct Advisory {
  enum class Kind {
    wgmma_serialized,    // C7509..C7515, C7520, ...: asynchronous products wait for each other
    sync_injected,       // C7517, C7519: a missing wait or fence was added
    setmaxnreg_ignored,  // C7504, C7505, C7508: register budgets have no effect
    other,               // another line with a C7xxx code
  };
  Kind kind;
  std::string text;
};

struct CompileLog {
  std::string text;  // as printed
  std::vector<FunctionResources> functions;
  std::vector<Advisory> advisories;

  const FunctionResources* find(std::string_view name) const;
  // The first reason to reject this compilation as a candidate: a spill, or an advisory. Nothing when there is none.
  std::optional<std::string> why_slow() const;
};

CompileLog parse_compile_log(std::string text);

}  // namespace tilewright::cuda
