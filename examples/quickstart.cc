// C = relu(A B) from C++ tiles to a checked result.
#include "matmul_relu.h"

#include <tilewright/compile.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  using namespace tilewright;
  constexpr int64_t M = 512, N = 384, K = 256;
  const CompiledKernel kernel = compile(examples::matmul_relu(M, N, K, 128, 128, 32, DType::f32));

  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> a(M * K), b(K * N), c(M * N);
  for (float& x : a) x = normal(random);
  for (float& x : b) x = normal(random);
  kernel(TensorView{a.data(), DType::f32, {M, K}}, TensorView{b.data(), DType::f32, {K, N}},
         TensorView{c.data(), DType::f32, {M, N}});

  double worst = 0;
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < K; ++k) {
        const double product = double(a[size_t(i * K + k)]) * b[size_t(k * N + j)];
        sum += product;
        magnitude += std::abs(product);
      }
      const double expected = std::max(sum, 0.0);
      const double bound = (K + 2) * 0x1p-24 * magnitude + 0x1p-24 * expected;
      worst = std::max(worst, std::abs(c[size_t(i * N + j)] - expected) / bound);
    }
  }
  std::printf("%s: worst error is %.3f of the bound\n", kernel.target().c_str(), worst);
  return worst <= 1 ? 0 : 1;
}
