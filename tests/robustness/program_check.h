// What must hold for every program that the parser or the builder lets pass: it prints and parses to itself, every
// target has text for it or refuses it, and it runs, ends with an Error, or takes long; it never brings the process
// down.
#pragma once

#include "fuzz/random.h"

#include <tilewright/program.h>

#include <chrono>
#include <cstdint>
#include <string>

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
  int64_t printed_equal = 0, refused_by_cpu = 0, refused_by_cuda = 0;
  int64_t not_run = 0, ran = 0, failed = 0, long_runs = 0, compiled = 0;
  std::string text() const;
};

// Remembers the case that is being tried in a file of the build folder, which a crash leaves behind, and ends the
// process when one takes more than a minute.
void begin_case(const std::string& what, const std::string& text);

// Empty when everything holds; otherwise what does not. `compiled`: also by the host compiler.
std::string check_program(const Program& program, Random& random, bool compiled, Tally& tally);
// What an exception of the parser, the builder or the compiler says about itself that it must not; empty when it is a
// clear Error.
std::string check_refusal(const std::exception& e, bool with_position);

}  // namespace tilewright::robustness
