// Random programs: print and parse, and the interpreter against the CPU backend within the bounds that the interpreter
// derives. TILEWRIGHT_FUZZ_COUNT and TILEWRIGHT_FUZZ_SEED run more programs, or others.
#include "fuzz/program_generator.h"
#include "harness/folders.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ops/ops.h"
#include "runtime/cpu_features.h"
#include "runtime/interp/interp.h"
#include "target/dtype.h"

#include <tilewright/compile.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

namespace tilewright::fuzz {
namespace {

constexpr uint64_t kCount = 1000;
constexpr uint64_t kFirstSeed = 1;
// Programs of one compilation. Larger batches share more of the device library's instantiations, but a compiler run
// cannot be split over cores.
constexpr size_t kBatch = 25;
constexpr uint64_t kBatchesPerOptimized = 16;
constexpr int kMaxReports = 5;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Arguments with memory of their own.
struct Memory {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<Argument> arguments;

  explicit Memory(const std::vector<Contents>& contents) {
    bytes.reserve(contents.size());
    for (const Contents& c : contents) {
      if (const auto* tensor = std::get_if<TensorContents>(&c)) {
        bytes.push_back(tensor->bytes);
        arguments.emplace_back(tensor->view(bytes.back().data()));
      } else {
        bytes.emplace_back();
        if (const auto* i = std::get_if<int64_t>(&c))
          arguments.emplace_back(*i);
        else
          arguments.emplace_back(std::get<double>(c));
      }
    }
  }
};

// What each thread is running, for the case that it does not come back.
constexpr size_t kMaxThreads = 64;
std::array<std::array<char, 512>, kMaxThreads> running;
std::atomic<size_t> num_threads = 0;
thread_local std::array<char, 512>* running_here = nullptr;

void set_running(std::string_view what) {
  if (running_here == nullptr) running_here = &running[num_threads.fetch_add(1) % kMaxThreads];
  *fmt::format_to_n(running_here->data(), running_here->size() - 1, "{}", what).out = '\0';
}

void report_crash(int signal) {
  const auto print = [](const char* text) { [[maybe_unused]] const ssize_t n = write(2, text, std::strlen(text)); };
  print("\ncrashed in one of these (TILEWRIGHT_FUZZ_SEED and TILEWRIGHT_FUZZ_COUNT run some of them):\n");
  for (const auto& text : running) {
    if (text[0] == '\0') continue;
    print(text.data());
    print("\n");
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// One program, run by the interpreter.
struct Expected {
  uint64_t seed = 0;
  RandomProgram generated;
  Memory memory;
  std::vector<std::vector<double>> bounds;

  const std::vector<Contents>& contents() const { return generated.arguments[0]; }
};

struct Tally {
  int64_t elements = 0, unbounded = 0;
};

bool has_gpu() {
  static const bool found = [] {
    try {
      DeviceMemory(16).fill(0);
      return true;
    } catch (const Error&) {
      return false;
    }
  }();
  return found;
}

double distance(DType t, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, size_t(bytes_of(t))) == 0) return 0;
  if (!is_float(t)) return std::fabs(double(load_int(t, a)) - double(load_int(t, b)));
  const double x = load_float(t, a), y = load_float(t, b);
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  return std::isnan(x) || std::isnan(y) || std::isinf(x) || std::isinf(y) ? INFINITY : std::fabs(x - y);
}

std::string value_text(DType t, const std::byte* at) {
  return is_float(t) ? fmt::format("{}", load_float(t, at)) : fmt::format("{}", load_int(t, at));
}

// The first element of `tensor` further from the interpreter's than allowed.
std::string first_difference(const TensorContents& tensor, const std::vector<std::byte>& expected,
                             const std::vector<std::byte>& found, const std::vector<double>& bounds, Tally& tally) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    std::vector<int64_t> at(tensor.shape.size());
    int64_t rest = int64_t(i), offset = 0;
    for (size_t d = at.size(); d-- > 0;) {
      at[d] = rest % tensor.shape[d];
      rest /= tensor.shape[d];
      offset += at[d] * tensor.strides[d];
    }
    offset *= bytes_of(tensor.dtype);
    ++tally.elements;
    tally.unbounded += std::isinf(bounds[i]);
    const double apart = distance(tensor.dtype, expected.data() + offset, found.data() + offset);
    if (apart <= bounds[i]) continue;
    return fmt::format("element [{}]: interpreter {}, CPU {}, allowed distance {}", fmt::join(at, ", "),
                       value_text(tensor.dtype, expected.data() + offset),
                       value_text(tensor.dtype, found.data() + offset), bounds[i]);
  }
  return {};
}

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
  bool is_default() const { return first_ == kFirstSeed && count_ == kCount; }
  const Coverage& coverage() const { return coverage_; }
  const Tally& tally() const { return tally_; }
  int failures() const { return failures_; }

 private:
  void batch(uint64_t first, uint64_t last);
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
  set_running(fmt::format("interpreted: seed {}", seed));
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
  set_running(fmt::format("compiled for {}: seeds {}", target, fmt::join(seeds, " ")));
  try {
    const CompiledKernel kernel = compile(generate_programs(seeds).program, options);
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

void FuzzRun::batch(uint64_t first, uint64_t last) {
  std::vector<std::unique_ptr<Expected>> programs;
  std::vector<const Expected*> best, cuda, other;
  for (uint64_t seed = first; seed < last; ++seed) {
    programs.push_back(expect(seed));
    if (!programs.back()) continue;
    best.push_back(programs.back().get());
    if (!has_atomics(seed)) cuda.push_back(programs.back().get());
    if (seed % 4 == 0) other.push_back(programs.back().get());
  }
  // At -O3 a batch takes 15 s to compile, at -O0 2.4 s. What the host compiler makes of vector loops is seen at -O3
  // only.
  const uint64_t number = first / kBatch;
  compare(best, {.target = "cpu", .num_threads = 2, .optimize = number % kBatchesPerOptimized == 0 ? 3 : 0});
  if (has_gpu()) compare(cuda, {.target = "cuda"});
  const CpuLevel level = probe_cpu().level;
  if (level == CpuLevel::generic) return;
  // Every fourth program, at the lower levels in turn.
  const bool baseline = number % 2 == 0 || level <= CpuLevel::avx2;
  compare(other, {.target = baseline ? "cpu:x86-64" : "cpu:avx2", .num_threads = 2, .optimize = 0});
}

void FuzzRun::all() {
  std::atomic<uint64_t> next = first_;
  const auto work = [&] {
    for (;;) {
      const uint64_t begin = next.fetch_add(kBatch);
      if (begin >= first_ + count_ || (GTEST_FLAG_GET(fail_fast) && failures() > 0)) return;
      batch(begin, std::min(begin + kBatch, first_ + count_));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(2u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
}

// What a default run uses at least kLeast times.
constexpr int64_t kLeast = 20;

std::vector<std::string> required() {
  std::vector<std::string> out = {"op use_swizzle",
                                  "loop serial",
                                  "loop unrolled",
                                  "loop vectorized",
                                  "loop pipelined",
                                  "loop parallel",
                                  "word grid",
                                  "word Persistent",
                                  "word several kernels",
                                  "word alloc_global",
                                  "workspace read",
                                  "while",
                                  "break",
                                  "continue",
                                  "if",
                                  "let"};
  for (const char* t : {"f32", "f16", "bf16", "i32"}) {
    for (const char* op : {"copy", "fill", "transpose", "gather", "gemm"})
      out.push_back(fmt::format("op {} {}", op, t));
    out.push_back(fmt::format("reshape {}", t));
    out.push_back(fmt::format("view of {}", t));
    out.push_back(fmt::format("store {}", t));
  }
  for (int number = 0; number < kNumDTypes; ++number) {
    const DType t = DType(number);
    if (t == DType::f8e4m3 || t == DType::f8e5m2 || t == DType::tf32) continue;  // the generator makes none
    const auto require = [&](const char* op) { out.push_back(fmt::format("op {} {}", op, to_string(t))); };
    for (const char* op : {"reduce_any", "reduce_all", "cumsum", "cummax"}) require(op);
    for (const char* op : {"reduce_sum", "reduce_max", "reduce_min", "reduce_abssum", "reduce_absmax"}) require(op);
    if (is_float(t)) continue;
    for (const char* op : {"reduce_bitand", "reduce_bitor", "reduce_bitxor"}) require(op);
  }
  for (const char* t : {"f32", "f16", "bf16", "f64", "i32", "u32", "i64", "u64"}) {
    for (const char* word : {"add", "max", "min", "and", "or", "xor"}) {
      const bool bits = *word == 'a' ? word[1] == 'n' : *word == 'o' || *word == 'x';
      if (bits && std::string_view(t).find('f') != std::string_view::npos) continue;
      out.push_back(fmt::format("op atomic_{} {}", word, t));
      out.push_back(fmt::format("atomic {} {}", word, t));
    }
  }
  for (const char* kind : {"load", "add", "sub", "mul", "min", "max", "eq", "ne", "lt", "le", "select", "cast"}) {
    for (const char* c : {"float", "int"}) out.push_back(fmt::format("expr {} {}", kind, c));
  }
  for (const char* kind :
       {"floordiv", "floormod", "bit_and", "bit_or", "bit_xor", "shl", "shr", "call", "int_imm", "var"}) {
    out.push_back(fmt::format("expr {} int", kind));
  }
  for (const char* kind : {"div", "float_imm", "call"}) out.push_back(fmt::format("expr {} float", kind));
  for (const char* kind : {"load", "eq", "ne", "and", "or", "not", "bit_and", "bit_or", "bit_xor", "select", "cast"}) {
    out.push_back(fmt::format("expr {} bool", kind));
  }
  // Those that the generator makes.
  for (const char* fn : {"abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid",
                         "floor", "ceil", "round"}) {
    for (const char* t : {"f32", "f16", "bf16", "f64"}) out.push_back(fmt::format("math {} {}", fn, t));
  }
  return out;
}

TEST(RandomPrograms, InterpreterAndCpuAgree) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, report_crash);
  FuzzRun run;
  run.all();
  EXPECT_EQ(run.failures(), 0) << "programs failed; the first are above";
  const Tally& tally = run.tally();
  fmt::print("{} elements compared, {} of them without bound\n", tally.elements, tally.unbounded);
  for (const auto& [what, times] : run.coverage()) fmt::print("{:<28} {:>8}\n", what, times);
  EXPECT_LT(tally.unbounded * 5, tally.elements) << "too many results are without bound";
  if (!run.is_default()) return;
  for (const std::string& what : required()) {
    const auto it = run.coverage().find(what);
    EXPECT_GE(it == run.coverage().end() ? 0 : it->second, kLeast) << what << " is used too rarely";
  }
}

TEST(RandomPrograms, AreTheSameForASeed) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(generate_programs({&seed, 1}).program.print(), generate_programs({&seed, 1}).program.print());
  }
}

}  // namespace
}  // namespace tilewright::fuzz
