// The reference for matrix products: f64 sums and the error bound that any order of summation in f32 meets.
#pragma once

#include <tilewright/dtype.h>
#include <tilewright/runtime.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tw {

// A row-major matrix in memory of some dtype.
struct Matrix {
  int64_t rows = 0, cols = 0;
  tilewright::DType dtype = tilewright::DType::f32;
  std::vector<unsigned char> bytes;

  Matrix(int64_t rows_, int64_t cols_, tilewright::DType dtype_);
  tilewright::TensorView view();
  std::vector<double> values() const;
};

// N(0, 1) rounded to the dtype; the same for one seed everywhere.
Matrix random_matrix(int64_t rows, int64_t cols, tilewright::DType dtype, uint64_t seed);

// The worst ratio of |C - f(A B)| to its bound, where f is applied to each element in f64 and has Lipschitz constant
// at most 1: |c - r| <= (K + 2) u_f32 (|A||B|)_ij + u_out |r| + half the smallest subnormal. 1 or less is right; NaN or
// infinity in C gives infinity.
double worst_error(const Matrix& a, const Matrix& b, const Matrix& c, const std::function<double(double)>& f);

}  // namespace tw
