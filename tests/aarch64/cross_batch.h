// Programs with arguments, as one executable for aarch64 that an emulator runs here.
#pragma once

#include "ops/op_table.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright::tests {

class CrossBatch {
 public:
  // The names of kernels in a batch differ. Compiles nothing yet.
  void add(const Program& program, const Args& args);
  // Compiles all programs with `compiler` in `folder`, runs them with `emulator`, and returns the arguments of each as
  // they are afterwards. Throws std::runtime_error with what a tool said.
  std::vector<Args> run(const std::string& compiler, const std::string& emulator, const std::filesystem::path& folder);

 private:
  // Memory of a tensor that shares that of no other: where its contents come from and go to.
  struct Memory {
    std::byte* data;
    size_t bytes;
  };
  struct Job {
    std::string source;
    std::vector<std::string> symbols;
    Args args;
    std::vector<Memory> memories;
    bool reinterprets = false;
  };
  void write_input(const Program& program, Job& job, const std::vector<int64_t>& scratch_bytes);
  void put(uint64_t number);
  void put(const void* data, size_t bytes);

  std::vector<Job> jobs_;
  std::vector<std::shared_ptr<void>> workspaces_;
  std::string input_;
};

}  // namespace tilewright::tests
