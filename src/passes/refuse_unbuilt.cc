#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/cuda_passes.h"
#include "support/error.h"

namespace tilewright::passes {

namespace {

class Unbuilt : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    if (const auto* op = ir::get_if<ir::OpStmt>(stmt); op && op->def->reports) {
      refuse(ir::text_attr(op->attrs, "kind") == "assert" ? "device_assert" : "print", stmt->loc);
    }
    visit_parts(stmt);
  }

 private:
  [[noreturn]] static void refuse(const std::string& word, const Loc& loc) {
    throw unsupported(loc, "{} has no CUDA code yet; it runs on the target cpu and in the interpreter", word);
  }
};

}  // namespace

void refuse_unbuilt(const ir::Program& program) {
  for (const ir::Kernel& kernel : program.kernels) Unbuilt().visit(kernel.body);
}

}  // namespace tilewright::passes
