// Integer expressions for the tests of src/ir: an evaluator, assignments, and random trees.
#pragma once

#include "fuzz/random.h"
#include "ir/expr.h"

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace tilewright::ir {

using Env = std::map<VarId, int64_t>;
// The value of a load.
using Memory = std::function<int64_t(TileId, const std::vector<int64_t>&)>;

// By the rules of ir/expr.h; integers and bools only.
int64_t evaluate(const Expr& e, const Env& env, const Memory& memory = {});

struct VarInfo {
  Expr var;
  int64_t lo, hi;
};
// Calls `visit` with every assignment of the variables.
void for_each_assignment(const std::vector<VarInfo>& vars, const std::function<void(const Env&)>& visit);

class IntExprs {
 public:
  IntExprs(fuzz::Random& random, std::vector<VarInfo> vars, std::vector<int64_t> constants)
      : random_(random), vars_(std::move(vars)), constants_(std::move(constants)) {}

  Expr integer(DType t, int depth);
  Expr condition(int depth);
  // The shapes of tiled indices: sums of scaled variables, divided and reduced by constants.
  Expr index(DType t, int depth);

 private:
  Expr leaf(DType t);

  fuzz::Random& random_;
  std::vector<VarInfo> vars_;
  std::vector<int64_t> constants_;
};

}  // namespace tilewright::ir
