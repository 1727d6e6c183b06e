// Prints and assertions.
#include "ir/op.h"
#include "ops/report.h"
#include "runtime/interp/compile_stmt.h"
#include "runtime/print_text.h"

#include <bit>

namespace tilewright::interp {

namespace {

// A value as 64 bits: an integer as it is, a float as the bits of a double.
template <class M>
struct CellNode {
  FloatNode<M> f = nullptr;
  IntNode<M> i = nullptr;

  int64_t run(Machine<M>& m) const { return f ? std::bit_cast<int64_t>(M::value(f->run(m))) : M::value(i->run(m)); }
};

}  // namespace

template <class M>
StepNode<M> StmtCompiler<M>::report(const ir::OpStmt& stmt, const Loc& loc) const {
  const ExprCompiler<M> compiler(kernel_, loc);
  std::vector<CellNode<M>> cells;
  for (size_t i = 1; i < stmt.scalars.size(); ++i) {
    CellNode<M>& cell = cells.emplace_back();
    if (is_float(stmt.scalars[i].dtype()))
      cell.f = compiler.float_node(stmt.scalars[i]);
    else
      cell.i = compiler.int_node(stmt.scalars[i]);
  }
  return closure<M, Flow>([report = ops::Report::of(stmt, kernel_, loc), condition = compiler.int_node(stmt.scalars[0]),
                           cells = std::move(cells)](Machine<M>& m) {
    const bool holds = M::value(condition->run(m)) != 0;
    if (holds == report.is_assert) return Flow::next;
    std::vector<int64_t> values;
    for (const CellNode<M>& cell : cells) values.push_back(cell.run(m));
    if (report.is_assert) throw report.error(values);
    // Once, although a parallel loop runs in two orders.
    if (m.reruns == 0 && !m.trace) print_text(m.options.on_print, report.text(values));
    return Flow::next;
  });
}

template StepNode<Plain> StmtCompiler<Plain>::report(const ir::OpStmt& stmt, const Loc& loc) const;
template StepNode<Tracked> StmtCompiler<Tracked>::report(const ir::OpStmt& stmt, const Loc& loc) const;

}  // namespace tilewright::interp
