// A Rewriter that knows, at each statement, the ranges of variables and the conditions that hold there.
#pragma once

#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace tilewright::passes {

class FactRewriter : public ir::Rewriter {
 public:
  using Rewriter::rewrite;
  // Starts with the facts of a kernel: extents are not negative, block indices lie in the grid.
  FactRewriter(const ir::Program& program, const ir::Kernel& kernel);

  // Recurses with the facts of each branch and loop; an override calls this for statements it does not replace.
  void rewrite(const ir::Stmt& stmt, ir::Block& out) override;

 protected:
  bool proves(const ir::Expr& condition) const { return ir::prove(condition, facts_); }
  // 0 <= index < extent.
  bool proves_inside(const ir::Expr& index, const ir::Expr& extent) const;

  ir::Facts facts_;

 private:
  ir::Expr thread_;  // the kernel's variable, where it has one
};

}  // namespace tilewright::passes
