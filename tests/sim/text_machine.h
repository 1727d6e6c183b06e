// Hand-written CUDA text on the simulator.
#pragma once

#include "runtime/sim/counters.h"
#include "runtime/sim/detector.h"
#include "runtime/sim/module.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::test {

// What a launch came to.
struct Outcome {
  std::vector<sim::Finding> findings;
  std::vector<int> lines;  // of each finding, counted in the text that was given
  std::vector<std::vector<int>> note_lines;
};

// One kernel named `k`, on sm_80 unless said otherwise.
class TextMachine {
 public:
  explicit TextMachine(const std::string& body, int64_t shared_bytes = 0, const std::string& target = "sim:sm_80");

  struct Launch {
    int blocks = 1, threads = 32;
    std::vector<void*> arguments;  // addresses of the kernel's arguments
    int cluster = 1;               // blocks
    bool programmatic = false;     // may start before the launch in front has ended
  };
  // One launch after the other, until something is found.
  Outcome run(const std::vector<Launch>& launches, std::vector<sim::Region> arrays, int64_t red_zone_bytes = 0) const;
  // `arguments`: addresses of the kernel's arguments. Arrays that are watched are in `arrays`, and so many bytes around
  // each belong to nobody.
  Outcome run(int blocks, int threads, std::vector<void*> arguments, std::vector<sim::Region> arrays = {},
              int64_t red_zone_bytes = 0) const;
  // What a launch does, by line of the text that was given. Nothing where it could not be counted.
  std::map<int, Counters> count(int blocks, int threads, std::vector<void*> arguments,
                                std::vector<sim::Region> arrays) const;

  SimTarget target;
  std::vector<sim::SharedPart> shared_parts = {};  // empty: all of shared memory may be accessed

 private:
  std::shared_ptr<const sim::Module> module_;
  int first_line_ = 0;  // of the text, behind the headers
};

}  // namespace tilewright::test
