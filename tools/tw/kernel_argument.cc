#include "kernel_argument.h"

#include "../../examples/elementwise.h"
#include "../../examples/gemm_epilogue.h"
#include "../../examples/histogram.h"
#include "../../examples/matmul_relu.h"
#include "../../examples/online_softmax.h"
#include "../../examples/plot_layout.h"
#include "../../examples/prefix_sum.h"
#include "../../examples/rms_norm_silu.h"
#include "../../examples/split_k.h"
#include "../../examples/transpose.h"

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

// Those of examples/NAME.h, with the sizes of examples/NAME.cc, or smaller ones.
const std::vector<std::pair<std::string, std::function<Program(bool small)>>>& examples_by_name() {
  static const std::vector<std::pair<std::string, std::function<Program(bool small)>>> kExamples = {
      {"elementwise", [](bool) { return examples::elementwise(); }},
      {"gemm_epilogue",
       [](bool small) {
         return small ? examples::gemm_epilogue(70, 100, 50) : examples::gemm_epilogue(300, 500, 200);
       }},
      {"histogram", [](bool) { return examples::histogram(100); }},
      {"matmul_relu",
       [](bool small) {
         const int64_t n = small ? 256 : 1024;
         return examples::matmul_relu(n, n, n, 128, 128, 32);
       }},
      {"online_softmax", [](bool small) { return examples::online_softmax(small ? 20 : 300, small ? 300 : 1777); }},
      {"plot_layout", [](bool) { return examples::plot_layout(); }},
      {"prefix_sum", [](bool small) { return examples::prefix_sum(small ? 3000 : 1000000); }},
      {"rms_norm_silu", [](bool small) { return examples::rms_norm_silu(small ? 10 : 300, small ? 300 : 1777); }},
      {"split_k", [](bool small) { return examples::split_k(70, 90, small ? 300 : 3000); }},
      {"transpose", [](bool) { return examples::transpose(); }},
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
    if (name == argument) return make(small);
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
