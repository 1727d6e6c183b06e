// Statements, with the facts of their place.
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "ir/simplify_rules.h"

#include <algorithm>
#include <map>

namespace tilewright::ir {

namespace {

bool is_jump(const Stmt& stmt) { return get_if<BreakStmt>(stmt) || get_if<ContinueStmt>(stmt); }

bool ends_in_jump(const Block& block) { return !block.empty() && is_jump(block.back()); }

// Whether a block leaves or restarts the loop around it: a break or continue outside of its own loops.
bool jumps(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Stmt& stmt) {
    const auto* branch = get_if<IfStmt>(stmt);
    return is_jump(stmt) || (branch && (jumps(branch->then) || jumps(branch->otherwise)));
  });
}

// Whether statements may write local tiles, which each iteration of a parallel loop has for itself.
class WritesLocalTile : public Visitor {
 public:
  explicit WritesLocalTile(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    if (const auto* store = get_if<StoreStmt>(stmt)) found |= is_local(store->tile);
    if (const auto* atomic = get_if<AtomicStmt>(stmt)) found |= is_local(atomic->tile);
    if (const auto* op = get_if<OpStmt>(stmt)) {
      for (const TileRef& ref : op->tiles) found |= is_local(ref.tile);
    }
    Visitor::visit(stmt);
  }
  bool found = false;

 private:
  bool is_local(TileId id) const { return kernel_.tile(id).space == Space::local; }
  const Kernel& kernel_;
};

// A value this small is repeated rather than named.
constexpr int kMaxInlineNodes = 9;

class Simplifier : public Rewriter {
 public:
  Simplifier(const Program& program, const Kernel& kernel, SingleParallel single)
      : kernel_(kernel), single_(single), facts_(kernel_facts(program, kernel)) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& e) override { return e ? simplify(replace(e), facts_) : e; }
  void rewrite(const Stmt& stmt, Block& out) override;
  Block rewrite(const Block& block) override;

 private:
  Expr replace(const Expr& e) const;
  void rewrite_block(const Block& block, Block& out);
  Block rewrite_where(const Block& block, const Expr& condition);
  void rewrite_let(const LetStmt& let, const Loc& loc, Block& out);
  void rewrite_assumption(OpStmt op, const Loc& loc, Block& out);
  void rewrite_if(const IfStmt& branch, const Loc& loc, Block& out);
  void rewrite_while(const WhileStmt& loop, const Loc& loc, Block& out);
  void rewrite_loop(const ForStmt& loop, const Loc& loc, Block& out);
  void fix(const LoopDim& dim, bool may_name, const Loc& loc, Block& out);
  bool keeps_loop(const ForStmt& loop, const Block& body) const;

  const Kernel& kernel_;
  SingleParallel single_;
  Facts facts_;
  std::map<VarId, Expr> replaced_;  // variables whose let or loop is gone
};

Expr Simplifier::replace(const Expr& e) const {
  if (replaced_.empty()) return e;
  if (e.is(ExprKind::var)) {
    const auto it = replaced_.find(e.var_id());
    return it == replaced_.end() ? e : it->second;
  }
  return map_args(e, [this](const Expr& a) { return replace(a); });
}

Block Simplifier::rewrite(const Block& block) {
  Block out;
  facts_.push();
  rewrite_block(block, out);
  facts_.pop();
  return out;
}

// In the current scope: what a branch tells holds for the statements behind it.
void Simplifier::rewrite_block(const Block& block, Block& out) {
  for (const Stmt& stmt : block) {
    rewrite(stmt, out);
    if (ends_in_jump(out)) return;
  }
}

Block Simplifier::rewrite_where(const Block& block, const Expr& condition) {
  Block out;
  facts_.push();
  facts_.assume(condition);
  rewrite_block(block, out);
  facts_.pop();
  return out;
}

void Simplifier::rewrite(const Stmt& stmt, Block& out) {
  if (const auto* branch = get_if<IfStmt>(stmt)) return rewrite_if(*branch, stmt->loc, out);
  if (const auto* loop = get_if<ForStmt>(stmt)) return rewrite_loop(*loop, stmt->loc, out);
  if (const auto* loop = get_if<WhileStmt>(stmt)) return rewrite_while(*loop, stmt->loc, out);
  if (const auto* let = get_if<LetStmt>(stmt)) return rewrite_let(*let, stmt->loc, out);
  const auto* op = get_if<OpStmt>(stmt);
  if (op && op->def->assumes) return rewrite_assumption(*op, stmt->loc, out);
  Rewriter::rewrite(stmt, out);
}

void Simplifier::rewrite_assumption(OpStmt op, const Loc& loc, Block& out) {
  op.scalars[0] = rewrite(op.scalars[0]);
  const Expr condition = op.scalars[0];
  if (condition.is_int(1)) return;
  out.push_back(make_stmt(std::move(op), loc));
  facts_.assume(condition);
}

void Simplifier::rewrite_let(const LetStmt& let, const Loc& loc, Block& out) {
  const Expr value = rewrite(let.value);
  replaced_.erase(let.var.var_id());
  if (value.is(ExprKind::int_imm) || value.is(ExprKind::float_imm) || value.is(ExprKind::var)) {
    replaced_.emplace(let.var.var_id(), value);
    return;
  }
  note_let(let.var, value, facts_);
  out.push_back(make_stmt(LetStmt{.var = let.var, .value = value}, loc));
}

void Simplifier::rewrite_if(const IfStmt& branch, const Loc& loc, Block& out) {
  const Expr condition = rewrite(branch.condition);
  if (condition.as_int()) return rewrite_block(*condition.as_int() ? branch.then : branch.otherwise, out);
  IfStmt rebuilt{.condition = condition,
                 .then = rewrite_where(branch.then, condition),
                 .otherwise = rewrite_where(branch.otherwise, negation(condition))};
  if (rebuilt.then.empty() && rebuilt.otherwise.empty()) return;
  if (ends_in_jump(rebuilt.then))
    facts_.assume(negation(condition));
  else if (ends_in_jump(rebuilt.otherwise))
    facts_.assume(condition);
  if (rebuilt.then.empty()) {
    rebuilt = {.condition = negation(condition), .then = std::move(rebuilt.otherwise), .otherwise = {}};
  }
  out.push_back(make_stmt(std::move(rebuilt), loc));
}

void Simplifier::rewrite_while(const WhileStmt& loop, const Loc& loc, Block& out) {
  const Expr condition = rewrite(loop.condition);
  if (condition.is_int(0)) return;
  out.push_back(make_stmt(WhileStmt{.condition = condition, .body = rewrite_where(loop.body, condition)}, loc));
}

// The variable of a dimension of one iteration is its begin. A single loop may name it before the body, where loads
// are read once; in a nest the extents of inner dimensions need it as well.
void Simplifier::fix(const LoopDim& dim, bool may_name, const Loc& loc, Block& out) {
  replaced_.erase(dim.var.var_id());
  if (!may_name || (!reads_tile(dim.begin) && num_nodes(dim.begin) <= kMaxInlineNodes)) {
    replaced_.emplace(dim.var.var_id(), dim.begin);
    return;
  }
  note_let(dim.var, dim.begin, facts_);
  out.push_back(make_stmt(LetStmt{.var = dim.var, .value = dim.begin}, loc));
}

// Whether a nest of one iteration must stay a loop.
bool Simplifier::keeps_loop(const ForStmt& loop, const Block& body) const {
  if (jumps(body)) return true;
  if (loop.kind != LoopKind::parallel) return false;
  if (single_ == SingleParallel::kept) return true;
  WritesLocalTile writes(kernel_);
  writes.visit(body);
  return writes.found;
}

void Simplifier::rewrite_loop(const ForStmt& loop, const Loc& loc, Block& out) {
  ForStmt rebuilt{.kind = loop.kind, .dims = {}, .attrs = loop.attrs, .body = {}};
  Block names;
  std::optional<LoopDim> single;  // the last dimension of one iteration
  bool runs = true;
  facts_.push();
  for (const LoopDim& dim : loop.dims) {
    LoopDim d{.var = dim.var, .begin = rewrite(dim.begin), .extent = rewrite(dim.extent), .step = dim.step};
    const Interval extent = bounds(d.extent, facts_);
    runs = runs && !(extent.hi && *extent.hi <= 0);
    replaced_.erase(d.var.var_id());
    // A begin that loads is read before the nest starts.
    const bool stays = loop.dims.size() > 1 && reads_tile(d.begin);
    if (stays || !d.extent.is_int(1)) {
      facts_.bind(d.var, d.begin, d.extent, d.step);
      rebuilt.dims.push_back(std::move(d));
      continue;
    }
    fix(d, loop.dims.size() == 1, loc, names);
    single = std::move(d);
  }
  if (runs) rewrite_block(loop.body, rebuilt.body);
  facts_.pop();
  if (!runs || rebuilt.body.empty()) return;
  const bool once = rebuilt.dims.empty();
  // At the end of the only iteration a jump does nothing.
  while (once && ends_in_jump(rebuilt.body)) rebuilt.body.pop_back();
  if (rebuilt.body.empty()) return;
  const bool inlined = once && !keeps_loop(loop, rebuilt.body);
  if (once && !inlined) {
    rebuilt.dims.push_back(*single);
    names.clear();  // the loop binds its variable itself
  }
  rebuilt.body.insert(rebuilt.body.begin(), names.begin(), names.end());
  if (inlined)
    out.insert(out.end(), rebuilt.body.begin(), rebuilt.body.end());
  else
    out.push_back(make_stmt(std::move(rebuilt), loc));
}

}  // namespace

Facts kernel_facts(const Program& program, const Kernel& kernel) {
  Facts facts;
  for (const Scalar& scalar : program.scalars) {
    if (scalar.kind == ScalarKind::extent) facts.bound(scalar.var, -kMaxExtent, kMaxExtent);
  }
  for (const Tensor& tensor : program.tensors) {
    for (const Expr& extent : tensor.shape) facts.assume(le(int_imm(0), extent));
  }
  for (size_t d = 0; d < kernel.grid.size(); ++d) facts.bind(kernel.block_vars[d], int_imm(0), kernel.grid[d]);
  if (kernel.thread_var) facts.bind(kernel.thread_var, int_imm(0), int_imm(kernel.threads));
  return facts;
}

Kernel simplify_kernel(const Program& program, const Kernel& kernel, SingleParallel single) {
  Kernel out = kernel;
  out.body = Simplifier(program, kernel, single).rewrite(kernel.body);
  return out;
}

Program simplify(const Program& program, SingleParallel single) {
  Program out = program;
  for (Kernel& kernel : out.kernels) kernel = simplify_kernel(program, kernel, single);
  return out;
}

}  // namespace tilewright::ir
