#include "fuzz/comparison.h"

#include "target/dtype.h"

#include <tilewright/error.h>

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace tilewright::fuzz {

Memory::Memory(const std::vector<Contents>& contents) {
  bytes.reserve(contents.size());
  for (const Contents& c : contents) {
    if (const auto* tensor = std::get_if<TensorContents>(&c)) {
      bytes.push_back(tensor->bytes);
      arguments.emplace_back(tensor->view(bytes.back().data()));
      continue;
    }
    bytes.emplace_back();
    if (const auto* i = std::get_if<int64_t>(&c))
      arguments.emplace_back(*i);
    else
      arguments.emplace_back(std::get<double>(c));
  }
}

namespace {

double distance(DType t, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, size_t(bytes_of(t))) == 0) return 0;
  if (!is_float(t)) return std::fabs(double(load_int(t, a)) - double(load_int(t, b)));
  const double x = load_float(t, a), y = load_float(t, b);
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  return std::isnan(x) || std::isnan(y) || std::isinf(x) || std::isinf(y) ? INFINITY : std::fabs(x - y);
}

std::string value_text(DType t, const std::byte* at) {
  return is_float(t) ? fmt::format("{}", load_float(t, at)) : fmt::format("{}", load_int(t, at));
}

}  // namespace

std::string first_difference(const TensorContents& tensor, const std::vector<std::byte>& expected,
                             const std::vector<std::byte>& found, const std::vector<double>& bounds, Tally& tally) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    std::vector<int64_t> at(tensor.shape.size());
    int64_t rest = int64_t(i), offset = 0;
    for (size_t d = at.size(); d-- > 0;) {
      at[d] = rest % tensor.shape[d];
      rest /= tensor.shape[d];
      offset += at[d] * tensor.strides[d];
    }
    offset *= bytes_of(tensor.dtype);
    ++tally.elements;
    tally.unbounded += std::isinf(bounds[i]);
    const double apart = distance(tensor.dtype, expected.data() + offset, found.data() + offset);
    if (apart <= bounds[i]) continue;
    return fmt::format("element [{}]: interpreter {}, here {}, allowed distance {}", fmt::join(at, ", "),
                       value_text(tensor.dtype, expected.data() + offset),
                       value_text(tensor.dtype, found.data() + offset), bounds[i]);
  }
  return {};
}

}  // namespace tilewright::fuzz
