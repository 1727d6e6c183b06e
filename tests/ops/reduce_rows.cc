// reduce_sum and reduce_max.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;

struct Reduction {
  bool max = false;
  std::vector<int64_t> shape;
  int dim = -1;
  DType in = T::f32;
  DType out = T::f32;
  bool clear = true;
  bool keep_dim = false;
  bool shared = false;
  const char* values = "random";
};

size_t axis_of(const Reduction& r) {
  return static_cast<size_t>(r.dim < 0 ? r.dim + static_cast<int>(r.shape.size()) : r.dim);
}

std::vector<int64_t> reduced_shape(const Reduction& r) {
  std::vector<int64_t> shape = r.shape;
  if (r.keep_dim)
    shape[axis_of(r)] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis_of(r)));
  return shape;
}

HostArray source(const Reduction& r) {
  HostArray src(r.in, r.shape);
  const bool ints = !is_float(r.in);
  const std::string_view values = r.values;
  src.fill_random(11, values == "negative" ? -100 : ints ? -50 : -1, values == "negative" ? -3 : ints ? 50 : 1);
  const Real inf = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();
  for (int64_t i = 0; i < src.size(); ++i) {
    if (values == "nan" && (i % 5 == 0 || i < r.shape.back())) src.set(i, nan);
    if (values == "-inf") src.set(i, i % 3 != 0 && i >= r.shape.back() ? src.get(i) : -inf);
  }
  return src;
}

struct Line {
  Real sum = 0, magnitudes = 0, max = 0;
  uint64_t wrapped = 0;
  int64_t count = 0;
  bool only_nan = true;
};

// The elements of src along the axis at (outer, inner), each cast to the dtype of the result for max.
Line reduce_line(const Reduction& r, const HostArray& src, int64_t outer, int64_t inner, int64_t inner_count) {
  Line line;
  const int64_t width = r.shape[axis_of(r)];
  line.max = wrap_real(r.out, uint64_t(1) << (bits_of(r.out) - 1));
  if (is_float(r.out)) line.max = r.out == T::f8e4m3 ? -top_of(r.out) : -std::numeric_limits<Real>::infinity();
  for (int64_t w = 0; w < width; ++w) {
    const Real v = src.get((outer * width + w) * inner_count + inner);
    ++line.count;
    line.sum += v;
    line.magnitudes += std::fabs(v);
    if (!is_float(r.in)) line.wrapped += bits_of_int(v);
    if (std::isnan(v)) continue;
    line.only_nan = false;
    line.max = std::max(line.max, v);
  }
  return line;
}

Reference reduce_reference(Reduction r) {
  return [r](const Args& before, std::vector<Expected>& after) {
    const HostArray &src = array(before, 0), &dst = array(before, 1);
    int64_t inner_count = 1, outer_count = 1;
    for (size_t d = 0; d < r.shape.size(); ++d) {
      if (d < axis_of(r)) outer_count *= r.shape[d];
      if (d > axis_of(r)) inner_count *= r.shape[d];
    }
    const Real u = unit_of(r.out == T::f64 ? T::f64 : T::f32);
    for (int64_t o = 0; o < outer_count; ++o) {
      for (int64_t i = 0; i < inner_count; ++i) {
        const Line line = reduce_line(r, src, o, i, inner_count);
        const int64_t at = o * inner_count + i;
        const Real old = r.clear ? Real(0) : dst.get(at);
        if (r.max) {
          after[1].set(at, cast_real(r.clear ? line.max : std::max(line.max, old), r.in, r.out));
        } else if (is_float(r.out)) {
          const Real value = line.sum + old, magnitudes = line.magnitudes + std::fabs(old);
          const bool narrow = r.out != T::f32 && r.out != T::f64;
          const Real bound = (static_cast<Real>(line.count) + 1) * u * magnitudes +
                             (narrow ? unit_of(r.out) * std::fabs(value) : Real(0));
          // A sum beyond the largest number becomes it, and so does one that may be.
          const Real top = is_8_bit_float(r.out) ? top_of(r.out) : std::numeric_limits<Real>::infinity();
          after[1].set(at, std::min(std::max(value, -top), top), bound + subnormal_of(r.out) / 2);
        } else {
          after[1].set(at, wrap_real(r.out, line.wrapped + bits_of_int(old)));
        }
      }
    }
  };
}

Row reduce_row(Reduction r) {
  std::string name = fmt::format("reduce_{} {}->{} dim {} clear {} keep {} {}", r.max ? "max" : "sum", to_string(r.in),
                                 to_string(r.out), r.dim, r.clear, r.keep_dim, r.values);
  for (const int64_t e : r.shape) name += fmt::format(" {}", e);
  HostArray dst(r.out, reduced_shape(r));
  dst.fill_random(12, -2, 2);
  return tensor_row(
      name, {source(r), dst},
      [r](const Tiles& t) {
        auto blocks = T::Kernel({1});
        const std::vector<int64_t> out = reduced_shape(r);
        const std::vector<T::Expr> in_shape(r.shape.begin(), r.shape.end()), out_shape(out.begin(), out.end());
        auto s = r.shared ? T::alloc_shared(in_shape, r.in) : T::alloc_fragment(in_shape, r.in);
        auto d = T::alloc_fragment(out_shape, r.out);
        T::copy(t[0], s);
        if (!r.clear) T::copy(t[1], d);
        const T::ReduceOptions options{.dim = r.dim, .clear = r.clear};
        if (r.max)
          T::reduce_max(s, d, options);
        else
          T::reduce_sum(s, d, options);
        T::copy(d, t[1]);
      },
      reduce_reference(r));
}

}  // namespace

std::vector<Row> reduce_rows() {
  std::vector<Row> rows;
  for (const bool max : {false, true}) {
    for (const int64_t width : {0, 1, 2, 3, 31, 33, 96, 160, 257, 1000}) {
      rows.push_back(reduce_row({.max = max, .shape = {5, width}}));
      rows.push_back(reduce_row({.max = max, .shape = {width, 7}, .dim = 0, .clear = width % 2 == 0}));
    }
    for (const DType dtype : {T::f16, T::bf16, T::f64, T::i8, T::i32, T::i64, T::f8e4m3, T::f8e5m2, T::tf32}) {
      rows.push_back(reduce_row({.max = max, .shape = {9, 37}, .in = dtype, .out = dtype}));
      rows.push_back(reduce_row({.max = max, .shape = {9, 37}, .dim = 0, .in = dtype, .out = dtype, .clear = false}));
      rows.push_back(reduce_row({.max = max, .shape = {9, 37}, .in = dtype, .out = dtype, .values = "negative"}));
    }
    for (const DType dtype : {T::f16, T::bf16, T::f8e4m3, T::f8e5m2, T::tf32})
      rows.push_back(reduce_row({.max = max, .shape = {9, 100}, .in = dtype, .out = T::f32}));
    for (const int dim : {0, 1, 2, -1, -2, -3})
      rows.push_back(reduce_row({.max = max, .shape = {3, 5, 7}, .dim = dim, .keep_dim = dim % 2 == 0}));
    rows.push_back(reduce_row({.max = max, .shape = {8, 16}, .keep_dim = true, .shared = true}));
    rows.push_back(reduce_row({.max = max, .shape = {8, 16}, .dim = 0, .clear = false, .shared = true}));
    rows.push_back(reduce_row({.max = max, .shape = {1, 1}}));
    rows.push_back(reduce_row({.max = max, .shape = {17}, .dim = 0, .keep_dim = true}));
  }
  for (const DType dtype : {T::f32, T::f16, T::f64, T::f8e4m3, T::f8e5m2}) {
    rows.push_back(reduce_row({.max = true, .shape = {6, 19}, .in = dtype, .out = dtype, .values = "nan"}));
    rows.push_back(reduce_row(
        {.max = true, .shape = {6, 19}, .dim = 0, .in = dtype, .out = dtype, .clear = false, .values = "nan"}));
    rows.push_back(reduce_row({.max = true, .shape = {6, 19}, .in = dtype, .out = dtype, .values = "-inf"}));
  }
  rows.push_back(reduce_row({.max = true, .shape = {6, 19}, .in = T::u8, .out = T::u8}));
  return rows;
}

}  // namespace tilewright::tests
