// Launch arguments checked against a program's parameters, and everything that follows from them: pointers, shapes,
// strides, values of scalars and dynamic extents, memory for workspaces.
#pragma once

#include "ir/kernel.h"

#include <tilewright/runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tilewright {

// The value of a scalar: `i` for integers and bool (u64 as its bit pattern), `f` for floats, rounded to the dtype.
struct ScalarValue {
  int64_t i = 0;
  double f = 0;
};

// Indexed by VarId; absent for variables that are no scalars of the program.
using ScalarValues = std::vector<std::optional<ScalarValue>>;

struct BoundTensor {
  void* data = nullptr;
  DeviceKind device = DeviceKind::cpu;  // where the data is
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements

  int64_t num_elems() const;  // at most what int64_t holds
};

// The addresses from the first byte of a tensor's elements to behind the last; both 0 where there are none.
struct AddressRange {
  uintptr_t begin = 0, end = 0;
  size_t num_bytes() const { return end - begin; }
};
AddressRange range_of(const BoundTensor& tensor, DType dtype);

struct BoundArguments {
  std::vector<BoundTensor> tensors;  // row by row those of Program::tensors
  ScalarValues scalars;
  std::vector<std::shared_ptr<void>> workspaces;  // owns the data of the workspace tensors; contents undefined
};

// Where a kernel runs and where its workspaces come from.
struct BindOptions {
  DeviceKind device = DeviceKind::cpu;
  int device_index = 0;
  // Memory of so many bytes on the device, aligned to 256 bytes; null when there is not enough.
  std::function<std::shared_ptr<void>(size_t num_bytes)> allocate;
};
std::shared_ptr<void> allocate_host_memory(size_t num_bytes);

// Checks `arguments` against `program.params`: count, kind, dtype, rank, device, pointers, alignment to the element,
// extents, strides and scalar ranges; solves dynamic extents. Strides are free where the extent is 1 and in tensors
// without elements. Tensors may overlap in memory. A kernel on the CPU takes tensors of the host, one on a GPU those of
// that GPU and of the host. Throws Error{invalid_argument}.
BoundArguments bind_arguments(const ir::Program& program, std::span<const Argument> arguments,
                              const BindOptions& options = {.allocate = allocate_host_memory});

// An integer (or bool) expression of scalars, by the arithmetic of ir/expr.h.
int64_t evaluate(const ir::Expr& e, const ScalarValues& values);

}  // namespace tilewright
