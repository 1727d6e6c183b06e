// Softmax and its logarithm on an NVIDIA GPU against the driver's copy of the same bytes in the same run: one source
// for every width (examples/rows/softmax.h), 16384 rows of f32 unless --elems and --dtype say otherwise.
#include "../cuda_rows.h"

#include "../../examples/rows/softmax.h"

namespace {

using namespace bench;
namespace T = tilewright::lang;

constexpr int64_t kRows = 16384, kCheckedRows = 10;

// Roundings in f32: a difference of two elements is one of its size, an exponential two; a sum of n terms n; where a
// row is read in parts, each scales the sum by one exponential more; the quotient and the product are two.
void check(RowBench& bench, const DeviceTensor& x, const DeviceTensor& y, int64_t rows, int64_t width, bool logarithm) {
  for (int64_t check = 0; check < std::min(rows, kCheckedRows); ++check) {
    const int64_t row = checked_row(check, rows);
    const std::vector<double> got = bench.read(y, row * width, width);
    double top = x.at(row * width), least = top, sum = 0;
    for (int64_t j = 0; j < width; ++j) {
      top = std::max(top, x.at(row * width + j)), least = std::min(least, x.at(row * width + j));
    }
    for (int64_t j = 0; j < width; ++j) sum += std::exp(x.at(row * width + j) - top);
    const double u = 0x1p-24, relative = (4 * (top - least) + double(width) + 40) * u;
    for (int64_t j = 0; j < width; ++j) {
      const double difference = x.at(row * width + j) - top;
      const double want = logarithm ? difference - std::log(sum) : std::exp(difference) / sum;
      const double magnitude = logarithm ? std::abs(top) + std::abs(difference) + std::log(sum) : 0;
      const double bound = logarithm ? relative + 4 * u * magnitude : relative * want;
      bench.judge("softmax", got[size_t(j)], want, bound + unit_roundoff(y.dtype()) * std::abs(want) + 0x1p-133);
    }
  }
}

Program softmax(int64_t rows, int64_t width, DType dtype, bool logarithm) {
  return T::prim_func("softmax", [&] {
    const T::Tile x = T::tensor("x", {rows, width}, dtype), y = T::tensor("y", {rows, width}, dtype);
    examples::rows::softmax(x, y, rows, suggest_row_plan(rows, width, dtype), logarithm);
  });
}

void measure(RowBench& bench, int64_t rows, int64_t width, DType dtype, bool logarithm) {
  const DeviceTensor x = bench.tensor(dtype, {rows, width}), y = bench.tensor(dtype, {rows, width}, 3);
  const CompiledKernel kernel = compile(softmax(rows, width, dtype, logarithm), {.target = "cuda"});
  bench.run(logarithm ? "log_softmax" : "softmax", fmt::format("{}x{}", rows, width), kernel, {&x, &y},
            x.num_bytes() * 2);
  check(bench, x, y, rows, width, logarithm);
}

}  // namespace

int main(int argc, char** argv) {
  const RowOptions defaults{.widths = {1024, 4096, 16384, 32768, 131072}, .dtype = "f32"};
  return row_main(argc, argv, "Softmax on an NVIDIA GPU against the driver's copy", defaults,
                  [](RowBench& bench, const RowOptions& options, DType dtype) {
                    const auto rows_of = [&](int64_t width) {
                      return options.elems > 0 ? std::max<int64_t>(1, options.elems / width) : kRows;
                    };
                    for (const int64_t width : options.widths) measure(bench, rows_of(width), width, dtype, false);
                    measure(bench, rows_of(options.widths[0]), options.widths[0], dtype, true);
                  });
}
