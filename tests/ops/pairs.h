// Rows that apply operations of two operands to all pairs of a list of edge values.
#pragma once

#include "ops/numbers.h"
#include "ops/op_table.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace tilewright::tests {

struct Value {
  Real value;
  Real bound = 0;
};

struct BinaryOp {
  const char* name;
  std::function<T::Expr(const T::Expr&, const T::Expr&)> build;
  std::function<Value(Real a, Real b, DType dtype)> expected;
};

// All pairs of `list` in arguments 0 and 1; one result per operation in the arguments after them. Operations run on
// fragments for even numbers and straight on the tensors for odd ones.
Row pairs_row(const std::string& name, DType dtype, std::initializer_list<Real> list, std::vector<BinaryOp> ops);

}  // namespace tilewright::tests
