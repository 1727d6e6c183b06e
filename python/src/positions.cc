// Where the author's Python stands.
#include "convert.h"

#include <Python.h>

#include <unordered_set>

namespace tilewright::python {

namespace {

std::string& package_folder() {
  static std::string folder;
  return folder;
}

bool is_of_package(std::string_view file) {
  const std::string& folder = package_folder();
  return (!folder.empty() && file.starts_with(folder)) || file.starts_with("<frozen");
}

// The column of the instruction that `frame` is at, from 1 on; 0 where the interpreter does not know it.
int column_of(nb::handle frame) {
  const nb::object code = frame.attr("f_code");
  if (!nb::hasattr(code, "co_positions")) return 0;
  const auto instruction = nb::cast<int64_t>(frame.attr("f_lasti")) / 2;
  int64_t at = 0;
  for (nb::handle position : code.attr("co_positions")()) {
    if (at++ != instruction) continue;
    const nb::object column = position[2];
    return column.is_none() ? 0 : nb::cast<int>(column) + 1;
  }
  return 0;
}

}  // namespace

const char* kept_name(const std::string& file) {
  static std::unordered_set<std::string> names;
  return names.insert(file).first->c_str();
}

void set_package_folder(std::string folder) { package_folder() = std::move(folder); }

AuthorPlace author_place(bool with_column) {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none()) {
    std::string file = nb::cast<std::string>(frame.attr("f_code").attr("co_filename"));
    if (!is_of_package(file)) {
      const nb::object line = frame.attr("f_lineno");
      return {.file = std::move(file),
              .line = line.is_none() ? 0 : nb::cast<int>(line),
              .column = with_column ? column_of(frame) : 0};
    }
    frame = frame.attr("f_back");
  }
  return {.file = "<python>", .line = 0, .column = 0};
}

lang::SourcePos here() {
  const AuthorPlace place = author_place(false);
  return {.file = kept_name(place.file), .line = place.line};
}

Loc here_loc() {
  const AuthorPlace place = author_place(false);
  return Loc::at(place.file, place.line);
}

}  // namespace tilewright::python
