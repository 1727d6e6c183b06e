#include "demo.h"

#include "gemm_check.h"
#include "../../examples/matmul_relu.h"
#include "target/dtype.h"

#include <tilewright/compile.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

namespace tw {

using namespace tilewright;

namespace {

DType demo_dtype(const std::string& name) {
  const std::optional<DType> dtype = dtype_from_string(name);
  if (dtype && is_float(*dtype) && dtype != DType::f64) return *dtype;
  throw Error(ErrorKind::invalid_argument, fmt::format("--dtype is '{}'", name))
      .hint("f16, bf16, f32, tf32, f8e4m3 or f8e5m2");
}

void check_extents(const DemoOptions& o) {
  for (const auto& [name, value] : {std::pair("--m", o.m), std::pair("--n", o.n), std::pair("--k", o.k)}) {
    if (value < 0 || value > 1 << 20) {
      throw Error(ErrorKind::invalid_argument, fmt::format("{} is {}", name, value)).hint("0 to 1048576");
    }
  }
  for (const auto& [name, value] :
       {std::pair("--block-m", o.block_m), std::pair("--block-n", o.block_n), std::pair("--block-k", o.block_k)}) {
    if (value < 1 || value > 4096) {
      throw Error(ErrorKind::invalid_argument, fmt::format("{} is {}", name, value)).hint("1 to 4096");
    }
  }
}

}  // namespace

int run_demo(const DemoOptions& o) {
  const DType dtype = demo_dtype(o.dtype);
  check_extents(o);
  const auto say = [&](const std::string& text) { fmt::print(o.json ? stderr : stdout, "{}\n", text); };

  const auto start = std::chrono::steady_clock::now();
  const Program program = examples::matmul_relu(o.m, o.n, o.k, o.block_m, o.block_n, o.block_k, dtype);
  const CompiledKernel kernel = compile(program, {.target = o.target});
  const double compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  say(fmt::format("matmul_relu  C[{}, {}] = relu(A[{}, {}] B[{}, {}])  {}, tiles {}x{}x{}, on {}", o.m, o.n, o.m, o.k,
                  o.k, o.n, o.dtype, o.block_m, o.block_n, o.block_k, kernel.target()));
  say(fmt::format("  ready in    {:.0f} ms", compile_ms));
  say(fmt::format("  source      {}", kernel.source_path(true)));

  Matrix a = random_matrix(o.m, o.k, dtype, 1), b = random_matrix(o.k, o.n, dtype, 2), c(o.m, o.n, dtype);
  std::fill(c.bytes.begin(), c.bytes.end(), 0xff);  // NaN: an element that is not written shows
  const bool on_gpu = kernel.target().starts_with("cuda");
  std::vector<DeviceMemory> memory;  // of a, b, c on a GPU
  std::vector<Argument> arguments;
  for (Matrix* m : {&a, &b, &c}) {
    TensorView view = m->view();
    if (on_gpu) {
      memory.emplace_back(m->bytes.size());
      memory.back().upload(m->bytes.data());
      view.data = memory.back().data();
      view.device = DeviceKind::cuda;
    }
    arguments.emplace_back(view);
  }
  kernel.run(arguments);
  if (on_gpu) memory.back().download(c.bytes.data());
  const double largest = saturates(dtype) ? largest_finite(dtype) : std::numeric_limits<double>::infinity();
  const double max_error = worst_error(a, b, c, [=](double x) { return std::clamp(x, 0.0, largest); });
  const bool right = max_error <= 1;
  say(fmt::format("  max error   {:.3f} of the bound: {}", max_error, right ? "right" : "WRONG"));

  const Profile profile = kernel.profile(arguments);
  const double gflops =
      profile.median_ms > 0 ? 2.0 * double(o.m) * double(o.n) * double(o.k) / profile.median_ms / 1e6 : 0;
  say(fmt::format("  speed       {:.3f} ms, {:.1f} GFLOP/s (median of {})", profile.median_ms, gflops,
                  profile.samples_ms.size()));
  for (const Remark& remark : kernel.remarks()) say(fmt::format("  remark      {}: {}", remark.kind, remark.text));
  if (o.json) {
    const nlohmann::ordered_json out = {{"device", on_gpu ? "cuda" : "cpu"},
                                        {"target", kernel.target()},
                                        {"m", o.m},
                                        {"n", o.n},
                                        {"k", o.k},
                                        {"dtype", o.dtype},
                                        {"max_error", max_error},
                                        {"error_bound", 1},
                                        {"ms", profile.median_ms},
                                        {"gflops", gflops},
                                        {"source", kernel.source_path(true)}};
    fmt::print("{}\n", out.dump());
  }
  return right ? 0 : 1;
}

}  // namespace tw
