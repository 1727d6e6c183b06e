// Sums of rows and of columns, and the transpose, on an NVIDIA GPU against the driver's copy of the same bytes in the
// same run: square-like matrices of 4 GiB of f32 unless --elems, --widths and --dtype say otherwise.
#include "../cuda_rows.h"

#include "../../examples/rows/reduce.h"

namespace {

using namespace bench;
namespace T = tilewright::lang;
namespace rows = examples::rows;

constexpr int64_t kElems = int64_t(1) << 30, kChecked = 16;

// A sum of n terms in f32 in any order is within n roundings of their magnitudes, and is rounded to the result.
void judge_sum(RowBench& bench, const char* name, double got, const DeviceTensor& x, int64_t first, int64_t step,
               int64_t count) {
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += x.at(first + i * step);
    magnitude += std::abs(x.at(first + i * step));
  }
  bench.judge(name, got, sum, double(count) * 0x1p-24 * magnitude + unit_roundoff(x.dtype()) * std::abs(sum));
}

CompiledKernel compiled(const std::function<void()>& kernels) {
  return compile(T::prim_func("reduce", kernels), {.target = "cuda"});
}

void measure_row_sum(RowBench& bench, const DeviceTensor& x, int64_t num_rows, int64_t width) {
  const DeviceTensor y = bench.tensor(x.dtype(), {num_rows}, 2);
  const CompiledKernel kernel = compiled([&] {
    const T::Tile X = T::tensor("x", {num_rows, width}, x.dtype()), Y = T::tensor("y", {num_rows}, x.dtype());
    rows::row_sum(X, Y, num_rows, suggest_row_plan(num_rows, width, x.dtype()));
  });
  bench.run("row_sum", fmt::format("{}x{}", num_rows, width), kernel, {&x, &y}, x.num_bytes() + y.num_bytes());
  const std::vector<double> got = bench.read(y, 0, num_rows);
  for (int64_t i = 0; i < num_rows; i += std::max<int64_t>(1, num_rows / kChecked)) {
    judge_sum(bench, "row_sum", got[size_t(i)], x, i * width, 1, width);
  }
}

void measure_column_sum(RowBench& bench, const DeviceTensor& x, int64_t num_rows, int64_t width) {
  const DeviceTensor y = bench.tensor(x.dtype(), {width}, 2);
  const CompiledKernel kernel = compiled([&] {
    const T::Tile X = T::tensor("x", {num_rows, width}, x.dtype()), Y = T::tensor("y", {width}, x.dtype());
    rows::column_sum(X, Y, width, suggest_column_plan(num_rows, width, x.dtype()));
  });
  bench.run("column_sum", fmt::format("{}x{}", num_rows, width), kernel, {&x, &y}, x.num_bytes() + y.num_bytes());
  const std::vector<double> got = bench.read(y, 0, width);
  for (int64_t j = 0; j < width; j += std::max<int64_t>(1, width / kChecked)) {
    judge_sum(bench, "column_sum", got[size_t(j)], x, j, width, num_rows);
  }
}

void measure_transpose(RowBench& bench, const DeviceTensor& x, int64_t num_rows, int64_t width) {
  const DeviceTensor y = bench.tensor(x.dtype(), {width, num_rows}, 2);
  const CompiledKernel kernel = compiled([&] {
    const T::Tile X = T::tensor("x", {num_rows, width}, x.dtype()), Y = T::tensor("y", {width, num_rows}, x.dtype());
    rows::transpose(X, Y, num_rows, width);
  });
  bench.run("transpose", fmt::format("{}x{}", num_rows, width), kernel, {&x, &y}, x.num_bytes() * 2);
  for (int64_t j = 0; j < width; j += std::max<int64_t>(1, width / kChecked)) {
    const std::vector<double> got = bench.read(y, j * num_rows, num_rows);
    for (int64_t i = 0; i < num_rows; ++i) bench.judge("transpose", got[size_t(i)], x.at(i * width + j), 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const RowOptions defaults{.widths = {32768, 1024, 1000}, .elems = kElems, .dtype = "f32"};
  return row_main(argc, argv, "Sums and transposes on an NVIDIA GPU against the driver's copy", defaults,
                  [](RowBench& bench, const RowOptions& options, DType dtype) {
                    for (const int64_t width : options.widths) {
                      const int64_t num_rows = std::max<int64_t>(1, options.elems / width);
                      const DeviceTensor x = bench.tensor(dtype, {num_rows, width});
                      measure_row_sum(bench, x, num_rows, width);
                      measure_column_sum(bench, x, num_rows, width);
                      measure_transpose(bench, x, num_rows, width);
                    }
                  });
}
