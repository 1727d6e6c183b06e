#include "harness/machine.h"

#include "runtime/cuda/shared_library.h"
#include "support/options.h"

#include <tilewright/error.h>
#include <tilewright/runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
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

std::vector<std::string> cuda_archs(const cuda::Nvrtc& nvrtc) {
  const std::vector<int> known = nvrtc.supported_archs();
  std::vector<std::string> out;
  for (const char* arch : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"}) {
    if (std::ranges::find(known, std::atoi(arch + std::strlen("sm_"))) != known.end()) {
      out.emplace_back(arch);
    } else if (nothing_may_be_missing()) {
      throw std::runtime_error(nvrtc.path().string() + " does not compile for " + arch);
    }
  }
  return out;
}

std::vector<std::string> quick_cuda_flags(const cuda::Nvrtc& nvrtc) {
  const cuda::NvrtcVersion knows_fast_compile = {13, 0};
  std::vector<std::string> out = cuda::compile_flags();
  out.emplace_back(nvrtc.version() < knows_fast_compile ? "--ptxas-options=-O0" : "--Ofast-compile=max");
  return out;
}

}  // namespace tilewright::testing
