// Launch arguments checked against a program's parameters, and everything that follows from them: pointers, shapes,
// strides, values of scalars and dynamic extents, memory for workspaces.
#pragma once

#include "ir/kernel.h"

#include <tilewright/runtime.h>

#include <cstddef>
#include <cstdint>
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
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements

  int64_t num_elems() const;
};

struct AlignedDelete {
  void operator()(std::byte* memory) const;
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

struct BoundArguments {
  std::vector<BoundTensor> tensors;  // row by row those of Program::tensors
  ScalarValues scalars;
  std::vector<AlignedBytes> workspaces;  // owns the data of the workspace tensors; contents undefined
};

// Checks `arguments` against `program.params`: count, kind, dtype, rank, device (the CPU), pointers, alignment to the
// element, extents, strides and scalar ranges; solves dynamic extents. Strides are free where the extent is 1 and in
// tensors without elements. Tensors may overlap in memory. Throws Error{invalid_argument}.
BoundArguments bind_arguments(const ir::Program& program, std::span<const Argument> arguments);

// An integer (or bool) expression of scalars, by the arithmetic of ir/expr.h.
int64_t evaluate(const ir::Expr& e, const ScalarValues& values);

}  // namespace tilewright
