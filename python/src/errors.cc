// tilewright::Error as a Python exception, with the column of the call that raised it.
#include "convert.h"

#include <tilewright/error.h>

#include <algorithm>

namespace tilewright::python {

namespace {

// The class factory of the package: kind, message, (file, line, column) or None, notes, hint, text -> an exception.
nb::object& make_exception() {
  static auto* function = new nb::object();  // never destroyed: the interpreter is gone by then
  return *function;
}

nb::object to_place(const Loc& loc) {
  if (!loc.known()) return nb::none();
  return nb::make_tuple(std::string(loc.path()), loc.line, loc.column);
}

// "invalid kernel" as the attribute `kind` has it.
std::string kind_name(ErrorKind kind) {
  std::string name(to_string(kind));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// Words of the language as Python writes them: T::cast -> T.cast.
std::string in_python(std::string text) {
  for (size_t at = text.find("T::"); at != std::string::npos; at = text.find("T::", at)) text.replace(at, 3, "T.");
  return text;
}

// With the author's position where it has none, and with a column where it stands on the author's line.
Error placed(const Error& error) {
  const AuthorPlace place = author_place(true);
  const bool on_line = error.loc().line == place.line && error.loc().path() == place.file;
  const bool needs_place = !error.loc().known() && error.kind() != ErrorKind::invalid_argument;
  const bool moves = place.line > 0 && (needs_place || (on_line && error.loc().column == 0));
  return moved_to(moves ? Loc::at(place.file, place.line, place.column) : error.loc(), error);
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& original) {
    const Error error = placed(original);
    nb::list notes;
    for (const Note& note : error.notes()) notes.append(nb::make_tuple(note.text, to_place(note.loc)));
    const nb::object exception = make_exception()(kind_name(error.kind()), error.message(), to_place(error.loc()),
                                                  notes, error.hint(), std::string(error.what()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  }
}

ErrorKind kind_of(const std::string& name) {
  for (ErrorKind kind : {ErrorKind::invalid_kernel, ErrorKind::invalid_argument, ErrorKind::unsupported,
                         ErrorKind::toolchain, ErrorKind::internal}) {
    if (kind_name(kind) == name) return kind;
  }
  return ErrorKind::internal;
}

[[noreturn]] void raise(const std::string& kind, const std::string& message, const std::string& hint, nb::object place,
                        nb::list notes) {
  Loc loc;
  if (!place.is_none()) {
    loc = Loc::at(nb::cast<std::string>(place[0]), nb::cast<int>(place[1]), nb::cast<int>(place[2]));
  }
  Error error(kind_of(kind), message, loc);
  for (nb::handle note : notes) {
    const nb::object at = note[1];
    std::move(error).note(
        nb::cast<std::string>(note[0]),
        at.is_none() ? Loc() : Loc::at(nb::cast<std::string>(at[0]), nb::cast<int>(at[1]), nb::cast<int>(at[2])));
  }
  if (!hint.empty()) std::move(error).hint(hint);
  throw error;
}

}  // namespace

Error moved_to(const Loc& loc, const Error& error) {
  Error out(error.kind(), in_python(error.message()), loc);
  for (const Note& note : error.notes()) std::move(out).note(in_python(note.text), note.loc);
  if (!error.hint().empty()) std::move(out).hint(in_python(error.hint()));
  return out;
}

void bind_errors(nb::module_& module) {
  nb::register_exception_translator(&translate);
  module.def("set_exception_factory", [](nb::object factory) { make_exception() = std::move(factory); });
  // Raises an error of the package's own at the author's place, or at the one given.
  module.def("raise_error", &raise, nb::arg("kind"), nb::arg("message"), nb::arg("hint") = "",
             nb::arg("place") = nb::none(), nb::arg("notes") = nb::list());
  module.def("author_place", [] {
    const AuthorPlace place = author_place(true);
    return nb::make_tuple(place.file, place.line, place.column);
  });
}

}  // namespace tilewright::python
