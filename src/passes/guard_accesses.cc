#include "ir/bounds.h"
#include "passes/fact_rewriter.h"
#include "passes/passes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::Stmt;
using ir::TileId;

namespace {

// Whether an expression reads a tile or one of some variables.
class Mentions : public ir::Visitor {
 public:
  explicit Mentions(const std::vector<ir::LoopDim>& nest) : nest_(nest) {}
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (!e) return;
    if (e.is(ExprKind::load)) reads_tile = true;
    if (e.is(ExprKind::var)) {
      for (const ir::LoopDim& dim : nest_) in_nest |= dim.var.var_id() == e.var_id();
    }
    visit_args(e);
  }
  bool reads_tile = false, in_nest = false;

 private:
  const std::vector<ir::LoopDim>& nest_;
};

// Replaces loads, whose indices come first.
class GlobalLoads : public ir::Rewriter {
 public:
  explicit GlobalLoads(std::function<Expr(const Expr&)> replace) : replace_(std::move(replace)) {}
  using Rewriter::rewrite;
  Expr rewrite(const Expr& e) override {
    if (!e) return e;
    const Expr out = rewrite_args(e);
    return out.is(ExprKind::load) ? replace_(out) : out;
  }

 private:
  std::function<Expr(const Expr&)> replace_;
};

class Guarding : public FactRewriter {
 public:
  Guarding(const ir::Program& program, Kernel& kernel, ir::VarId& next_var)
      : FactRewriter(program, kernel), kernel_(kernel), next_var_(next_var) {}
  using FactRewriter::rewrite;

  Expr rewrite(const Expr& e) override;
  void rewrite(const Stmt& stmt, Block& out) override;

 private:
  TileId unchecked(TileId id);
  bool in_bounds(TileId id, std::span<const Expr> at);
  bool assume_in_bounds(Expr index, const Expr& extent);
  Expr where_stored(const ir::StoreStmt& store, const Expr& value);
  void rewrite_nest(const Stmt& stmt, const ir::ForStmt& loop, Block& out);

  Kernel& kernel_;
  ir::VarId& next_var_;
  std::map<TileId, TileId> unchecked_;
  // While the fast form of a parallel nest is built: the variables bound inside it, and what it takes for granted.
  std::vector<ir::LoopDim> nest_;
  std::vector<Expr> lets_, let_values_;  // of the nest, in terms of its loops
  std::vector<Expr>* assumptions_ = nullptr;
  bool left_checked_ = false;
};

TileId Guarding::unchecked(TileId id) {
  const auto it = unchecked_.find(id);
  if (it != unchecked_.end()) return it->second;
  ir::Tile row = kernel_.tile(id);
  row.unchecked = true;
  const auto made = TileId(kernel_.tiles.size());
  kernel_.tiles.push_back(std::move(row));
  unchecked_.emplace(id, made);
  return made;
}

// Adds "the smallest and largest value of `index` over the nest are inside" to the assumptions.
bool Guarding::assume_in_bounds(Expr index, const Expr& extent) {
  index = ir::substitute(index, lets_, let_values_);
  const ir::LinearForm form = ir::linear_form(index);
  Expr low = ir::int_imm(form.constant), high = low;
  for (const auto& [term, coefficient] : form.terms) {
    Mentions mentions(nest_);
    mentions.visit(term);
    if (mentions.reads_tile) return false;
    if (!mentions.in_nest) {
      low = low + term * coefficient;
      high = high + term * coefficient;
      continue;
    }
    const ir::Interval range = ir::bounds(term, facts_);
    if (!range.lo || !range.hi) return false;
    int64_t a = 0, b = 0;
    if (__builtin_mul_overflow(*range.lo, coefficient, &a) || __builtin_mul_overflow(*range.hi, coefficient, &b)) {
      return false;
    }
    low = low + std::min(a, b);
    high = high + std::max(a, b);
  }
  Mentions outer(nest_);
  outer.visit(extent);
  if (outer.in_nest || outer.reads_tile) return false;
  for (const Expr& condition : {ir::le(ir::int_imm(0), low), ir::lt(high, extent)}) {
    if (condition.is_int(1) || proves(condition)) continue;
    const bool known =
        std::any_of(assumptions_->begin(), assumptions_->end(), [&](const Expr& a) { return ir::equal(a, condition); });
    if (!known) assumptions_->push_back(condition);
  }
  return true;
}

bool Guarding::in_bounds(TileId id, std::span<const Expr> at) {
  const ir::Tile& tile = kernel_.tile(id);
  for (size_t d = 0; d < at.size(); ++d) {
    const Expr extent = tile.shape[d];
    if (proves_inside(at[d], extent)) continue;
    if (assumptions_ && assume_in_bounds(at[d], extent)) continue;
    left_checked_ = true;
    return false;
  }
  return true;
}

Expr Guarding::rewrite(const Expr& e) {
  if (!e) return e;
  if (e.is(ExprKind::select)) {
    const Expr condition = rewrite(e.arg(0));
    // Conditions inside the nest cannot be assumed outside of it, so selects keep to what is proved.
    facts_.push();
    facts_.assume(e.arg(0), ir::Reads::stable);
    const Expr then = rewrite(e.arg(1));
    facts_.pop();
    facts_.push();
    facts_.assume(ir::negation(e.arg(0)), ir::Reads::stable);
    const Expr otherwise = rewrite(e.arg(2));
    facts_.pop();
    return ir::select(condition, then, otherwise, e.loc());
  }
  if (!e.is(ExprKind::load)) return rewrite_args(e);
  std::vector<Expr> at;
  for (const Expr& a : e.args()) at.push_back(rewrite(a));
  const bool safe = kernel_.tile(e.tile_id()).unchecked || at.empty() || in_bounds(e.tile_id(), e.args());
  const TileId id = safe && !at.empty() ? unchecked(e.tile_id()) : e.tile_id();
  return ir::load(id, e->name, e.dtype(), std::move(at), e.loc());
}

void Guarding::rewrite_nest(const Stmt& stmt, const ir::ForStmt& loop, Block& out) {
  left_checked_ = false;
  Block checked;
  FactRewriter::rewrite(stmt, checked);
  if (!left_checked_) {
    out.insert(out.end(), checked.begin(), checked.end());
    return;
  }
  std::vector<Expr> assumptions;
  assumptions_ = &assumptions;
  nest_ = loop.dims;
  Block fast;
  FactRewriter::rewrite(stmt, fast);
  assumptions_ = nullptr;
  nest_.clear();
  lets_.clear();
  let_values_.clear();
  if (assumptions.empty()) {
    out.insert(out.end(), checked.begin(), checked.end());
    return;
  }
  Expr all = assumptions[0];
  for (size_t i = 1; i < assumptions.size(); ++i) all = ir::logical_and(all, assumptions[i]);
  // A variable has one definition: the second copy gets its own.
  out.push_back(ir::make_stmt(
      ir::IfStmt{.condition = all, .then = fast, .otherwise = ir::with_fresh_vars(checked, next_var_)}, stmt->loc));
}

// A value is asked for only where its store to global memory takes place. Loads of on-chip tiles stay as they are:
// passes move them out of loops.
Expr Guarding::where_stored(const ir::StoreStmt& store, const Expr& value) {
  const ir::Tile tile = kernel_.tile(store.tile);
  if (tile.on_chip() || tile.unchecked) return value;
  facts_.push();
  for (size_t d = 0; d < store.indices.size(); ++d) {
    facts_.assume(ir::le(ir::int_imm(0), store.indices[d]), ir::Reads::stable);
    facts_.assume(ir::lt(store.indices[d], tile.shape[d]), ir::Reads::stable);
  }
  const Expr out = GlobalLoads([&](const Expr& load) {
                     const ir::Tile& from = kernel_.tile(load.tile_id());
                     if (from.on_chip() || from.unchecked || load.args().empty()) return load;
                     for (size_t d = 0; d < load.args().size(); ++d) {
                       if (!proves_inside(load.arg(d), from.shape[d])) return load;
                     }
                     const std::vector<Expr> at(load.args().begin(), load.args().end());
                     return ir::load(unchecked(load.tile_id()), load->name, load.dtype(), at, load.loc());
                   }).rewrite(value);
  facts_.pop();
  return out;
}

void Guarding::rewrite(const Stmt& stmt, Block& out) {
  if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
    ir::StoreStmt rebuilt{.tile = store->tile, .indices = {}, .value = {}};
    for (const Expr& index : store->indices) rebuilt.indices.push_back(rewrite(index));
    rebuilt.value = rewrite(store->value);
    if (!store->indices.empty() && in_bounds(store->tile, store->indices)) {
      rebuilt.tile = unchecked(store->tile);
    } else {
      rebuilt.value = where_stored(*store, rebuilt.value);
    }
    out.push_back(ir::make_stmt(std::move(rebuilt), stmt->loc));
    return;
  }
  if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
    ir::AtomicStmt rebuilt = *atomic;
    for (Expr& index : rebuilt.indices) index = rewrite(index);
    rebuilt.value = rewrite(atomic->value);
    if (!atomic->indices.empty() && in_bounds(atomic->tile, atomic->indices)) rebuilt.tile = unchecked(atomic->tile);
    if (atomic->prev && assumptions_) nest_.push_back({.var = atomic->prev, .begin = {}, .extent = {}});
    out.push_back(ir::make_stmt(std::move(rebuilt), stmt->loc));
    return;
  }
  const auto* let = ir::get_if<ir::LetStmt>(stmt);
  if (let && assumptions_) {
    nest_.push_back({.var = let->var, .begin = {}, .extent = {}});
    Mentions mentions(nest_);
    mentions.visit(let->value);
    if (let->var.dtype() == ir::kIndex && !mentions.reads_tile) {
      let_values_.push_back(ir::substitute(let->value, lets_, let_values_));
      lets_.push_back(let->var);
    }
  }
  const auto* loop = ir::get_if<ir::ForStmt>(stmt);
  if (loop == nullptr) return FactRewriter::rewrite(stmt, out);
  if (loop->kind == ir::LoopKind::parallel && assumptions_ == nullptr) return rewrite_nest(stmt, *loop, out);
  if (assumptions_) nest_.insert(nest_.end(), loop->dims.begin(), loop->dims.end());
  FactRewriter::rewrite(stmt, out);
}

}  // namespace

ir::Program guard_accesses(const ir::Program& program) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Block body = kernel.body;
    kernel.body = Guarding(program, kernel, out.next_var).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
