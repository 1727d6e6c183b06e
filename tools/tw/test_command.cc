#include "test_command.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <tilewright/error.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/process.h"

namespace {

namespace fs = std::filesystem;
using tilewright::Error;
using tilewright::ErrorKind;

struct TestOptions {
  std::string filter = "*";
  std::vector<std::string> labels;
  int jobs = 0;  // 0: one per core
  int timeout_s = 1800;
  bool update_golden = false;
};

struct Suite {
  std::string name;  // of the executable
  std::vector<std::string> labels;
  bool serial = false;  // runs while no other suite does
};

struct Counts {
  int passed = 0, failed = 0, skipped = 0;

  Counts& operator+=(const Counts& other) {
    passed += other.passed;
    failed += other.failed;
    skipped += other.skipped;
    return *this;
  }
};

struct SuiteResult {
  Counts counts;
  std::string ending;  // why the suite itself failed, beyond its tests; empty when it did not
  std::string output;
  double seconds = 0;
};

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (fs::temp_directory_path() / "tw-test-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw Error(ErrorKind::toolchain, fmt::format("cannot create {}", pattern));
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Rows of tests.txt: executable, labels joined by commas, RUN_SERIAL or nothing.
std::vector<Suite> read_suites(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw Error(ErrorKind::toolchain, fmt::format("{} is missing: build the target `tests`", file.string()));
  std::vector<Suite> suites;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    Suite suite;
    std::string labels, serial;
    if (!(words >> suite.name >> labels)) continue;
    words >> serial;
    suite.serial = serial == "RUN_SERIAL";
    std::istringstream label_words(labels);
    for (std::string label; std::getline(label_words, label, ',');) suite.labels.push_back(label);
    suites.push_back(std::move(suite));
  }
  return suites;
}

bool has_label(const Suite& suite, const std::string& label) {
  return std::ranges::find(suite.labels, label) != suite.labels.end();
}

// The suites that carry one of `labels`; all of them when there are none. Refuses a label that no suite carries.
std::vector<Suite> select_suites(const std::vector<Suite>& suites, std::span<const std::string> labels) {
  if (labels.empty()) return suites;
  for (const std::string& label : labels) {
    if (std::ranges::any_of(suites, [&](const Suite& suite) { return has_label(suite, label); })) continue;
    std::string known;
    for (const Suite& suite : suites) known += " " + suite.labels.front();
    throw Error(ErrorKind::invalid_argument, fmt::format("no suite has the label '{}'; there are:{}", label, known));
  }
  std::vector<Suite> selected;
  for (const Suite& suite : suites) {
    if (std::ranges::any_of(labels, [&](const std::string& label) { return has_label(suite, label); })) {
      selected.push_back(suite);
    }
  }
  return selected;
}

// Counts what GoogleTest wrote with --gtest_output=json. Throws when the file is missing or not complete.
Counts count_report(const fs::path& file) {
  std::ifstream in(file);
  nlohmann::json report = nlohmann::json::parse(in);
  Counts counts;
  for (const auto& group : report.at("testsuites")) {
    for (const auto& test : group.at("testsuite")) {
      if (test.contains("failures")) {
        ++counts.failed;
      } else if (test.at("status") == "NOTRUN" || test.at("result") == "SKIPPED") {
        ++counts.skipped;
      } else {
        ++counts.passed;
      }
    }
  }
  return counts;
}

// Runs one suite. One that ends in another way than its report tells counts as one failed test.
SuiteResult run_suite(const Suite& suite, const TestOptions& options, const fs::path& build, const fs::path& reports) {
  fs::path report = reports / (suite.name + ".json");
  tilewright::ProcessOptions process{
      .command = {(build / suite.name).string(), "--gtest_output=json:" + report.string(),
                  "--gtest_filter=" + options.filter},
      .working_dir = build,
      .timeout = std::chrono::seconds(options.timeout_s),
  };
  if (options.update_golden) process.command.push_back("--update-golden");

  SuiteResult result;
  auto start = std::chrono::steady_clock::now();
  try {
    tilewright::ProcessResult end = tilewright::run_process(process);
    result.output = std::move(end.output);
    if (!end.ok()) result.ending = end.describe();
  } catch (const Error& error) {
    result.ending = error.message();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  try {
    result.counts = count_report(report);
    if (result.counts.failed > 0) result.ending.clear();
  } catch (const nlohmann::json::exception&) {
    if (result.ending.empty()) result.ending = "ended without a report";
  }
  if (!result.ending.empty()) ++result.counts.failed;
  return result;
}

void print_result(const Suite& suite, const SuiteResult& result) {
  const Counts& counts = result.counts;
  if (counts.failed > 0) fmt::print("{}", result.output);
  fmt::print("{:<24} {:>5} passed {:>4} failed {:>4} skipped {:>8.1f} s{}\n", suite.name, counts.passed, counts.failed,
             counts.skipped, result.seconds, result.ending.empty() ? "" : "   " + result.ending);
  std::fflush(stdout);
}

// Runs `suites` on `jobs` threads, prints each result when it is there, and returns the sum.
Counts run_suites(std::span<const Suite> suites, int jobs, const TestOptions& options, const fs::path& build,
                  const fs::path& reports) {
  Counts sum;
  std::mutex mutex;
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < suites.size(); i = next++) {
      SuiteResult result = run_suite(suites[i], options, build, reports);
      std::lock_guard lock(mutex);
      print_result(suites[i], result);
      sum += result.counts;
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int job = 0; job < std::min<int>(jobs, int(suites.size())); ++job) workers.emplace_back(work);
  }
  return sum;
}

ExitStatus run_tests(const TestOptions& options) {
  fs::path build = fs::read_symlink("/proc/self/exe").parent_path();
  std::vector<Suite> suites = select_suites(read_suites(build / "tests.txt"), options.labels);
  auto serial = std::ranges::stable_partition(suites, [](const Suite& suite) { return !suite.serial; });
  std::span<const Suite> parallel_suites(suites.begin(), serial.begin());
  std::span<const Suite> serial_suites(serial.begin(), serial.end());
  int jobs = options.jobs > 0 ? options.jobs : std::max(1, int(std::thread::hardware_concurrency()));

  TempFolder reports;
  Counts sum = run_suites(parallel_suites, jobs, options, build, reports.path());
  sum += run_suites(serial_suites, 1, options, build, reports.path());

  bool nothing_ran = sum.passed + sum.failed + sum.skipped == 0;
  if (nothing_ran) fmt::print(stderr, "error: no test matches --filter '{}'\n", options.filter);
  fmt::print("{} passed, {} failed, {} skipped\n", sum.passed, sum.failed, sum.skipped);
  if (sum.failed > 0) return ExitStatus::wrong;
  return nothing_ran ? ExitStatus::refused : ExitStatus::success;
}

}  // namespace

void add_test_command(CLI::App& app, ExitStatus& status) {
  auto options = std::make_shared<TestOptions>();
  CLI::App* command = app.add_subcommand("test", "Run the test suites");
  command->add_option("--filter", options->filter, "Tests to run, as a GoogleTest filter such as Gemm*.*-*Large")
      ->type_name("GLOB");
  command->add_option("--label", options->labels, "Suites to run: a folder of tests/ (repeatable)")
      ->type_name("LABEL")
      ->delimiter(',')
      ->expected(1)
      ->take_all();
  command->add_option("--jobs", options->jobs, "Suites that run at once (default: the number of cores)")
      ->check(CLI::PositiveNumber);
  command->add_option("--timeout", options->timeout_s, "Seconds after which a suite is stopped")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--update-golden", options->update_golden, "Rewrite golden files instead of comparing");
  command->callback([options, &status] { status = run_tests(*options); });
}
