#include "convert.h"

#include "lang/convert.h"
#include "lang/open_builder.h"
#include "support/error.h"

namespace tilewright::python {

namespace {

std::string name_of_type(nb::handle value) { return nb::cast<std::string>(nb::type_name(value.type())); }

bool is_python_number(nb::handle value) {
  return PyBool_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr());
}

// The new object of a call of the interpreter, whose exception is passed on.
nb::object checked(PyObject* made) {
  if (made == nullptr) nb::raise_python_error();
  return nb::steal(made);
}

lang::Expr from_python_int(nb::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) return lang::Expr(int64_t(number));
  const unsigned long long wide = overflow > 0 ? PyLong_AsUnsignedLongLong(value.ptr()) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    throw invalid_kernel(here_loc(), "the integer {} does not fit 64 bits", nb::cast<std::string>(nb::str(value)))
        .hint("numbers of a kernel have at most 64 bits");
  }
  return lang::cast(lang::Expr(int64_t(wide)), DType::u64);  // the same bits
}

// The element as it is where the statement that uses the expression runs.
lang::Expr read(const Access& access) {
  const Loc loc = here_loc();
  return lang::from_ir(lang::builder(here()).load(access.tile, lang::to_indices(access.subscripts), loc));
}

}  // namespace

bool Access::is_element() const {
  for (const lang::Subscript& s : subscripts) {
    if (s.kind != lang::Subscript::Kind::index) return false;
  }
  return true;
}

bool converts_to_float(nb::handle value) { return !PyType_Check(value.ptr()) && nb::hasattr(value, "__float__"); }

bool is_scalar(nb::handle value) {
  if (PyType_Check(value.ptr())) return false;
  if (is_python_number(value) || nb::isinstance<lang::Expr>(value)) return true;
  if (nb::isinstance<Access>(value)) return nb::inst_ptr<Access>(value)->is_element();
  return nb::hasattr(value, "__tw_expr__") || (PyIndex_Check(value.ptr()) && !nb::isinstance<lang::Tile>(value));
}

lang::Expr to_expr(nb::handle value) {
  if (PyBool_Check(value.ptr())) return lang::Expr(value.ptr() == Py_True);
  if (PyLong_Check(value.ptr())) return from_python_int(value);
  if (PyFloat_Check(value.ptr())) return lang::Expr(PyFloat_AsDouble(value.ptr()));
  if (nb::isinstance<lang::Expr>(value)) return *nb::inst_ptr<lang::Expr>(value);
  if (nb::isinstance<Access>(value)) return read(*nb::inst_ptr<Access>(value));
  if (nb::hasattr(value, "__tw_expr__")) return to_expr(value.attr("__tw_expr__")());
  if (nb::isinstance<lang::Tile>(value)) {
    throw invalid_kernel(here_loc(), "the whole tile {} is used as a number", nb::cast<std::string>(nb::str(value)))
        .hint("name an element: one index per dimension");
  }
  if (PyIndex_Check(value.ptr())) return from_python_int(checked(PyNumber_Index(value.ptr())));
  if (converts_to_float(value)) return to_expr(checked(PyNumber_Float(value.ptr())));
  throw invalid_kernel(here_loc(), "a value of the Python type {} is used as a number of the kernel",
                       name_of_type(value))
      .hint("use ints, floats, bools, scalars and elements of tiles");
}

std::vector<lang::Expr> to_exprs(nb::handle sequence) {
  std::vector<lang::Expr> out;
  for (nb::handle item : sequence) out.push_back(to_expr(item));
  return out;
}

DType to_dtype(nb::handle name) {
  const auto text = nb::cast<std::string>(name);
  const std::optional<DType> dtype = dtype_from_string(text);
  if (!dtype) throw internal_error(here_loc(), "no element type is called {}", text);
  return *dtype;
}

bool is_operand(nb::handle value) { return nb::isinstance<lang::Tile>(value) || nb::isinstance<Access>(value); }

lang::Operand to_operand(nb::handle value) {
  if (nb::isinstance<lang::Tile>(value)) return lang::Operand(*nb::inst_ptr<lang::Tile>(value), here());
  if (nb::isinstance<Access>(value)) return lang::Operand(nb::inst_ptr<Access>(value)->made(), here());
  if (nb::hasattr(value, "__tw_operand__")) return to_operand(value.attr("__tw_operand__")());
  throw invalid_kernel(here_loc(), "a value of the Python type {} is used as a tile", name_of_type(value))
      .hint("an operand is a tile or tensor, a slice A[i:j, k:l], or the address of its first element A[i, k]");
}

lang::Value to_value(nb::handle value) {
  if (nb::isinstance<lang::Tile>(value)) return lang::Value(*nb::inst_ptr<lang::Tile>(value), here());
  if (nb::isinstance<Access>(value)) return lang::Value(nb::inst_ptr<Access>(value)->made(), here());
  return lang::Value(to_expr(value));
}

Access to_access(nb::handle value) {
  if (nb::isinstance<Access>(value)) return *nb::inst_ptr<Access>(value);
  if (nb::isinstance<lang::Tile>(value)) return {.tile = nb::inst_ptr<lang::Tile>(value)->id(), .subscripts = {}};
  throw invalid_kernel(here_loc(), "a value of the Python type {} is used as an element of a tile", name_of_type(value))
      .hint("name an element: one index per dimension");
}

}  // namespace tilewright::python
