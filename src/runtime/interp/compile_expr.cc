#include "runtime/interp/compile_expr.h"

#include "runtime/interp/report.h"
#include "support/error.h"

#include <limits>
#include <type_traits>
#include <utility>

namespace tilewright::interp {

using ir::Expr;
using ir::ExprKind;

namespace {

template <class F>
auto with_float_dtype(DType dtype, F f) {
  switch (dtype) {
    case DType::f8e4m3: return f.template operator()<DType::f8e4m3>();
    case DType::f8e5m2: return f.template operator()<DType::f8e5m2>();
    case DType::tf32: return f.template operator()<DType::tf32>();
    case DType::f16: return f.template operator()<DType::f16>();
    case DType::bf16: return f.template operator()<DType::bf16>();
    case DType::f32: return f.template operator()<DType::f32>();
    default: return f.template operator()<DType::f64>();
  }
}

// The element's value without a look at its state.
template <class M, class Value>
Value loaded(const Array& array, size_t at) {
  if constexpr (std::is_same_v<Value, typename M::Float>)
    return array.template load_float<M>(at);
  else
    return array.template load_int<M>(at);
}

template <class M, class Value>
Value without_bound(Value value) {
  if constexpr (M::kTracked) {
    if constexpr (std::is_same_v<Value, TrackedFloat>)
      return single_term(value.value, std::numeric_limits<double>::infinity());
    else
      return {value.value, true};
  }
  return value;
}

template <class M, class Value>
Value safe_value_of(const ir::Tile& tile) {
  if constexpr (std::is_same_v<Value, typename M::Float>)
    return M::float_imm(constant_of(tile.dtype, tile.safe_value));
  else
    return M::int_imm(saturate_to_int(tile.dtype, tile.safe_value));
}

// A value of the side that the interpreter does not take, where it has one.
template <class M, class Compiled, class Value>
Value blend(Machine<M>& m, const Compiled& other, const Value& taken) {
  Value out = without_bound<M>(taken);
  ++m.reruns;  // the program does not access what this side accesses
  try {
    out = either_of(taken, other->run(m));
  } catch (const Error&) {
    // Without a value there is no bound.
  }
  --m.reruns;
  return out;
}

}  // namespace

template <class M>
Place<M> ExprCompiler<M>::place(ir::TileId tile, std::span<const Expr> indices, const Loc& loc) const {
  Place<M> out{.site = {.id = tile, .tile = &kernel_.tile(tile), .loc = loc.known() ? loc : loc_}, .coordinates = {}};
  if (indices.size() != out.site.tile->shape.size()) {
    throw internal_error(out.site.loc, "{} has {} dimensions but {} coordinates", out.site.tile->name,
                         out.site.tile->shape.size(), indices.size());
  }
  using Kind = typename Coordinate<M>::Kind;
  for (const Expr& e : indices) {
    Coordinate<M>& c = out.coordinates.emplace_back();
    if (e.as_int()) {
      c.value = *e.as_int();
    } else if (e.is(ExprKind::var)) {
      c.kind = Kind::variable;
      c.value = e.var_id();
    } else {
      c.kind = Kind::general;
      c.node = int_node(e);
    }
  }
  return out;
}

template <class M>
template <class Value>
std::unique_ptr<const Node<M, Value>> ExprCompiler<M>::load_node(const Expr& e) const {
  return closure<M, Value>([place = place(e.tile_id(), e.args(), e.loc()),
                            safe = safe_value_of<M, Value>(kernel_.tile(e.tile_id()))](Machine<M>& m) -> Value {
    const Array& array = m.tiles[size_t(place.site.id)];
    bool undetermined = false;
    const int64_t at = place.locate(m, array, undetermined);
    if (at < 0) {
      if (place.site.tile->on_chip()) throw_outside(place.site, place.values(m), false, array, m.block);
      return undetermined ? without_bound<M>(safe) : safe;
    }
    if (!array.initialised(size_t(at))) [[unlikely]] {
      throw_uninitialised(place.site, place.values(m), array, m.block);
    }
    m.access(place.site, array, size_t(at), AccessHow::read());
    if (m.trace) [[unlikely]]
      m.trace->see(place.site, array, size_t(at), false);
    const Value value = loaded<M, Value>(array, size_t(at));
    return undetermined ? without_bound<M>(value) : value;
  });
}

template <class M>
template <class Value, class Compiled>
Compiled ExprCompiler<M>::select_node(const Expr& e, Compiled then, Compiled otherwise) const {
  return closure<M, Value>(
      [c = int_node(e.arg(0)), a = std::move(then), b = std::move(otherwise)](Machine<M>& m) -> Value {
        const typename M::Int condition = c->run(m);
        const auto& taken = M::value(condition) ? a : b;
        if constexpr (M::kTracked) {
          if (M::undetermined(condition)) return blend<M>(m, M::value(condition) ? b : a, taken->run(m));
        }
        return taken->run(m);
      });
}

template <class M>
template <DType kDType>
FloatNode<M> ExprCompiler<M>::float_arithmetic(const Expr& e) const {
  using Float = typename M::Float;
  FloatNode<M> x = float_node(e.arg(0)), y = float_node(e.arg(1));
  const auto make = [&](auto f) {
    return closure<M, Float>([a = std::move(x), b = std::move(y), f](Machine<M>& m) -> Float {
      const Float left = a->run(m);
      return f(left, b->run(m));
    });
  };
  switch (e.kind()) {
    case ExprKind::add: return make([](const Float& a, const Float& b) { return M::template add<kDType>(a, b); });
    case ExprKind::sub: return make([](const Float& a, const Float& b) { return M::template sub<kDType>(a, b); });
    case ExprKind::mul: return make([](const Float& a, const Float& b) { return M::template mul<kDType>(a, b); });
    case ExprKind::div: return make([](const Float& a, const Float& b) { return M::template div<kDType>(a, b); });
    case ExprKind::min: return make([](const Float& a, const Float& b) { return M::min(a, b); });
    case ExprKind::max: return make([](const Float& a, const Float& b) { return M::max(a, b); });
    default: throw internal_error(loc_, "{} is not defined on {}", to_string(e.kind()), to_string(kDType));
  }
}

template <class M>
FloatNode<M> ExprCompiler<M>::float_cast(const Expr& e) const {
  const DType to = e.dtype(), from = e.arg(0).dtype();
  using Float = typename M::Float;
  if (!is_float(from)) {
    return closure<M, Float>(
        [a = int_node(e.arg(0)), from, to](Machine<M>& m) { return M::from_int(from, to, a->run(m)); });
  }
  FloatNode<M> value = float_node(e.arg(0));
  const bool widens = to == DType::f64 || (to == DType::f32 && from != DType::f64);
  if (widens && !M::kTracked) return value;
  return closure<M, Float>([a = std::move(value), from, to](Machine<M>& m) { return M::cast(from, to, a->run(m)); });
}

template <class M>
template <class Value, class F>
std::unique_ptr<const Node<M, Value>> ExprCompiler<M>::reinterpreted(const Expr& e, F f) const {
  const DType from = e.arg(0).dtype(), to = e.dtype();
  const auto make = [&](auto operand) {
    return closure<M, Value>([a = std::move(operand), from, to, f](Machine<M>& m) { return f(from, to, a->run(m)); });
  };
  return is_float(from) ? make(float_node(e.arg(0))) : make(int_node(e.arg(0)));
}

// All three operands are evaluated.
template <class M>
template <class Value, class Compiled>
Compiled ExprCompiler<M>::blend_node(const Expr& e, Compiled then, Compiled otherwise) const {
  return closure<M, Value>(
      [c = int_node(e.arg(0)), a = std::move(then), b = std::move(otherwise)](Machine<M>& m) -> Value {
        const typename M::Int condition = c->run(m);
        const Value first = a->run(m), second = b->run(m);
        return M::choose(condition, first, second);
      });
}

template <class M>
FloatNode<M> ExprCompiler<M>::float_call(const Expr& e) const {
  using Float = typename M::Float;
  const auto fn = ir::MathFn(e->i);
  const ir::MathInfo& info = ir::math_info(fn);
  const DType dtype = e.dtype();
  if (info.operands == ir::MathOperands::choice)
    return blend_node<Float>(e, float_node(e.arg(1)), float_node(e.arg(2)));
  FloatNode<M> x = float_node(e.arg(0));
  if (info.operands == ir::MathOperands::scaled) {
    const DType exponent = e.arg(1).dtype();
    return closure<M, Float>([a = std::move(x), n = int_node(e.arg(1)), fn, dtype, exponent](Machine<M>& m) {
      const Float scaled = a->run(m);
      return M::call(fn, dtype, {scaled, M::from_int(exponent, DType::f64, n->run(m)), {}});
    });
  }
  if (info.arity == 1) {
    return closure<M, Float>([a = std::move(x), fn, dtype](Machine<M>& m) {
      return M::call(fn, dtype, {a->run(m), {}, {}});
    });
  }
  FloatNode<M> y = float_node(e.arg(1)), z = info.arity == 3 ? float_node(e.arg(2)) : nullptr;
  return closure<M, Float>([a = std::move(x), b = std::move(y), c = std::move(z), fn, dtype](Machine<M>& m) {
    const Float first = a->run(m), second = b->run(m);
    return M::call(fn, dtype, {first, second, c ? c->run(m) : Float{}});
  });
}

template <class M>
FloatNode<M> ExprCompiler<M>::float_node(const Expr& e) const {
  using Float = typename M::Float;
  switch (e.kind()) {
    case ExprKind::float_imm: return closure<M, Float>([v = M::float_imm(e->f)](Machine<M>&) { return v; });
    case ExprKind::var: return closure<M, Float>([id = size_t(e.var_id())](Machine<M>& m) { return m.vars[id].f; });
    case ExprKind::load: return load_node<Float>(e);
    case ExprKind::select: return select_node<Float>(e, float_node(e.arg(1)), float_node(e.arg(2)));
    case ExprKind::cast: return float_cast(e);
    case ExprKind::reinterpret:
      return reinterpreted<Float>(
          e, [](DType from, DType to, const auto& a) { return M::reinterpret_as_float(from, to, a); });
    case ExprKind::call: return float_call(e);
    default:
      return with_float_dtype(e.dtype(), [&]<DType kDType>() { return this->template float_arithmetic<kDType>(e); });
  }
}

template <class M>
IntNode<M> ExprCompiler<M>::compare_floats(const Expr& e) const {
  using Float = typename M::Float;
  if (e.is(ExprKind::ne) && ir::equal(e.arg(0), e.arg(1))) {
    // Two readings of one value have one error: x != x asks for NaN only.
    return closure<M, typename M::Int>([a = float_node(e.arg(0))](Machine<M>& m) { return M::is_nan(a->run(m)); });
  }
  FloatNode<M> x = float_node(e.arg(0)), y = float_node(e.arg(1));
  const auto make = [&]<ExprKind kKind>() -> IntNode<M> {
    return closure<M, typename M::Int>([a = std::move(x), b = std::move(y)](Machine<M>& m) {
      const Float left = a->run(m);
      return M::template compare<kKind>(left, b->run(m));
    });
  };
  switch (e.kind()) {
    case ExprKind::eq: return make.template operator()<ExprKind::eq>();
    case ExprKind::ne: return make.template operator()<ExprKind::ne>();
    case ExprKind::lt: return make.template operator()<ExprKind::lt>();
    default: return make.template operator()<ExprKind::le>();
  }
}

template <class M>
IntNode<M> ExprCompiler<M>::int_binary(const Expr& e) const {
  using Int = typename M::Int;
  const ExprKind kind = e.kind();
  const DType dtype = e.arg(0).dtype();
  IntNode<M> x = int_node(e.arg(0)), y = int_node(e.arg(1));
  const auto make = [&](auto f) {
    return closure<M, Int>([a = std::move(x), b = std::move(y), f](Machine<M>& m) {
      const Int left = a->run(m);
      return M::map(f, left, b->run(m));
    });
  };
  if (kind == ExprKind::logical_and || kind == ExprKind::logical_or) {
    return closure<M, Int>([a = std::move(x), b = std::move(y), is_and = kind == ExprKind::logical_and](Machine<M>& m) {
      const Int left = a->run(m), right = b->run(m);
      const bool l = M::value(left) != 0, r = M::value(right) != 0;
      return M::logical(is_and, left, right, is_and ? l && r : l || r);
    });
  }
  if (dtype == DType::i64) {
    switch (kind) {
      case ExprKind::add: return make([](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); });
      case ExprKind::sub: return make([](int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); });
      case ExprKind::mul: return make([](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); });
      case ExprKind::lt: return make([](int64_t a, int64_t b) { return int64_t(a < b); });
      case ExprKind::le: return make([](int64_t a, int64_t b) { return int64_t(a <= b); });
      default: break;
    }
  }
  return make([kind, dtype](int64_t a, int64_t b) { return ir::eval_int_binary(kind, dtype, a, b); });
}

template <class M>
IntNode<M> ExprCompiler<M>::int_cast(const Expr& e) const {
  using Int = typename M::Int;
  const DType to = e.dtype();
  if (is_float(e.arg(0).dtype())) {
    return closure<M, Int>([a = float_node(e.arg(0)), to](Machine<M>& m) { return M::to_int(to, a->run(m)); });
  }
  return closure<M, Int>([a = int_node(e.arg(0)), to](Machine<M>& m) {
    return M::map([to](int64_t v) { return ir::wrap_to(to, v); }, a->run(m));
  });
}

template <class M>
IntNode<M> ExprCompiler<M>::int_call(const Expr& e) const {
  using Int = typename M::Int;
  const auto fn = ir::MathFn(e->i);
  const DType dtype = e.dtype();
  switch (ir::math_info(fn).operands) {
    case ir::MathOperands::choice: return blend_node<Int>(e, int_node(e.arg(1)), int_node(e.arg(2)));
    case ir::MathOperands::test:
      return closure<M, Int>([a = float_node(e.arg(0)), fn](Machine<M>& m) { return M::test(fn, a->run(m)); });
    default: break;
  }
  if (e.args().size() == 1) {
    return closure<M, Int>([a = int_node(e.arg(0)), fn, dtype](Machine<M>& m) {
      return M::map([fn, dtype](int64_t v) { return ir::int_value(fn, dtype, v); }, a->run(m));
    });
  }
  return closure<M, Int>([a = int_node(e.arg(0)), b = int_node(e.arg(1)), fn, dtype](Machine<M>& m) {
    const Int left = a->run(m);
    return M::map([fn, dtype](int64_t v, int64_t w) { return ir::int_value(fn, dtype, v, w); }, left, b->run(m));
  });
}

template <class M>
IntNode<M> ExprCompiler<M>::int_node(const Expr& e) const {
  using Int = typename M::Int;
  switch (e.kind()) {
    case ExprKind::int_imm: return closure<M, Int>([v = M::int_imm(e->i)](Machine<M>&) { return v; });
    case ExprKind::var: return closure<M, Int>([id = size_t(e.var_id())](Machine<M>& m) { return m.vars[id].i; });
    case ExprKind::load: return load_node<Int>(e);
    case ExprKind::select: return select_node<Int>(e, int_node(e.arg(1)), int_node(e.arg(2)));
    case ExprKind::cast: return int_cast(e);
    case ExprKind::logical_not:
      return closure<M, Int>([a = int_node(e.arg(0))](Machine<M>& m) {
        return M::map([](int64_t v) { return int64_t(v == 0); }, a->run(m));
      });
    case ExprKind::reinterpret:
      return reinterpreted<Int>(e,
                                [](DType from, DType to, const auto& a) { return M::reinterpret_as_int(from, to, a); });
    case ExprKind::call: return int_call(e);
    default:
      if (ir::is_comparison(e.kind()) && is_float(e.arg(0).dtype())) return compare_floats(e);
      return int_binary(e);
  }
}

template class ExprCompiler<Plain>;
template class ExprCompiler<Tracked>;

}  // namespace tilewright::interp
