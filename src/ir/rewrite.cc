#include "ir/rewrite.h"

#include <unordered_map>

namespace tilewright::ir {

namespace {

bool same(const Expr& a, const Expr& b) { return (!a && !b) || (a && b && &*a == &*b); }

bool same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

Expr Rewriter::rewrite_args(const Expr& e) {
  if (!e || e.args().empty()) return e;
  return map_args(e, [this](const Expr& a) { return rewrite(a); });
}

Expr Rewriter::rewrite(const Expr& e) { return rewrite_args(e); }

std::vector<Expr> Rewriter::rewrite_all(const std::vector<Expr>& exprs) {
  std::vector<Expr> out;
  for (const Expr& e : exprs) out.push_back(rewrite(e));
  return out;
}

TileRef Rewriter::rewrite(const TileRef& ref) {
  TileRef out = ref;
  for (RegionDim& dim : out.region) {
    dim.begin = rewrite(dim.begin);
    dim.extent = rewrite(dim.extent);
  }
  if (out.slot) out.slot = rewrite(out.slot);
  return out;
}

Block Rewriter::rewrite(const Block& block) {
  Block out;
  for (const Stmt& stmt : block) rewrite(stmt, out);
  return out;
}

void Rewriter::rewrite(const Stmt& stmt, Block& out) { out.push_back(rewrite_parts(stmt)); }

namespace {

// Rebuilds each alternative through the rewriter's public entry points.
struct Rebuild {
  Rewriter& r;

  std::vector<Expr> all(const std::vector<Expr>& exprs) const {
    std::vector<Expr> out;
    for (const Expr& e : exprs) out.push_back(r.rewrite(e));
    return out;
  }
  OpStmt operator()(OpStmt op) const {
    for (TileRef& ref : op.tiles) ref = r.rewrite(ref);
    op.scalars = all(op.scalars);
    return op;
  }
  LetStmt operator()(const LetStmt& let) const { return {.var = let.var, .value = r.rewrite(let.value)}; }
  StoreStmt operator()(const StoreStmt& store) const {
    return {.tile = store.tile, .indices = all(store.indices), .value = r.rewrite(store.value)};
  }
  AtomicStmt operator()(AtomicStmt atomic) const {
    atomic.indices = all(atomic.indices);
    if (atomic.value) atomic.value = r.rewrite(atomic.value);
    return atomic;
  }
  ForStmt operator()(ForStmt loop) const {
    for (LoopDim& dim : loop.dims) {
      dim.begin = r.rewrite(dim.begin);
      dim.extent = r.rewrite(dim.extent);
    }
    loop.body = r.rewrite(loop.body);
    return loop;
  }
  WhileStmt operator()(const WhileStmt& loop) const {
    return {.condition = r.rewrite(loop.condition), .body = r.rewrite(loop.body)};
  }
  IfStmt operator()(const IfStmt& branch) const {
    return {.condition = r.rewrite(branch.condition),
            .then = r.rewrite(branch.then),
            .otherwise = r.rewrite(branch.otherwise)};
  }
  LanesStmt operator()(const LanesStmt& lanes) const { return {.exec = lanes.exec, .body = r.rewrite(lanes.body)}; }
  RoleStmt operator()(RoleStmt role) const {
    role.body = r.rewrite(role.body);
    return role;
  }
  BreakStmt operator()(const BreakStmt& s) const { return s; }
  ContinueStmt operator()(const ContinueStmt& s) const { return s; }
};

// True when the rebuilt alternative shares every part with the original.
struct Unchanged {
  static bool refs(const TileRef& a, const TileRef& b) {
    for (size_t d = 0; d < a.region.size(); ++d) {
      if (!same(a.region[d].begin, b.region[d].begin) || !same(a.region[d].extent, b.region[d].extent)) return false;
    }
    return same(a.slot, b.slot);
  }
  bool operator()(const OpStmt& a, const OpStmt& b) const {
    for (size_t i = 0; i < a.tiles.size(); ++i) {
      if (a.tiles[i].tile != b.tiles[i].tile || !refs(a.tiles[i], b.tiles[i])) return false;
    }
    return a.def == b.def && same(a.scalars, b.scalars);
  }
  bool operator()(const LetStmt& a, const LetStmt& b) const { return same(a.value, b.value); }
  bool operator()(const StoreStmt& a, const StoreStmt& b) const {
    return same(a.value, b.value) && same(a.indices, b.indices);
  }
  bool operator()(const AtomicStmt& a, const AtomicStmt& b) const {
    return same(a.value, b.value) && same(a.indices, b.indices);
  }
  bool operator()(const ForStmt& a, const ForStmt& b) const {
    for (size_t d = 0; d < a.dims.size(); ++d) {
      if (!same(a.dims[d].begin, b.dims[d].begin) || !same(a.dims[d].extent, b.dims[d].extent)) return false;
    }
    return a.body == b.body;
  }
  bool operator()(const WhileStmt& a, const WhileStmt& b) const {
    return same(a.condition, b.condition) && a.body == b.body;
  }
  bool operator()(const IfStmt& a, const IfStmt& b) const {
    return same(a.condition, b.condition) && a.then == b.then && a.otherwise == b.otherwise;
  }
  bool operator()(const LanesStmt& a, const LanesStmt& b) const { return a.body == b.body; }
  bool operator()(const RoleStmt& a, const RoleStmt& b) const { return a.body == b.body; }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return true;
  }
};

}  // namespace

Stmt Rewriter::rewrite_parts(const Stmt& stmt) {
  StmtNode rebuilt{
      .value = std::visit([&](const auto& s) -> decltype(StmtNode::value) { return Rebuild{*this}(s); }, stmt->value),
      .loc = stmt->loc};
  if (std::visit(Unchanged(), stmt->value, rebuilt.value)) return stmt;
  return std::make_shared<const StmtNode>(std::move(rebuilt));
}

void Visitor::visit_args(const Expr& e) {
  for (const Expr& a : e.args()) visit(a);
}

void Visitor::visit(const Expr& e) {
  if (e) visit_args(e);
}

void Visitor::visit(const TileRef& ref) {
  for (const RegionDim& dim : ref.region) {
    visit(dim.begin);
    visit(dim.extent);
  }
  visit(ref.slot);
}

void Visitor::visit(const Block& block) {
  for (const Stmt& stmt : block) visit(stmt);
}

void Visitor::visit(const Stmt& stmt) { visit_parts(stmt); }

namespace {

struct VisitParts {
  Visitor& v;
  void operator()(const OpStmt& op) const {
    for (const TileRef& ref : op.tiles) v.visit(ref);
    for (const Expr& e : op.scalars) v.visit(e);
  }
  void operator()(const LetStmt& let) const { v.visit(let.value); }
  void operator()(const StoreStmt& store) const {
    for (const Expr& e : store.indices) v.visit(e);
    v.visit(store.value);
  }
  void operator()(const AtomicStmt& atomic) const {
    for (const Expr& e : atomic.indices) v.visit(e);
    if (atomic.value) v.visit(atomic.value);
  }
  void operator()(const ForStmt& loop) const {
    for (const LoopDim& dim : loop.dims) {
      v.visit(dim.begin);
      v.visit(dim.extent);
    }
    v.visit(loop.body);
  }
  void operator()(const WhileStmt& loop) const {
    v.visit(loop.condition);
    v.visit(loop.body);
  }
  void operator()(const IfStmt& branch) const {
    v.visit(branch.condition);
    v.visit(branch.then);
    v.visit(branch.otherwise);
  }
  void operator()(const LanesStmt& lanes) const { v.visit(lanes.body); }
  void operator()(const RoleStmt& role) const { v.visit(role.body); }
  void operator()(const BreakStmt&) const {}
  void operator()(const ContinueStmt&) const {}
};

class FreshVars : public Rewriter {
 public:
  explicit FreshVars(VarId& next_var) : next_var_(next_var) {}
  using Rewriter::rewrite;

  Expr rewrite(const Expr& e) override {
    if (!e.is(ExprKind::var)) return rewrite_args(e);
    const auto it = fresh_.find(e.var_id());
    return it == fresh_.end() ? e : it->second;
  }
  void rewrite(const Stmt& stmt, Block& out) override {
    if (const auto* let = get_if<LetStmt>(stmt)) {
      const Expr value = rewrite(let->value);
      out.push_back(make_stmt(LetStmt{.var = bind(let->var), .value = value}, stmt->loc));
    } else if (const auto* atomic = get_if<AtomicStmt>(stmt); atomic && atomic->prev) {
      AtomicStmt rebuilt = *atomic;
      rebuilt.indices = rewrite_all(atomic->indices);
      if (atomic->value) rebuilt.value = rewrite(atomic->value);
      rebuilt.prev = bind(atomic->prev);
      out.push_back(make_stmt(std::move(rebuilt), stmt->loc));
    } else if (const auto* loop = get_if<ForStmt>(stmt)) {
      ForStmt rebuilt = *loop;
      for (LoopDim& dim : rebuilt.dims) {
        dim.begin = rewrite(dim.begin);
        dim.extent = rewrite(dim.extent);
        dim.var = bind(dim.var);
      }
      rebuilt.body = rewrite(loop->body);
      out.push_back(make_stmt(std::move(rebuilt), stmt->loc));
    } else {
      Rewriter::rewrite(stmt, out);
    }
  }

 private:
  Expr bind(const Expr& v) {
    const Expr made = var(next_var_++, v->name, v.dtype(), v.loc());
    fresh_[v.var_id()] = made;
    return made;
  }

  VarId& next_var_;
  std::unordered_map<VarId, Expr> fresh_;
};

class Substitution : public Rewriter {
 public:
  Substitution(std::span<const Expr> from, std::span<const Expr> to) : from_(from), to_(to) {}
  using Rewriter::rewrite;
  Expr rewrite(const Expr& e) override {
    if (!e.is(ExprKind::var)) return rewrite_args(e);
    for (size_t i = 0; i < from_.size(); ++i) {
      if (from_[i].var_id() == e.var_id()) return to_[i];
    }
    return e;
  }

 private:
  std::span<const Expr> from_;
  std::span<const Expr> to_;
};

}  // namespace

void Visitor::visit_parts(const Stmt& stmt) { std::visit(VisitParts{*this}, stmt->value); }

namespace {

class Mentions : public Visitor {
 public:
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (e.is(ExprKind::load)) ++count[e.tile_id()];
    if (e) visit_args(e);
  }
  void visit(const TileRef& ref) override {
    ++count[ref.tile];
    Visitor::visit(ref);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* store = get_if<StoreStmt>(stmt)) ++count[store->tile];
    if (const auto* atomic = get_if<AtomicStmt>(stmt)) ++count[atomic->tile];
    visit_parts(stmt);
  }
  std::map<TileId, int> count;
};

class AnyStmt : public Visitor {
 public:
  explicit AnyStmt(const std::function<bool(const Stmt&)>& holds) : holds_(holds) {}
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    found = found || holds_(stmt);
    if (!found) visit_parts(stmt);
  }
  bool found = false;

 private:
  const std::function<bool(const Stmt&)>& holds_;
};

}  // namespace

bool any_stmt(const Block& block, const std::function<bool(const Stmt&)>& holds) {
  AnyStmt finder(holds);
  finder.visit(block);
  return finder.found;
}

std::map<TileId, int> tile_mentions(const Block& block) {
  Mentions mentions;
  mentions.visit(block);
  return std::move(mentions.count);
}

Expr substitute(const Expr& e, std::span<const Expr> from, std::span<const Expr> to) {
  return Substitution(from, to).rewrite(e);
}

Block substitute(const Block& block, std::span<const Expr> from, std::span<const Expr> to) {
  return Substitution(from, to).rewrite(block);
}

Block with_fresh_vars(const Block& block, VarId& next_var) { return FreshVars(next_var).rewrite(block); }

}  // namespace tilewright::ir
