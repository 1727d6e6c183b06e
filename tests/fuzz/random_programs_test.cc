// Random programs: print and parse, and the interpreter against the CPU backend within the bounds that the interpreter
// derives. TILEWRIGHT_FUZZ_COUNT and TILEWRIGHT_FUZZ_SEED run more programs, or others.
#include "fuzz/comparison.h"
#include "fuzz/crash_report.h"
#include "fuzz/program_generator.h"
#include "harness/folders.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ops/ops.h"
#include "runtime/cpu_features.h"
#include "runtime/interp/interp.h"
#include "runtime/process.h"
#include "harness/machine.h"

#include <tilewright/compile.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

namespace tilewright::fuzz {
namespace {

// Without TILEWRIGHT_FUZZ_COUNT; CI runs 2000.
constexpr uint64_t kCount = 300;
// The rule about coverage needs this many: each reduction of each dtype in turn.
constexpr uint64_t kCountOfCoverage = 800;
constexpr uint64_t kFirstSeed = 1;
constexpr int kMaxReports = 5;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// How a program is compiled. Without optimisation 25 programs take 2 s, at -O3 40 s: some go there, because what the
// host compiler makes of vector loops is seen nowhere else. Programs of one setting share a compilation, for the device
// headers and their instantiations.
struct Setting {
  const char* target;
  int optimize;
  size_t batch;
};
constexpr Setting kSettings[] = {
    {"cpu", 3, 4}, {"cpu", 0, 25}, {"cpu:x86-64", 0, 25}, {"cpu:avx2", 0, 25}};  // the longest first

const Setting& setting_of(uint64_t seed) {
  const CpuLevel level = probe_cpu().level;
  if (seed % 67 == 0) return kSettings[0];
  if (seed % 9 == 4 && level >= CpuLevel::avx2) return kSettings[2];
  if (seed % 9 == 8 && level > CpuLevel::avx2) return kSettings[3];
  return kSettings[1];
}

// One program, run by the interpreter.
struct Expected {
  uint64_t seed = 0;
  RandomProgram generated;
  Memory memory;
  std::vector<std::vector<double>> bounds;

  const std::vector<Contents>& contents() const { return generated.arguments[0]; }
};

std::string first_difference(const Expected& e, const Memory& found, size_t first, Tally& tally) {
  for (size_t p = 0; p < e.contents().size(); ++p) {
    const auto* tensor = std::get_if<TensorContents>(&e.contents()[p]);
    if (tensor == nullptr) continue;
    const std::string text = first_difference(*tensor, e.memory.bytes[p], found.bytes[first + p], e.bounds[p], tally);
    if (text.empty()) continue;
    const ir::Program& program = e.generated.program.ir();
    return program.tensors[size_t(program.params[p].index)].name + " " + text;
  }
  return {};
}

class FuzzRun {
 public:
  FuzzRun()
      : first_(from_environment("TILEWRIGHT_FUZZ_SEED", kFirstSeed)),
        count_(from_environment("TILEWRIGHT_FUZZ_COUNT", kCount)) {}

  void all();
  bool must_cover() const { return first_ == kFirstSeed && count_ >= kCountOfCoverage; }
  bool is_alone() const { return count_ == 1; }
  const Coverage& coverage() const { return coverage_; }
  const Tally& tally() const { return tally_; }
  int failures() const { return failures_; }

 private:
  struct Batch {
    const Setting* setting;
    std::vector<uint64_t> seeds;
  };
  std::vector<Batch> batches() const;
  void run(const Batch& batch);
  std::unique_ptr<Expected> expect(uint64_t seed);
  void compare(const std::vector<const Expected*>& batch, const CompileOptions& options);
  void fail(uint64_t seed, const std::string& text, const std::string& what);

  uint64_t first_, count_;
  std::mutex mutex_;
  Coverage coverage_;
  Tally tally_;
  std::atomic<int> failures_ = 0;
};

void FuzzRun::fail(uint64_t seed, const std::string& text, const std::string& what) {
  const std::filesystem::path path = testing::build_folder() / fmt::format("random_program_{}.tw", seed);
  std::ofstream(path) << text;
  const std::lock_guard lock(mutex_);
  if (++failures_ > kMaxReports) return;
  ADD_FAILURE() << "seed " << seed << ": " << what << "\nprogram (also in " << path.string() << "):\n"
                << text << "\nrun it alone with TILEWRIGHT_FUZZ_SEED=" << seed << " TILEWRIGHT_FUZZ_COUNT=1 test_fuzz";
}

// Generates, prints, parses and interprets one program. Null after a failure.
std::unique_ptr<Expected> FuzzRun::expect(uint64_t seed) {
  std::string text = "(none)";
  set_running("interpreted", {&seed, 1});
  try {
    RandomProgram generated = generate_programs({&seed, 1});
    const ir::Program& program = generated.program.ir();
    text = ir::print(program);
    const ir::Program parsed = ir::parse(text, "random_program.tw", ops::all_ops());
    if (!ir::equal(parsed, program)) {
      fail(seed, text, "parse(print(p)) differs from p:\n" + ir::print(parsed));
      return nullptr;
    }
    Memory memory(generated.arguments[0]);
    const InterpResult result = interpret(program, memory.arguments, {.track_error = true});
    std::vector<std::vector<double>> bounds;
    for (size_t p = 0; p < program.params.size(); ++p) bounds.push_back(result.bounds(int(p)));
    {
      const std::lock_guard lock(mutex_);
      add_coverage(program, coverage_);
      for (const auto& [word, times] : generated.words) coverage_[word] += times;
    }
    return std::make_unique<Expected>(Expected{seed, std::move(generated), std::move(memory), std::move(bounds)});
  } catch (const std::exception& e) {
    fail(seed, text, std::string("refused: ") + e.what());
    return nullptr;
  }
}

// Compiles all programs of a batch at once and compares each with what the interpreter said.
void FuzzRun::compare(const std::vector<const Expected*>& batch, const CompileOptions& options) {
  const std::string& target = options.target;
  if (batch.empty()) return;
  std::vector<uint64_t> seeds;
  std::vector<Contents> contents;
  for (const Expected* e : batch) {
    seeds.push_back(e->seed);
    contents.insert(contents.end(), e->contents().begin(), e->contents().end());
  }
  Memory memory(contents);
  set_running("compiled for " + target, seeds);
  try {
    const CompiledKernel kernel = compile(generate_programs(seeds).program, options);
    // So that a test of this suite sees what a crash gives.
    const uint64_t crash = from_environment("TILEWRIGHT_FUZZ_CRASH_SEED", 0);
    if (crash != 0 && std::find(seeds.begin(), seeds.end(), crash) != seeds.end()) std::raise(SIGSEGV);
    kernel.run(memory.arguments);
  } catch (const std::exception& error) {
    if (batch.size() == 1) return fail(seeds[0], batch[0]->generated.program.print(), target + ": " + error.what());
    for (const Expected* e : batch) compare({e}, options);  // which of them?
    return;
  }
  size_t first = 0;
  Tally tally;
  for (const Expected* e : batch) {
    const std::string difference = first_difference(*e, memory, first, tally);
    if (!difference.empty()) fail(e->seed, e->generated.program.print(), target + ": " + difference);
    first += e->contents().size();
  }
  const std::lock_guard lock(mutex_);
  tally_.elements += tally.elements;
  tally_.unbounded += tally.unbounded;
}

void FuzzRun::run(const Batch& batch) {
  std::vector<std::unique_ptr<Expected>> programs;
  std::vector<const Expected*> all;
  for (const uint64_t seed : batch.seeds) {
    programs.push_back(expect(seed));
    if (!programs.back()) continue;
    all.push_back(programs.back().get());
  }
  compare(all, {.target = batch.setting->target, .num_threads = 2, .optimize = batch.setting->optimize});
  if (testing::has_gpu()) compare(all, {.target = "cuda"});
  // Also on another target, e.g. "sim:sm_80+checked+greedy".
  if (const char* also = std::getenv("TILEWRIGHT_FUZZ_ALSO_ON"); also && *also)
    compare(all, {.target = also, .num_threads = 2, .optimize = 0});
}

std::vector<FuzzRun::Batch> FuzzRun::batches() const {
  std::vector<Batch> out;
  for (const Setting& setting : kSettings) {
    bool is_first = true;
    for (uint64_t seed = first_; seed < first_ + count_; ++seed) {
      if (&setting_of(seed) != &setting) continue;
      if (is_first || out.back().seeds.size() == setting.batch) out.push_back({.setting = &setting, .seeds = {}});
      is_first = false;
      out.back().seeds.push_back(seed);
    }
  }
  return out;
}

void FuzzRun::all() {
  const std::vector<Batch> all = batches();
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t at = next++; at < all.size(); at = next++) {
      if (GTEST_FLAG_GET(fail_fast) && failures() > 0) break;
      run(all[at]);
    }
    set_running({}, {});
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(2u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
}

TEST(RandomPrograms, InterpreterAndCpuAgree) {
  FuzzRun run;
  if (!run.is_alone()) catch_crashes();
  run.all();
  EXPECT_EQ(run.failures(), 0) << "programs failed; the first are above";
  const Tally& tally = run.tally();
  fmt::print("{} elements compared, {} of them without bound\n", tally.elements, tally.unbounded);
  for (const auto& [what, times] : run.coverage()) fmt::print("{:<28} {:>8}\n", what, times);
  EXPECT_LT(tally.unbounded * 5, tally.elements) << "too many results are without bound";
  if (!run.must_cover()) return;
  for (const std::string& what : required_coverage()) {
    const auto it = run.coverage().find(what);
    EXPECT_GE(it == run.coverage().end() ? 0 : it->second, kLeastCoverage) << what << " is used too rarely";
  }
}

ProcessResult run_suite(const char* filter, std::vector<std::pair<std::string, std::optional<std::string>>> variables) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  return run_process({.command = {program, fmt::format("--gtest_filter=RandomPrograms.{}", filter)},
                      .environment = std::move(variables),
                      .timeout = std::chrono::minutes(5)});
}

// Does something only in the process that takes the place of one that crashed.
TEST(RandomPrograms, SeedsThatCrash) {
  const std::vector<uint64_t> seeds = seeds_of_the_crash();
  if (seeds.empty()) return;
  int found = 0;
  for (const uint64_t seed : seeds) {
    const ProcessResult alone = run_suite(
        "InterpreterAndCpuAgree", {{"TILEWRIGHT_FUZZ_SEED", std::to_string(seed)}, {"TILEWRIGHT_FUZZ_COUNT", "1"}});
    if (alone.output.find(" ran. (") != std::string::npos) continue;  // it got to the end, perhaps with a failure
    ++found;
    ADD_FAILURE() << "seed " << seed << " crashes: " << alone.describe()
                  << "\nrun it alone with TILEWRIGHT_FUZZ_SEED=" << seed << " TILEWRIGHT_FUZZ_COUNT=1 test_fuzz";
  }
  if (found == 0) ADD_FAILURE() << "none of seeds " << fmt::format("{}", fmt::join(seeds, " ")) << " crashes alone";
}

TEST(RandomPrograms, ACrashNamesItsSeed) {
  const ProcessResult result =
      run_suite("InterpreterAndCpuAgree",
                {{"TILEWRIGHT_FUZZ_SEED", "5"}, {"TILEWRIGHT_FUZZ_COUNT", "3"}, {"TILEWRIGHT_FUZZ_CRASH_SEED", "6"}});
  EXPECT_EQ(result.describe(), "exit code 1") << result.output;
  EXPECT_NE(result.output.find("seed 6 crashes: "), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("seed 5 crashes"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("seed 7 crashes"), std::string::npos) << result.output;
}

TEST(RandomPrograms, AreTheSameForASeed) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(generate_programs({&seed, 1}).program.print(), generate_programs({&seed, 1}).program.print());
  }
}

}  // namespace
}  // namespace tilewright::fuzz
