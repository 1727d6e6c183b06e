// Libraries that stand in for NVRTC and the CUDA driver: compiled by the host compiler, so that the code which loads
// and calls them is tested on machines without either.
#pragma once

#include "runtime/process.h"
#include "runtime/test_folder.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilewright::test {

// Compiles C++ text to the shared object `path`; `defines` are macros to set. Its folder is made.
inline void build_library(const std::filesystem::path& path, const std::string& text,
                          const std::vector<std::string>& defines = {}) {
  std::filesystem::create_directories(path.parent_path());
  const std::filesystem::path source = path.string() + ".cc";
  write_text(source, text);
  std::vector<std::string> command = {"c++", "-shared", "-fPIC", "-O1", "-w", "-o", path.string(), source.string()};
  for (const std::string& define : defines) command.push_back("-D" + define);
  const ProcessResult result = run_process({.command = command});
  if (!result.ok()) throw std::runtime_error(result.output);
}

}  // namespace tilewright::test
