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
  void (*report)(void* host, long long number, const long long* cells) = nullptr;
  void* host = nullptr;
};

// codegen/cpu.h describes the arguments.
using CpuEntryFunction = void(void* const* tensors, const long long* scalars, long long first, long long last,
                              char* scratch, CpuFailure* failure);

struct CompiledKernel::Impl {
  ir::Program program;
  std::string target;
  int num_threads = 1;
  codegen::CpuModule module;
  std::shared_ptr<LoadedModule> loaded;
  std::vector<CpuEntryFunction*> entries;
  std::vector<Remark> remarks;
  PrintHook on_print;  // empty: standard output
  mutable std::mutex print_mutex;
  std::string lowered_tiles;
  mutable std::mutex mutex;
  mutable std::string source_path;
};

struct Launch::Impl {
  std::shared_ptr<const CompiledKernel::Impl> kernel;
  BoundArguments bound;
  std::vector<void*> tensors;
  std::vector<long long> scalars;
  std::vector<int64_t> num_blocks;  // of each kernel
};

// Name, space, dtype and leading dimensions of each on-chip tile, for the report.
std::string describe_tiles(const ir::Program& lowered);

}  // namespace tilewright
