// copy, cast and fill.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;
using Point = std::vector<int64_t>;

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

HostArray numbered(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
  HostArray a(dtype, std::move(shape), std::move(strides));
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, static_cast<Real>(i % 120 + 1));
  return a;
}

bool inside(const HostArray& a, const Point& at) {
  for (size_t d = 0; d < at.size(); ++d) {
    if (at[d] < 0 || at[d] >= a.shape()[d]) return false;
  }
  return true;
}

int64_t flat_of(const HostArray& a, const Point& at) {
  int64_t flat = 0;
  for (size_t d = 0; d < at.size(); ++d) flat = flat * a.shape()[d] + at[d];
  return flat;
}

// The box begin..begin+extent of src to that of dst, element by element in row-major order of both boxes.
Reference box_copy(Point src_begin, Point src_extent, Point dst_begin, Point dst_extent, Real safe_value = 0) {
  return [=](const Args& before, std::vector<Expected>& after) {
    const HostArray &src = array(before, 0), &dst = array(before, 1);
    int64_t count = 1;
    for (const int64_t e : src_extent) count *= e;
    auto point = [](const Point& begin, const Point& extent, int64_t number) {
      Point at(begin.size());
      for (size_t d = at.size(); d-- > 0;) {
        at[d] = begin[d] + number % extent[d];
        number /= extent[d];
      }
      return at;
    };
    for (int64_t i = 0; i < count; ++i) {
      const Point from = point(src_begin, src_extent, i), to = point(dst_begin, dst_extent, i);
      if (!inside(dst, to)) continue;
      const Real value = inside(src, from) ? src.get(flat_of(src, from)) : safe_value;
      after[1].set(flat_of(dst, to), cast_real(value, src.dtype(), dst.dtype()));
    }
  };
}

Row whole(DType dtype, std::vector<int64_t> shape) {
  std::string name = fmt::format("copy whole {}", to_string(dtype));
  for (const int64_t e : shape) name += fmt::format(" {}", e);
  const Point zero(shape.size(), 0);
  return tensor_row(
      name, {numbered(dtype, shape), HostArray(dtype, shape)},
      [shape, dtype](const Tiles& t) {
        auto blocks = T::Kernel({1});
        const std::vector<T::Expr> extents(shape.begin(), shape.end());
        auto s = T::alloc_shared(extents, dtype);
        auto f = T::alloc_fragment(extents, dtype);
        T::copy(t[0], s);
        T::copy(s, f);
        T::copy(f, t[1]);
      },
      box_copy(zero, shape, zero, shape));
}

// A 2-D window of the source into a chip tile and from there into a window of the destination.
Row window(const char* what, HostArray src, HostArray dst, Point extent, Point from, Point to, DType via,
           int threads = 128) {
  return tensor_row(
      fmt::format("copy window {} from {},{} to {},{} {} threads", what, from[0], from[1], to[0], to[1], threads),
      {src, dst},
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1}, {.threads = threads});
        auto s = T::alloc_shared({extent[0], extent[1]}, via);
        auto f = T::alloc_fragment({extent[0], extent[1]}, via);
        T::copy(t[0](from[0], from[1]), s);
        T::copy(s, f);
        T::copy(f, t[1](to[0], to[1]));
      },
      box_copy(from, extent, to, extent));
}

void add_windows(std::vector<Row>& rows) {
  const Point extent = {7, 21};
  for (const DType dtype : {T::f32, T::f16, T::i8, T::f64, T::f8e4m3, T::tf32}) {
    for (const auto& [from, to] : std::vector<std::pair<Point, Point>>{{{0, 0}, {0, 0}},
                                                                       {{3, 5}, {1, 2}},
                                                                       {{30, 30}, {0, 0}},
                                                                       {{-3, -4}, {0, 0}},
                                                                       {{0, 0}, {30, 32}},
                                                                       {{0, 0}, {-5, -6}},
                                                                       {{-7, 0}, {2, 2}},
                                                                       {{33, 3}, {2, 2}},
                                                                       {{100, 100}, {3, 3}},
                                                                       {{-2, 25}, {28, -9}},
                                                                       {{5, -20}, {-6, 36}}}) {
      rows.push_back(window(std::string(to_string(dtype)).c_str(), numbered(dtype, {33, 37}), numbered(dtype, {33, 37}),
                            extent, from, to, dtype));
    }
  }
  for (const int threads : {1, 32, 33, 100, 257, 1024}) {
    rows.push_back(window("threads", numbered(T::f32, {33, 37}), HostArray(T::f32, {33, 37}), extent, {28, 20}, {0, 1},
                          T::f32, threads));
  }
  rows.push_back(window("padded rows", numbered(T::f32, {33, 37}, {41, 1}), HostArray(T::f32, {33, 37}, {40, 1}),
                        extent, {2, 20}, {-1, 3}, T::f32));
  rows.push_back(window("transposed source", numbered(T::f16, {33, 37}, {1, 33}), HostArray(T::f16, {33, 37}), extent,
                        {2, 20}, {1, 3}, T::f16));
  rows.push_back(window("transposed destination", numbered(T::f32, {33, 37}), HostArray(T::f32, {33, 37}, {1, 35}),
                        extent, {2, 20}, {1, 30}, T::f32));
  rows.push_back(window("both strided", numbered(T::i16, {33, 37}, {80, 2}), HostArray(T::i16, {33, 37}, {3, 100}),
                        extent, {-2, 20}, {1, 30}, T::i16));
}

void add_shapes(std::vector<Row>& rows) {
  for (const Point& shape : std::vector<Point>{{1},
                                               {2},
                                               {257},
                                               {0},
                                               {1, 1},
                                               {3, 5},
                                               {17, 1},
                                               {1, 33},
                                               {0, 4},
                                               {4, 0},
                                               {2, 3, 5},
                                               {1, 9, 1},
                                               {3, 1, 2, 7}}) {
    rows.push_back(whole(T::f32, shape));
  }
  for (const DType dtype : {T::f16, T::bf16, T::f64, T::i8, T::i16, T::i32, T::i64, T::u8, T::u16, T::u32, T::u64,
                            T::boolean, T::f8e4m3, T::f8e5m2, T::tf32}) {
    rows.push_back(whole(dtype, {13, 19}));
  }
  rows.push_back(tensor_row(
      "copy slice to slice", {numbered(T::f32, {9, 20}), numbered(T::f32, {11, 18})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto s = T::alloc_shared({16, 16}, T::f32);
        T::fill(s, -1);
        T::copy(t[0](T::slice(2, 7), T::slice(4, 15)), s(T::slice(3, 8), T::slice(1, 12)));
        T::copy(s(T::slice(3, 8), T::slice(1, 12)), t[1](T::slice(5, 10), T::slice(6, 17)));
      },
      box_copy({2, 4}, {5, 11}, {5, 6}, {5, 11})));
  rows.push_back(tensor_row(
      "copy row with all", {numbered(T::f32, {6, 20}), HostArray(T::f32, {20})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto f = T::alloc_fragment({20}, T::f32);
        T::copy(t[0](3, T::all), f);
        T::copy(f, t[1]);
      },
      box_copy({3, 0}, {1, 20}, {0}, {20})));
  rows.push_back(tensor_row(
      "copy column", {numbered(T::f32, {19, 8}), HostArray(T::f32, {19})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto f = T::alloc_fragment({19}, T::f32);
        T::copy(t[0](T::all, 5), f);
        T::copy(f, t[1]);
      },
      box_copy({0, 5}, {19, 1}, {0}, {19})));
  rows.push_back(tensor_row(
      "copy 4-D head address to 2-D", {numbered(T::f16, {2, 30, 3, 16}), HostArray(T::f16, {2, 3, 32, 16})},
      [](const Tiles& t) {
        auto [by, h, b] = T::Kernel({2, 3, 2});
        auto s = T::alloc_shared({16, 16}, T::f16);
        T::copy(t[0](b, T::slice(by * 16, by * 16 + 16), h, T::all), s);
        T::copy(s, t[1](b, h, by * 16, 0));
      },
      [](const Args& before, std::vector<Expected>& after) {
        for (int64_t b = 0; b < 2; ++b)
          for (int64_t s = 0; s < 32; ++s)
            for (int64_t h = 0; h < 3; ++h)
              for (int64_t d = 0; d < 16; ++d)
                after[1].set(((b * 3 + h) * 32 + s) * 16 + d, s < 30 ? array(before, 0).at({b, s, h, d}) : Real(0));
      }));
  rows.push_back(tensor_row(
      "copy unit dims", {numbered(T::f32, {5, 1, 9}), HostArray(T::f32, {1, 5, 9})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto s = T::alloc_shared({1, 5, 1, 9}, T::f32);
        T::copy(t[0](T::all, 0, T::all), s(0, T::all, 0, T::all));
        T::copy(s(0, T::all, 0, T::all), t[1](0, T::all, T::all));
      },
      box_copy({0, 0, 0}, {5, 1, 9}, {0, 0, 0}, {1, 5, 9})));
  rows.push_back(tensor_row(
      "copy global to global", {numbered(T::f32, {9, 20}), HostArray(T::f16, {9, 20})},
      [](const Tiles& t) {
        auto blocks = T::Kernel({1});
        T::copy(t[0], t[1]);
      },
      box_copy({0, 0}, {9, 20}, {0, 0}, {9, 20})));
}

// Tiles of a tensor copied by a grid, with tails on both sides.
Row grid_copy(DType dtype, int64_t m, int64_t n, int64_t bm, int64_t bn) {
  return tensor_row(
      fmt::format("copy grid {} {}x{} by {}x{}", to_string(dtype), m, n, bm, bn),
      {numbered(dtype, {m, n}), HostArray(dtype, {m, n})},
      [=](const Tiles& t) {
        auto [bx, by] = T::Kernel({T::ceildiv(n, bn), T::ceildiv(m, bm)});
        auto s = T::alloc_shared({bm, bn}, dtype);
        T::copy(t[0](by * bm, bx * bn), s);
        T::copy(s, t[1](by * bm, bx * bn));
      },
      box_copy({0, 0}, {m, n}, {0, 0}, {m, n}));
}

Row safe_value(DType dtype, double value) {
  HostArray src = numbered(dtype, {10, 12}), dst(dtype, {16, 16});
  Row row = tensor_row(fmt::format("copy safe value {} {}", value, to_string(dtype)), {src, dst}, {},
                       box_copy({-3, -2}, {16, 16}, {0, 0}, {16, 16}, value));
  row.declare = [=](const std::string& prefix) -> Kernels {
    const Tiles t = {declare_tensor(prefix + "src", src, value), declare_tensor(prefix + "dst", dst)};
    return [=] {
      auto blocks = T::Kernel({1});
      auto s = T::alloc_shared({16, 16}, dtype);
      T::copy(t[0](-3, -2), s);
      T::copy(s, t[1]);
    };
  };
  return row;
}

// Begins known only at launch, at on-chip edges too: reads outside give zero, writes outside are dropped.
void add_computed_begins(std::vector<Row>& rows) {
  rows.push_back(tensor_row(
      "copy on-chip slice at computed begin", {numbered(T::f32, {4, 8}), HostArray(T::f32, {5, 4, 8})},
      [](const Tiles& t) {
        auto [b] = T::Kernel({5});
        auto s = T::alloc_shared({4, 8}, T::f32);
        auto f = T::alloc_fragment({4, 8}, T::f32);
        T::copy(t[0], s);
        T::copy(s(b - 2, b * 3 - 6), f);
        T::copy(f, t[1](b, 0, 0));
      },
      [](const Args& before, std::vector<Expected>& after) {
        for (int64_t b = 0; b < 5; ++b)
          for (int64_t i = 0; i < 4; ++i)
            for (int64_t j = 0; j < 8; ++j) {
              const Point from = {b - 2 + i, b * 3 - 6 + j};
              after[1].set((b * 4 + i) * 8 + j, inside(array(before, 0), from)
                                                    ? array(before, 0).get(flat_of(array(before, 0), from))
                                                    : Real(0));
            }
      }));
  rows.push_back(tensor_row(
      "copy into on-chip slice at computed begin", {numbered(T::f32, {4, 8}), HostArray(T::f32, {5, 4, 8})},
      [](const Tiles& t) {
        auto [b] = T::Kernel({5});
        auto s = T::alloc_shared({4, 8}, T::f32);
        T::fill(s, 7);
        T::copy(t[0], s(b - 2, b * 3 - 6));
        T::copy(s, t[1](b, 0, 0));
      },
      [](const Args& before, std::vector<Expected>& after) {
        for (int64_t b = 0; b < 5; ++b)
          for (int64_t i = 0; i < 4; ++i)
            for (int64_t j = 0; j < 8; ++j) {
              const Point from = {i - (b - 2), j - (b * 3 - 6)};
              after[1].set((b * 4 + i) * 8 + j, inside(array(before, 0), from)
                                                    ? array(before, 0).get(flat_of(array(before, 0), from))
                                                    : Real(7));
            }
      }));
}

HostArray edge_values(DType dtype) {
  HostArray a(dtype, {80});
  if (is_float(dtype)) {
    a.fill_with({0.0L, -0.0L, 1, -1, 0.5L, -0.5L, 1.5L, 2.5L, -2.5L, 0.999999L, 126.9L, 127.5L, 128, -128.9L, -129,
                 255.5L, 256, -0.9L, 1e-7L, 2049, 2051, 4098.0L, 4102.0L, 65503, 65504, 65519.99L, 65520, 65536, -65520,
                 1e5L, 5.9604644775390625e-8L, 2.98023223876953125e-8L, 8.94069671630859375e-8L, 6.1e-5L, 3e-39L,
                 1e-45L, 32767.5L, 32768, 65535.5L, 16777217, 2147483520, 2147483647, 2147483648.0L, -2147483648.0L,
                 -2147483904.0L, 4294967296.0L, 0x1p62L, 0x1p63L, -0x1p63L, -0x1.8p63L, 3.3895e38L, 3.4028235e38L,
                 1e39L, -1e300L, kInf, -kInf, kNan, 1.00390625L, 1.01171875L, 257,
                 // Ties and ends of the 8-bit floats and of tf32.
                 9, 11, 17, 19, 448, 455.9L, 464, -480, 57344, 61440, 0x1p-10L, 0x3p-10L, 0x1p-17L, 0x3p-17L,
                 1 + 0x1p-11L, 1 + 0x3p-11L, 1 + 0x1.000002p-11L, 0x1.ffep127L, 0x1p-137L, 1.00048828125L});
  } else {
    a.fill_with({0,
                 1,
                 -1,
                 2,
                 127,
                 128,
                 -128,
                 -129,
                 255,
                 256,
                 2049,
                 2051,
                 32767,
                 32768,
                 65503,
                 65504,
                 65519,
                 65520,
                 65535,
                 65536,
                 16777217,
                 16777219,
                 33554435,
                 2147483647,
                 -2147483648.0L,
                 2147483648.0L,
                 4294967295.0L,
                 4294967296.0L,
                 0x1p53L + 1,
                 -0x1p53L - 3,
                 0x1p62L,
                 0x1p63L - 1,
                 -0x1p63L,
                 0x1p63L - 513,
                 9007199791611905.0L,
                 257,
                 -257});
    if (is_boolean(dtype)) {
      for (int64_t i = 0; i < a.size(); ++i) a.set(i, i % 3 != 0);
    } else {
      for (int64_t i = 37; i < a.size(); ++i)
        a.set(i, wrap_real(dtype, static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u));
    }
  }
  return a;
}

constexpr DType kCastDTypes[] = {T::f32,     T::f16, T::bf16, T::i32, T::f64, T::i64,    T::i8,     T::u8,
                                 T::boolean, T::u32, T::u64,  T::i16, T::u16, T::f8e4m3, T::f8e5m2, T::tf32};

// One source dtype to every dtype: by copies global -> shared -> fragment (the cast) -> global, and by T::cast.
Row cast_row(DType from) {
  const HostArray src = edge_values(from);
  std::vector<HostArray> arrays = {src};
  for (const DType to : kCastDTypes) {
    arrays.emplace_back(to, src.shape());
    arrays.emplace_back(to, src.shape());
  }
  const int64_t n = src.size();
  return tensor_row(
      fmt::format("cast from {}", to_string(from)), arrays,
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto s = T::alloc_shared({n}, from);
        T::copy(t[0], s);
        for (size_t k = 0; k < std::size(kCastDTypes); ++k) {
          auto f = T::alloc_fragment({n}, kCastDTypes[k]);
          T::copy(s, f);
          T::copy(f, t[1 + 2 * k]);
          for (auto i : T::Parallel(n)) t[2 + 2 * k](i) = T::cast(s(i), kCastDTypes[k]);
        }
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (size_t k = 1; k < before.size(); ++k) {
          for (int64_t i = 0; i < n; ++i) {
            after[k].set(i, cast_real(array(before, 0).get(i), from, array(before, k).dtype()));
          }
          after[k].signed_zeros = true;
        }
      });
}

Row fill_row(DType dtype, double value) {
  return tensor_row(
      fmt::format("fill {} with {}", to_string(dtype), value), {numbered(dtype, {9, 13}), numbered(dtype, {9, 13})},
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto s = T::alloc_shared({9, 13}, dtype);
        auto f = T::alloc_fragment({4, 5}, dtype);
        const T::Expr e = is_float(dtype) ? T::Expr(value) : T::Expr(static_cast<int64_t>(value));
        T::clear(s);
        T::fill(s(T::slice(2, 5), T::slice(1, 12)), e);
        T::fill(s(8, T::all), e);
        T::copy(s, t[0]);
        T::fill(f, e);
        T::copy(f, t[1](3, 2));
        T::clear(t[1](T::slice(0, 2), T::slice(7, 13)));
      },
      [=](const Args&, std::vector<Expected>& after) {
        const Real v = cast_real(value, T::f64, dtype);
        for (int64_t i = 0; i < 9; ++i) {
          for (int64_t j = 0; j < 13; ++j) {
            after[0].set(i * 13 + j, (i >= 2 && i < 5 && j >= 1 && j < 12) || i == 8 ? v : Real(0));
            if (i >= 3 && i < 7 && j >= 2 && j < 7) after[1].set(i * 13 + j, v);
            if (i < 2 && j >= 7) after[1].set(i * 13 + j, 0);
          }
        }
      });
}

}  // namespace

std::vector<Row> copy_rows() {
  std::vector<Row> rows;
  add_shapes(rows);
  add_windows(rows);
  for (const DType dtype : {T::f32, T::f16, T::u8, T::f8e5m2}) {
    rows.push_back(grid_copy(dtype, 100, 130, 32, 48));
    rows.push_back(grid_copy(dtype, 31, 1, 7, 3));
    rows.push_back(grid_copy(dtype, 0, 9, 4, 4));
    rows.push_back(safe_value(dtype, 3));
  }
  rows.push_back(safe_value(T::f32, -std::numeric_limits<double>::infinity()));
  add_computed_begins(rows);
  return rows;
}

std::vector<Row> cast_rows() {
  std::vector<Row> rows;
  for (const DType from : kCastDTypes) rows.push_back(cast_row(from));
  return rows;
}

std::vector<Row> fill_rows() {
  std::vector<Row> rows;
  for (const DType dtype :
       {T::f32, T::f16, T::bf16, T::f64, T::i8, T::i32, T::i64, T::u8, T::u16, T::f8e4m3, T::f8e5m2, T::tf32})
    rows.push_back(fill_row(dtype, 5));
  for (const DType dtype : {T::f32, T::f16, T::bf16, T::f64, T::f8e4m3, T::f8e5m2, T::tf32}) {
    rows.push_back(fill_row(dtype, 0.1));
    rows.push_back(fill_row(dtype, -std::numeric_limits<double>::infinity()));
  }
  for (const DType dtype : {T::i8, T::i64}) rows.push_back(fill_row(dtype, -7));
  rows.push_back(fill_row(T::f16, 1e6));
  return rows;
}

}  // namespace tilewright::tests
