// CUDA text, compiled by the host compiler for the simulator and loaded.
#pragma once

#include "codegen/cpu.h"
#include "runtime/host_compiler.h"
#include "runtime/sim/machine.h"
#include "target/sim.h"

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright::sim {

struct KernelShape {
  std::string symbol;
  int64_t shared_bytes = 0;
  int shared_unit_bytes = 1;  // the smallest part of shared memory that is accessed by itself
};

class Module {
 public:
  // `text` includes headers of tilewright/device/cuda/; `map` says where its lines come from.
  static std::shared_ptr<const Module> compile(const std::string& text, const SourceMap& map,
                                               std::span<const KernelShape> kernels, const SimTarget& target,
                                               const HostCompiler& compiler, Cache& cache,
                                               const std::optional<std::filesystem::path>& keep_dir = {});

  const std::vector<Code>& kernels() const { return kernels_; }

  // The line of the whole text (headers in front) of each place, 0 where it is not known.
  std::map<uint64_t, int> lines(const std::vector<Finding>& findings, const std::filesystem::path& temp_dir) const;
  std::map<uint64_t, int> lines(const std::vector<Site>& sites, const std::filesystem::path& temp_dir) const;
  // A line without its indentation, and where it comes from.
  std::string source_line(int line) const;
  Loc loc(int line) const;
  // The line of the text that was given; 0 for one of a header.
  int text_line(int line) const { return line > headers_end_ ? line - headers_end_ + includes_end_ : 0; }

 private:
  codegen::StandaloneSource standalone_;
  std::vector<size_t> line_begins_;  // in its text
  std::shared_ptr<LoadedModule> loaded_;
  std::vector<Code> kernels_;
  // The last line of the headers in the whole text, and of what includes them in the text that was given.
  int headers_end_ = 0, includes_end_ = 0;
};

}  // namespace tilewright::sim
