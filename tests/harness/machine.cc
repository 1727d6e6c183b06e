#include "harness/machine.h"

#include "runtime/cuda/shared_library.h"
#include "support/options.h"

#include <tilewright/error.h>
#include <tilewright/runtime.h>

#include <cstdlib>
#include <string_view>

namespace tilewright::testing {

bool has_gpu() {
  static const bool found = [] {
    try {
      DeviceMemory(16).fill(0);
      return true;
    } catch (const Error&) {
      return false;
    }
  }();
  return found;
}

std::vector<std::string> with_gpu(std::vector<std::string> targets) {
  if (has_gpu()) targets.push_back("cuda");
  return targets;
}

bool nothing_may_be_missing() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

FoundNvrtc find_nvrtc() {
  try {
    return {.nvrtc = cuda::Nvrtc::open(cuda::library_options(read_options_from_environment())), .why_not = {}};
  } catch (const Error& error) {
    const bool is_missing = error.kind() == ErrorKind::toolchain && error.message().ends_with(" is not found");
    if (!is_missing || nothing_may_be_missing()) throw;
    return {.nvrtc = std::nullopt, .why_not = error.message()};
  }
}

}  // namespace tilewright::testing
