// Atomics, as one admissible order of them: the order in which the interpreter runs blocks and iterations.
#include "runtime/interp/compile_stmt.h"
#include "runtime/interp/report.h"
#include "support/error.h"

#include <limits>
#include <type_traits>

namespace tilewright::interp {

using ir::AtomicKind;

namespace {

template <class M>
typename M::Float updated(AtomicKind kind, DType dtype, const typename M::Float& x, const typename M::Float& v) {
  if (kind == AtomicKind::store) return v;
  if (kind == AtomicKind::max) return M::max(x, v);
  if (kind == AtomicKind::min) return M::min(x, v);
  switch (dtype) {
    case DType::f16: return M::template add<DType::f16>(x, v);
    case DType::bf16: return M::template add<DType::bf16>(x, v);
    case DType::f32: return M::template add<DType::f32>(x, v);
    default: return M::template add<DType::f64>(x, v);
  }
}

template <class M>
typename M::Int updated(AtomicKind kind, DType dtype, const typename M::Int& x, const typename M::Int& v) {
  if (kind == AtomicKind::store) return v;
  return M::map([&](int64_t a, int64_t b) { return ir::eval_int_binary(*ir::expr_kind(kind), dtype, a, b); }, x, v);
}

// What another order of the same atomics may give instead.
template <class M, class Value>
Value any_of_orders(Value value) {
  if constexpr (M::kTracked) {
    if constexpr (std::is_same_v<Value, TrackedFloat>)
      return single_term(value.value, std::numeric_limits<double>::infinity());
    else
      return {value.value, true};
  }
  return value;
}

template <class M, class Value>
Value element(const Array& array, size_t at) {
  if constexpr (std::is_same_v<Value, typename M::Float>)
    return array.load_float<M>(at);
  else
    return array.load_int<M>(at);
}

template <class M, class Value>
Value safe_value(const ir::Tile& tile) {
  if constexpr (std::is_same_v<Value, typename M::Float>)
    return M::float_imm(constant_of(tile.dtype, tile.safe_value));
  else
    return M::int_imm(saturate_to_int(tile.dtype, tile.safe_value));
}

}  // namespace

template <class M>
template <class Value, class Compiled>
StepNode<M> StmtCompiler<M>::atomic_step(const ir::AtomicStmt& stmt, Place<M> place, Compiled value) const {
  constexpr bool kFloats = std::is_same_v<Value, typename M::Float>;
  const int64_t prev = stmt.prev ? stmt.prev.var_id() : -1;
  return closure<M, Flow>([place = std::move(place), value = std::move(value), kind = stmt.kind, prev,
                           in_parallel = parallel_depth_ > 0](Machine<M>& m) {
    const Value v = value ? value->run(m) : Value{};
    const Array& array = m.tiles[size_t(place.site.id)];
    const bool changes = kind != AtomicKind::load;
    const auto bind = [&](const Value& x, bool any) {
      if (prev < 0) return;
      auto& var = m.vars[size_t(prev)];
      if constexpr (kFloats)
        var.f = any ? any_of_orders<M>(x) : x;
      else
        var.i = any ? any_of_orders<M>(x) : x;
    };
    bool undetermined = false;
    const int64_t at = place.locate(m, array, undetermined);
    if constexpr (M::kTracked) {
      if (undetermined && changes) m.lose_bounds(array);
    }
    if (at < 0) {
      if (place.site.tile->on_chip()) throw_outside(place.site, place.values(m), changes, array, m.block);
      bind(safe_value<M, Value>(*place.site.tile), undetermined);
      return Flow::next;
    }
    const auto i = size_t(at);
    const bool reads = kind != AtomicKind::store || prev >= 0;
    if (reads && !array.initialised(i)) throw_uninitialised(place.site, place.values(m), array, m.block);
    m.access(place.site, array, i, AccessHow::atomic(kind));
    const Value x = reads ? element<M, Value>(array, i) : Value{};
    const bool shared_by_blocks = !place.site.tile->on_chip() && !m.one_block;
    bind(x, undetermined || in_parallel || shared_by_blocks);
    if (!changes) return Flow::next;
    if constexpr (kFloats) {
      const bool sums = kind == AtomicKind::add && m.iteration_log && m.reruns == 0;
      if (sums) m.iteration_log->add(array, i, M::value(x), M::value(v));
    }
    m.before_write(array, i, true);
    array.template put<M>(i, updated<M>(kind, array.dtype, x, v));
    if constexpr (M::kTracked) {
      if (undetermined) array.lose_bound(i);
    }
    m.after_write(place.site, array, i);
    return Flow::next;
  });
}

template <class M>
StepNode<M> StmtCompiler<M>::atomic(const ir::AtomicStmt& stmt, const Loc& loc) {
  const ExprCompiler<M> compiler(kernel_, loc);
  Place<M> place = compiler.place(stmt.tile, stmt.indices, loc);
  if (is_float(place.site.tile->dtype)) {
    return atomic_step<typename M::Float>(stmt, std::move(place),
                                          stmt.value ? compiler.float_node(stmt.value) : nullptr);
  }
  return atomic_step<typename M::Int>(stmt, std::move(place), stmt.value ? compiler.int_node(stmt.value) : nullptr);
}

template StepNode<Plain> StmtCompiler<Plain>::atomic(const ir::AtomicStmt& stmt, const Loc& loc);
template StepNode<Tracked> StmtCompiler<Tracked>::atomic(const ir::AtomicStmt& stmt, const Loc& loc);

}  // namespace tilewright::interp
