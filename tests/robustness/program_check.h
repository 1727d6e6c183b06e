// What must hold for every program that the parser or the builder lets pass: it prints and parses to itself, every
// target has text for it or refuses it, and it runs, ends with an Error, or takes long; it never brings the process
// down.
#pragma once

#include "fuzz/random.h"

#include <tilewright/program.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::robustness {

using fuzz::Random;

// How long the random tests go on: TILEWRIGHT_FUZZ_SECONDS, otherwise `otherwise`; and from which seed:
// TILEWRIGHT_FUZZ_SEED.
double seconds(double otherwise);
uint64_t first_seed();

class Deadline {
 public:
  explicit Deadline(double seconds) : end_(std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds)) {}
  bool passed() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> end_;
};

// What became of the cases of one run.
struct Tally {
  int64_t cases = 0, refused = 0, programs = 0;
  int64_t refused_by_cpu = 0, refused_by_cuda = 0;
  int64_t not_run = 0, ran = 0, failed = 0, long_runs = 0, compiled = 0;
  std::string text() const;
};

// Remembers the case that is being tried in a file of the build folder, which a crash leaves behind, and ends the
// process when one takes more than two minutes.
void begin_case(const std::string& what, const std::string& text);

// Runs of programs, many in one process of its own: one that crashes ends that process, one that takes long is stopped,
// and the next process goes on with those behind it.
class Runs {
 public:
  Tally& tally() { return tally_; }
  void add(std::string what, std::function<void()> run);
  // Runs what is left and says what crashed, or ended with what is no clear Error.
  const std::vector<std::string>& finish();

 private:
  struct Run {
    std::string what;
    std::function<void()> run;
  };
  void flush();
  void take(size_t number, int ending);

  Tally tally_;
  std::vector<Run> runs_;
  std::vector<std::string> failures_;
};

// Empty when everything holds so far, with the program's runs among `runs`; otherwise what does not. `compiled`: also
// by the host compiler.
std::string check_program(const Program& program, const std::string& name, Random& random, bool compiled, Runs& runs);
// What an exception of the parser, the builder or the compiler says about itself that it must not; empty when it is a
// clear Error.
std::string check_refusal(const std::exception& e, bool with_position);

}  // namespace tilewright::robustness
