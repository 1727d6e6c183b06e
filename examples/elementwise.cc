// An elementwise kernel for any shape, compiled once.
#include "elementwise.h"

#include "run.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  return examples::run(argc, argv, {{"M", 1000}, {"N", 777}}, [](int64_t m, int64_t n) {
    const CompiledKernel kernel = compile(examples::elementwise());
    std::vector<float> x = examples::random_floats(m * n, 1), g = examples::random_floats(m * n, 2);
    std::vector<float> y(x.size(), -1);
    kernel(TensorView{x.data(), DType::f32, {m, n}}, TensorView{g.data(), DType::f32, {m, n}},
           TensorView{y.data(), DType::f32, {m, n}});

    examples::Check check(kernel.target());
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = x[i] / (1 + std::exp(-double(g[i])));
      // Four units in the last place, up to two roundings each, for the function, and one rounding for the product.
      check.add(y[i], want, 9 * examples::kUnit * std::abs(want));
    }
    return check;
  });
}
