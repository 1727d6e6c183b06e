// Starts a program without a shell and collects what it prints.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct ProcessOptions {
  std::vector<std::string> command;        // program (a path, or a name searched in PATH) and its arguments
  std::filesystem::path working_dir = {};  // empty: that of this process
  std::vector<std::pair<std::string, std::optional<std::string>>> environment = {};  // set, or unset (nullopt)
  std::optional<std::chrono::milliseconds> timeout = {};
  size_t max_output_bytes = size_t(4) << 20;  // the rest is read and dropped
};

struct ProcessResult {
  int exit_code = 0;  // meaningful when signal == 0
  int signal = 0;     // that ended the program, or 0
  bool timed_out = false;
  bool output_truncated = false;
  std::string output;  // standard output and standard error, interleaved as written

  bool ok() const { return exit_code == 0 && signal == 0 && !timed_out; }
  std::string describe() const;  // "exit code 1", "signal 11 (Segmentation fault)", "time limit exceeded"
};

// Runs the program to its end: standard input is /dev/null, no descriptor of this process but 1 and 2 is passed on,
// signal dispositions and masks are reset, and the program leads a process group of its own, which the time limit kills
// as a whole. Safe to call from many threads. Throws an Error (toolchain) when the program cannot be started.
ProcessResult run_process(const ProcessOptions& options);

}  // namespace tilewright
