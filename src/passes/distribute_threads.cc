#include "ir/rewrite.h"
#include "passes/cuda_passes.h"
#include "support/error.h"

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::Stmt;

namespace {

class Distribution : public ir::Rewriter {
 public:
  Distribution(const Kernel& kernel, ir::VarId& next_var, const Expr& thread)
      : kernel_(kernel), next_var_(next_var), thread_(thread) {}
  using Rewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    if (ir::get_if<ir::LanesStmt>(stmt)) return out.push_back(stmt);
    if (ir::get_if<ir::RoleStmt>(stmt)) {
      const bool before = std::exchange(in_role_, true);
      Rewriter::rewrite(stmt, out);
      in_role_ = before;
      return;
    }
    if (const auto* loop = ir::get_if<ir::ForStmt>(stmt); loop && loop->kind == ir::LoopKind::parallel) {
      refuse_in_role(stmt->loc);
      return out.push_back(in_lanes({deal_out(*loop, stmt->loc)}, stmt->loc));
    }
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt); store && is_common(store->tile)) {
      refuse_in_role(stmt->loc);
      const Expr first = ir::binary(ir::ExprKind::eq, thread_, ir::int_imm(0));
      const Stmt guarded = ir::make_stmt(ir::IfStmt{.condition = first, .then = {stmt}, .otherwise = {}}, stmt->loc);
      return out.push_back(in_lanes({guarded}, stmt->loc));
    }
    Rewriter::rewrite(stmt, out);
  }

 private:
  void refuse_in_role(const Loc& loc) const {
    if (in_role_) throw unsupported(loc, "a statement that the warps of one role share out among themselves");
  }
  // Memory that all threads of the block see.
  bool is_common(ir::TileId id) const { return kernel_.tile(id).space != ir::Space::local; }
  static Stmt in_lanes(Block body, const Loc& loc) {
    return ir::make_stmt(ir::LanesStmt{.exec = {}, .body = std::move(body)}, loc);
  }
  Stmt deal_out(const ir::ForStmt& loop, const Loc& loc);

  const Kernel& kernel_;
  ir::VarId& next_var_;
  const Expr& thread_;
  bool in_role_ = false;
};

// for index in thread, thread + threads, ... below the product of the extents: the digits of `index` are the steps
// along each dimension.
Stmt Distribution::deal_out(const ir::ForStmt& loop, const Loc& loc) {
  ir::ForStmt out{.kind = ir::LoopKind::parallel, .dims = {}, .attrs = {}, .body = {}};
  const int64_t threads = kernel_.threads;
  Expr total = ir::int_imm(1);
  for (const ir::LoopDim& dim : loop.dims) total = total * dim.extent;
  const auto share = [&](const Expr& count) { return ir::floordiv(count - thread_ + (threads - 1), threads); };
  if (loop.dims.size() == 1 && loop.dims[0].begin.is_int(0) && loop.dims[0].step == 1) {
    out.dims = {{.var = loop.dims[0].var, .begin = thread_, .extent = share(total), .step = threads}};
    out.body = loop.body;
    return ir::make_stmt(std::move(out), loc);
  }
  const Expr index = ir::var(next_var_++, "index", ir::kIndex, loc);
  out.dims = {{.var = index, .begin = thread_, .extent = share(total), .step = threads}};
  Expr rest = index;
  std::vector<Stmt> lets;
  for (size_t d = loop.dims.size(); d-- > 0;) {
    const ir::LoopDim& dim = loop.dims[d];
    const Expr digit = d == 0 ? rest : ir::floormod(rest, dim.extent);
    lets.push_back(ir::make_stmt(ir::LetStmt{.var = dim.var, .value = dim.begin + digit * dim.step}, loc));
    rest = ir::floordiv(rest, dim.extent);
  }
  out.body.assign(lets.rbegin(), lets.rend());
  out.body.insert(out.body.end(), loop.body.begin(), loop.body.end());
  return ir::make_stmt(std::move(out), loc);
}

}  // namespace

ir::Program distribute_threads(const ir::Program& program) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    if (!kernel.thread_var) kernel.thread_var = out.fresh_var("tid", ir::kIndex, kernel.loc);
    const Block body = kernel.body;
    kernel.body = Distribution(kernel, out.next_var, kernel.thread_var).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
