#include "runtime/interp/compile_stmt.h"

#include "ir/op.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "runtime/interp/parallel_loop.h"
#include "runtime/interp/report.h"
#include "support/error.h"

#include <algorithm>
#include <utility>

namespace tilewright::interp {

using ir::Expr;
using ir::ExprKind;

namespace {

class Stores : public ir::Visitor {
 public:
  using ir::Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    if (const auto* s = ir::get_if<ir::StoreStmt>(stmt)) found.push_back({s->tile, s->indices});
    if (const auto* s = ir::get_if<ir::AtomicStmt>(stmt)) {
      if (s->kind != ir::AtomicKind::load) found.push_back({s->tile, s->indices});
      if (s->prev) bound.insert(s->prev.var_id());
    }
    if (const auto* l = ir::get_if<ir::LetStmt>(stmt)) bound.insert(l->var.var_id());
    if (const auto* f = ir::get_if<ir::ForStmt>(stmt)) {
      for (const ir::LoopDim& dim : f->dims) bound.insert(dim.var.var_id());
    }
    visit_parts(stmt);
  }
  struct Target {
    ir::TileId tile;
    std::span<const Expr> indices;
  };
  std::vector<Target> found;
  std::set<ir::VarId> bound;  // variables that the statements bind themselves
};

// The tiles that atomics access, and whether a statement uses what one returns.
class Atomics : public ir::Visitor {
 public:
  using ir::Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    if (const auto* s = ir::get_if<ir::AtomicStmt>(stmt)) {
      tiles.push_back(s->tile);
      read = read || s->prev;
    }
    visit_parts(stmt);
  }
  std::vector<ir::TileId> tiles;
  bool read = false;
};

// True when the coordinates have their values before the statements that bind `bound` run.
bool known_before(const Expr& e, const std::set<ir::VarId>& bound) {
  if (e.is(ExprKind::load) || (e.is(ExprKind::var) && bound.count(e.var_id()))) return false;
  for (const Expr& a : e.args()) {
    if (!known_before(a, bound)) return false;
  }
  return true;
}

// A break or continue that leaves `block` itself.
bool leaves(const ir::Block& block) {
  for (const ir::Stmt& stmt : block) {
    if (ir::get_if<ir::BreakStmt>(stmt) || ir::get_if<ir::ContinueStmt>(stmt)) return true;
    const auto* branch = ir::get_if<ir::IfStmt>(stmt);
    if (branch && (leaves(branch->then) || leaves(branch->otherwise))) return true;
  }
  return false;
}

// In tracked mode: what a loop wrote when the number of its iterations was undetermined has no bound.
template <class M, class F>
void with_loop_state(Machine<M>& m, const std::vector<ir::TileId>& written, F run) {
  if constexpr (!M::kTracked) {
    (void)written;
    run();
  } else {
    const bool outer = std::exchange(m.undetermined_loop, false);
    run();
    if (m.undetermined_loop) {
      for (ir::TileId id : written) m.lose_bounds(m.tiles[size_t(id)]);
    }
    m.undetermined_loop = outer;
  }
}

std::vector<ir::TileId> written_list(const ir::Block& block) {
  const std::set<ir::TileId> ids = tiles_written(block);
  return {ids.begin(), ids.end()};
}

bool breaks(const ir::Block& block) {
  for (const ir::Stmt& stmt : block) {
    if (ir::get_if<ir::BreakStmt>(stmt)) return true;
    const auto* branch = ir::get_if<ir::IfStmt>(stmt);
    if (branch && (breaks(branch->then) || breaks(branch->otherwise))) return true;
  }
  return false;
}

}  // namespace

std::set<ir::TileId> tiles_written(const ir::Block& block) {
  Stores stores;
  stores.visit(block);
  std::set<ir::TileId> out;
  for (const Stores::Target& s : stores.found) out.insert(s.tile);
  return out;
}

template <class M>
StepNode<M> StmtCompiler<M>::block(const ir::Block& block) {
  std::vector<StepNode<M>> steps;
  for (const ir::Stmt& stmt : block) steps.push_back(step(stmt));
  if (steps.size() == 1) return std::move(steps[0]);
  return closure<M, Flow>([steps = std::move(steps)](Machine<M>& m) {
    for (const StepNode<M>& s : steps) {
      const Flow flow = s->run(m);
      if (flow != Flow::next) return flow;
    }
    return Flow::next;
  });
}

template <class M>
StepNode<M> StmtCompiler<M>::step(const ir::Stmt& stmt) {
  const Loc& loc = stmt->loc;
  if (const auto* s = ir::get_if<ir::StoreStmt>(stmt)) return store(*s, loc);
  if (const auto* s = ir::get_if<ir::AtomicStmt>(stmt)) return atomic(*s, loc);
  if (const auto* s = ir::get_if<ir::LetStmt>(stmt)) return let(*s, loc);
  const auto* op = ir::get_if<ir::OpStmt>(stmt);
  if (op && op->def->assumes) return assumption(*op, loc);
  if (op && op->def->reports) return report(*op, loc);
  if (const auto* s = ir::get_if<ir::IfStmt>(stmt)) return branch(*s, loc);
  if (const auto* s = ir::get_if<ir::WhileStmt>(stmt)) return while_loop(*s, loc);
  if (const auto* s = ir::get_if<ir::ForStmt>(stmt)) {
    return s->kind == ir::LoopKind::parallel ? parallel_loop(*s, loc) : serial_loop(*s, loc);
  }
  if (ir::get_if<ir::BreakStmt>(stmt)) return closure<M, Flow>([](Machine<M>&) { return Flow::break_loop; });
  if (ir::get_if<ir::ContinueStmt>(stmt)) return closure<M, Flow>([](Machine<M>&) { return Flow::continue_loop; });
  throw internal_error(loc, "an op was not expanded before interpretation");
}

template <class M>
template <class Value, class Compiled>
StepNode<M> StmtCompiler<M>::store_value(Place<M> place, Compiled value) const {
  // Local tiles are private to the iterations of every parallel loop around the store: nothing to undo.
  const bool journaled = place.site.tile->space != ir::Space::local || parallel_depth_ == 0;
  return closure<M, Flow>([place = std::move(place), value = std::move(value), journaled](Machine<M>& m) {
    const Value v = value->run(m);
    const Array& array = m.tiles[size_t(place.site.id)];
    bool undetermined = false;
    const int64_t at = place.locate(m, array, undetermined);
    if constexpr (M::kTracked) {
      if (undetermined) m.lose_bounds(array);
    }
    if (at < 0) {
      if (place.site.tile->on_chip()) throw_outside(place.site, place.values(m), true, array, m.block);
      return Flow::next;
    }
    m.access(place.site, array, size_t(at), AccessHow::store());
    m.before_write(array, size_t(at), journaled);
    array.template put<M>(size_t(at), v);
    if constexpr (M::kTracked) {
      if (undetermined) array.lose_bound(size_t(at));
    }
    m.after_write(place.site, array, size_t(at));
    return Flow::next;
  });
}

template <class M>
StepNode<M> StmtCompiler<M>::store(const ir::StoreStmt& stmt, const Loc& loc) {
  const ExprCompiler<M> compiler(kernel_, loc);
  Place<M> place = compiler.place(stmt.tile, stmt.indices, loc);
  if (stmt.value.dtype() != place.site.tile->dtype) {
    throw internal_error(loc, "a value of {} is stored into {}, a tile of {}", to_string(stmt.value.dtype()),
                         place.site.tile->name, to_string(place.site.tile->dtype));
  }
  if (is_float(stmt.value.dtype())) {
    return store_value<typename M::Float>(std::move(place), compiler.float_node(stmt.value));
  }
  return store_value<typename M::Int>(std::move(place), compiler.int_node(stmt.value));
}

template <class M>
StepNode<M> StmtCompiler<M>::assumption(const ir::OpStmt& stmt, const Loc& loc) {
  return closure<M, Flow>([condition = ExprCompiler<M>(kernel_, loc).int_node(stmt.scalars[0]),
                           text = ir::print(stmt.scalars[0]), loc](Machine<M>& m) {
    if (M::value(condition->run(m))) return Flow::next;
    throw invalid_kernel(loc, "{} is assumed, but does not hold in {}", text, block_text(m.block))
        .hint("T::assume is for what every launch satisfies; T::if_ is for what some do");
  });
}

template <class M>
StepNode<M> StmtCompiler<M>::let(const ir::LetStmt& stmt, const Loc& loc) {
  const ExprCompiler<M> compiler(kernel_, loc);
  const auto id = size_t(stmt.var.var_id());
  if (is_float(stmt.value.dtype())) {
    return closure<M, Flow>([id, value = compiler.float_node(stmt.value)](Machine<M>& m) {
      m.vars[id].f = value->run(m);
      return Flow::next;
    });
  }
  return closure<M, Flow>([id, value = compiler.int_node(stmt.value)](Machine<M>& m) {
    m.vars[id].i = value->run(m);
    return Flow::next;
  });
}

template <class M>
StepNode<M> StmtCompiler<M>::spoil(const ir::Block& block, const Loc& loc) const {
  Stores stores;
  stores.visit(block);
  std::vector<Place<M>> places;
  std::vector<ir::TileId> whole;
  const ExprCompiler<M> compiler(kernel_, loc);
  for (const Stores::Target& s : stores.found) {
    const bool known =
        std::all_of(s.indices.begin(), s.indices.end(), [&](const Expr& e) { return known_before(e, stores.bound); });
    if (known)
      places.push_back(compiler.place(s.tile, s.indices, loc));
    else
      whole.push_back(s.tile);
  }
  return closure<M, Flow>([places = std::move(places), whole = std::move(whole)](Machine<M>& m) {
    for (const Place<M>& place : places) {
      const Array& array = m.tiles[size_t(place.site.id)];
      bool undetermined = false;
      const int64_t at = place.locate(m, array, undetermined);
      if (undetermined) m.lose_bounds(array);
      if (at < 0 || undetermined) continue;
      if (m.open_journals > 0) m.journal.record(array, size_t(at));
      array.lose_bound(size_t(at));
    }
    for (ir::TileId id : whole) m.lose_bounds(m.tiles[size_t(id)]);
    return Flow::next;
  });
}

template <class M>
StepNode<M> StmtCompiler<M>::branch(const ir::IfStmt& stmt, const Loc& loc) {
  IntNode<M> condition = ExprCompiler<M>(kernel_, loc).int_node(stmt.condition);
  StepNode<M> then = block(stmt.then), otherwise = block(stmt.otherwise);
  if constexpr (!M::kTracked) {
    return closure<M, Flow>([c = std::move(condition), a = std::move(then), b = std::move(otherwise)](Machine<M>& m) {
      return M::value(c->run(m)) ? a->run(m) : b->run(m);
    });
  } else {
    return closure<M, Flow>([c = std::move(condition), a = std::move(then), b = std::move(otherwise),
                             spoil_a = spoil(stmt.then, loc), spoil_b = spoil(stmt.otherwise, loc),
                             jumps = leaves(stmt.then) || leaves(stmt.otherwise)](Machine<M>& m) {
      const TrackedInt condition_value = c->run(m);
      const bool taken = condition_value.value != 0;
      if (!condition_value.undetermined) return taken ? a->run(m) : b->run(m);
      if (jumps) m.undetermined_loop = true;
      ++m.undetermined_depth;
      const Flow flow = taken ? a->run(m) : b->run(m);
      --m.undetermined_depth;
      (taken ? spoil_b : spoil_a)->run(m);
      return flow;
    });
  }
}

template <class M>
StepNode<M> StmtCompiler<M>::serial_loop(const ir::ForStmt& stmt, const Loc& loc) {
  if (stmt.dims.size() != 1)
    throw internal_error(loc, "a {} loop has {} dimensions", to_string(stmt.kind), stmt.dims.size());
  const ir::LoopDim& dim = stmt.dims[0];
  const ExprCompiler<M> compiler(kernel_, loc);
  return closure<M, Flow>([id = size_t(dim.var.var_id()), begin = compiler.int_node(dim.begin),
                           extent = compiler.int_node(dim.extent), step = uint64_t(dim.step), body = block(stmt.body),
                           written = written_list(stmt.body)](Machine<M>& m) {
    with_loop_state(m, written, [&] {
      const typename M::Int first = begin->run(m), count = extent->run(m);
      if (M::undetermined(first) || M::undetermined(count)) m.undetermined_loop = true;
      for (int64_t t = 0; t < M::value(count); ++t) {
        m.vars[id].i = M::int_imm(int64_t(uint64_t(M::value(first)) + uint64_t(t) * step));
        if (body->run(m) == Flow::break_loop) break;
      }
    });
    return Flow::next;
  });
}

template <class M>
StepNode<M> StmtCompiler<M>::parallel_loop(const ir::ForStmt& stmt, const Loc& loc) {
  if (breaks(stmt.body)) {
    throw invalid_kernel(loc, "a break leaves a parallel loop, whose iterations have no order")
        .hint("use a serial loop, or continue");
  }
  const ExprCompiler<M> compiler(kernel_, loc);
  auto loop = std::make_unique<ParallelLoop<M>>();
  loop->loc = loc;
  for (const ir::LoopDim& dim : stmt.dims) {
    loop->dims.push_back({.var = dim.var.var_id(),
                          .begin = compiler.int_node(dim.begin),
                          .extent = compiler.int_node(dim.extent),
                          .step = dim.step});
  }
  const std::vector<ir::TileId> written = written_list(stmt.body);
  for (ir::TileId id : written) {
    if (kernel_.tile(id).space == ir::Space::local) loop->locals.push_back(id);
  }
  Atomics atomics;
  atomics.visit(stmt.body);
  loop->atomics = std::move(atomics.tiles);
  loop->reads_atomics = atomics.read;
  ++parallel_depth_;
  loop->body = block(stmt.body);
  --parallel_depth_;
  return closure<M, Flow>([loop = std::move(loop), written](Machine<M>& m) {
    with_loop_state(m, written, [&] { loop->run(m); });
    return Flow::next;
  });
}

template <class M>
StepNode<M> StmtCompiler<M>::while_loop(const ir::WhileStmt& stmt, const Loc& loc) {
  return closure<M, Flow>([condition = ExprCompiler<M>(kernel_, loc).int_node(stmt.condition), body = block(stmt.body),
                           written = written_list(stmt.body), loc](Machine<M>& m) {
    with_loop_state(m, written, [&] {
      for (int64_t n = 0;; ++n) {
        const typename M::Int go_on = condition->run(m);
        if (M::undetermined(go_on)) m.undetermined_loop = true;
        if (!M::value(go_on)) break;
        if (n == m.options.max_while_iterations) {
          throw invalid_kernel(loc, "this while loop has run {} times without an end, in {}", n, block_text(m.block))
              .hint("its condition must become false; the limit is InterpOptions::max_while_iterations");
        }
        if (body->run(m) == Flow::break_loop) break;
      }
    });
    return Flow::next;
  });
}

template class StmtCompiler<Plain>;
template class StmtCompiler<Tracked>;

}  // namespace tilewright::interp
