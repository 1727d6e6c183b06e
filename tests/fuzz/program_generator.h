// Random programs: valid, terminating, the same for a seed on every machine, with arguments to run them.
#pragma once

#include <tilewright/program.h>
#include <tilewright/runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tilewright::ir {
struct Program;
}

namespace tilewright::fuzz {

// The contents of a tensor argument before the launch.
struct TensorContents {
  DType dtype;
  std::vector<int64_t> shape, strides;  // strides in elements
  bool contiguous = true;               // passed without strides
  std::vector<std::byte> bytes;

  TensorView view(std::byte* memory) const;
};
using Contents = std::variant<TensorContents, int64_t, double>;

struct RandomProgram {
  Program program;
  std::vector<std::vector<Contents>> arguments;  // of each seed, in the order of the parameters
  std::map<std::string, int64_t> words;          // how often what was used that the tree does not show
};

// The programs of all seeds one after the other, as kernels of one program. What a seed adds depends on the seed alone,
// up to the numbers of variables.
RandomProgram generate_programs(std::span<const uint64_t> seeds);

// How often what was used: "gemm f16 f16 f32", "expr add float", "math exp f32", ... by occurrence in the text.
using Coverage = std::map<std::string, int64_t>;
void add_coverage(const ir::Program& program, Coverage& coverage);
// What a run of the suite must use, each kLeastCoverage times.
constexpr int64_t kLeastCoverage = 20;
std::vector<std::string> required_coverage();

}  // namespace tilewright::fuzz
