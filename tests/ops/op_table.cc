#include "ops/op_table.h"

#include "ops/numbers.h"
#include "runtime/cpu_features.h"
#include "harness/machine.h"
#include "harness/two_threads.h"

#include <tilewright/compile.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <stdexcept>

namespace tilewright::tests {

const HostArray& array(const Args& args, size_t i) { return std::get<HostArray>(args[i]); }

T::Tile declare_tensor(const std::string& name, const HostArray& like, double safe_value) {
  const std::vector<T::Expr> shape(like.shape().begin(), like.shape().end());
  T::TensorOptions options{.safe_value = safe_value};
  if (!like.contiguous()) options.strides.assign(like.strides().begin(), like.strides().end());
  return T::tensor(name, shape, like.dtype(), options);
}

Row tensor_row(std::string name, std::vector<HostArray> arrays,
               std::function<void(const std::vector<T::Tile>&)> kernels, Reference reference) {
  Args args(arrays.begin(), arrays.end());
  auto declare = [arrays, kernels](const std::string& prefix) -> Kernels {
    std::vector<T::Tile> tiles;
    for (size_t i = 0; i < arrays.size(); ++i)
      tiles.push_back(declare_tensor(fmt::format("{}t{}", prefix, i), arrays[i]));
    return [tiles, kernels] { kernels(tiles); };
  };
  return {.name = std::move(name), .declare = declare, .launches = {args}, .reference = std::move(reference)};
}

namespace {

bool matches(Real got, Real want, Real bound, bool signed_zeros) {
  if (std::isinf(bound)) return true;
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return !signed_zeros || std::signbit(got) == std::signbit(want);
  return std::fabs(got - want) <= bound;
}

// The row needs more shared memory than a block of the simulated architecture has, which is a right answer.
bool exceeds_block(const std::exception& e, const std::string& runner) {
  return runner.starts_with("sim") &&
         std::string(e.what()).find("bytes of shared memory, but a block of") != std::string::npos;
}

const Args& launch_of(const Row& row, size_t number) { return row.launches[std::min(number, row.launches.size() - 1)]; }

// Compiled code must leave the x87 registers empty, as every caller expects: an MMX instruction does not.
bool x87_is_empty() {
#if defined(__x86_64__)
  struct {
    uint16_t control, unused_0, status, unused_1, tag, unused_2;
    uint32_t rest[4];
  } environment = {};
  asm volatile("fnstenv %0\n\tfldenv %0" : "+m"(environment));
  return environment.tag == 0xffff;
#else
  return true;
#endif
}

// What the host compiler makes of the loops is seen at the best level; at the others, what the device headers do, for
// which it need not optimise. Most of such a compilation is those headers, so that many rows share it.
bool is_quick(const std::string& runner) {
  return runner.starts_with("cpu:") && runner != fmt::format("cpu:{}", to_string(probe_cpu().level));
}
constexpr size_t kQuickFactor = 6;

class Session {
 public:
  Session(std::span<const Row> rows, size_t rows_per_program) : rows_(rows), per_program_(rows_per_program) {}

  std::vector<std::string> run() {
    struct Job {
      std::span<const Row> rows;
      std::string runner;
    };
    std::vector<Job> jobs;
    for (const std::string& runner : all_runners(true)) {
      const size_t step = per_program_ * (is_quick(runner) ? kQuickFactor : 1);
      for (size_t begin = 0; begin < rows_.size(); begin += step)
        jobs.push_back({.rows = rows_.subspan(begin, std::min(step, rows_.size() - begin)), .runner = runner});
    }
    testing::for_each_on_two_threads(jobs.size(), [&](size_t i) { run_batch(jobs[i].rows, jobs[i].runner); });
    return failures_;
  }

 private:
  // One program for all rows; when it fails, each row by itself, to name the one at fault.
  void run_batch(std::span<const Row> rows, const std::string& runner) {
    try {
      run_program(rows, runner);
    } catch (const std::exception& e) {
      if (rows.size() == 1) {
        if (!exceeds_block(e, runner)) fail(rows[0].name, runner, e.what());
        return;
      }
      for (size_t i = 0; i < rows.size(); ++i) run_batch(rows.subspan(i, 1), runner);
    }
  }

  void run_program(std::span<const Row> rows, const std::string& runner) {
    const Program program = program_of(rows);
    std::optional<CompiledKernel> kernel;
    if (runner != "interpreter") {
      kernel = compile(program, {.target = runner, .num_threads = 2, .optimize = is_quick(runner) ? 0 : 3});
    }
    size_t launches = 0;
    for (const Row& row : rows) launches = std::max(launches, row.launches.size());
    for (size_t l = 0; l < launches; ++l) {
      Args args;
      for (const Row& row : rows) args.insert(args.end(), launch_of(row, l).begin(), launch_of(row, l).end());
      if (kernel)
        kernel->run(views(args));
      else
        interpret(program, views(args));
      if (!x87_is_empty()) throw std::runtime_error("the kernel leaves x87 registers in use");
      size_t at = 0;
      for (const Row& row : rows) {
        const Args& before = launch_of(row, l);
        const std::string text = check_row(row, before, std::span<const Arg>(args).subspan(at, before.size()));
        if (!text.empty()) fail(fmt::format("{} launch {}", row.name, l), runner, text);
        at += before.size();
      }
    }
  }

  void fail(const std::string& row, const std::string& runner, const std::string& text) {
    const std::lock_guard lock(mutex_);
    failures_.push_back(fmt::format("[{}] {}: {}", runner, row, text));
  }

  std::span<const Row> rows_;
  size_t per_program_;
  std::mutex mutex_;
  std::vector<std::string> failures_;
};

}  // namespace

Program program_of(std::span<const Row> rows, const std::string& name) {
  return T::prim_func(name, [&] {
    std::vector<Kernels> kernels;
    for (size_t i = 0; i < rows.size(); ++i) kernels.push_back(rows[i].declare(fmt::format("r{}_", i)));
    for (const Kernels& open : kernels) open();
  });
}

std::string check_row(const Row& row, const Args& before, std::span<const Arg> after) {
  std::vector<Expected> expected(before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    if (!std::holds_alternative<HostArray>(before[i])) continue;
    expected[i].value = array(before, i).values();
    expected[i].bound.assign(expected[i].value.size(), 0);
  }
  row.reference(before, expected);
  for (size_t i = 0; i < before.size(); ++i) {
    if (!std::holds_alternative<HostArray>(before[i])) continue;
    const auto& got = std::get<HostArray>(after[i]);
    if (!got.surroundings_intact()) return fmt::format("argument {}: bytes outside the tensor were written", i);
    if (const std::string text = difference(got, expected[i]); !text.empty())
      return fmt::format("argument {}{}", i, text);
  }
  return {};
}

std::vector<Argument> views(Args& args) {
  std::vector<Argument> out;
  for (Arg& arg : args) {
    if (auto* a = std::get_if<HostArray>(&arg))
      out.emplace_back(a->view());
    else if (auto* i = std::get_if<int64_t>(&arg))
      out.emplace_back(*i);
    else
      out.emplace_back(std::get<double>(arg));
  }
  return out;
}

std::string difference(const HostArray& got, const Expected& want) {
  int64_t wrong = 0, first = -1;
  double max_error = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    const Real value = got.get(i), r = want.value[at], bound = want.bound[at];
    if (matches(value, r, bound, want.signed_zeros)) continue;
    if (wrong++ == 0) first = i;
    max_error = std::max(max_error, static_cast<double>(std::fabs(value - r) / bound));
  }
  if (wrong == 0) return {};
  const auto at = static_cast<size_t>(first);
  return fmt::format("[{}] ({}): got {:.12g}, want {:.12g} +- {:.3g}; {} of {} wrong, max_error {:.3g}", first,
                     to_string(got.dtype()), static_cast<double>(got.get(first)), static_cast<double>(want.value[at]),
                     static_cast<double>(want.bound[at]), wrong, got.size(), max_error);
}

std::vector<std::string> all_runners([[maybe_unused]] bool simulated) {
  std::vector<std::string> runners = {"interpreter"};
  const CpuLevel best = probe_cpu().level;
  for (const char* level : {"x86-64", "avx2", "avx512"}) {
    if (cpu_level_from_string(level).value() <= best) runners.push_back(fmt::format("cpu:{}", level));
  }
  if (runners.size() == 1) runners.push_back("cpu:generic");
  if (testing::has_gpu()) runners.push_back("cuda");
#if defined(__x86_64__)
  // Slow for large extents.
  if (simulated) runners.push_back("sim:sm_80+checked+greedy");
#endif
  // Those that TILEWRIGHT_TEST_RUNNERS names, e.g. "interpreter,cuda"; all by default. Any target of the simulator can
  // be named: "sim:sm_75,sim:sm_90a+checked+reverse".
  if (const char* chosen = std::getenv("TILEWRIGHT_TEST_RUNNERS"); chosen && *chosen) {
    std::vector<std::string> named;
    std::istringstream names(chosen);
    for (std::string name; std::getline(names, name, ',');) {
      const bool known = std::find(runners.begin(), runners.end(), name) != runners.end();
      if (!known && !name.starts_with("sim")) {
        throw std::runtime_error(
            fmt::format("TILEWRIGHT_TEST_RUNNERS names '{}', but here there are {}", name, fmt::join(runners, ", ")));
      }
      named.push_back(name);
    }
    return named;
  }
  return runners;
}

Args run_on(const std::string& runner, const Program& program, const Args& args) {
  Args after = args;
  if (runner == "interpreter")
    interpret(program, views(after));
  else
    compile(program, {.target = runner, .num_threads = 2}).run(views(after));
  return after;
}

void check_rows(std::span<const Row> rows, size_t rows_per_program) {
  for (const std::string& text : Session(rows, rows_per_program).run()) ADD_FAILURE() << text;
}

}  // namespace tilewright::tests
