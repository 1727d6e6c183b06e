#include "ir/rewrite.h"
#include "ops/copy.h"
#include "passes/cuda_passes.h"
#include "passes/cuda_select.h"
#include "passes/schedule_ops.h"

namespace tilewright::passes {

using ir::Block;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;

namespace {

class Expansion : public ir::Rewriter {
 public:
  Expansion(Kernel& kernel, ir::VarId& next_var, const CudaTarget& target)
      : context_{.kernel = kernel, .next_var = next_var}, target_(target) {}
  using Rewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* op = ir::get_if<OpStmt>(stmt);
    if (op == nullptr) return Rewriter::rewrite(stmt, out);
    const Kernel& kernel = context_.kernel;
    if (is_mma(*op, kernel, target_) || is_register_reduce(*op, kernel) || is_load(*op) || is_selected(*op)) {
      return out.push_back(stmt);
    }
    for (Stmt& part : op->def->expand(*op, context_, stmt->loc)) out.push_back(std::move(part));
  }

 private:
  // By name, as planners do.
  static bool is_selected(const OpStmt& op) {
    return op.def == &async_copy_op() || op.def == &bulk_copy_op() || op.def == &warpgroup_gemm_op();
  }
  bool is_load(const OpStmt& op) const {
    return op.def == &ops::copy_op() && context_.kernel.tile(op.tiles[0].tile).space == ir::Space::global &&
           context_.kernel.tile(op.tiles[1].tile).space == ir::Space::shared;
  }
  ir::ExpandContext context_;
  const CudaTarget& target_;
};

}  // namespace

ir::Program expand_unselected(const ir::Program& program, const CudaTarget& target) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Block body = kernel.body;
    kernel.body = Expansion(kernel, out.next_var, target).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
