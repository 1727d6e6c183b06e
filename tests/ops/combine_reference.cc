#include "ops/combine_reference.h"

#include "ops/numbers.h"

#include <cmath>
#include <limits>

namespace tilewright::tests {

namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

bool sums(Combining how) { return how == Combining::sum || how == Combining::abssum; }
bool orders(Combining how) { return how == Combining::max || how == Combining::min || how == Combining::absmax; }

Real smallest_integer(DType t) { return is_unsigned(t) ? Real(0) : -std::ldexp(Real(1), bits_of(t) - 1); }
Real largest_integer(DType t) { return std::ldexp(Real(1), bits_of(t) - (is_unsigned(t) ? 0 : 1)) - 1; }

Real start_of(Combining how, DType t) {
  switch (how) {
    case Combining::max: return is_float(t) ? -kInfinity : smallest_integer(t);
    case Combining::min: return is_float(t) ? kInfinity : largest_integer(t);
    case Combining::bit_and: return wrap_real(t, ~uint64_t(0));
    case Combining::all: return 1;
    default: return 0;
  }
}

}  // namespace

DType accumulating(DType in, DType out, std::optional<DType> asked) {
  if (asked) return *asked;
  if (!is_float(out)) return out;
  return in == T::f64 || out == T::f64 ? T::f64 : T::f32;
}

Line::Line(Combining how, DType accumulate, bool nan_propagate)
    : how_(how), dtype_(accumulate), nan_propagate_(nan_propagate), value_(start_of(how, accumulate)) {}

void Line::take(Real element, DType dtype) {
  Real x = cast_real(element, dtype, dtype_);
  // A sum is compared with the exact one; its bound has room for the rounding of each element.
  if (sums(how_) && is_float(dtype_) && std::isfinite(x)) x = element;
  if (how_ == Combining::abssum || how_ == Combining::absmax) {
    if (is_float(dtype_))
      x = std::fabs(x);
    else if (x < 0)
      x = wrap_real(dtype_, bits_of_int(-x));
  }
  combine(x);
}

void Line::take_old(Real value, DType dtype) { combine(cast_real(value, dtype, dtype_)); }

void Line::combine(Real x) {
  ++count_;
  if (sums(how_)) {
    value_ = is_float(dtype_) ? value_ + x : wrap_real(dtype_, bits_of_int(value_) + bits_of_int(x));
    magnitudes_ += std::fabs(x);
  } else if (orders(how_)) {
    const bool keeps_nan = nan_propagate_ && (std::isnan(x) || std::isnan(value_));
    const bool better = how_ == Combining::min ? x < value_ : x > value_;
    if (keeps_nan)
      value_ = kNan;
    else if (better)
      value_ = x;
  } else if (how_ == Combining::bit_xor) {
    value_ = wrap_real(dtype_, bits_of_int(value_) ^ bits_of_int(x));
  } else if (how_ == Combining::bit_or || how_ == Combining::any) {
    value_ = wrap_real(dtype_, bits_of_int(value_) | bits_of_int(x));
  } else {
    value_ = wrap_real(dtype_, bits_of_int(value_) & bits_of_int(x));
  }
}

// n additions in any order, each operand rounded before (Higham, Accuracy and Stability, section 4.2).
Real Line::largest_error() const {
  if (!sums(how_) || !is_float(dtype_) || !std::isfinite(value_)) return 0;
  const Real nu = static_cast<Real>(count_ + 1) * unit_of(dtype_);
  return nu / (1 - nu) * magnitudes_ + static_cast<Real>(count_) * subnormal_of(dtype_) / 2;
}

void Line::put(Expected& expected, int64_t at, DType out) const {
  if (!sums(how_) || !is_float(out)) return expected.set(at, cast_real(value_, dtype_, out));
  const Real error = largest_error();
  const bool narrows = format_of(out).digits < format_of(dtype_).digits;
  const Real rounding = narrows ? unit_of(out) * (std::fabs(value_) + error) + subnormal_of(out) / 2 : Real(0);
  if (!std::isfinite(value_)) return expected.set(at, value_);
  expected.set(at, value_, error + rounding);
}

std::vector<int64_t> Box::whole() const {
  std::vector<int64_t> out = shape;
  for (size_t d = 0; d < out.size(); ++d) out[d] += lead[d] + trail[d];
  return out;
}

int64_t Box::flat(const std::vector<int64_t>& at) const {
  int64_t out = 0;
  for (size_t d = 0; d < shape.size(); ++d) out = out * (shape[d] + lead[d] + trail[d]) + lead[d] + at[d];
  return out;
}

Box box_for(std::vector<int64_t> shape, Place place) {
  Box box{.shape = shape, .lead = std::vector<int64_t>(shape.size()), .trail = std::vector<int64_t>(shape.size())};
  if (place == Place::whole) return box;
  for (size_t d = 0; d < shape.size(); ++d) {
    box.lead[d] = 1 + static_cast<int64_t>(d);
    box.trail[d] = 2;
  }
  return box;
}

T::Operand operand_at(const T::Tile& tile, const Box& box, Place place, const T::Expr& block) {
  if (place == Place::whole || box.shape.empty()) return T::Operand(tile);
  std::vector<T::Subscript> at;
  for (size_t d = 0; d < box.shape.size(); ++d) {
    T::Expr begin = box.lead[d];
    if (place == Place::run_time) begin = block * 3 + box.lead[d];
    if (place == Place::head)
      at.emplace_back(begin);
    else
      at.emplace_back(T::slice(begin, begin + box.shape[d]));
  }
  return T::Operand(T::Access(tile.id(), at));
}

T::Tile tile_in(Where where, const std::vector<int64_t>& shape, DType dtype) {
  const T::Shape extents(std::vector<T::Expr>(shape.begin(), shape.end()));
  if (where == Where::shared) return T::alloc_shared(extents, dtype);
  return where == Where::fragment ? T::alloc_fragment(extents, dtype) : T::alloc_local(extents, dtype);
}

void for_each_element(const std::vector<int64_t>& shape, const std::function<void(std::vector<int64_t>&)>& f) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<int64_t> at(shape.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t d = shape.size(); d-- > 0;) {
      at[d] = rest % shape[d];
      rest /= shape[d];
    }
    f(at);
  }
}

void fill_values(HostArray& array, const std::string& values) {
  const bool ints = !is_float(array.dtype()), truths = is_boolean(array.dtype());
  const bool wide = values == "bits" && ints;
  const double high = truths ? 1 : wide ? 1e9 : ints ? 50 : 1;
  const double low = truths ? 0 : wide ? -1e9 : ints ? -50 : -1;
  if (values == "negative")
    array.fill_random(11, -100, -3);
  else
    array.fill_random(11, low, high);
  for (int64_t i = 0; i < array.size(); ++i) {
    if (values == "nan" && i % 7 == 3) array.set(i, kNan);
    if (values == "all nan") array.set(i, kNan);
    if (values == "-inf" && i % 3 != 1) array.set(i, -kInfinity);
    if (values == "sparse" && i % 29 != 5) array.set(i, 0);
    if (values == "dense") array.set(i, i % 29 != 5);
  }
}

}  // namespace tilewright::tests
