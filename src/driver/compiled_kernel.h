// The inside of CompiledKernel and Launch.
#pragma once

#include <tilewright/compile.h>

#include "codegen/cpu.h"
#include "runtime/bind.h"
#include "runtime/host_compiler.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright {

// Mirrors tilewright::device::cpu::Failure, which generated code fills.
struct CpuFailure {
  long long site = 0;
  long long at[7] = {};
  const unsigned* interrupts = nullptr;
  unsigned interrupts_before = 0;
};

// codegen/cpu.h describes the arguments.
using CpuEntryFunction = void(void* const* tensors, const long long* scalars, long long first, long long last,
                              char* scratch, CpuFailure* failure);

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
  int num_threads = 1;
  codegen::CpuModule module;
  std::shared_ptr<LoadedModule> loaded;
  std::vector<CpuEntryFunction*> entries;
  std::vector<Remark> remarks;
  std::string lowered_tiles;
  mutable std::mutex mutex;
  mutable std::vector<int64_t> empty_launches;  // of each kernel: launches bound to a grid without blocks
  mutable SourceFile source_file;
};

struct Launch::Impl {
  std::shared_ptr<const CompiledKernel::Impl> kernel;
  BoundArguments bound;
  std::vector<void*> tensors;
  std::vector<long long> scalars;
  std::vector<int64_t> num_blocks;  // of each kernel
  std::vector<Remark> remarks;
};

// Name, space, dtype and leading dimensions of each on-chip tile, for the report.
std::string describe_tiles(const ir::Program& lowered);

}  // namespace tilewright
