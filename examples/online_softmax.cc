// Softmax along rows in one streaming pass for maximum and sum, and one for the result.
#include "online_softmax.h"

#include "run.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  return examples::run(argc, argv, {{"ROWS", 300}, {"WIDTH", 1777}}, [](int64_t rows, int64_t width) {
    const CompiledKernel kernel = compile(examples::online_softmax(rows, width, 8, 256));
    std::vector<float> x = examples::random_floats(rows * width, 1), y(x.size(), -1);
    kernel(TensorView{x.data(), DType::f32, {rows, width}}, TensorView{y.data(), DType::f32, {rows, width}});

    examples::Check check(kernel.target());
    for (int64_t i = 0; i < rows; ++i) {
      const float* row = x.data() + i * width;
      double top = -std::numeric_limits<double>::infinity(), least = -top, sum = 0;
      for (int64_t j = 0; j < width; ++j) top = std::max<double>(top, row[j]), least = std::min<double>(least, row[j]);
      for (int64_t j = 0; j < width; ++j) sum += std::exp(row[j] - top);
      // In roundings: an exponential is 8 and up to top - least more for its argument; each chunk of 256 scales the
      // sum by one (all their arguments add up to top - least at most), a product and a sum; the quotient is 1.
      const double chunks = std::ceil(double(width) / 256), spread = top - least;
      const double roundings = 2 * (8 + spread) + (10 * chunks + spread) + double(width) + 1;
      for (int64_t j = 0; j < width; ++j) {
        const double want = std::exp(row[j] - top) / sum;
        check.add(y[size_t(i * width + j)], want, roundings * examples::kUnit * want);
      }
    }
    return check;
  });
}
