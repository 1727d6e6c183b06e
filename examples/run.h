// What the examples share: sizes from the command line and the exit status.
#pragma once

#include "check.h"

#include <tilewright/compile.h>

#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <tuple>

namespace examples {

struct Size {
  const char* name;
  int64_t value;
};

// The sizes of the command line, or those given; false where they are none.
template <size_t N>
bool read_sizes(int argc, char** argv, const Size (&sizes)[N], std::array<int64_t, N>& values) {
  constexpr int64_t kLargest = 1 << 24;
  for (size_t i = 0; i < N; ++i) values[i] = sizes[i].value;
  if (argc == 1) return true;
  if (static_cast<size_t>(argc) != N + 1) return false;
  for (size_t i = 0; i < N; ++i) {
    const char *begin = argv[i + 1], *end = begin + std::strlen(begin);
    const auto [stop, error] = std::from_chars(begin, end, values[i]);
    if (error != std::errc() || stop != end || values[i] < 0 || values[i] > kLargest) return false;
  }
  return true;
}

// Calls `body` with the sizes; it returns a Check. The exit status is 0 for a right result, 1 for a wrong one, 2 for
// bad arguments and 3 where a compiler is missing.
template <size_t N, class Body>
int run(int argc, char** argv, const Size (&sizes)[N], Body body) {
  const std::string path = argv[0], name = path.substr(path.rfind('/') + 1);
  std::array<int64_t, N> values;
  if (!read_sizes(argc, argv, sizes, values)) {
    std::string usage;
    for (const Size& size : sizes) usage += std::string(" ") + size.name;
    std::fprintf(stderr, "usage: %s, or %s%s with sizes of 0 to 2^24\n", name.c_str(), name.c_str(), usage.c_str());
    return 2;
  }
  try {
    const Check check = std::apply(body, values);
    std::string shape;
    for (size_t i = 0; i < N; ++i) shape += (i > 0 ? " x " : "") + std::to_string(values[i]);
    check.print(name, shape);
    return check.ok() ? 0 : 1;
  } catch (const tilewright::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == tilewright::ErrorKind::toolchain ? 3 : 2;
  } catch (const std::exception& error) {  // sizes that do not fit memory
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return 2;
  }
}

}  // namespace examples
