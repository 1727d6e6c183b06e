// A matrix product with bias, activation and residual in its epilogue.
#include "gemm_epilogue.h"

#include "run.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  return examples::run(argc, argv, {{"M", 300}, {"N", 500}, {"K", 200}}, [](int64_t m, int64_t n, int64_t k) {
    const CompiledKernel kernel = compile(examples::gemm_epilogue(m, n, k));
    std::vector<float> x = examples::random_floats(m * k, 1), w = examples::random_floats(n * k, 2);
    std::vector<float> bias = examples::random_floats(n, 3), r = examples::random_floats(m * n, 4);
    std::vector<float> y(r.size(), -1);
    kernel(TensorView{x.data(), DType::f32, {m, k}}, TensorView{w.data(), DType::f32, {n, k}},
           TensorView{bias.data(), DType::f32, {n}}, TensorView{r.data(), DType::f32, {m, n}},
           TensorView{y.data(), DType::f32, {m, n}});

    examples::Check check(kernel.target());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const auto at = size_t(i * n + j);
        double sum = bias[size_t(j)], magnitude = std::abs(sum) + std::abs(r[at]);
        for (int64_t p = 0; p < k; ++p) {
          const double product = double(x[size_t(i * k + p)]) * w[size_t(j * k + p)];
          sum += product;
          magnitude += std::abs(product);
        }
        // Products, and sums of k + 2 terms in any order.
        check.add(y[at], std::max(sum, 0.0) + r[at], double(k + 3) * examples::kUnit * magnitude);
      }
    }
    return check;
  });
}
