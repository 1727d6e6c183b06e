#include "ops/assume.h"

#include "support/error.h"

namespace tilewright::ops {

using ir::Kernel;
using ir::OpStmt;

namespace {

void verify_assume(const OpStmt& op, const Kernel&, const Loc& loc) {
  if (is_boolean(op.scalars[0].dtype())) return;
  throw invalid_kernel(loc, "assume: the condition has dtype {}", to_string(op.scalars[0].dtype()))
      .hint("compare with 0 to get a condition");
}

std::vector<ir::Access> no_effects(const OpStmt&, const Kernel&) { return {}; }

ir::Block stays(const OpStmt& op, ir::ExpandContext&, const Loc& loc) { return {ir::make_stmt(op, loc)}; }

}  // namespace

const ir::OpDef& assume_op() {
  static constexpr ir::OpDef kOp{.name = "assume",
                                 .num_tiles = 0,
                                 .num_scalars = 1,
                                 .assumes = true,
                                 .verify = verify_assume,
                                 .effects = no_effects,
                                 .expand = stays};
  return kOp;
}

ir::Stmt make_assume(ir::Expr condition, const Kernel& kernel, const Loc& loc) {
  OpStmt op{.def = &assume_op(), .tiles = {}, .scalars = {std::move(condition)}, .attrs = {}};
  verify_assume(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

}  // namespace tilewright::ops
