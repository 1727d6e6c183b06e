// Matrix products on the CPU against OpenBLAS in the same run, 1 and 2 threads. Prints rates in GFLOP/s.
//
// Rows: cpu_gemm (tiles from suggest_gemm_tile, fixed and random shapes), cpu_gemm_quickstart (128x128x32 tiles and
// fused ReLU), and against our own plain product of the same shape cpu_gemm_epilogue, cpu_gemm_transpose_a,
// cpu_gemm_transpose_b and cpu_gemm_dynamic. Packing is part of every call on both sides.
#include <cblas.h>

#include "../../examples/matmul_relu.h"
#include "../measure.h"
#include "kernels.h"

#include "runtime/thread_pool.h"

#include <tilewright/compile.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <unistd.h>

extern "C" char* openblas_get_corename(void);
extern "C" void openblas_set_num_threads(int num_threads);

namespace {

using namespace tilewright;
using bench::GemmCase;

constexpr int kRounds = 3;
constexpr double kTurnSeconds = 0.2;

std::vector<float> random_values(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = normal(random);
  return out;
}

struct Problem {
  explicit Problem(const GemmCase& c_)
      : c(c_),
        a(random_values(c.m * c.k, 1)),
        b(random_values(c.k * c.n, 2)),
        bias(random_values(c.n, 3)),
        ours(size_t(c.m * c.n)),
        peer(size_t(c.m * c.n)) {}

  std::vector<Argument> arguments(bool with_bias) {
    const auto matrix = [](std::vector<float>& v, int64_t rows, int64_t cols) {
      return TensorView{.data = v.data(), .dtype = DType::f32, .shape = {rows, cols}};
    };
    std::vector<Argument> out = {c.transpose_A ? matrix(a, c.k, c.m) : matrix(a, c.m, c.k),
                                 c.transpose_B ? matrix(b, c.n, c.k) : matrix(b, c.k, c.n), matrix(ours, c.m, c.n)};
    if (with_bias) out.push_back(TensorView{.data = bias.data(), .dtype = DType::f32, .shape = {c.n}});
    return out;
  }
  void run_peer() {
    cblas_sgemm(CblasRowMajor, c.transpose_A ? CblasTrans : CblasNoTrans, c.transpose_B ? CblasTrans : CblasNoTrans,
                int(c.m), int(c.n), int(c.k), 1.0f, a.data(), int(c.transpose_A ? c.m : c.k), b.data(),
                int(c.transpose_B ? c.k : c.n), 0.0f, peer.data(), int(c.n));
  }
  // Both sides computed the same product, up to the order of f32 sums.
  bool agrees(bool relu) const {
    for (size_t i = 0; i < ours.size(); ++i) {
      const float expected = relu ? std::max(peer[i], 0.0f) : peer[i];
      if (!(std::abs(ours[i] - expected) <= 1e-3f * std::sqrt(float(c.k)))) return false;
    }
    return true;
  }
  double gflops(double ms) const { return 2e-6 * double(c.m) * double(c.n) * double(c.k) / ms; }

  GemmCase c;
  std::vector<float> a, b, bias, ours, peer;
};

struct Summary {
  double log_sum = 0, lowest = 1e9;
  int count = 0;
  bool wrong = false;
};

bench::Row row_of(const char* name, const GemmCase& c, int threads) {
  return {.name = name,
          .shape = fmt::format("{}x{}x{}", c.m, c.n, c.k),
          .dtype = "f32",
          .tile = fmt::format("{}x{}x{}", c.tile.block_m, c.tile.block_n, c.tile.block_k),
          .peer_name = {},
          .unit = "GFLOP/s",
          .threads = threads};
}

// Ours against OpenBLAS.
void compare(const char* name, GemmCase c, int threads, bool quickstart, bool json, Summary& summary) {
  if (quickstart)
    c.tile = {.block_m = 128, .block_n = 128, .block_k = 32};
  else
    c.tile = suggest_gemm_tile(c.m, c.n, c.k, DType::f32, threads, cpu_limits());
  const Program program =
      quickstart ? examples::matmul_relu(c.m, c.n, c.k, 128, 128, 32, DType::f32) : bench::gemm_program(c);
  const CompiledKernel kernel = compile(program, {.target = "cpu", .num_threads = threads});
  Problem problem(c);
  const Launch launch = kernel.bind_arguments(problem.arguments(!quickstart));
  openblas_set_num_threads(threads);
  const auto hand_over = [&] { default_thread_pool(threads).park(); };
  const bench::Pair ms =
      bench::measure_alternating([&] { launch(); }, [&] { problem.run_peer(); }, hand_over, kRounds, kTurnSeconds);
  hand_over();
  if (!problem.agrees(quickstart)) {
    fmt::print(stderr, "bench: wrong result at {}x{}x{}\n", c.m, c.n, c.k);
    summary.wrong = true;
  }
  bench::Row row = row_of(name, c, threads);
  row.ours = problem.gflops(ms.ours_ms);
  row.peer = problem.gflops(ms.peer_ms);
  row.peer_name = fmt::format("OpenBLAS {}", openblas_get_corename());
  row.ratio = *row.peer > 0 ? row.ours / *row.peer : 0;
  bench::print_row(row, json);
  if (quickstart) return;
  summary.log_sum += std::log(*row.ratio);
  summary.lowest = std::min(summary.lowest, *row.ratio);
  ++summary.count;
}

// A variant against our plain product of the same shape.
void compare_with_plain(const char* name, GemmCase c, bool json) {
  c.tile = suggest_gemm_tile(c.m, c.n, c.k, DType::f32, 1, cpu_limits());
  GemmCase plain_case{.m = c.m, .n = c.n, .k = c.k, .tile = c.tile};
  const CompileOptions options{.target = "cpu", .num_threads = 1};
  const CompiledKernel variant = compile(bench::gemm_program(c), options);
  const CompiledKernel plain = compile(bench::gemm_program(plain_case), options);
  Problem problem(c), plain_problem(plain_case);
  const Launch launch = variant.bind_arguments(problem.arguments(true));
  const Launch plain_launch = plain.bind_arguments(plain_problem.arguments(true));
  const bench::Pair ms =
      bench::measure_alternating([&] { launch(); }, [&] { plain_launch(); }, [] {}, kRounds, kTurnSeconds / 2);
  bench::Row row = row_of(name, c, 1);
  row.ours = problem.gflops(ms.ours_ms);
  row.peer = problem.gflops(ms.peer_ms);
  row.peer_name = "plain";
  row.ratio = row.ours / *row.peer;
  bench::print_row(row, json);
}

// OpenBLAS reads these when it is loaded: start again without them, so that it picks its best kernel.
void restart_with_clean_environment(char** argv) {
  if (std::getenv("OPENBLAS_CORETYPE") == nullptr && std::getenv("OPENBLAS_L2_SIZE") == nullptr) return;
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv("OPENBLAS_L2_SIZE");
  execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  restart_with_clean_environment(argv);
  const std::optional<bench::Flags> flags = bench::parse_flags(argc, argv, "cpu_gemm");
  if (!flags) return 2;
  const auto [json, force] = *flags;
  try {
    bench::refuse_under_load(force);
    std::mt19937_64 random(std::random_device{}());
    const auto extent = [&] { return int64_t(100 + random() % 1400); };
    std::vector<GemmCase> cases = {
        {1024, 1024, 1024, {}}, {2048, 2048, 2048, {}}, {1000, 1000, 1000, {}}, {64, 4096, 4096, {}}};
    for (int i = 0; i < 2; ++i) cases.push_back({extent(), extent(), extent(), {}});
    Summary summary;
    for (const GemmCase& c : cases) {
      for (int threads : {1, 2}) compare("cpu_gemm", c, threads, false, json, summary);
    }
    for (int threads : {1, 2}) compare("cpu_gemm_quickstart", cases[0], threads, true, json, summary);
    compare_with_plain("cpu_gemm_epilogue", {.m = 1024, .n = 1024, .k = 1024, .tile = {}, .epilogue = true}, json);
    compare_with_plain("cpu_gemm_transpose_a", {.m = 1024, .n = 1024, .k = 1024, .tile = {}, .transpose_A = true},
                       json);
    compare_with_plain("cpu_gemm_transpose_b", {.m = 1024, .n = 1024, .k = 1024, .tile = {}, .transpose_B = true},
                       json);
    compare_with_plain("cpu_gemm_dynamic", {.m = 1000, .n = 1000, .k = 1000, .tile = {}, .dynamic = true}, json);
    fmt::print(stderr, "cpu_gemm: geometric mean {:.2f}, lowest {:.2f} of {} against OpenBLAS {}\n",
               std::exp(summary.log_sum / summary.count), summary.lowest, summary.count, openblas_get_corename());
    return summary.wrong ? 1 : 0;
  } catch (const Error& e) {
    return bench::report(e);
  }
}
