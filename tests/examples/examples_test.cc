// The examples as programs: every one at its default sizes and at shapes with tails, of one element and of none.
#include "../../examples/run.h"
#include "harness/folders.h"
#include "harness/machine.h"
#include "harness/two_threads.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/process.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <regex>
#include <string>
#include <vector>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

using Arguments = std::vector<std::string>;

// The programs in examples/, and how many sizes they take.
const std::map<std::string, size_t> kNumSizes = {
    {"elementwise", 2}, {"gemm_epilogue", 3}, {"histogram", 2}, {"online_softmax", 2}, {"prefix_sum", 1},
    {"quickstart", 0},  {"rms_norm_silu", 2}, {"split_k", 3},   {"transpose", 2},
};

// None, one element, primes, one beyond a tile and one less, and long in one dimension.
std::vector<Arguments> shapes(size_t num_sizes) {
  if (num_sizes == 0) return {{}};
  if (num_sizes == 1) return {{}, {"0"}, {"1"}, {"997"}, {"1024"}, {"4099"}};
  if (num_sizes == 2) return {{}, {"0", "3"}, {"3", "0"}, {"1", "1"}, {"37", "101"}, {"129", "1"}, {"2", "1023"}};
  return {{}, {"0", "3", "4"}, {"3", "4", "0"}, {"1", "1", "1"}, {"67", "101", "31"}, {"1", "129", "257"}};
}

std::vector<std::string> names_in(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == extension) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ProcessResult run_example(const std::string& name, Arguments arguments, const std::string& target = {}) {
  arguments.insert(arguments.begin(), testing::build_folder() / "examples" / name);
  ProcessOptions options{.command = std::move(arguments), .timeout = std::chrono::minutes(2)};
  if (!target.empty()) options.environment = {{"TILEWRIGHT_TARGET", target}};
  return run_process(options);
}

// Empty when the program found its result right and said so in one line.
std::string fault_of(const std::string& name, const Arguments& arguments, const std::string& target = {}) {
  const ProcessResult result = run_example(name, arguments, target);
  const std::string shape =
      arguments.empty() ? (name == "quickstart" ? "" : "[0-9x ]+") : fmt::format("{}", fmt::join(arguments, " x "));
  const std::regex line(
      name == "quickstart"
          ? "[^\n]*: worst error is 0\\.[0-9]+ of the bound\n"
          : fmt::format("{} {} on [^ ]+: max error [0-9.e-]+, [01]\\.[0-9]+ of the bound: ok\n", name, shape));
  if (result.ok() && std::regex_match(result.output, line)) return {};
  return fmt::format("{} {}: {}\n{}", name, fmt::join(arguments, " "), result.describe(), result.output);
}

// What the examples' own check must find: a wrong number, a NaN, an infinity, and anything but equality without a
// bound.
TEST(Examples, CheckFails) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto ok = [](double got, double want, double bound) {
    examples::Check check("cpu");
    check.add(1, 1);
    check.add(got, want, bound);
    check.add(2, 2.25, 0.5);
    return check.ok();
  };
  EXPECT_TRUE(ok(1, 1.5, 0.5));
  EXPECT_TRUE(ok(1, 1, 0));
  EXPECT_FALSE(ok(1, 1.75, 0.5));
  EXPECT_FALSE(ok(nan, 1, 0.5));
  EXPECT_FALSE(ok(1, nan, 0.5));
  EXPECT_FALSE(ok(infinity, 1, 0.5));
  EXPECT_FALSE(ok(nan, 1, infinity));
  EXPECT_FALSE(ok(0x1p-149, 0, 0));
}

TEST(Examples, ExitStatusIsThatOfTheCheck) {
  char name[] = "example", seven[] = "7", two[] = "2";
  char *plain[] = {name}, *sizes[] = {name, seven, two};
  const auto body = [](int64_t m, int64_t n) {
    examples::Check check("cpu");
    check.add(double(m), 7);
    check.add(double(n), 2);
    return check;
  };
  EXPECT_EQ(examples::run(3, sizes, {{"M", 1}, {"N", 1}}, body), 0);
  EXPECT_EQ(examples::run(1, plain, {{"M", 7}, {"N", 1}}, body), 1);
  EXPECT_EQ(examples::run(2, sizes, {{"M", 1}, {"N", 1}}, body), 2);
}

TEST(Examples, AllAreListedHere) {
  const std::vector<std::string> sources = names_in(testing::source_folder() / "examples", ".cc");
  std::vector<std::string> listed = {"plot_layout"};  // draws, plot_layout_test.cc
  for (const auto& [name, num_sizes] : kNumSizes) listed.push_back(name);
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(sources, listed);
}

TEST(Examples, AreRightAtEveryShape) {
  std::vector<std::pair<std::string, Arguments>> jobs;
  for (const auto& [name, num_sizes] : kNumSizes) {
    for (Arguments& shape : shapes(num_sizes)) jobs.emplace_back(name, std::move(shape));
  }
  std::mutex mutex;
  testing::for_each_on_two_threads(jobs.size(), [&](size_t i) {
    const std::string fault = fault_of(jobs[i].first, jobs[i].second);
    const std::lock_guard lock(mutex);
    if (!fault.empty()) ADD_FAILURE() << fault;
  });
}

// Their CUDA text, with every access watched; the quickstart's size is fixed, and its kernel is in other tests.
TEST(Examples, AreRightOnSimulatedGpus) {
  std::vector<std::pair<std::string, Arguments>> jobs;
  for (const auto& [name, num_sizes] : kNumSizes) {
    if (num_sizes == 1) jobs.insert(jobs.end(), {{name, {"997"}}, {name, {"0"}}});
    if (num_sizes == 2) jobs.insert(jobs.end(), {{name, {"37", "101"}}, {name, {"5", "1023"}}});
    if (num_sizes == 3) jobs.insert(jobs.end(), {{name, {"67", "101", "31"}}, {name, {"1", "129", "257"}}});
  }
  std::mutex mutex;
  testing::for_each_on_two_threads(jobs.size(), [&](size_t i) {
    const char* target = i % 2 == 0 ? "sim:sm_80+checked+greedy" : "sim:sm_90a+checked+reverse+early";
    const std::string fault = fault_of(jobs[i].first, jobs[i].second, target);
    const std::lock_guard lock(mutex);
    if (!fault.empty()) ADD_FAILURE() << fault;
  });
}

TEST(Examples, AreRightOnTheGpuOfTheMachine) {
  if (!testing::has_gpu()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const auto& [name, num_sizes] : kNumSizes) {
    for (const Arguments& sizes :
         {Arguments{"1000", "513", "257"}, Arguments{"67", "101", "31"}, Arguments{"1", "0", "9"}}) {
      const std::string fault = fault_of(name, Arguments(sizes.begin(), sizes.begin() + num_sizes), "cuda");
      if (!fault.empty()) ADD_FAILURE() << fault;
    }
  }
}

TEST(Examples, RefuseBadArguments) {
  for (const auto& [name, num_sizes] : kNumSizes) {
    if (num_sizes == 0) continue;
    for (const char* bad : {"-1", "3x", "", "1.5", "16777217", "99999999999999999999"}) {
      const ProcessResult result = run_example(name, Arguments(num_sizes, bad));
      EXPECT_EQ(result.exit_code, 2) << name << " '" << bad << "'\n" << result.output;
      EXPECT_EQ(result.output.rfind("usage: " + name, 0), 0u) << result.output;
    }
    EXPECT_EQ(run_example(name, Arguments(num_sizes + 1, "1")).exit_code, 2) << name;
  }
}

TEST(Examples, PrintKnowsTheirKernels) {
  const std::string tw = testing::build_folder() / "tw";
  for (const std::string& name : names_in(testing::source_folder() / "examples", ".h")) {
    if (name == "check" || name == "run") continue;
    const ProcessResult print = run_process({.command = {tw, "print", name}});
    EXPECT_TRUE(print.ok()) << name << "\n" << print.output;
    EXPECT_EQ(print.output.rfind("program " + name + "(", 0), 0u) << print.output;
    const ProcessResult source = run_process({.command = {tw, "print", name, "--source", "--target", "cpu:generic"}});
    EXPECT_TRUE(source.ok()) << name << "\n" << source.output;
  }
}

TEST(Examples, CudaTextCompilesOnEveryArchitecture) {
  auto [nvrtc, why_not] = testing::find_nvrtc();
  if (!nvrtc) GTEST_SKIP() << why_not;
  const std::string tw = testing::build_folder() / "tw";
  for (const std::string& name : names_in(testing::source_folder() / "examples", ".h")) {
    if (name == "check" || name == "run") continue;
    for (const std::string& arch : testing::cuda_archs(*nvrtc)) {
      const ProcessResult source =
          run_process({.command = {tw, "print", name, "--source", "--target", "cuda:" + arch}});
      ASSERT_TRUE(source.ok()) << name << "\n" << source.output;
      EXPECT_NO_THROW(nvrtc->compile({.text = source.output, .arch = arch, .flags = testing::quick_cuda_flags(*nvrtc)}))
          << name << " for " << arch;
    }
  }
}

}  // namespace
}  // namespace tilewright
