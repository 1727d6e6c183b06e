// Runs the passes of a pipeline in order.
#pragma once

#include "passes/pass_observer.h"

#include <chrono>
#include <utility>

namespace tilewright::passes {

// Holds a program and what came out of the last pass. Where internal checks are built in, the verifier runs after each
// pass.
class PassRunner {
 public:
  // `on_pass` must outlive the runner.
  PassRunner(ir::Program program, const PassObserver& on_pass) : program_(std::move(program)), on_pass_(on_pass) {}

  // `pass` takes a program and gives one.
  template <class Pass>
  void run(const char* name, const Pass& pass) {
    const auto start = std::chrono::steady_clock::now();
    program_ = pass(std::move(program_));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    finish(name, time.count());
  }

  ir::Program take() { return std::move(program_); }

 private:
  void finish(const char* name, double milliseconds);

  ir::Program program_;
  const PassObserver& on_pass_;
};

}  // namespace tilewright::passes
