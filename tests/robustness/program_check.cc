#include "robustness/program_check.h"

#include "codegen/cpu.h"
#include "harness/folders.h"
#include "ir/op.h"
#include "ir/print.h"
#include "passes/passes.h"
#include "runtime/bind.h"
#include "target/dtype.h"

#include <tilewright/compile.h>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

// Under the address sanitizer an allocation that is too large fails as it does elsewhere.
extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace tilewright::robustness {

namespace {

constexpr unsigned kCaseSeconds = 120;
constexpr int64_t kMaxBytes = 1 << 22;

std::optional<uint64_t> from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::array<char, 256> running;

void report_time(int) {
  const auto print = [](const char* text) { [[maybe_unused]] const ssize_t n = write(2, text, std::strlen(text)); };
  print("\nthis case does not end; robustness_case.tw in the build folder has its text: ");
  print(running.data());
  print("\n");
  std::signal(SIGALRM, SIG_DFL);
  std::raise(SIGABRT);
}

}  // namespace

double seconds(double otherwise) {
  return double(from_environment("TILEWRIGHT_FUZZ_SECONDS").value_or(uint64_t(otherwise)));
}
uint64_t first_seed() { return from_environment("TILEWRIGHT_FUZZ_SEED").value_or(1); }

std::string Tally::text() const {
  return fmt::format(
      "{} cases: {} refused, {} programs; {} refused for the CPU, {} for CUDA; of the others {} ran, {} ended with an "
      "error, {} were stopped, {} were too large to run; {} compiled",
      cases, refused, programs, refused_by_cpu, refused_by_cuda, ran, failed, long_runs, not_run, compiled);
}

void begin_case(const std::string& what, const std::string& text) {
  *fmt::format_to_n(running.data(), running.size() - 1, "{}", what).out = '\0';
  std::ofstream(testing::build_folder() / "robustness_case.tw") << "# " << what << "\n" << text;
  std::signal(SIGALRM, report_time);
  alarm(kCaseSeconds);
}

std::string check_refusal(const std::exception& e, bool with_position) {
  const auto* error = dynamic_cast<const Error*>(&e);
  if (error == nullptr) return fmt::format("an exception that is no Error: {}", e.what());
  if (error->kind() == ErrorKind::internal || error->kind() == ErrorKind::toolchain) {
    return fmt::format("an Error of kind {}: {}", to_string(error->kind()), error->what());
  }
  if (error->message().empty()) return "an Error without a message";
  if (with_position && !error->loc().known()) return fmt::format("no position: {}", error->what());
  return {};
}

namespace {

// Arguments of small extents for a program, with memory of their own.
struct Arguments {
  std::vector<std::vector<std::byte>> memory;
  std::vector<Argument> values;
};

// How many elements lie between the first and the last, and one more; nothing where that is too much.
std::optional<int64_t> span_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t last = 0, count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0 || shape[d] > kMaxBytes || strides[d] < 0 || strides[d] > kMaxBytes) return std::nullopt;
    if (shape[d] == 0) return 0;
    last += (shape[d] - 1) * strides[d];
    count *= shape[d];
    if (last > kMaxBytes || count > kMaxBytes) return std::nullopt;
  }
  return last + 1;
}

std::optional<Arguments> small_arguments(const ir::Program& program, Random& random) {
  ScalarValues scalars(size_t(program.next_var));
  for (const ir::Scalar& scalar : program.scalars) {
    const DType t = scalar.var.dtype();
    ScalarValue value{.i = is_boolean(t) ? random.between(0, 1) : random.between(0, 9), .f = 0};
    if (is_float(t)) value.f = double(value.i) / 4;
    scalars[size_t(scalar.var.var_id())] = value;
  }
  Arguments out;
  for (const ir::Param& param : program.params) {
    if (!param.is_tensor) {
      const ir::Scalar& scalar = program.scalars[size_t(param.index)];
      const ScalarValue& value = *scalars[size_t(scalar.var.var_id())];
      out.memory.emplace_back();
      out.values.push_back(is_float(scalar.var.dtype()) ? Argument(value.f) : Argument(value.i));
      continue;
    }
    const ir::Tensor& tensor = program.tensors[size_t(param.index)];
    TensorView view{.data = nullptr, .dtype = tensor.dtype, .shape = {}};
    for (const ir::Expr& e : tensor.shape) view.shape.push_back(evaluate(e, scalars));
    for (const ir::Expr& e : ir::strides_of(tensor)) view.strides.push_back(evaluate(e, scalars));
    const std::optional<int64_t> span = span_of(view.shape, view.strides);
    if (!span) return std::nullopt;
    std::vector<std::byte>& bytes = out.memory.emplace_back(size_t(*span * bytes_of(tensor.dtype)));
    for (std::byte& b : bytes) b = std::byte(random.between(0, is_boolean(tensor.dtype) ? 1 : 60));
    view.data = bytes.data();
    out.values.emplace_back(view);
  }
  return out;
}

// Elements of on-chip tiles and workspaces are a matter of the program; those that are many are not tried here, since
// several processes would fill the machine's memory.
bool is_small(const ir::Program& program) {
  int64_t elems = 0;
  for (const ir::Tensor& tensor : program.tensors) {
    for (const ir::Expr& e : tensor.shape) {
      if (tensor.kind == ir::TensorKind::workspace && e.as_int().value_or(0) > kMaxBytes / 64) return false;
    }
  }
  for (const ir::Kernel& kernel : program.kernels) {
    for (const ir::Tile& tile : kernel.tiles) {
      if (!tile.on_chip() || tile.view_of >= 0) continue;
      int64_t count = 1;
      for (const ir::Expr& e : tile.shape) {
        if (*e.as_int() > kMaxBytes || __builtin_mul_overflow(count, *e.as_int(), &count)) return false;
        if (count > kMaxBytes) return false;
      }
      elems += count;
    }
  }
  return elems <= kMaxBytes;
}

std::string check_text(const Program& program) {
  const std::string text = program.print();
  try {
    const Program again = parse_program(text, "printed.tw");
    if (!ir::equal(again.ir(), program.ir())) return "parse(print(p)) differs from p:\n" + again.print();
  } catch (const std::exception& e) {
    return fmt::format("parse(print(p)) is refused: {}\n{}", e.what(), text);
  }
  return {};
}

}  // namespace

std::string check_program(const Program& program, const std::string& name, Random& random, bool compiled, Runs& runs) {
  Tally& tally = runs.tally();
  ++tally.programs;
  if (const std::string wrong = check_text(program); !wrong.empty()) return wrong;
  bool has_code = true;
  try {
    std::vector<Remark> remarks;
    const CpuTarget target{.level = random.chance(50) ? CpuLevel::avx2 : CpuLevel::avx512};
    codegen::emit_cpu(passes::cpu_pipeline(program.ir(), target, remarks), target);
  } catch (const std::exception& e) {
    ++tally.refused_by_cpu;
    has_code = false;
    if (const std::string wrong = check_refusal(e, false); !wrong.empty()) return "for the CPU: " + wrong;
  }
  try {
    compile(program, {.target = "cuda:sm_80"});
  } catch (const std::exception& e) {
    ++tally.refused_by_cuda;
    if (const std::string wrong = check_refusal(e, false); !wrong.empty()) return "for CUDA: " + wrong;
  }
  std::optional<Arguments> arguments;
  if (is_small(program.ir())) arguments = small_arguments(program.ir(), random);
  if (!arguments) {
    ++tally.not_run;
    return {};
  }
  const auto shared = std::make_shared<Arguments>(std::move(*arguments));
  const auto quiet = [](std::string_view) {};
  runs.add("the interpreter with " + name, [=] { interpret(program, shared->values, quiet); });
  if (!compiled || !has_code) return {};
  ++tally.compiled;
  try {
    const CompiledKernel kernel =
        compile(program, {.target = "cpu", .num_threads = 1, .optimize = 0, .on_print = quiet});
    runs.add("the compiled kernel of " + name, [=] { kernel.run(shared->values); });
    return {};
  } catch (const std::exception& e) {
    return fmt::format("the CPU has code for it, but compile() refuses it: {}", e.what());
  }
}

}  // namespace tilewright::robustness
