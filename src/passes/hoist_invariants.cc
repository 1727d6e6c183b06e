#include "ir/rewrite.h"
#include "passes/passes.h"
#include "passes/row_loops.h"

#include <algorithm>
#include <set>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::Stmt;
using ir::TileId;

namespace {

// What a nest writes and binds.
class Effects : public ir::Visitor {
 public:
  explicit Effects(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) note(store->tile);
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
      note(atomic->tile);
      if (atomic->prev) bound.insert(atomic->prev.var_id());
    }
    if (const auto* let = ir::get_if<ir::LetStmt>(stmt)) bound.insert(let->var.var_id());
    if (const auto* loop = ir::get_if<ir::ForStmt>(stmt)) {
      for (const ir::LoopDim& dim : loop->dims) bound.insert(dim.var.var_id());
    }
    visit_parts(stmt);
  }
  std::set<std::string> written;
  bool writes_global = false;
  std::set<ir::VarId> bound;

 private:
  void note(TileId id) {
    written.insert(storage_name(kernel_, id));
    writes_global |= !kernel_.tile(id).on_chip();
  }
  const Kernel& kernel_;
};

// Whether a subexpression may move out of loops: none of their variables, nothing that the nest writes.
class Invariance : public ir::Visitor {
 public:
  Invariance(const Kernel& kernel, const Effects& effects, const std::set<ir::VarId>& inner)
      : kernel_(kernel), effects_(effects), inner_(inner) {}
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (!e || !holds) return;
    if (e.is(ExprKind::var)) holds = !inner_.contains(e.var_id()) && !effects_.bound.contains(e.var_id());
    if (e.is(ExprKind::load)) {
      const ir::Tile& tile = kernel_.tile(e.tile_id());
      // Tensors may overlap each other.
      holds =
          !effects_.written.contains(storage_name(kernel_, e.tile_id())) && (tile.on_chip() || !effects_.writes_global);
    }
    costs |= e.is(ExprKind::load) || e.is(ExprKind::call) || e.is(ExprKind::div) || e.is(ExprKind::floordiv) ||
             e.is(ExprKind::floormod);
    visit_args(e);
  }
  bool holds = true;
  bool costs = false;  // worth a variable; sums and products the host compiler moves itself

 private:
  const Kernel& kernel_;
  const Effects& effects_;
  const std::set<ir::VarId>& inner_;
};

// Replaces the largest invariant subexpressions of what every iteration evaluates by variables.
class Extraction : public ir::Rewriter {
 public:
  Extraction(const Kernel& kernel, const Effects& effects, const std::set<ir::VarId>& inner, ir::VarId& next_var)
      : kernel_(kernel), effects_(effects), inner_(inner), next_var_(next_var) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& e) override {
    if (!e) return e;
    Invariance invariance(kernel_, effects_, inner_);
    invariance.visit(e);
    if (invariance.holds && invariance.costs) return variable(e);
    // The sides of a select are evaluated under its condition only, which may be what keeps them in bounds.
    if (e.is(ExprKind::select)) return ir::select(rewrite(e.arg(0)), e.arg(1), e.arg(2), e.loc());
    return rewrite_args(e);
  }

  // Branches and inner loops may not run at all, and so stay as they are, except for a condition.
  void rewrite(const Stmt& stmt, Block& out) override {
    if (const auto* branch = ir::get_if<ir::IfStmt>(stmt)) {
      ir::IfStmt rebuilt = *branch;
      rebuilt.condition = rewrite(branch->condition);
      out.push_back(ir::make_stmt(std::move(rebuilt), stmt->loc));
      return;
    }
    const bool straight = ir::get_if<ir::StoreStmt>(stmt) || ir::get_if<ir::LetStmt>(stmt);
    if (straight) return Rewriter::rewrite(stmt, out);
    out.push_back(stmt);
  }

  Block lets;

 private:
  Expr variable(const Expr& e) {
    for (const Stmt& stmt : lets) {
      const auto* let = ir::get_if<ir::LetStmt>(stmt);
      if (ir::equal(let->value, e)) return let->var;
    }
    const Expr v = ir::var(next_var_++, "once", e.dtype(), e.loc());
    lets.push_back(ir::make_stmt(ir::LetStmt{.var = v, .value = e}, e.loc()));
    return v;
  }

  const Kernel& kernel_;
  const Effects& effects_;
  const std::set<ir::VarId>& inner_;
  ir::VarId& next_var_;
};

class Hoisting : public ir::Rewriter {
 public:
  Hoisting(const Kernel& kernel, ir::VarId& next_var) : kernel_(kernel), next_var_(next_var) {}
  using Rewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop == nullptr || loop->kind != ir::LoopKind::parallel) return Rewriter::rewrite(stmt, out);
    split(*loop, stmt->loc, out);
  }

 private:
  void split(const ir::ForStmt& loop, const Loc& loc, Block& out);

  const Kernel& kernel_;
  ir::VarId& next_var_;
};

bool runs(const ir::LoopDim& dim) { return dim.extent.as_int().value_or(0) > 0; }

// What does not depend on the dimensions from `cut` on moves in front of them; the dimensions before become a loop
// around. Only where those from `cut` on have iterations: what they evaluate may be out of bounds otherwise.
void Hoisting::split(const ir::ForStmt& loop, const Loc& loc, Block& out) {
  Effects effects(kernel_);
  effects.visit(loop.body);
  ir::ForStmt rest = loop;
  std::vector<std::pair<std::vector<ir::LoopDim>, Block>> outer;
  std::vector<ir::LoopDim> around;
  for (size_t cut = 0; cut < loop.dims.size(); ++cut) {
    std::set<ir::VarId> inner;
    for (const ir::LoopDim& dim : rest.dims) inner.insert(dim.var.var_id());
    if (std::all_of(rest.dims.begin(), rest.dims.end(), runs)) {
      Extraction extraction(kernel_, effects, inner, next_var_);
      rest.body = extraction.rewrite(rest.body);
      if (!extraction.lets.empty()) outer.emplace_back(std::exchange(around, {}), std::move(extraction.lets));
    }
    around.push_back(rest.dims.front());
    rest.dims.erase(rest.dims.begin());
  }
  // `around` holds the dimensions after the last cut.
  rest.dims = std::move(around);
  Block body = {ir::make_stmt(std::move(rest), loc)};
  for (size_t k = outer.size(); k-- > 0;) {
    auto& [dims, lets] = outer[k];
    body.insert(body.begin(), lets.begin(), lets.end());
    for (size_t d = dims.size(); d-- > 0;) {
      body = {ir::make_stmt(
          ir::ForStmt{.kind = ir::LoopKind::serial, .dims = {dims[d]}, .attrs = {}, .body = std::move(body)}, loc)};
    }
  }
  out.insert(out.end(), body.begin(), body.end());
}

}  // namespace

ir::Program hoist_invariants(const ir::Program& program) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Block body = kernel.body;
    kernel.body = Hoisting(kernel, out.next_var).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
