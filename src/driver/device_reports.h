// What CUDA text tells the host: failed checks, assertions and prints.
#pragma once

#include <tilewright/runtime.h>

#include "codegen/cuda.h"
#include "support/error.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright {

// Mirrors tilewright::device::Failure but for its cells, which follow.
struct DeviceFailure {
  long long site = 0;
  long long at[codegen::kMaxFailureCells] = {};
  unsigned long long used = 0, capacity = 0;
};

// Cells for prints that a launch of the module needs memory for: 8 MiB, or nothing where it prints nothing.
int64_t report_capacity(const codegen::CudaModule& module);

// Of a failed check; failure.site is not 0.
Error device_error(const codegen::CudaModule& module, const DeviceFailure& failure);

// Prints the text of the reports in `cells`: kernel after kernel, block after block in row-major order of their indices
// (the first one fastest), and inside a block as they came. What did not fit into the memory is counted in a last line.
void print_reports(const codegen::CudaModule& module, const DeviceFailure& failure, std::span<const int64_t> cells,
                   const PrintHook& on_print);

}  // namespace tilewright
