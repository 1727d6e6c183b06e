// What the machine that the tests run on may lack.
#pragma once

#include "runtime/cuda/nvrtc.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::testing {

// A GPU with its driver.
bool has_gpu();

// `targets`, and "cuda" where the machine has a GPU.
std::vector<std::string> with_gpu(std::vector<std::string> targets);

// Under CI=true nothing that tests can have on any machine may be missing: they fail instead of being skipped.
bool nothing_may_be_missing();

// For what tests can have on any machine: where it is missing the test is skipped, and says why; under CI=true it
// fails.
#define TW_NEEDS(condition, why)                                          \
  if (!(condition)) {                                                     \
    ASSERT_FALSE(::tilewright::testing::nothing_may_be_missing()) << why; \
    GTEST_SKIP() << why;                                                  \
  }                                                                       \
  static_assert(true)

struct FoundNvrtc {
  std::optional<cuda::Nvrtc> nvrtc;
  std::string why_not;  // where the machine has none
};
// Throws what Nvrtc::open throws where a library is there and does not serve, and under CI=true also where none is.
FoundNvrtc find_nvrtc();

// The architectures that CUDA text is written for, one for each set of instructions: those that `nvrtc`
// compiles for. Throws under CI=true where it lacks one.
std::vector<std::string> cuda_archs(const cuda::Nvrtc& nvrtc);

// The flags of kernels where the text counts and not the code: as little as can be is optimised, which takes a quarter
// of the time. The compiler and its assembler refuse the same.
std::vector<std::string> quick_cuda_flags(const cuda::Nvrtc& nvrtc);

}  // namespace tilewright::testing
