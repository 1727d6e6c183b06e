// What a user waits for: the quickstart from nothing to its first result, the same from the cache in a new process, and
// the host time of a bound launch.
#include "../../examples/matmul_relu.h"
#include "../measure.h"

#include "runtime/process.h"

#include <tilewright/compile.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace {

using namespace tilewright;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Builds, compiles and runs the quickstart once; the milliseconds to its first result.
double first_result_ms() {
  constexpr int64_t kExtent = 256;
  std::vector<float> a(kExtent * kExtent, 1.0f), b(kExtent * kExtent, 0.5f), c(kExtent * kExtent);
  const auto start = Clock::now();
  const CompiledKernel kernel =
      compile(examples::matmul_relu(kExtent, kExtent, kExtent, 128, 128, 32, DType::f32), {.target = "cpu"});
  const auto view = [](std::vector<float>& v) {
    return TensorView{.data = v.data(), .dtype = DType::f32, .shape = {kExtent, kExtent}};
  };
  kernel(view(a), view(b), view(c));
  const double ms = ms_since(start);
  if (c[0] != 0.5f * kExtent || c.back() != 0.5f * kExtent) {
    fmt::print(stderr, "bench: wrong result\n");
    std::exit(1);
  }
  return ms;
}

// The same in a new process with the given cache folder.
double in_new_process(const std::string& cache) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const ProcessResult result =
      run_process({.command = {self, "--child"}, .environment = {{"TILEWRIGHT_CACHE_DIR", cache}}});
  if (!result.ok()) {
    fmt::print(stderr, "bench: the child failed: {}\n{}\n", result.describe(), result.output);
    std::exit(1);
  }
  return std::stod(result.output);
}

// Host time of one launch of a one-block kernel with 4 tensors, run on the caller's thread.
double bound_launch_us() {
  namespace T = lang;
  const Program program = T::prim_func("tiny", [] {
    auto A = T::tensor("A", {16}, T::f32), B = T::tensor("B", {16}, T::f32), C = T::tensor("C", {16}, T::f32);
    auto D = T::tensor("D", {16}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)});
    D(bx) = A(bx) + B(bx) * C(bx);
  });
  const CompiledKernel kernel = compile(program, {.target = "cpu"});
  std::vector<float> a(16, 1), b(16, 2), c(16, 3), d(16);
  const auto view = [](std::vector<float>& v) {
    return TensorView{.data = v.data(), .dtype = DType::f32, .shape = {16}};
  };
  const Launch launch = kernel.bind(view(a), view(b), view(c), view(d));
  constexpr int kLaunches = 20000;
  std::vector<double> samples;
  for (int round = 0; round < 15; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kLaunches; ++i) launch();
    samples.push_back(1000 * ms_since(start) / kLaunches);
  }
  if (d[0] != 7) {
    fmt::print(stderr, "bench: wrong result\n");
    std::exit(1);
  }
  return bench::median(samples);
}

bench::Row row(const char* name, double value, const char* unit) {
  return {.name = name,
          .shape = "quickstart",
          .dtype = "f32",
          .tile = "128x128x32",
          .peer_name = {},
          .unit = unit,
          .ours = value};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--child") == 0) return fmt::print("{}\n", first_result_ms()), 0;
  const std::optional<bench::Flags> flags = bench::parse_flags(argc, argv, "jit_latency");
  if (!flags) return 2;
  const auto [json, force] = *flags;
  try {
    bench::refuse_under_load(force);
    std::vector<double> cold, warm;
    for (int i = 0; i < 5; ++i) {
      std::string cache = (std::filesystem::temp_directory_path() / "tilewright-bench-XXXXXX").string();
      if (mkdtemp(cache.data()) == nullptr) return fmt::print(stderr, "bench: no temporary folder\n"), 2;
      cold.push_back(in_new_process(cache));
      for (int j = 0; j < 3; ++j) warm.push_back(in_new_process(cache));
      std::filesystem::remove_all(cache);
    }
    bench::print_row(row("jit_from_nothing", bench::median(cold), "ms"), json);
    bench::print_row(row("jit_from_cache", bench::median(warm), "ms"), json);
    bench::Row launch = row("bound_launch", bound_launch_us(), "us");
    launch.shape = "one block, 4 tensors";
    launch.tile = "-";
    bench::print_row(launch, json);
  } catch (const Error& e) {
    return bench::report(e);
  }
  return 0;
}
