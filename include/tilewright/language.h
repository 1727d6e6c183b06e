// The language: everything a kernel author needs, in one header.
//
//   namespace T = tilewright::lang;
//   T::Program p = T::prim_func("name", [&] { ...tensors, then T::Kernel, then tile statements... });
//
// Statements are recorded, not run: `C(i, j) = T::max(C(i, j), 0)` adds a store to the kernel being built. Expressions
// are values; an element `A(i, j)` used in an expression is read where the statement that uses it runs (T::let reads
// it at once). Every call records the author's line, so that errors point at it. Wrong calls throw
// tilewright::Error at the line that breaks the rule. docs/language.md is the reference.
#pragma once

#include <tilewright/error.h>
#include <tilewright/language/expressions.h>
#include <tilewright/language/kernels.h>
#include <tilewright/language/layouts.h>
#include <tilewright/language/operations.h>
#include <tilewright/language/tiles.h>
#include <tilewright/program.h>

#include <string>
#include <utility>

namespace tilewright::lang {

using tilewright::Program;

namespace detail {
void begin_program(const std::string& name, SourcePos pos);
Program end_program();
void abandon_program() noexcept;
}  // namespace detail

// Runs `body`, which declares tensors and opens kernels, and returns the verified program.
template <class F>
Program prim_func(const std::string& name, F&& body, SourcePos pos = SourcePos::here()) {
  struct Abandon {
    bool armed = true;
    ~Abandon() {
      if (armed) detail::abandon_program();
    }
  } guard;
  detail::begin_program(name, pos);
  std::forward<F>(body)();
  guard.armed = false;
  return detail::end_program();
}

}  // namespace tilewright::lang
