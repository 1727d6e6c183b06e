// Scalar expressions, and elements that turn into them when they are used.
#include "convert.h"

#include "ir/bounds.h"
#include "ir/print.h"
#include "lang/convert.h"
#include "support/error.h"

#include <nanobind/stl/optional.h>

namespace tilewright::python {

namespace {

using lang::Expr;
using Binary = Expr (*)(const Expr&, const Expr&);
using Unary = Expr (*)(const Expr&);

bool is_integral(const Expr& e) { return !is_float(e.dtype()); }

// Python's `/`: never a floor division. Integers are divided as f32, as a float literal would make them.
Expr true_divide(const Expr& a, const Expr& b) {
  if (is_integral(a) && is_integral(b)) return lang::cast(a, DType::f32) / lang::cast(b, DType::f32);
  return a / b;
}

// Of floats too, as Python has it.
Expr floor_divide(const Expr& a, const Expr& b) {
  return is_integral(a) && is_integral(b) ? lang::floordiv(a, b) : lang::floor(a / b);
}
Expr modulo(const Expr& a, const Expr& b) {
  return is_integral(a) && is_integral(b) ? lang::floormod(a, b) : a - b * lang::floor(a / b);
}

// An error of an expression stands where the author writes it, not where its operand was made.
template <class F>
Expr at_call(F&& make) {
  try {
    return make();
  } catch (const Error& error) {
    const AuthorPlace place = author_place(true);
    throw moved_to(Loc::at(place.file, place.line, place.column), error);
  }
}

// An operator of Python that takes anything which is a number.
template <class Class, class F>
void def_operator(Class& c, const char* name, const char* reversed, F f) {
  c.def(
      name,
      [f](nb::handle self, nb::handle other) -> nb::object {
        if (!is_scalar(other) && !converts_to_float(other)) return nb::borrow(Py_NotImplemented);
        return nb::cast(at_call([&] { return f(to_expr(self), to_expr(other)); }));
      },
      nb::is_operator());
  if (reversed == nullptr) return;
  c.def(
      reversed,
      [f](nb::handle self, nb::handle other) -> nb::object {
        if (!is_scalar(other) && !converts_to_float(other)) return nb::borrow(Py_NotImplemented);
        return nb::cast(at_call([&] { return f(to_expr(other), to_expr(self)); }));
      },
      nb::is_operator());
}

[[noreturn]] bool refuse_truth(nb::handle) {
  throw invalid_kernel(here_loc(), "Python asks whether an expression of the kernel is true while the kernel is built")
      .hint(
          "its value is known only when the kernel runs: use if, and, or, not inside a @T.prim_func or @T.macro, or "
          "T.if_then_else");
}

template <class Class>
void def_operators(Class& c) {
  def_operator(c, "__add__", "__radd__", [](const Expr& a, const Expr& b) { return a + b; });
  def_operator(c, "__sub__", "__rsub__", [](const Expr& a, const Expr& b) { return a - b; });
  def_operator(c, "__mul__", "__rmul__", [](const Expr& a, const Expr& b) { return a * b; });
  def_operator(c, "__truediv__", "__rtruediv__", &true_divide);
  def_operator(c, "__floordiv__", "__rfloordiv__", &floor_divide);
  def_operator(c, "__mod__", "__rmod__", &modulo);
  def_operator(c, "__pow__", "__rpow__", [](const Expr& a, const Expr& b) { return lang::pow(a, b); });
  def_operator(c, "__and__", "__rand__", [](const Expr& a, const Expr& b) { return a & b; });
  def_operator(c, "__or__", "__ror__", [](const Expr& a, const Expr& b) { return a | b; });
  def_operator(c, "__xor__", "__rxor__", [](const Expr& a, const Expr& b) { return a ^ b; });
  def_operator(c, "__lshift__", "__rlshift__", [](const Expr& a, const Expr& b) { return a << b; });
  def_operator(c, "__rshift__", "__rrshift__", [](const Expr& a, const Expr& b) { return a >> b; });
  def_operator(c, "__lt__", nullptr, [](const Expr& a, const Expr& b) { return a < b; });
  def_operator(c, "__le__", nullptr, [](const Expr& a, const Expr& b) { return a <= b; });
  def_operator(c, "__gt__", nullptr, [](const Expr& a, const Expr& b) { return a > b; });
  def_operator(c, "__ge__", nullptr, [](const Expr& a, const Expr& b) { return a >= b; });
  def_operator(c, "__eq__", nullptr, [](const Expr& a, const Expr& b) { return a == b; });
  def_operator(c, "__ne__", nullptr, [](const Expr& a, const Expr& b) { return a != b; });
  c.def("__neg__", [](nb::handle self) { return -to_expr(self); });
  c.def("__pos__", [](nb::handle self) { return to_expr(self); });
  c.def("__abs__", [](nb::handle self) { return lang::abs(to_expr(self)); });
  c.def("__invert__", [](nb::handle self) {
    const Expr e = to_expr(self);
    return is_boolean(e.dtype()) ? !e : lang::bitwise_not(e);
  });
  c.def("__bool__", &refuse_truth);
  c.def("__hash__", [](nb::handle self) { return reinterpret_cast<intptr_t>(self.ptr()) >> 4; });
  c.def_prop_ro("dtype_name", [](nb::handle self) { return std::string(to_string(to_expr(self).dtype())); });
}

// An index is computed in i64 as a whole: of an i32 n, the elements n * 8 to (n + 1) * 8 are 8. What leaves the range
// of a narrow type has no meaning as an index that another result could have.
ir::Expr widened(const ir::Expr& e) {
  if (!is_integer(e.dtype()) || is_unsigned(e.dtype()) || e.dtype() == ir::kIndex) return e;
  if (const auto constant = e.as_int()) return ir::int_imm(*constant);
  const bool is_linear = e.is(ir::ExprKind::add) || e.is(ir::ExprKind::sub) || e.is(ir::ExprKind::mul);
  if (!is_linear) return ir::cast(e, ir::kIndex, e.loc());
  return ir::binary(e->kind, widened(e.args()[0]), widened(e.args()[1]), e.loc());
}
Expr to_place(nb::handle item) {
  const Expr e = to_expr(item);
  return e.is_literal() ? e : lang::from_ir(widened(ir::Expr(e.node())));
}

// A slice object has begin and end, set by the package; `...` stands for a whole dimension.
lang::Subscript to_subscript(nb::handle item, lang::SourcePos pos) {
  if (item.ptr() == Py_Ellipsis) return lang::Subscript(lang::All(), pos);
  if (PySlice_Check(item.ptr())) {
    return lang::Subscript(lang::slice(to_place(item.attr("start")), to_place(item.attr("stop"))), pos);
  }
  return lang::Subscript(to_place(item), pos);
}

void init_access(Access* self, int tile, nb::tuple items) {
  const lang::SourcePos pos = here();
  new (self) Access{.tile = tile, .subscripts = {}};
  for (nb::handle item : items) self->subscripts.push_back(to_subscript(item, pos));
}

void bind_word(nb::module_& module, const char* name, Unary f) {
  module.def(name, [f](nb::handle x) { return at_call([&] { return f(to_expr(x)); }); });
}
void bind_word(nb::module_& module, const char* name, Binary f) {
  module.def(name, [f](nb::handle x, nb::handle y) { return at_call([&] { return f(to_expr(x), to_expr(y)); }); });
}

void bind_functions(nb::module_& m) {
#define TW_ONE(name) bind_word(m, #name, static_cast<Unary>(&lang::name))
#define TW_TWO(name) bind_word(m, #name, static_cast<Binary>(&lang::name))
  TW_ONE(abs), TW_ONE(exp), TW_ONE(exp2), TW_ONE(exp10), TW_ONE(expm1), TW_ONE(log), TW_ONE(log2), TW_ONE(log10);
  TW_ONE(log1p), TW_ONE(sqrt), TW_ONE(rsqrt), TW_ONE(sin), TW_ONE(cos), TW_ONE(tan), TW_ONE(sinh), TW_ONE(cosh);
  TW_ONE(tanh), TW_ONE(asin), TW_ONE(acos), TW_ONE(atan), TW_ONE(asinh), TW_ONE(acosh), TW_ONE(atanh), TW_ONE(erf);
  TW_ONE(sigmoid), TW_ONE(floor), TW_ONE(ceil), TW_ONE(round), TW_ONE(nearbyint), TW_ONE(trunc), TW_ONE(isnan);
  TW_ONE(isinf), TW_ONE(isfinite), TW_ONE(likely), TW_ONE(popcount), TW_ONE(clz), TW_ONE(bitwise_not);
  TW_ONE(exp_fast), TW_ONE(exp10_fast), TW_ONE(log_fast), TW_ONE(log2_fast), TW_ONE(log10_fast), TW_ONE(sin_fast);
  TW_ONE(cos_fast), TW_ONE(tan_fast), TW_ONE(fast_rcp);
  TW_TWO(ceildiv), TW_TWO(floordiv), TW_TWO(floormod), TW_TWO(truncdiv), TW_TWO(truncmod), TW_TWO(align_up);
  TW_TWO(max), TW_TWO(min), TW_TWO(atan2), TW_TWO(pow), TW_TWO(hypot), TW_TWO(fmod), TW_TWO(copysign);
  TW_TWO(nextafter), TW_TWO(ldexp);
#undef TW_ONE
#undef TW_TWO
  bind_word(
      m, "logical_not", +[](const Expr& a) { return !a; });
  bind_word(
      m, "logical_and", +[](const Expr& a, const Expr& b) { return a && b; });
  bind_word(
      m, "logical_or", +[](const Expr& a, const Expr& b) { return a || b; });
}

void bind_rounded(nb::module_& m) {
#define TW_IEEE1(name) \
  m.def(#name,         \
        [](nb::handle x, const std::string& mode) { return at_call([&] { return lang::name(to_expr(x), mode); }); })
#define TW_IEEE2(name)                                                        \
  m.def(#name, [](nb::handle x, nb::handle y, const std::string& mode) {      \
    return at_call([&] { return lang::name(to_expr(x), to_expr(y), mode); }); \
  })
  TW_IEEE1(ieee_frcp);
  TW_IEEE1(ieee_fsqrt);
  TW_IEEE1(ieee_frsqrt);
  TW_IEEE2(ieee_add);
  TW_IEEE2(ieee_sub);
  TW_IEEE2(ieee_mul);
  TW_IEEE2(ieee_fdiv);
#undef TW_IEEE1
#undef TW_IEEE2
  m.def("ieee_fmaf", [](nb::handle x, nb::handle y, nb::handle z, const std::string& mode) {
    return lang::ieee_fmaf(to_expr(x), to_expr(y), to_expr(z), mode);
  });
}

void bind_choices(nb::module_& m) {
  m.def("if_then_else", [](nb::handle c, nb::handle a, nb::handle b) {
    return at_call([&] { return lang::if_then_else(to_expr(c), to_expr(a), to_expr(b)); });
  });
  m.def("select", [](nb::handle c, nb::handle a, nb::handle b) {
    return at_call([&] { return lang::select(to_expr(c), to_expr(a), to_expr(b)); });
  });
  m.def("clamp", [](nb::handle x, nb::handle low, nb::handle high) {
    return at_call([&] { return lang::clamp(to_expr(x), to_expr(low), to_expr(high)); });
  });
  m.def("cast", [](nb::handle x, nb::handle dtype) {
    return at_call([&] { return lang::cast(to_expr(x), to_dtype(dtype)); });
  });
  m.def("reinterpret", [](nb::handle x, nb::handle dtype) {
    return at_call([&] { return lang::reinterpret(to_expr(x), to_dtype(dtype)); });
  });
  m.def("infinity", [](nb::handle dtype) { return at_call([&] { return lang::infinity(to_dtype(dtype)); }); });
  m.def("max_value", [](nb::handle dtype) { return at_call([&] { return lang::max_value(to_dtype(dtype)); }); });
  m.def("min_value", [](nb::handle dtype) { return at_call([&] { return lang::min_value(to_dtype(dtype)); }); });
  m.def("to_expr", [](nb::handle x) { return to_expr(x); });
  m.def("is_scalar", [](nb::handle x) { return is_scalar(x); });
}

// Nodes, counted up to `limit`.
size_t size_up_to(const ir::Expr& e, size_t limit) {
  size_t size = 1;
  for (const ir::Expr& a : e.args()) {
    if (size >= limit) return limit;
    size += size_up_to(a, limit - size);
  }
  return size;
}

}  // namespace

void bind_expressions(nb::module_& module) {
  nb::class_<Expr> expr(module, "Expr", nb::is_weak_referenceable());
  def_operators(expr);
  expr.def_prop_ro("is_literal", &Expr::is_literal);
  expr.def("reads_tile", [](const Expr& e) { return ir::reads_tile(ir::Expr(e.node())); });
  expr.def("size", [](const Expr& e, size_t limit) { return size_up_to(ir::Expr(e.node()), limit); });
  expr.def("constant", [](const Expr& e) -> std::optional<int64_t> { return ir::Expr(e.node()).as_int(); });
  expr.def("__repr__", [](const Expr& e) { return ir::print(ir::Expr(e.node())); });

  nb::class_<Access> access(module, "Access", nb::is_weak_referenceable(), nb::dynamic_attr());
  access.def("__init__", &init_access);
  access.def_prop_ro("is_element", &Access::is_element);
  def_operators(access);

  bind_functions(module);
  bind_rounded(module);
  bind_choices(module);
}

}  // namespace tilewright::python
