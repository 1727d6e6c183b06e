// A launch of the quickstart on the simulated GPU, compiled before: with every access watched, and without.
#include "../../examples/matmul_relu.h"
#include "../measure.h"

#include <tilewright/compile.h>

#include <string>
#include <vector>

namespace {

using namespace tilewright;

constexpr int64_t kExtent = 256;
constexpr uint16_t kHalf = 0x3800, kOne = 0x3c00, kResult = 0x5800;  // 0.5, 1, 128

double launch_ms(const std::string& target, double seconds) {
  std::vector<uint16_t> a(kExtent * kExtent, kOne), b(kExtent * kExtent, kHalf), c(kExtent * kExtent);
  const auto view = [](std::vector<uint16_t>& v) {
    return TensorView{.data = v.data(), .dtype = DType::f16, .shape = {kExtent, kExtent}};
  };
  const CompiledKernel kernel =
      compile(examples::matmul_relu(kExtent, kExtent, kExtent, 128, 128, 32, DType::f16), {.target = target});
  const Launch launch = kernel.bind(view(a), view(b), view(c));
  const double ms = bench::measure_ms([&] { launch(); }, seconds);
  if (c != std::vector<uint16_t>(kExtent * kExtent, kResult)) {
    fmt::print(stderr, "bench: wrong result on {}\n", target);
    std::exit(1);
  }
  return ms;
}

bench::Row row(const char* name, double ms) {
  return {.name = name,
          .shape = "256x256x256",
          .dtype = "f16",
          .tile = "128x128x32",
          .peer_name = {},
          .unit = "ms",
          .ours = ms};
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<bench::Flags> flags = bench::parse_flags(argc, argv, "simulator");
  if (!flags) return 2;
  const auto [json, force] = *flags;
  try {
    bench::refuse_under_load(force);
    bench::print_row(row("simulator_checked", launch_ms("sim:sm_80+checked", 3)), json);
    bench::print_row(row("simulator_unchecked", launch_ms("sim:sm_80", 1)), json);
  } catch (const Error& e) {
    return bench::report(e);
  }
  return 0;
}
