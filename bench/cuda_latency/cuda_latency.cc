// What a user of an NVIDIA GPU waits for: the quickstart from its source to a loaded kernel, with an empty and with a
// warm cache, in a process whose context is open; the front end and passes of that alone; and the host time of a bound
// launch with 20 arguments beside that of the driver's call.
#include "../../examples/matmul_relu.h"
#include "../cuda_measure.h"

#include "runtime/cuda/nvrtc.h"
#include "runtime/process.h"

#include <tilewright/language.h>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <unistd.h>

namespace {

using namespace tilewright;
namespace T = tilewright::lang;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double loaded_ms(const char* target) {
  const cuda::DeviceBuffer opens_the_context(Session::get().gpu(), 256);
  const auto start = Clock::now();
  const CompiledKernel kernel =
      compile(examples::matmul_relu(1024, 1024, 1024, 128, 128, 32, DType::f16), {.target = target});
  return ms_since(start);
}

double in_new_process(const std::string& cache, const char* mode) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const ProcessResult result = run_process({.command = {self, mode}, .environment = {{"TILEWRIGHT_CACHE_DIR", cache}}});
  if (!result.ok()) throw std::runtime_error(result.describe() + "\n" + result.output);
  return std::stod(result.output);
}

constexpr int kTensors = 12, kScalars = 8, kLaunches = 2000;

// Microseconds of a call that is repeated while the GPU keeps up.
double call_us(const std::function<void()>& call) {
  std::vector<double> samples;
  for (int round = 0; round < 15; ++round) {
    Session::get().gpu()->synchronize();
    const auto start = Clock::now();
    for (int i = 0; i < kLaunches / 10; ++i) call();
    samples.push_back(1000 * ms_since(start) / (kLaunches / 10));
  }
  return bench::median(samples);
}

// Ours, and the driver's for the same kernel.
std::pair<double, double> bound_launch_us() {
  const Program program = T::prim_func("many", [] {
    std::vector<T::Tile> tensors;
    std::vector<T::Expr> scalars;
    for (int i = 0; i < kTensors; ++i) tensors.push_back(T::tensor(fmt::format("A{}", i), {16}, T::f32));
    for (int i = 0; i < kScalars; ++i) scalars.push_back(T::scalar(fmt::format("x{}", i), T::f32));
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 32});
    T::Expr sum = scalars[0];
    for (int i = 1; i < kScalars; ++i) sum = sum + scalars[size_t(i)];
    for (int i = 1; i < kTensors; ++i) sum = sum + tensors[size_t(i)](bx);
    tensors[0](bx) = sum;
  });
  const CompiledKernel kernel = compile(program, {.target = "cuda"});
  const cuda::DeviceBuffer memory(Session::get().gpu(), kTensors * 256);
  std::vector<Argument> arguments;
  for (int i = 0; i < kTensors; ++i) {
    arguments.push_back(TensorView{.data = reinterpret_cast<void*>(memory.address() + uint64_t(i) * 256),
                                   .dtype = DType::f32,
                                   .shape = {16},
                                   .device = DeviceKind::cuda});
  }
  for (int i = 0; i < kScalars; ++i) arguments.push_back(1.0 + i);
  const Launch launch = kernel.bind_arguments(arguments);
  const double ours = call_us([&] { launch(); });

  std::string parameters_text;
  for (int i = 0; i < kTensors + kScalars; ++i) parameters_text += fmt::format("{}long long p{}", i ? ", " : "", i);
  const cuda::CudaSource source{.text = fmt::format("extern \"C\" __global__ void nothing({}) {{}}\n", parameters_text),
                                .arch = Session::get().gpu()->properties().arch(),
                                .flags = cuda::compile_flags()};
  const cuda::Nvrtc nvrtc = cuda::Nvrtc::open(cuda::library_options(Session::get().options()));
  const cuda::Kernel raw = Session::get().gpu()->load(nvrtc.compile(source).cubin).kernel("nothing");
  std::vector<uint64_t> words(kTensors + kScalars);
  for (int i = 0; i < kTensors; ++i) words[size_t(i)] = memory.address() + uint64_t(i) * 256;
  std::vector<void*> parameters;
  for (uint64_t& w : words) parameters.push_back(&w);
  const double driver = call_us([&] { raw.launch({.grid = {1, 1, 1}, .block = {32, 1, 1}}, parameters); });
  return {ours, driver};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--child") return fmt::print("{}\n", loaded_ms("cuda")), 0;
  CLI::App app("Time to a loaded kernel and host time of a launch on an NVIDIA GPU");
  bool json = false, force = false;
  app.add_flag("--json", json, "one object a line");
  app.add_flag("--force", force, "measure on a busy machine too");
  CLI11_PARSE(app, argc, argv);
  try {
    bench::refuse_under_load(force);
    std::vector<double> cold, warm, text;
    for (int i = 0; i < 5; ++i) {
      std::string cache = (std::filesystem::temp_directory_path() / "tilewright-bench-XXXXXX").string();
      if (mkdtemp(cache.data()) == nullptr) return fmt::print(stderr, "bench: no temporary folder\n"), 2;
      cold.push_back(in_new_process(cache, "--child"));
      for (int j = 0; j < 3; ++j) warm.push_back(in_new_process(cache, "--child"));
      std::filesystem::remove_all(cache);
    }
    // An architecture that this GPU does not have: text only.
    for (int i = 0; i < 15; ++i) text.push_back(loaded_ms("cuda:sm_80"));
    const auto row = [](const char* name, double value, const char* unit) {
      return bench::Row{.name = name,
                        .shape = "quickstart",
                        .dtype = "f16",
                        .tile = "128x128x32",
                        .peer_name = {},
                        .unit = unit,
                        .ours = value};
    };
    bench::print_row(row("cuda_from_nothing", bench::median(cold), "ms"), json);
    bench::print_row(row("cuda_from_cache", bench::median(warm), "ms"), json);
    bench::print_row(row("cuda_front_end", bench::median(text), "ms"), json);
    const auto [ours, driver] = bound_launch_us();
    bench::Row launch = row("cuda_bound_launch", ours, "us");
    launch.shape = "20 arguments";
    launch.tile = "-";
    launch.peer = driver;
    launch.peer_name = "cuLaunchKernelEx";
    bench::print_row(launch, json);
  } catch (const Error& e) {
    return bench::report(e);
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench: {}\n", e.what());
    return 1;
  }
  return 0;
}
