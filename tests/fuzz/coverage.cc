// What a program uses, counted from its tree.
#include "fuzz/program_generator.h"

#include "ir/kernel.h"
#include "ir/op.h"
#include "ir/rewrite.h"

namespace tilewright::fuzz {

namespace {

std::string dtype_class(DType t) { return is_float(t) ? "float" : is_boolean(t) ? "bool" : "int"; }

class Counter : public ir::Visitor {
 public:
  Counter(const ir::Program& program, const ir::Kernel& kernel, Coverage& coverage)
      : program_(program), kernel_(kernel), coverage_(coverage) {}
  using Visitor::visit;

  void visit(const ir::Expr& e) override {
    if (!e) return;
    const bool by_operand = ir::is_comparison(e.kind()) || e.is(ir::ExprKind::cast);
    const DType t = by_operand ? e.arg(0).dtype() : e.dtype();
    count("expr " + std::string(ir::to_string(e.kind())) + " " + dtype_class(t));
    if (e.is(ir::ExprKind::load)) count_read(e.tile_id());
    if (e.is(ir::ExprKind::cast)) count("cast " + text(t) + " to " + text(e.dtype()));
    if (e.is(ir::ExprKind::call)) count("math " + std::string(ir::to_string(ir::MathFn(e->i))) + " " + text(e.dtype()));
    visit_args(e);
  }

  void visit(const ir::Stmt& stmt) override {
    if (const auto* op = ir::get_if<ir::OpStmt>(stmt)) count_op(*op);
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) count("store " + text(kernel_.tile(store->tile).dtype));
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
      count("atomic " + std::string(ir::to_string(atomic->kind)) + " " + text(kernel_.tile(atomic->tile).dtype));
    }
    if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) count("loop " + std::string(ir::to_string(loop->kind)));
    if (ir::get_if<ir::WhileStmt>(stmt)) count("while");
    if (ir::get_if<ir::BreakStmt>(stmt)) count("break");
    if (ir::get_if<ir::ContinueStmt>(stmt)) count("continue");
    if (ir::get_if<ir::LetStmt>(stmt)) count("let");
    if (ir::get_if<ir::IfStmt>(stmt)) count("if");
    visit_parts(stmt);
  }

 private:
  void count_read(ir::TileId id) {
    const int row = kernel_.tile(id).tensor;
    if (row >= 0 && program_.tensors[size_t(row)].kind == ir::TensorKind::workspace) count("workspace read");
  }
  static std::string text(DType t) { return std::string(to_string(t)); }
  void count(const std::string& what) { ++coverage_[what]; }

  // Under every dtype that an operand has.
  void count_op(const ir::OpStmt& op) {
    const std::string name = "op " + std::string(op.def->name);
    count(name);
    std::string last;
    for (const ir::TileRef& ref : op.tiles) {
      if (&ref != &op.tiles.back()) count_read(ref.tile);
      const std::string t = text(kernel_.tile(ref.tile).dtype);
      if (t != last) count(name + " " + t);
      last = t;
    }
  }

  const ir::Program& program_;
  const ir::Kernel& kernel_;
  Coverage& coverage_;
};

}  // namespace

void add_coverage(const ir::Program& program, Coverage& coverage) {
  for (const ir::Kernel& kernel : program.kernels) {
    Counter counter(program, kernel, coverage);
    for (const ir::Stmt& stmt : kernel.body) counter.visit(stmt);
    for (const ir::Tile& tile : kernel.tiles) {
      if (tile.view_of < 0) continue;
      const DType root = kernel.tile(tile.view_of).dtype;
      ++coverage[(root == tile.dtype ? "reshape " : "view of ") + std::string(to_string(root))];
    }
  }
}

}  // namespace tilewright::fuzz
