#include "ir/rewrite.h"
#include "passes/cuda_passes.h"
#include "passes/cuda_select.h"
#include "passes/lower_mma.h"

namespace tilewright::passes {

namespace {

class Operands : public ir::Visitor {
 public:
  Operands(ir::Kernel& kernel, const CudaTarget& target) : kernel_(kernel), target_(target) {}
  using Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    if (const auto* op = ir::get_if<ir::OpStmt>(stmt); op && (is_mma(*op, kernel_, target_) || is_mma_part(*op))) {
      for (size_t i = 0; i < 2; ++i) {
        ir::Tile& tile = kernel_.tiles[size_t(op->tiles[i].tile)];
        tile.layout = swizzled_panels(tile.extents(), bytes_of(tile.dtype));
      }
    }
    visit_parts(stmt);
  }

 private:
  ir::Kernel& kernel_;
  const CudaTarget& target_;
};

}  // namespace

ir::Program plan_operands(ir::Program program, const CudaTarget& target) {
  for (ir::Kernel& kernel : program.kernels) {
    const ir::Block body = kernel.body;
    Operands(kernel, target).visit(body);
  }
  return program;
}

}  // namespace tilewright::passes
