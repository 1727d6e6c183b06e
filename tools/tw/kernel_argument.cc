#include "kernel_argument.h"

#include "../../examples/matmul_relu.h"

#include <fmt/format.h>
#include <tilewright/error.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>

namespace tw {

using namespace tilewright;

namespace {

const std::vector<std::pair<std::string, std::function<Program(int64_t extent)>>>& examples_by_name() {
  static const std::vector<std::pair<std::string, std::function<Program(int64_t extent)>>> kExamples = {
      {"matmul_relu", [](int64_t n) { return examples::matmul_relu(n, n, n, 128, 128, 32); }},
  };
  return kExamples;
}

}  // namespace

std::vector<std::string> example_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : examples_by_name()) names.push_back(name);
  return names;
}

Program load_kernel(const std::string& argument, bool small) {
  for (const auto& [name, make] : examples_by_name()) {
    if (name == argument) return make(small ? 256 : 1024);
  }
  std::error_code none;
  if (!std::filesystem::is_regular_file(argument, none)) {
    throw Error(ErrorKind::invalid_argument, fmt::format("'{}' is neither a file nor an example", argument))
        .hint(fmt::format("examples: {}; or a file that `tw print` wrote", fmt::join(example_names(), ", ")));
  }
  std::ifstream in(argument);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return parse_program(text, argument);
}

}  // namespace tw
