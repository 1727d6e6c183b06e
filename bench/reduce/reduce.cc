// Sums of rows and of columns, and the transpose, on an NVIDIA GPU against the driver's copy of the same bytes in the
// same run: square-like matrices of 4 GiB of f32 unless --elems, --widths and --dtype say otherwise.
#include "../cuda_rows.h"

#include "../../examples/reduce.h"
#include "../../examples/transpose.h"

namespace {

using namespace bench;

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

void measure(RowBench& bench, int64_t rows, int64_t width, DType dtype) {
  const std::string shape = fmt::format("{}x{}", rows, width);
  const DeviceTensor x = bench.tensor(dtype, {rows, width});
  {
    const DeviceTensor y = bench.tensor(dtype, {rows}, 2);
    const CompiledKernel kernel = compile(examples::row_sum(rows, width, dtype), {.target = "cuda"});
    bench.run("row_sum", shape, kernel, {&x, &y}, x.num_bytes() + y.num_bytes());
    const std::vector<double> got = bench.read(y, 0, rows);
    for (int64_t i = 0; i < rows; i += std::max<int64_t>(1, rows / kChecked)) {
      judge_sum(bench, "row_sum", got[size_t(i)], x, i * width, 1, width);
    }
  }
  {
    const DeviceTensor y = bench.tensor(dtype, {width}, 2);
    const CompiledKernel kernel = compile(examples::column_sum(rows, width, dtype), {.target = "cuda"});
    bench.run("column_sum", shape, kernel, {&x, &y}, x.num_bytes() + y.num_bytes());
    const std::vector<double> got = bench.read(y, 0, width);
    for (int64_t j = 0; j < width; j += std::max<int64_t>(1, width / kChecked)) {
      judge_sum(bench, "column_sum", got[size_t(j)], x, j, width, rows);
    }
  }
  const DeviceTensor y = bench.tensor(dtype, {width, rows}, 2);
  const CompiledKernel kernel = compile(examples::transpose(rows, width, dtype), {.target = "cuda"});
  bench.run("transpose", shape, kernel, {&x, &y}, x.num_bytes() * 2);
  for (int64_t j = 0; j < width; j += std::max<int64_t>(1, width / kChecked)) {
    const std::vector<double> got = bench.read(y, j * rows, rows);
    for (int64_t i = 0; i < rows; ++i) bench.judge("transpose", got[size_t(i)], x.at(i * width + j), 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const RowOptions defaults{.widths = {32768, 1024, 1000}, .elems = kElems, .dtype = "f32"};
  return row_main(argc, argv, "Sums and transposes on an NVIDIA GPU against the driver's copy", defaults,
                  [](RowBench& bench, const RowOptions& options, DType dtype) {
                    for (const int64_t width : options.widths) {
                      measure(bench, std::max<int64_t>(1, options.elems / width), width, dtype);
                    }
                  });
}
