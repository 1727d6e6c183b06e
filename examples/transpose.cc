// The transpose of a matrix of any shape, compiled once.
#include "transpose.h"

#include "run.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  return examples::run(argc, argv, {{"M", 1000}, {"N", 777}}, [](int64_t m, int64_t n) {
    const CompiledKernel kernel = compile(examples::transpose());
    std::vector<float> a = examples::random_floats(m * n, 1), b(a.size(), -1);
    kernel(TensorView{a.data(), DType::f32, {m, n}}, TensorView{b.data(), DType::f32, {n, m}});

    examples::Check check(kernel.target());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) check.add(b[size_t(j * m + i)], a[size_t(i * n + j)]);
    }
    return check;
  });
}
