#include "ops/host_array.h"

#include "ops/numbers.h"
#include "target/dtype.h"

#include <random>

namespace tilewright::tests {

namespace {

constexpr size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

HostArray::HostArray(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides)
    : dtype_(dtype), shape_(std::move(shape)), strides_(strides.empty() ? row_major(shape_) : std::move(strides)) {
  int64_t last = 0;
  for (size_t d = 0; d < shape_.size(); ++d) last += shape_[d] > 0 ? (shape_[d] - 1) * strides_[d] : 0;
  bytes_.assign(2 * kGuardBytes + static_cast<size_t>((last + 1) * bytes_of(dtype)), kGuard);
  for (int64_t i = 0; i < size(); ++i) set(i, 0);
}

bool HostArray::contiguous() const { return strides_ == row_major(shape_); }

int64_t HostArray::size() const {
  int64_t n = 1;
  for (const int64_t extent : shape_) n *= extent;
  return n;
}

size_t HostArray::byte_offset(int64_t flat) const {
  int64_t elems = 0;
  for (size_t d = shape_.size(); d-- > 0;) {
    elems += flat % shape_[d] * strides_[d];
    flat /= shape_[d];
  }
  return kGuardBytes + static_cast<size_t>(elems * bytes_of(dtype_));
}

Real HostArray::get(int64_t flat) const {
  const std::byte* address = bytes_.data() + byte_offset(flat);
  if (is_float(dtype_)) return load_float(dtype_, address);
  const int64_t value = load_int(dtype_, address);
  return dtype_ == DType::u64 ? static_cast<Real>(static_cast<uint64_t>(value)) : static_cast<Real>(value);
}

void HostArray::set(int64_t flat, Real value) {
  std::byte* address = bytes_.data() + byte_offset(flat);
  // An infinity stays one where the dtype has it.
  if (is_float(dtype_)) {
    return store_float(dtype_, address, static_cast<double>(std::isinf(value) ? value : round_real(dtype_, value)));
  }
  const bool large = dtype_ == DType::u64 && value >= 0x1p63L;
  store_int(dtype_, address, large ? static_cast<int64_t>(static_cast<uint64_t>(value)) : static_cast<int64_t>(value));
}

Real HostArray::at(std::initializer_list<int64_t> coordinates) const {
  int64_t flat = 0;
  size_t d = 0;
  for (const int64_t c : coordinates) flat = flat * shape_[d++] + c;
  return get(flat);
}

std::vector<Real> HostArray::values() const {
  std::vector<Real> all(static_cast<size_t>(size()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = get(static_cast<int64_t>(i));
  return all;
}

TensorView HostArray::view() {
  return {.data = bytes_.data() + kGuardBytes, .dtype = dtype_, .shape = shape_, .strides = strides_};
}

bool HostArray::surroundings_intact() const {
  std::vector<bool> owned(bytes_.size());
  for (int64_t i = 0; i < size(); ++i) {
    const size_t at = byte_offset(i);
    for (size_t b = 0; b < static_cast<size_t>(bytes_of(dtype_)); ++b) owned[at + b] = true;
  }
  for (size_t i = 0; i < bytes_.size(); ++i) {
    if (!owned[i] && bytes_[i] != kGuard) return false;
  }
  return true;
}

HostArray& HostArray::fill_random(uint64_t seed, double low, double high) {
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < size(); ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    const double value = low + (high - low) * unit;
    set(i, is_float(dtype_) ? value : std::floor(value + 0.5));
  }
  return *this;
}

HostArray& HostArray::fill_with(std::initializer_list<Real> list) {
  const Real* values = list.begin();
  for (int64_t i = 0; i < size(); ++i) set(i, values[static_cast<size_t>(i) % list.size()]);
  return *this;
}

}  // namespace tilewright::tests
