// A product of few rows and columns and a long k: blocks share k, and a second kernel adds up their parts.
#include "split_k.h"

#include "run.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  return examples::run(argc, argv, {{"M", 70}, {"N", 90}, {"K", 3000}}, [](int64_t m, int64_t n, int64_t k) {
    const int splits = 4;
    const CompiledKernel kernel = compile(examples::split_k(m, n, k, splits));
    std::vector<float> a = examples::random_floats(m * k, 1), b = examples::random_floats(k * n, 2);
    std::vector<float> c(size_t(m * n), -1);
    kernel(TensorView{a.data(), DType::f32, {m, k}}, TensorView{b.data(), DType::f32, {k, n}},
           TensorView{c.data(), DType::f32, {m, n}});

    examples::Check check(kernel.target());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t p = 0; p < k; ++p) {
          const double product = double(a[size_t(i * k + p)]) * b[size_t(p * n + j)];
          sum += product;
          magnitude += std::abs(product);
        }
        // Products, and sums in any order.
        check.add(c[size_t(i * n + j)], sum, double(k + splits + 1) * examples::kUnit * magnitude);
      }
    }
    return check;
  });
}
