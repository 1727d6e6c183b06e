// The only way to walk or rebuild a tree: derive, override what matters, call the base for the rest.
#pragma once

#include "ir/kernel.h"

#include <functional>
#include <map>

namespace tilewright::ir {

// Rebuilds a tree; unchanged subtrees are shared with the input.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  virtual Expr rewrite(const Expr& e);
  // A statement may become none, one or several.
  virtual void rewrite(const Stmt& stmt, Block& out);
  virtual Block rewrite(const Block& block);
  virtual TileRef rewrite(const TileRef& ref);

 protected:
  Expr rewrite_args(const Expr& e);
  // Rebuilds `stmt` with rewritten parts; returns `stmt` itself when nothing changed.
  Stmt rewrite_parts(const Stmt& stmt);
  std::vector<Expr> rewrite_all(const std::vector<Expr>& exprs);
};

// Visits every statement and every expression, in program order.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void visit(const Expr& e);
  virtual void visit(const Stmt& stmt);
  virtual void visit(const Block& block);
  virtual void visit(const TileRef& ref);

 protected:
  void visit_args(const Expr& e);
  void visit_parts(const Stmt& stmt);
};

// Whether `holds` for some statement, at any depth.
bool any_stmt(const Block& block, const std::function<bool(const Stmt&)>& holds);

// How often each tile is named.
std::map<TileId, int> tile_mentions(const Block& block);

// `e` with variables replaced: each var whose id is in `from` becomes the expression at the same place in `to`.
Expr substitute(const Expr& e, std::span<const Expr> from, std::span<const Expr> to);
Block substitute(const Block& block, std::span<const Expr> from, std::span<const Expr> to);

// `block` with variables of its own in place of all that it binds: a copy that can stand next to the original.
Block with_fresh_vars(const Block& block, VarId& next_var);

}  // namespace tilewright::ir
