// Whether a kernel is right on a GPU, asked without one: the simulator runs it under several schedules and watches
// every access.
#pragma once

#include <tilewright/compile.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

struct CheckOptions {
  std::string arch = "sm_80";
  // Schedules that are drawn, beside the fixed ones.
  int num_random = 2;
  uint64_t seed = 1;  // of the first of them
};

// One schedule: who ran when, and when asynchronous copies took place.
struct CheckRun {
  std::string target;           // of the simulator, e.g. "sim:sm_80+checked+reverse+early": compile() takes it
  std::vector<Error> findings;  // empty: nothing is wrong
  bool same_result = true;      // bit by bit that of the first run
};

struct CheckResult {
  std::vector<CheckRun> runs;
  bool ok() const;
  // Each finding once, with the runs that it came up in.
  std::string report() const;
};

// Runs `program` on copies of the tensors in host memory, once for each schedule; the arguments are left as they are.
// Throws Error for what compile() and a launch refuse.
CheckResult check(const Program& program, std::vector<Argument> arguments, const CheckOptions& options = {});

}  // namespace tilewright
