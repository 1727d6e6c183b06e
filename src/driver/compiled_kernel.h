// The inside of CompiledKernel and Launch.
#pragma once

#include <tilewright/compile.h>

#include "driver/executable.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright {

// A copy of the generated source on disk.
struct SourceFile {
  std::string path;
  std::string temporary_folder;  // removed with this; empty: the file stays

  SourceFile() = default;
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;
  ~SourceFile();
};

struct CompiledKernel::Impl {
  ir::Program program;
  std::string target;
  std::shared_ptr<Executable> executable;
  std::vector<Remark> remarks;
  std::string lowered_tiles;
  mutable std::mutex mutex;
  mutable std::vector<int64_t> empty_launches;  // of each kernel: launches bound to a grid without blocks
  mutable SourceFile source_file;
};

struct Launch::Impl {
  std::shared_ptr<const CompiledKernel::Impl> kernel;
  BoundArguments bound;
  std::unique_ptr<BoundLaunch> launch;
  std::vector<Remark> remarks;
};

}  // namespace tilewright
