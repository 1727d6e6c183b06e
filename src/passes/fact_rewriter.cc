#include "passes/fact_rewriter.h"

#include "ir/op.h"

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Stmt;

FactRewriter::FactRewriter(const ir::Program& program, const ir::Kernel& kernel)
    : facts_(ir::kernel_facts(program, kernel)), thread_(kernel.thread_var) {}

bool FactRewriter::proves_inside(const Expr& index, const Expr& extent) const {
  return proves(ir::le(ir::int_imm(0), index)) && proves(ir::lt(index, extent));
}

void FactRewriter::rewrite(const Stmt& stmt, Block& out) {
  if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) {
    ir::ForStmt rebuilt = *loop;
    facts_.push();
    for (ir::LoopDim& dim : rebuilt.dims) {
      dim.begin = rewrite(dim.begin);
      dim.extent = rewrite(dim.extent);
      facts_.bind(dim.var, dim.begin, dim.extent, dim.step);
    }
    rebuilt.body = rewrite(loop->body);
    facts_.pop();
    out.push_back(ir::make_stmt(std::move(rebuilt), stmt->loc));
    return;
  }
  if (const auto* branch = ir::get_if<ir::IfStmt>(stmt)) {
    ir::IfStmt rebuilt{.condition = rewrite(branch->condition), .then = {}, .otherwise = {}};
    facts_.push();
    facts_.assume(branch->condition);
    rebuilt.then = rewrite(branch->then);
    facts_.pop();
    facts_.push();
    facts_.assume(ir::negation(branch->condition));
    rebuilt.otherwise = rewrite(branch->otherwise);
    facts_.pop();
    out.push_back(ir::make_stmt(std::move(rebuilt), stmt->loc));
    return;
  }
  if (const auto* role = ir::get_if<ir::RoleStmt>(stmt); role && thread_) {
    const int64_t first = int64_t(role->exec.first_warp) * ir::kWarpThreads;
    const int64_t count = int64_t(role->exec.num_warps) * ir::kWarpThreads;
    facts_.push();
    facts_.assume(ir::le(ir::int_imm(first), thread_));
    facts_.assume(ir::lt(thread_, ir::int_imm(first + count)));
    Rewriter::rewrite(stmt, out);
    return facts_.pop();
  }
  Rewriter::rewrite(stmt, out);
  if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) ir::note_let(let->var, let->value, facts_);
  const auto* op = ir::get_if<ir::OpStmt>(stmt);
  if (op && op->def->assumes) facts_.assume(op->scalars[0]);
}

}  // namespace tilewright::passes
