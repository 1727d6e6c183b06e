// C++ text for CPUs from a lowered program. Decides nothing: every choice is in the program.
#pragma once

#include "ir/kernel.h"
#include "ops/report.h"
#include "support/text_writer.h"
#include "target/cpu.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::codegen {

// void symbol(void* const* tensors, const long long* scalars, long long first, long long last, char* scratch,
//             Failure* failure)
// runs blocks [first, last) of the grid in launch order. `tensors` are in the order of Program::tensors; `scalars` in
// the order of Program::scalars, integers widened to 64 bits, floats as the bits of a double; `scratch` is
// scratch_bytes of private memory, aligned to 64 bytes.
struct CpuEntry {
  std::string symbol;
  std::vector<ir::Expr> grid;
  int64_t scratch_bytes = 0;
};

// A run-time check in the text, numbered from 1: Failure::site.
struct CheckSite {
  std::string tile;
  std::string shape;  // "[128, 64]"
  bool is_store = false;
  bool is_loop = false;        // a while loop that a launch may be interrupted in; it has no tile
  std::string condition = {};  // of an assumption; then there is no tile
  int report = -1;             // of an assertion in CUDA text: its number among the reports; then there is no tile
  Loc loc;
  Loc declared;
};

// A print or an assertion in the text, numbered from 0: the argument of Failure::report, and of tw::report.
using CpuReport = ops::Report;

struct CpuModule {
  std::string source;     // without line comments; the cache key is made of it
  std::string annotated;  // with the author's lines as comments
  SourceMap source_map;   // of `source`
  std::vector<CpuEntry> entries;
  std::vector<CheckSite> sites;
  std::vector<CpuReport> reports;
  bool reinterprets = false;  // some memory is read by two element types
};

CpuModule emit_cpu(const ir::Program& lowered, const CpuTarget& target);

// `source` with the text of device headers in place of the #include lines, so that it compiles by itself. `simulated`:
// CUDA text for the host compiler, with the headers of sim/ in place of those of cuda/ that have the same name.
struct StandaloneSource {
  std::string text;
  SourceMap source_map;
};
StandaloneSource inline_device_headers(const std::string& source, const SourceMap& map, bool simulated = false);

}  // namespace tilewright::codegen
