// Matrix products on an NVIDIA GPU against cuBLAS in the same run: f16 and bf16 in and out, sums in f32, inputs N(0,
// 1). Each sample begins with a cold L2 cache; both sides take turns. Prints rates in TFLOP/s.
//
// Rows: cuda_gemm (NN and NT), cuda_gemm_no_swizzle (the same without use_swizzle, where it matters).
#include "../cuda_measure.h"
#include "cublas.h"

#include <tilewright/language.h>

#include <CLI/CLI.hpp>

#include <cmath>

namespace {

using namespace tilewright;
namespace T = tilewright::lang;

struct Config {
  int block_m = 128, block_n = 256, block_k = 64, threads = 256, stages = 3;
};

struct Case {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_b = false;
  bool swizzle = true;
  DType dtype = DType::f16;
  Config config;
};

T::Program gemm_program(const Case& c) {
  return T::prim_func("gemm", [&] {
    const Config& t = c.config;
    auto A = T::tensor("A", {c.m, c.k}, c.dtype);
    auto B = c.transpose_b ? T::tensor("B", {c.n, c.k}, c.dtype) : T::tensor("B", {c.k, c.n}, c.dtype);
    auto C = T::tensor("C", {c.m, c.n}, c.dtype);
    auto [bx, by] = T::Kernel({T::ceildiv(c.n, t.block_n), T::ceildiv(c.m, t.block_m)}, {.threads = t.threads});
    auto A_shared = T::alloc_shared({t.block_m, t.block_k}, c.dtype);
    auto B_shared = c.transpose_b ? T::alloc_shared({t.block_n, t.block_k}, c.dtype)
                                  : T::alloc_shared({t.block_k, t.block_n}, c.dtype);
    auto C_local = T::alloc_fragment({t.block_m, t.block_n}, T::f32);
    if (c.swizzle) T::use_swizzle(8);
    T::clear(C_local);
    for (auto ko : T::Pipelined(T::ceildiv(c.k, t.block_k), {.num_stages = t.stages})) {
      T::copy(A(by * t.block_m, ko * t.block_k), A_shared);
      if (c.transpose_b)
        T::copy(B(bx * t.block_n, ko * t.block_k), B_shared);
      else
        T::copy(B(ko * t.block_k, bx * t.block_n), B_shared);
      T::gemm(A_shared, B_shared, C_local, {.transpose_B = c.transpose_b});
    }
    T::copy(C_local, C(by * t.block_m, bx * t.block_n));
  });
}

class Matrix {
 public:
  Matrix(int64_t rows, int64_t cols, DType dtype, std::optional<uint64_t> seed)
      : rows_(rows), cols_(cols), dtype_(dtype), memory_(size_t(rows * cols * bytes_of(dtype))) {
    if (!seed) return;
    const std::vector<std::byte> bytes = bench::normal_bytes(dtype, rows * cols, *seed);
    memory_.upload(bytes.data());
  }
  TensorView view() const {
    return {.data = memory_.data(), .dtype = dtype_, .shape = {rows_, cols_}, .device = DeviceKind::cuda};
  }
  void* data() const { return memory_.data(); }
  std::vector<double> values() const {
    std::vector<std::byte> bytes(memory_.num_bytes());
    memory_.download(bytes.data());
    std::vector<double> out(size_t(rows_ * cols_));
    for (size_t i = 0; i < out.size(); ++i) out[i] = load_float(dtype_, bytes.data() + i * size_t(bytes_of(dtype_)));
    return out;
  }

 private:
  int64_t rows_, cols_;
  DType dtype_;
  DeviceMemory memory_;
};

// The largest difference in units of what rounding two sums differently may give.
double disagreement(const std::vector<double>& ours, const std::vector<double>& peer, const Case& c) {
  double worst = 0;
  const double scale = std::sqrt(double(c.k)) * unit_roundoff(c.dtype) * 8;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double apart = std::abs(ours[i] - peer[i]) / scale;
    worst = std::isfinite(apart) ? std::max(worst, apart) : INFINITY;
  }
  return worst;
}

bool compare(const char* name, const Case& c, const std::optional<bench::Cublas>& cublas, bool json, bool verbose) {
  const CompiledKernel kernel = compile(gemm_program(c), {.target = "cuda"});
  const Matrix a(c.m, c.k, c.dtype, 1), b(c.transpose_b ? c.n : c.k, c.transpose_b ? c.k : c.n, c.dtype, 2);
  const Matrix ours(c.m, c.n, c.dtype, {}), theirs(c.m, c.n, c.dtype, {});
  const Launch launch = kernel.bind(a.view(), b.view(), ours.view());
  const auto peer = [&] {
    cublas->gemm(int(c.m), int(c.n), int(c.k), c.transpose_b, c.dtype == DType::bf16, a.data(), b.data(),
                 theirs.data());
  };
  std::vector<double> our_ms, peer_ms;
  constexpr int kRounds = 5;
  constexpr double kTurnSeconds = 0.15;
  for (int round = 0; round < kRounds; ++round) {
    for (double spent = 0; spent < kTurnSeconds * 1e3; spent += our_ms.back())
      our_ms.push_back(bench::cold_ms([&] { launch(); }));
    for (double spent = 0; cublas && spent < kTurnSeconds * 1e3; spent += peer_ms.back())
      peer_ms.push_back(bench::cold_ms(peer));
  }
  const auto rate = [&](double ms) { return 2e-9 * double(c.m) * double(c.n) * double(c.k) / ms; };
  const bool right = !cublas || disagreement(ours.values(), theirs.values(), c) <= 1;
  bench::Row row{
      .name = name,
      .shape = fmt::format("{}x{}x{} N{}", c.m, c.n, c.k, c.transpose_b ? "T" : "N"),
      .dtype = std::string(to_string(c.dtype)),
      .tile = fmt::format("{}x{}x{}s{}", c.config.block_m, c.config.block_n, c.config.block_k, c.config.stages),
      .peer_name = cublas ? cublas->name() : "",
      .unit = "TFLOP/s",
      .threads = c.config.threads,
      .ours = rate(bench::median(our_ms))};
  if (cublas) {
    row.peer = rate(bench::median(peer_ms));
    row.ratio = row.ours / *row.peer;
  }
  bench::print_row(row, json);
  if (verbose) fmt::print(stderr, "{}", kernel.report());
  if (!right) fmt::print(stderr, "bench: wrong result at {}\n", row.shape);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Matrix products on an NVIDIA GPU against cuBLAS");
  bool json = false, verbose = false, force = false, sweep = false;
  app.add_flag("--json", json, "one object a line");
  app.add_flag("--report", verbose, "print what the compiler decided");
  app.add_flag("--sweep", sweep, "other tile sizes at 4096");
  app.add_flag("--force", force, "accepted for symmetry: the load of the CPU does not matter");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::optional<bench::Cublas> cublas = bench::Cublas::load();
    bool right = true;
    for (const int64_t size : {4096, 8192}) {
      for (const bool transpose_b : {false, true}) {
        right &= compare("cuda_gemm", {.m = size, .n = size, .k = size, .transpose_b = transpose_b, .config = {}},
                         cublas, json, verbose);
      }
    }
    right &= compare("cuda_gemm_no_swizzle", {.m = 8192, .n = 8192, .k = 8192, .swizzle = false, .config = {}}, cublas,
                     json, false);
    const std::vector<Config> configs = {{128, 128, 32, 128, 3}, {128, 128, 64, 128, 3}, {128, 128, 64, 256, 3},
                                         {128, 128, 32, 128, 4}, {128, 128, 64, 128, 2}, {128, 256, 32, 256, 4},
                                         {128, 256, 64, 256, 2}, {256, 128, 64, 256, 3}, {64, 256, 64, 128, 3}};
    for (const Config& config : configs) {
      if (sweep)
        right &= compare("cuda_gemm_sweep", {.m = 4096, .n = 4096, .k = 4096, .config = config}, cublas, json, verbose);
    }
    return right ? 0 : 1;
  } catch (const Error& e) {
    return bench::report(e);
  }
}
