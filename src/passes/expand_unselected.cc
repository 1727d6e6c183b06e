#include "ir/rewrite.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/reduce.h"
#include "ops/report.h"
#include "ops/scan.h"
#include "passes/cuda_passes.h"
#include "passes/cuda_select.h"
#include "passes/schedule_ops.h"
#include "passes/stage_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilewright::passes {

using ir::Block;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;

namespace {

class Expansion : public ir::Rewriter {
 public:
  Expansion(Kernel& kernel, ir::VarId& next_var, const CudaTarget& target, std::vector<Remark>& remarks)
      : context_{.kernel = kernel, .next_var = next_var}, target_(target), remarks_(remarks) {}
  using Rewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    if (const auto* loop = ir::get_if<ir::ForStmt>(stmt); loop && loop->kind == ir::LoopKind::parallel) {
      const bool before = std::exchange(in_parallel_, true);
      Rewriter::rewrite(stmt, out);
      in_parallel_ = before;
      return;
    }
    const auto* op = ir::get_if<OpStmt>(stmt);
    if (op == nullptr && ir::get_if<ir::StoreStmt>(stmt)) return out.push_back(in_a_loop(stmt));
    if (op == nullptr) return Rewriter::rewrite(stmt, out);
    const Kernel& kernel = context_.kernel;
    const bool prints = op->def == &ops::print_op() && kernel.tile(op->tiles[0].tile).space == ir::Space::fragment;
    if (!in_parallel_ && (prints || op->def->reports)) {
      for (Stmt& part : prints ? stage_print(*op, context_, stmt->loc) : stage_report(*op, context_, stmt->loc))
        out.push_back(std::move(part));
      return;
    }
    if (is_mma(*op, kernel, target_) || is_register_reduce(*op, kernel) || is_load(*op) || is_selected(*op)) {
      return out.push_back(stmt);
    }
    if (op->def == &ops::gemm_op()) remark_scalar_gemm(*op, kernel, target_, stmt->loc, remarks_);
    if (ops::is_reduce(*op)) remark("scalar_reduce", *op, stmt->loc);
    if (ops::is_scan(*op)) remark("scalar_scan", *op, stmt->loc);
    for (const Stmt& part : op->def->expand(*op, context_, stmt->loc)) out.push_back(in_a_loop(part));
  }

 private:
  // A store of the only element of a fragment, or from one, where no loop is around it: a loop of one iteration, which
  // the inference of fragments knows how to share out. A variable that it writes would belong to the loop.
  Stmt in_a_loop(const Stmt& stmt) {
    const auto* store = ir::get_if<ir::StoreStmt>(stmt);
    if (store == nullptr || in_parallel_) return stmt;
    if (context_.kernel.tile(store->tile).space == ir::Space::local) return stmt;
    bool touches = false, only = true;
    const auto note = [&](ir::TileId id, std::span<const ir::Expr> at) {
      const Kernel& kernel = context_.kernel;
      if (size_t(id) >= kernel.tiles.size() || kernel.tile(id).space != ir::Space::fragment) return;
      touches = true;
      only = only && std::all_of(at.begin(), at.end(), [](const ir::Expr& i) { return i.is_int(0); });
    };
    note(store->tile, store->indices);
    std::vector<ir::Expr> pending = store->indices;
    pending.push_back(store->value);
    while (!pending.empty()) {
      const ir::Expr e = pending.back();
      pending.pop_back();
      if (e.is(ir::ExprKind::load)) note(e.tile_id(), e.args());
      pending.insert(pending.end(), e.args().begin(), e.args().end());
    }
    if (!touches || !only) return stmt;
    ir::ForStmt loop{.kind = ir::LoopKind::parallel, .dims = {}, .attrs = {}, .body = {stmt}};
    loop.dims = {{.var = context_.fresh_var("only"), .begin = ir::int_imm(0), .extent = ir::int_imm(1)}};
    return ir::make_stmt(std::move(loop), stmt->loc);
  }
  // By name, as planners do.
  static bool is_selected(const OpStmt& op) {
    return op.def == &async_copy_op() || op.def == &bulk_copy_op() || op.def == &warpgroup_gemm_op();
  }
  bool is_load(const OpStmt& op) const {
    return op.def == &ops::copy_op() && context_.kernel.tile(op.tiles[0].tile).space == ir::Space::global &&
           context_.kernel.tile(op.tiles[1].tile).space == ir::Space::shared;
  }
  void remark(const char* kind, const OpStmt& op, const Loc& loc) {
    remarks_.push_back({.kind = kind,
                        .text = fmt::format("{} of {} gives each line to one thread, which goes over it element by "
                                            "element",
                                            op.def->name, context_.kernel.tile(op.tiles[0].tile).name),
                        .loc = loc});
  }
  ir::ExpandContext context_;
  const CudaTarget& target_;
  std::vector<Remark>& remarks_;
  bool in_parallel_ = false;
};

}  // namespace

ir::Program expand_unselected(const ir::Program& program, const CudaTarget& target, std::vector<Remark>& remarks) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Block body = kernel.body;
    kernel.body = Expansion(kernel, out.next_var, target, remarks).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
