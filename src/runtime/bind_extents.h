// Dynamic extents: solves the variables of shapes and strides from the views that a launch passes.
#pragma once

#include "runtime/bind.h"

#include <string>

namespace tilewright {

// One thing that a view says about the program: the declared `expr` is `value` here.
struct ExtentFact {
  ir::Expr expr;
  int64_t value = 0;
  int argument = 0;  // 1-based position
  const ir::Tensor* tensor = nullptr;
  int dim = 0;
  bool is_stride = false;
  bool free = false;  // the stride of a unit dimension or empty tensor: may solve a variable, cannot disagree

  std::string place() const;  // "dimension 0" or "the stride of dimension 0"
};

// Solves every ScalarKind::extent of `program` into `values` and compares every fact with its expression.
// A variable is taken from where it stands alone, else from an expression that is linear in it and in which
// everything else is known. Throws Error{invalid_argument}.
void solve_extents(const ir::Program& program, std::span<const ExtentFact> facts, ScalarValues& values);

// "2 * m + 1", for messages.
std::string text_of(const ir::Expr& e);

}  // namespace tilewright
