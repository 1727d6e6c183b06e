// Prefix sums of a long vector.
#include "prefix_sum.h"

#include "run.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  return examples::run(argc, argv, {{"N", 1000000}}, [](int64_t n) {
    const int block = 1024;
    const CompiledKernel kernel = compile(examples::prefix_sum(n, block));
    std::vector<float> x = examples::random_floats(n, 1), y(x.size(), -1);
    kernel(TensorView{x.data(), DType::f32, {n}}, TensorView{y.data(), DType::f32, {n}});

    examples::Check check(kernel.target());
    double sum = 0, magnitude = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sum += x[i];
      magnitude += std::abs(double(x[i]));
      // A term is part of a sum in its chunk, of one of the totals, and of the last one.
      const double roundings = double(block) + double(i) / block + 2;
      check.add(y[i], sum, roundings * examples::kUnit * magnitude);
    }
    return check;
  });
}
