// RMSNorm with SiLU on rows of any width.
#include "rms_norm_silu.h"

#include "run.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  return examples::run(argc, argv, {{"ROWS", 300}, {"WIDTH", 1777}}, [](int64_t rows, int64_t width) {
    const double eps = 1e-6;
    const CompiledKernel kernel = compile(examples::rms_norm_silu(rows, width, eps));
    std::vector<float> x = examples::random_floats(rows * width, 1), w = examples::random_floats(width, 2);
    std::vector<float> y(x.size(), -1);
    kernel(TensorView{x.data(), DType::f32, {rows, width}}, TensorView{w.data(), DType::f32, {width}},
           TensorView{y.data(), DType::f32, {rows, width}});

    examples::Check check(kernel.target());
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < width; ++j) sum += double(x[size_t(i * width + j)]) * x[size_t(i * width + j)];
      const double scale = 1 / std::sqrt(sum / double(width) + eps);
      for (int64_t j = 0; j < width; ++j) {
        const double z = x[size_t(i * width + j)] * scale * w[size_t(j)], want = z / (1 + std::exp(-z));
        // In roundings: width + 4 for what the root is taken of (eps among them), which halves them; 8 for the root and
        // 2 for products. silu turns a relative error of z into up to 1 + |z| times as much, and adds 8 + 1.
        const double roundings = (double(width + 4) / 2 + 10) * (1 + std::abs(z)) + 9;
        check.add(y[size_t(i * width + j)], want, roundings * examples::kUnit * std::abs(want));
      }
    }
    return check;
  });
}
