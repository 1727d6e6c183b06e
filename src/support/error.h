// Shorthands for raising the errors of <tilewright/error.h> with formatted messages.
#pragma once

#include <tilewright/error.h>

#include <fmt/format.h>

#include <string>
#include <utility>

namespace tilewright {

template <class... Args>
Error invalid_kernel(const Loc& loc, fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::invalid_kernel, fmt::format(format, std::forward<Args>(args)...), loc);
}

template <class... Args>
Error invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::invalid_argument, fmt::format(format, std::forward<Args>(args)...));
}

// Adds the pointer to docs/status.md that every "not built yet" carries.
template <class... Args>
Error unsupported(const Loc& loc, fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::unsupported, fmt::format(format, std::forward<Args>(args)...), loc)
      .hint("docs/status.md lists what is not built yet");
}

template <class... Args>
Error toolchain_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::toolchain, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
Error internal_error(const Loc& loc, fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::internal, fmt::format(format, std::forward<Args>(args)...), loc)
      .hint("this is a defect of Tilewright; the program printed by `tw trace` makes a good report");
}

}  // namespace tilewright
