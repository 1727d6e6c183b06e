// RMSNorm with SiLU, and RMSNorm and LayerNorm alone, on an NVIDIA GPU against the driver's copy of the same bytes in
// the same run. One source each for every width (examples/), 2^27 elements of bf16 unless --elems and --dtype say
// otherwise.
#include "../cuda_rows.h"

#include "../../examples/rms_norm_silu.h"

namespace {

using namespace bench;
namespace T = tilewright::lang;

constexpr double kEpsilon = 1e-6;
constexpr int64_t kElems = int64_t(1) << 27, kCheckedRows = 20;

double silu(double z) { return z / (1 + std::exp(-z)); }

// In f32, roundings of n + 4 for the sum, halved by the root, then 10; silu turns a relative error of z into up to
// 1 + |z| times as much and adds 9; the result rounds once more.
void check_rms_norm_silu(RowBench& bench, const DeviceTensor& x, const DeviceTensor& w, const DeviceTensor& y,
                         int64_t rows, int64_t width) {
  for (int64_t check = 0; check < std::min(rows, kCheckedRows); ++check) {
    const int64_t row = checked_row(check, rows);
    const std::vector<double> got = bench.read(y, row * width, width);
    double sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += x.at(row * width + j) * x.at(row * width + j);
    const double scale = 1 / std::sqrt(sum / double(width) + kEpsilon);
    for (int64_t j = 0; j < width; ++j) {
      const double z = x.at(row * width + j) * scale * w.at(j), want = silu(z);
      const double roundings = (double(width + 4) / 2 + 10) * (1 + std::abs(z)) + 9;
      const double bound = (roundings * 0x1p-24 * 1.01 + unit_roundoff(y.dtype())) * std::abs(want) + 0x1p-133;
      bench.judge("rms_norm_silu", got[size_t(j)], want, bound);
    }
  }
}

void measure(RowBench& bench, int64_t rows, int64_t width, DType dtype) {
  const DeviceTensor x = bench.tensor(dtype, {rows, width}), w = bench.tensor(dtype, {width}, 2);
  const DeviceTensor y = bench.tensor(dtype, {rows, width}, 3);
  const CompiledKernel kernel = compile(examples::rms_norm_silu(rows, width, kEpsilon, dtype), {.target = "cuda"});
  bench.run("rms_norm_silu", fmt::format("{}x{}", rows, width), kernel, {&x, &w, &y}, x.num_bytes() * 2);
  check_rms_norm_silu(bench, x, w, y, rows, width);
}

// The gradients of all three inputs. Rates count X, its gradient and that of the result once each.
void measure_layer_norm_backward(RowBench& bench, int64_t rows, int64_t width, DType dtype) {
  const DeviceTensor x = bench.tensor(dtype, {rows, width}), w = bench.tensor(dtype, {width}, 2);
  const DeviceTensor g = bench.tensor(dtype, {rows, width}, 3), dx = bench.tensor(dtype, {rows, width}, 4);
  const DeviceTensor mean = bench.tensor(DType::f32, {rows}, 5), factor = bench.tensor(DType::f32, {rows}, 6);
  const DeviceTensor dw = bench.tensor(DType::f32, {width}, 7), db = bench.tensor(DType::f32, {width}, 8);
  const Program program = T::prim_func("layer_norm_backward", [&] {
    const T::Tile X = T::tensor("x", {rows, width}, dtype), W = T::tensor("w", {width}, dtype);
    const T::Tile G = T::tensor("g", {rows, width}, dtype);
    const T::Tile M = T::tensor("mean", {rows}, T::f32), R = T::tensor("factor", {rows}, T::f32);
    const T::Tile DX = T::tensor("dx", {rows, width}, dtype);
    const T::Tile DW = T::tensor("dw", {width}, T::f32), DB = T::tensor("db", {width}, T::f32);
    examples::rows::layer_norm_backward(X, W, G, M, R, DX, rows, width, suggest_row_plan(rows, width, dtype, 2));
    examples::rows::layer_norm_backward_weights(X, G, M, R, DW, DB, width, suggest_column_plan(rows, width, dtype));
  });
  bench.run("layer_norm_backward", fmt::format("{}x{}", rows, width), compile(program, {.target = "cuda"}),
            {&x, &w, &g, &mean, &factor, &dx, &dw, &db}, x.num_bytes() * 3);
  // Sums of rows in any order: a rounding each.
  const std::vector<double> got = bench.read(db, 0, width);
  for (int64_t j = 0; j < width; j += std::max<int64_t>(1, width / kCheckedRows)) {
    double sum = 0, magnitude = 0;
    for (int64_t i = 0; i < rows; ++i) {
      sum += g.at(i * width + j);
      magnitude += std::abs(g.at(i * width + j));
    }
    bench.judge("layer_norm_backward", got[size_t(j)], sum, double(rows) * 0x1p-24 * magnitude);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const RowOptions defaults{
      .widths = {96, 160, 192, 256, 320, 384, 512, 640, 1024, 4096, 16384}, .elems = kElems, .dtype = "bf16"};
  return row_main(argc, argv, "Norms on an NVIDIA GPU against the driver's copy", defaults,
                  [](RowBench& bench, const RowOptions& options, DType dtype) {
                    for (const int64_t width : options.widths) {
                      measure(bench, std::max<int64_t>(1, options.elems / width), width, dtype);
                    }
                    for (const int64_t width : options.widths) {
                      if (width < 1024) continue;
                      measure_layer_norm_backward(bench, std::max<int64_t>(1, options.elems / width), width, dtype);
                    }
                  });
}
