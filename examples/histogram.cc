// A histogram by atomics, on chip and between blocks.
#include "histogram.h"

#include "run.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  return examples::run(argc, argv, {{"N", 1000000}, {"BINS", 100}}, [](int64_t n, int64_t bins) {
    const CompiledKernel kernel = compile(examples::histogram(bins));
    std::vector<int32_t> values(static_cast<size_t>(n)), counts(static_cast<size_t>(bins));
    std::vector<double> want(counts.size());
    std::mt19937 random(1);
    std::uniform_int_distribution<int32_t> distribution(-1, int32_t(bins));  // one beyond the bins on each side
    for (int32_t& value : values) {
      value = distribution(random);
      if (value >= 0 && value < bins) ++want[size_t(value)];
    }
    kernel(TensorView{values.data(), DType::i32, {n}}, TensorView{counts.data(), DType::i32, {bins}});

    examples::Check check(kernel.target());
    for (size_t i = 0; i < counts.size(); ++i) check.add(counts[i], want[i]);
    return check;
  });
}
