// From Python's objects to the language's: positions, numbers, elements, operands. What does not convert is refused
// with an Error at the author's line.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <tilewright/language.h>

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::python {

namespace nb = nanobind;

// The author's place in Python: the innermost frame whose file does not lie in the package. Columns count from 1.
struct AuthorPlace {
  std::string file;
  int line = 0;
  int column = 0;
};
AuthorPlace author_place(bool with_column);
// The same without a column; the file's name lives as long as the process.
lang::SourcePos here();
Loc here_loc();
// The name of a file for SourcePos, which holds a pointer only.
const char* kept_name(const std::string& file);
// The error in Python's words, at another place.
Error moved_to(const Loc& loc, const Error& error);
// Files below `folder` belong to the package.
void set_package_folder(std::string folder);

// An element or part of a tile, as `A[i, j]` or `A[0:4, :]` makes it; without subscripts, a scalar variable.
struct Access {
  int tile = 0;
  std::vector<lang::Subscript> subscripts;

  bool is_element() const;
  lang::Access made() const { return lang::Access(tile, subscripts); }
};

// A number of Python, an expression, an element (which is read), or an object with `__tw_expr__`.
lang::Expr to_expr(nb::handle value);
bool is_scalar(nb::handle value);
bool converts_to_float(nb::handle value);
std::vector<lang::Expr> to_exprs(nb::handle sequence);
DType to_dtype(nb::handle name);
// A tile, a part of one, or a scalar variable.
lang::Operand to_operand(nb::handle value);
bool is_operand(nb::handle value);
// An operand, or a number.
lang::Value to_value(nb::handle value);
Access to_access(nb::handle value);

// The parts of the module.
void bind_errors(nb::module_& module);
void bind_expressions(nb::module_& module);
void bind_tiles(nb::module_& module);
void bind_operations(nb::module_& module);
void bind_control(nb::module_& module);
void bind_layouts(nb::module_& module);
void bind_kernels(nb::module_& module);
void bind_devices(nb::module_& module);

}  // namespace tilewright::python
