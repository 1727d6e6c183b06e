#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/cuda_passes.h"
#include "support/error.h"

#include <fmt/format.h>

#include <utility>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::TileId;

namespace {

class Distribution : public ir::Rewriter {
 public:
  Distribution(Kernel& kernel, ir::VarId& next_var) : kernel_(kernel), next_var_(next_var) {}
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
      return out.push_back(in_first_thread({stmt}, stmt->loc));
    }
    if (const auto* op = ir::get_if<ir::OpStmt>(stmt); op && op->def->reports) {
      refuse_in_role(stmt->loc);
      if (ir::text_attr(op->attrs, "kind") != "assert") return out.push_back(in_first_thread({stmt}, stmt->loc));
      // All threads see the same values, and leave together where it fails.
      OpStmt leaving = *op;
      leaving.attrs.emplace_back("leaves", true);
      return out.push_back(in_lanes({ir::make_stmt(std::move(leaving), stmt->loc)}, stmt->loc));
    }
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt); atomic && is_common(atomic->tile)) {
      refuse_in_role(stmt->loc);
      return do_once(*atomic, stmt->loc, out);
    }
    Rewriter::rewrite(stmt, out);
  }

 private:
  void do_once(ir::AtomicStmt atomic, const Loc& loc, Block& out);
  void refuse_in_role(const Loc& loc) const {
    if (in_role_) throw unsupported(loc, "a statement that the warps of one role share out among themselves");
  }
  // Memory that all threads of the block see.
  bool is_common(ir::TileId id) const { return kernel_.tile(id).space != ir::Space::local; }
  static Stmt in_lanes(Block body, const Loc& loc) {
    return ir::make_stmt(ir::LanesStmt{.exec = {}, .body = std::move(body)}, loc);
  }
  Expr thread() const { return kernel_.thread_var; }
  Stmt in_first_thread(Block body, const Loc& loc) const {
    const Expr first = ir::binary(ir::ExprKind::eq, thread(), ir::int_imm(0));
    return in_lanes({ir::make_stmt(ir::IfStmt{.condition = first, .then = std::move(body), .otherwise = {}}, loc)},
                    loc);
  }
  Stmt deal_out(const ir::ForStmt& loop, const Loc& loc);

  Kernel& kernel_;
  ir::VarId& next_var_;
  bool in_role_ = false;
};

// An atomic of the block: its first thread does it, and tells the others through shared memory what it found.
void Distribution::do_once(ir::AtomicStmt atomic, const Loc& loc, Block& out) {
  if (!atomic.prev) return out.push_back(in_first_thread({ir::make_stmt(std::move(atomic), loc)}, loc));
  const Expr prev = atomic.prev;
  const auto found = TileId(kernel_.tiles.size());
  const std::string name = kernel_.fresh_tile_name("found");
  kernel_.tiles.push_back({.name = name,
                           .space = ir::Space::shared,
                           .dtype = prev.dtype(),
                           .shape = {ir::int_imm(1)},
                           .layout = {},
                           .unchecked = false,
                           .origin = "atomic",
                           .loc = loc});
  atomic.prev = ir::var(next_var_++, prev->name, prev.dtype(), loc);
  const ir::StoreStmt tell{.tile = found, .indices = {ir::int_imm(0)}, .value = atomic.prev};
  out.push_back(in_first_thread({ir::make_stmt(std::move(atomic), loc), ir::make_stmt(tell, loc)}, loc));
  const Expr told = ir::load(found, name, prev.dtype(), {ir::int_imm(0)}, loc);
  out.push_back(ir::make_stmt(ir::LetStmt{.var = prev, .value = told}, loc));
}

// for index in thread, thread + threads, ... below the product of the extents: the digits of `index` are the steps
// along each dimension.
Stmt Distribution::deal_out(const ir::ForStmt& loop, const Loc& loc) {
  ir::ForStmt out{.kind = ir::LoopKind::parallel, .dims = {}, .attrs = {}, .body = {}};
  const int64_t threads = kernel_.threads;
  Expr total = ir::int_imm(1);
  for (const ir::LoopDim& dim : loop.dims) total = total * dim.extent;
  const auto share = [&](const Expr& count) { return ir::floordiv(count - thread() + (threads - 1), threads); };
  if (loop.dims.size() == 1 && loop.dims[0].begin.is_int(0) && loop.dims[0].step == 1) {
    out.dims = {{.var = loop.dims[0].var, .begin = thread(), .extent = share(total), .step = threads}};
    out.body = loop.body;
    return ir::make_stmt(std::move(out), loc);
  }
  const Expr index = ir::var(next_var_++, "index", ir::kIndex, loc);
  out.dims = {{.var = index, .begin = thread(), .extent = share(total), .step = threads}};
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
    kernel.body = Distribution(kernel, out.next_var).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
