// CUDA C++ from a program for one thread. Decides nothing: every choice is in the program.
#pragma once

#include "codegen/cpu.h"
#include "ir/kernel.h"
#include "support/text_writer.h"
#include "target/cuda.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::codegen {

// extern "C" __global__ void symbol(tensors in the order of Program::tensors, scalars in the order of Program::scalars,
//                                   tensor maps in the order of CudaEntry::maps, long long first_block,
//                                   tw::Failure* failure)
// runs one block of the grid: number first_block + blockIdx.x in launch order.
struct CudaEntry {
  std::string symbol;
  std::vector<ir::Expr> grid;
  int threads = 0;
  int64_t shared_bytes = 0;
  std::vector<ir::TensorMap> maps = {};
  size_t first_report = 0;  // those of the kernel follow each other
};

// tw::Failure::at: the cells of an assertion.
constexpr size_t kMaxFailureCells = 24;

struct CudaModule {
  std::string source;     // without line comments; the cache key is made of it
  std::string annotated;  // with the author's lines as comments
  SourceMap source_map;   // of `source`
  std::vector<CudaEntry> entries;
  std::vector<CheckSite> sites;
  std::vector<ops::Report> reports;
};

CudaModule emit_cuda(const ir::Program& lowered, const CudaTarget& target);

}  // namespace tilewright::codegen
