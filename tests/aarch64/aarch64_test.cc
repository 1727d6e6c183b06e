// Generated code on aarch64: cross-compiled by Debian's g++, run by qemu, and compared with the interpreter within its
// derived bounds, and the rows of tests/ops also with their references.
#include "aarch64/cross_batch.h"
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
#include "harness/folders.h"
#include "harness/machine.h"
#include "ops/tracked.h"
#include "runtime/process.h"
#include "runtime/test_folder.h"
#include "support/options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <set>

namespace tilewright::tests {
namespace {

namespace fs = std::filesystem;

// Bounds the time of compilation; all rows take more than twice as long as these.
constexpr size_t kRowsPerGroup = 16;

struct Case {
  std::string name;
  Program program;
  Args args;
  std::vector<Row> rows;  // of the table; empty for an example
};

// Rows at even distances, the first and the last among them.
std::vector<Row> some_of(const std::vector<Row>& all) {
  std::vector<Row> out;
  const size_t count = std::min(kRowsPerGroup, all.size());
  for (size_t i = 0; i < count; ++i) out.push_back(all[count == 1 ? 0 : i * (all.size() - 1) / (count - 1)]);
  return out;
}

std::vector<Case> table_cases() {
  std::vector<Case> out;
  for (const Part& part : kParts) {
    const std::vector<Row> rows = some_of(part.rows());
    Args args;
    for (const Row& row : rows) args.insert(args.end(), row.launches[0].begin(), row.launches[0].end());
    out.push_back({part.name, program_of(rows, fmt::format("{}_rows", part.name)), std::move(args), rows});
  }
  return out;
}

std::vector<Case> example_cases() {
  const auto f32 = [](std::vector<int64_t> shape, uint64_t seed) -> Arg {
    return HostArray(T::f32, std::move(shape)).fill_random(seed, -2, 2);
  };
  const auto f16 = [](std::vector<int64_t> shape) -> Arg {
    return HostArray(T::f16, std::move(shape)).fill_random(1, -2, 2);
  };
  const auto i32 = [](std::vector<int64_t> shape, double high) -> Arg {
    return HostArray(T::i32, std::move(shape)).fill_random(1, high > 0 ? -1 : 0, high);
  };
  namespace e = examples;
  return {
      {"elementwise", e::elementwise(), {f32({37, 101}, 1), f32({37, 101}, 2), f32({37, 101}, 3)}, {}},
      {"gemm_epilogue",
       e::gemm_epilogue(67, 101, 31),
       {f32({67, 31}, 1), f32({101, 31}, 2), f32({101}, 3), f32({67, 101}, 4), f32({67, 101}, 5)},
       {}},
      {"histogram", e::histogram(13), {i32({5003}, 13), i32({13}, 0)}, {}},
      {"matmul_relu",
       e::matmul_relu(65, 70, 53, 32, 48, 16, T::f16),
       {HostArray(T::f16, {65, 53}).fill_random(1, -1, 1), HostArray(T::f16, {53, 70}).fill_random(2, -1, 1),
        HostArray(T::f16, {65, 70})},
       {}},
      {"online_softmax", e::online_softmax(11, 613), {f32({11, 613}, 1), f32({11, 613}, 2)}, {}},
      {"plot_layout",
       e::plot_layout(16),
       {f16({16, 16}), f16({16, 16}), f16({16, 8}), f16({16, 8}), f32({16, 8}, 1), f32({16, 8}, 2), f16({32, 8}),
        f16({32, 8}), f32({64, 16}, 3), f32({64, 16}, 4)},
       {}},
      {"prefix_sum", e::prefix_sum(4099), {f32({4099}, 1), f32({4099}, 2)}, {}},
      {"rms_norm_silu", e::rms_norm_silu(11, 613), {f32({11, 613}, 1), f32({613}, 2), f32({11, 613}, 3)}, {}},
      {"split_k", e::split_k(37, 41, 500), {f32({37, 500}, 1), f32({500, 41}, 2), f32({37, 41}, 3)}, {}},
      {"transpose", e::transpose(), {f32({37, 101}, 1), f32({101, 37}, 2)}, {}},
  };
}

// The path of a program, or of none.
std::optional<std::string> find_program(const std::string& name) {
  for (const fs::path& folder : read_options_from_environment().search_path) {
    if (fs::exists(folder / name)) return (folder / name).string();
  }
  return std::nullopt;
}

class Aarch64 : public ::testing::Test {
 protected:
  void SetUp() override {
    compiler_ = require("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu");
    emulator_ = require("qemu-aarch64", "qemu-user");
  }
  std::string require(const char* program, const char* package) {
    const std::optional<std::string> path = find_program(program);
    if (path) return *path;
    missing_ += fmt::format("{} is not found: apt-get install {}\n", program, package);
    return {};
  }
  std::string compiler_, emulator_, missing_;
};

void check(const Case& c, const Args& got) {
  EXPECT_EQ(difference(interpret_tracked(c.program, c.args), got), "") << c.name;
  size_t at = 0;
  for (const Row& row : c.rows) {
    const Args& before = row.launches[0];
    EXPECT_EQ(check_row(row, before, std::span(got).subspan(at, before.size())), "") << c.name << ": " << row.name;
    at += before.size();
  }
}

TEST_F(Aarch64, AgreesWithTheInterpreter) {
  TW_NEEDS(missing_.empty(), missing_);
  std::vector<Case> cases = table_cases();
  for (Case& c : example_cases()) cases.push_back(std::move(c));
  CrossBatch batch;
  for (const Case& c : cases) batch.add(c.program, c.args);
  const test::TestFolder folder;
  const std::vector<Args> after = batch.run(compiler_, emulator_, folder.path());
  ASSERT_EQ(after.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) check(cases[i], after[i]);
}

TEST_F(Aarch64, CoversEveryExample) {
  std::set<std::string> kernels, names;
  for (const fs::directory_entry& file : fs::directory_iterator(testing::source_folder() / "examples")) {
    const std::string name = file.path().stem().string();
    if (file.path().extension() == ".h" && name != "check" && name != "run") kernels.insert(name);
  }
  for (const Case& c : example_cases()) names.insert(c.name);
  EXPECT_EQ(names, kernels);
}

}  // namespace
}  // namespace tilewright::tests
