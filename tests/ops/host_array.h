// A tensor in host memory for tests: any dtype and strides, with guarded surroundings, read and written as numbers.
#pragma once

#include <tilewright/dtype.h>
#include <tilewright/runtime.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tilewright::tests {

// Wide enough to hold every element of every dtype exactly: a 64-bit significand.
using Real = long double;

class HostArray {
 public:
  // Elements are zero. `strides` in elements; empty: contiguous row-major.
  HostArray(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides = {});

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<int64_t>& strides() const { return strides_; }
  bool contiguous() const;
  int64_t size() const;

  // By row-major number, or by coordinates. `set` rounds or wraps to the dtype.
  Real get(int64_t flat) const;
  void set(int64_t flat, Real value);
  Real at(std::initializer_list<int64_t> coordinates) const;
  std::vector<Real> values() const;

  TensorView view();
  // Whether the bytes around and between the elements are as they were.
  bool surroundings_intact() const;

  // Numbers in [low, high], rounded to the dtype; the same for the same seed.
  HostArray& fill_random(uint64_t seed, double low, double high);
  HostArray& fill_with(std::initializer_list<Real> values);  // repeated as often as fits

 private:
  size_t byte_offset(int64_t flat) const;

  DType dtype_;
  std::vector<int64_t> shape_, strides_;
  std::vector<std::byte> bytes_;
};

}  // namespace tilewright::tests
