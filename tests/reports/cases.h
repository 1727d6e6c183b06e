// Situations in which compilers for tiles are known to go wrong, each run by the interpreter, on the CPU and as
// CUDA text on two simulated GPUs, which watch every access.
#pragma once

#include "harness/machine.h"
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <tilewright/compile.h>
#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright::tests {

// 0, 1, 2, ...
inline HostArray counted(DType dtype, std::vector<int64_t> shape) {
  HostArray a(dtype, std::move(shape));
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, Real(i));
  return a;
}

// As many elements as `like`, each to be equal.
inline Expected exactly(const HostArray& like) {
  return {.value = std::vector<Real>(size_t(like.size())), .bound = std::vector<Real>(size_t(like.size()))};
}

inline const std::vector<std::string> kSimulatedGpus = {"sim:sm_80+checked+greedy", "sim:sm_90a+checked+random+seed=5"};

// Runs `program` on copies of `args` and compares argument `out`. `gpus`: beside the interpreter, the CPU and the
// machine's GPU.
inline void expect_result(const Program& program, const Args& args, size_t out, const Expected& want,
                          const std::vector<std::string>& gpus = kSimulatedGpus) {
  std::vector<std::string> runners = testing::with_gpu({"interpreter", "cpu"});
  runners.insert(runners.end(), gpus.begin(), gpus.end());
  for (const std::string& runner : runners) {
    const Args after = run_on(runner, program, args);
    EXPECT_EQ(difference(array(after, out), want), "") << runner << "\n" << program.print();
    EXPECT_TRUE(array(after, out).surroundings_intact()) << runner;
  }
}

}  // namespace tilewright::tests
