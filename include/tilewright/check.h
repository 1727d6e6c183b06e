// Whether a kernel is right on a GPU, asked without one: the simulator runs it under several schedules and watches
// every access.
#pragma once

#include <tilewright/compile.h>
#include <tilewright/counters.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

struct CheckOptions {
  std::string arch = "sm_80";
  // Schedules that are drawn, beside the fixed ones.
  int num_random = 2;
  uint64_t seed = 1;  // of the first of them
  // Whether the first run counts what warps do.
  bool count = false;
};

// One schedule: who ran when, and when asynchronous copies took place.
struct CheckRun {
  std::string target;           // of the simulator, e.g. "sim:sm_80+checked+reverse+early": compile() takes it
  std::vector<Error> findings;  // empty: nothing is wrong
  bool same_result = true;      // bit by bit that of the first run
};

// What warps did at one line, in all blocks.
struct LineCounters {
  std::string kernel = {};
  Loc loc = {};           // the author's; unknown where the line comes from none
  int line = 0;           // of CompiledKernel::get_kernel_source(); 0: of a header of the device library
  std::string text = {};  // of the generated line
  Counters counters = {};
};

struct CheckResult {
  std::vector<CheckRun> runs;
  // With CheckOptions::count: the lines of the generated text that do what is counted, in their order.
  std::vector<LineCounters> lines = {};
  std::string not_counted = {};  // why there are none
  bool ok() const;
  // Each finding once, with the runs that it came up in.
  std::string report() const;
  // The same by the author's lines, those first that take most transactions; `line` is 0 and `text` is empty.
  std::vector<LineCounters> author_lines() const;
  Counters total() const;
  // A table of those lines of the author, or of the generated text, that take most transactions, and of all together.
  std::string counter_table(int most = 10, bool generated = false) const;
};

// Runs `program` on copies of the tensors in host memory, once for each schedule; the arguments are left as they are.
// Throws Error for what compile() and a launch refuse.
CheckResult check(const Program& program, std::vector<Argument> arguments, const CheckOptions& options = {});

}  // namespace tilewright
