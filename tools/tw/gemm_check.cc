#include "gemm_check.h"

#include "target/dtype.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

namespace tw {

using namespace tilewright;

Matrix::Matrix(int64_t rows_, int64_t cols_, DType dtype_)
    : rows(rows_), cols(cols_), dtype(dtype_), bytes(size_t(rows_ * cols_ * bytes_of(dtype_))) {}

TensorView Matrix::view() { return {.data = bytes.data(), .dtype = dtype, .shape = {rows, cols}}; }

std::vector<double> Matrix::values() const {
  std::vector<double> out(size_t(rows * cols));
  for (size_t i = 0; i < out.size(); ++i) out[i] = load_float(dtype, bytes.data() + i * size_t(bytes_of(dtype)));
  return out;
}

Matrix random_matrix(int64_t rows, int64_t cols, DType dtype, uint64_t seed) {
  Matrix m(rows, cols, dtype);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < rows * cols; ++i) {
    store_float(dtype, m.bytes.data() + i * bytes_of(dtype), normal(random));
  }
  return m;
}

namespace {

// One row of A B and of |A||B|.
struct RowSums {
  std::vector<double> sum, magnitude;
};

void accumulate_row(const std::vector<double>& a, const std::vector<double>& b, int64_t i, int64_t n, int64_t k_extent,
                    RowSums& out) {
  out.sum.assign(size_t(n), 0);
  out.magnitude.assign(size_t(n), 0);
  for (int64_t k = 0; k < k_extent; ++k) {
    const double x = a[size_t(i * k_extent + k)];
    const double* row = b.data() + k * n;
    for (int64_t j = 0; j < n; ++j) {
      const double product = x * row[j];
      out.sum[size_t(j)] += product;
      out.magnitude[size_t(j)] += std::abs(product);
    }
  }
}

}  // namespace

double worst_error(const Matrix& a, const Matrix& b, const Matrix& c, const std::function<double(double)>& f) {
  const std::vector<double> av = a.values(), bv = b.values(), cv = c.values();
  const double u_acc = unit_roundoff(a.dtype == DType::f64 ? DType::f64 : DType::f32);
  const double u_out = unit_roundoff(c.dtype), tiny = smallest_subnormal(c.dtype) / 2;
  const auto check_rows = [&](int64_t first, int64_t last) {
    double worst = 0;
    RowSums row;
    for (int64_t i = first; i < last; ++i) {
      accumulate_row(av, bv, i, c.cols, a.cols, row);
      for (int64_t j = 0; j < c.cols; ++j) {
        const double expected = f(row.sum[size_t(j)]);
        const double error = std::abs(cv[size_t(i * c.cols + j)] - expected);
        const double bound = double(a.cols + 2) * u_acc * row.magnitude[size_t(j)] + u_out * std::abs(expected) + tiny;
        worst = std::isfinite(error) ? std::max(worst, error / bound) : std::numeric_limits<double>::infinity();
        if (std::isinf(worst)) return worst;
      }
    }
    return worst;
  };
  const int64_t parts = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::max<int64_t>(c.rows, 1));
  std::vector<double> results(static_cast<size_t>(parts));
  std::vector<std::thread> threads;
  for (int64_t p = 0; p < parts; ++p) {
    threads.emplace_back([&, p] { results[size_t(p)] = check_rows(c.rows * p / parts, c.rows * (p + 1) / parts); });
  }
  for (std::thread& t : threads) t.join();
  return *std::max_element(results.begin(), results.end());
}

}  // namespace tw
