// Statements compiled to closures. Op statements are expanded before.
#pragma once

#include "runtime/interp/compile_expr.h"

#include <set>

namespace tilewright::interp {

template <class M>
class StmtCompiler {
 public:
  explicit StmtCompiler(const ir::Kernel& kernel) : kernel_(kernel) {}

  StepNode<M> block(const ir::Block& block);

 private:
  StepNode<M> step(const ir::Stmt& stmt);
  StepNode<M> store(const ir::StoreStmt& stmt, const Loc& loc);
  template <class Value, class Compiled>
  StepNode<M> store_value(Place<M> place, Compiled value) const;
  StepNode<M> assumption(const ir::OpStmt& stmt, const Loc& loc);
  StepNode<M> atomic(const ir::AtomicStmt& stmt, const Loc& loc);
  template <class Value, class Compiled>
  StepNode<M> atomic_step(const ir::AtomicStmt& stmt, Place<M> place, Compiled value) const;
  StepNode<M> report(const ir::OpStmt& stmt, const Loc& loc) const;
  StepNode<M> let(const ir::LetStmt& stmt, const Loc& loc);
  StepNode<M> branch(const ir::IfStmt& stmt, const Loc& loc);
  StepNode<M> serial_loop(const ir::ForStmt& stmt, const Loc& loc);
  StepNode<M> parallel_loop(const ir::ForStmt& stmt, const Loc& loc);
  StepNode<M> while_loop(const ir::WhileStmt& stmt, const Loc& loc);
  // What an untaken branch would store loses its bounds.
  StepNode<M> spoil(const ir::Block& block, const Loc& loc) const;

  const ir::Kernel& kernel_;
  int parallel_depth_ = 0;
};

std::set<ir::TileId> tiles_written(const ir::Block& block);

extern template class StmtCompiler<Plain>;
extern template class StmtCompiler<Tracked>;

}  // namespace tilewright::interp
