// Kernels that work row by row, in forms whose loops a compiler may and may not join: the rows of a block meet copies,
// elementwise nests and reductions of every width, strides, and uses of a tile that cross its rows.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;
using T::Expr;

// [rows, width] in blocks of block_rows.
struct Shape {
  int64_t rows, width, block_rows;
};

HostArray random_array(DType dtype, std::vector<int64_t> shape, uint64_t seed, std::vector<int64_t> strides = {}) {
  HostArray a(dtype, std::move(shape), std::move(strides));
  a.fill_random(seed, -4, 4);
  return a;
}

std::string name_of(const char* what, const Shape& s) {
  return fmt::format("{} {}x{} by {}", what, s.rows, s.width, s.block_rows);
}

// ---- softmax: every word along a row ----

// With u of f32: x - max rounds to u |x - max|, exp adds 4 u (its documented bound is in ulps, two u each) and turns
// the first into a relative error; a sum of n terms adds n u, the quotient u.
void expect_softmax(const HostArray& x, const Shape& s, Expected& y) {
  const Real u = unit_of(T::f32);
  for (int64_t i = 0; i < s.rows; ++i) {
    Real top = -std::numeric_limits<Real>::infinity(), sum = 0, spread = 0;
    for (int64_t j = 0; j < s.width; ++j) top = std::max(top, x.get(i * s.width + j));
    for (int64_t j = 0; j < s.width; ++j) {
      sum += std::exp(x.get(i * s.width + j) - top);
      spread = std::max(spread, top - x.get(i * s.width + j));
    }
    for (int64_t j = 0; j < s.width; ++j) {
      const Real want = std::exp(x.get(i * s.width + j) - top) / sum;
      y.set(i * s.width + j, want, want * (2 * spread + static_cast<Real>(s.width) + 12) * u);
    }
  }
}

Row softmax_row(const Shape& s, std::vector<int64_t> strides = {}) {
  return tensor_row(
      name_of("softmax", s) + (strides.empty() ? "" : " strided"),
      {random_array(T::f32, {s.rows, s.width}, 1, strides), HostArray(T::f32, {s.rows, s.width}, strides)},
      [s](const Tiles& t) {
        auto [b] = T::Kernel({T::ceildiv(s.rows, s.block_rows)});
        auto x = T::alloc_fragment({s.block_rows, s.width}, T::f32);
        auto top = T::alloc_fragment({s.block_rows}, T::f32);
        auto sum = T::alloc_fragment({s.block_rows}, T::f32);
        T::copy(t[0](b * s.block_rows, 0), x);
        T::reduce_max(x, top);
        for (auto [i, j] : T::Parallel(s.block_rows, s.width)) x(i, j) = T::exp(x(i, j) - top(i));
        T::reduce_sum(x, sum);
        for (auto [i, j] : T::Parallel(s.block_rows, s.width)) x(i, j) = x(i, j) / sum(i);
        T::copy(x, t[1](b * s.block_rows, 0));
      },
      [s](const Args& before, std::vector<Expected>& after) { expect_softmax(array(before, 0), s, after[1]); });
}

// ---- exact forms: small integers, so that every result is one number ----

// y = x * x - sum(x) + w along a row, in f32; all below 2^24 for |x| <= 100 and width <= 1000.
Row square_row(const Shape& s, DType in, DType tile) {
  HostArray x(in, {s.rows, s.width}), w(in, {s.width});
  for (int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<Real>(i * 7 % 201 - 100));
  for (int64_t i = 0; i < w.size(); ++i) w.set(i, static_cast<Real>(i % 13 - 6));
  return tensor_row(
      name_of("square", s) + fmt::format(" {} {}", to_string(in), to_string(tile)),
      {x, w, HostArray(T::f32, {s.rows, s.width})},
      [s, tile](const Tiles& t) {
        auto [b] = T::Kernel({T::ceildiv(s.rows, s.block_rows)});
        auto a = T::alloc_fragment({s.block_rows, s.width}, tile);
        auto y = T::alloc_fragment({s.block_rows, s.width}, T::f32);
        auto sum = T::alloc_fragment({s.block_rows}, T::f32);
        T::copy(t[0](b * s.block_rows, 0), a);
        for (auto [i, j] : T::Parallel(s.block_rows, s.width)) y(i, j) = T::cast(a(i, j), T::f32);
        T::reduce_sum(y, sum);
        for (auto [i, j] : T::Parallel(s.block_rows, s.width)) {
          const Expr v = T::cast(a(i, j), T::f32);
          y(i, j) = v * v - sum(i) + T::cast(t[1](j), T::f32);
        }
        T::copy(y, t[2](b * s.block_rows, 0));
      },
      [s](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < s.rows; ++i) {
          Real sum = 0;
          for (int64_t j = 0; j < s.width; ++j) sum += array(before, 0).get(i * s.width + j);
          for (int64_t j = 0; j < s.width; ++j) {
            const Real v = array(before, 0).get(i * s.width + j);
            after[2].set(i * s.width + j, v * v - sum + array(before, 1).get(j));
          }
        }
      });
}

// One block of all rows; `build` works on x and y [rows, width] between the copies, `expected` gives y(i, j).
Row whole_row(const char* what, const Shape& s,
              std::function<void(const Tiles& t, const T::Tile& x, const T::Tile& y)> build,
              std::function<Real(const HostArray& x, int64_t i, int64_t j)> expected) {
  HostArray x(T::f32, {s.rows, s.width});
  for (int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<Real>(i * 31 % 101 - 50));
  return tensor_row(
      name_of(what, s), {x, HostArray(T::f32, {s.rows, s.width})},
      [s, build](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto a = T::alloc_fragment({s.rows, s.width}, T::f32);
        auto y = T::alloc_fragment({s.rows, s.width}, T::f32);
        T::copy(t[0], a);
        build(t, a, y);
        T::copy(y, t[1]);
      },
      [s, expected](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < s.rows; ++i) {
          for (int64_t j = 0; j < s.width; ++j) after[1].set(i * s.width + j, expected(array(before, 0), i, j));
        }
      });
}

std::vector<Row> crossing_rows(const Shape& s) {
  const int64_t rows = s.rows, width = s.width;
  const auto at = [width](const HostArray& x, int64_t i, int64_t j) { return x.get(i * width + j); };
  const auto row_sum = [=](const HostArray& x, int64_t i) {
    Real sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += at(x, i, j);
    return sum;
  };
  std::vector<Row> out;
  out.push_back(whole_row(
      "reversed rows", s,
      [=](const Tiles&, const T::Tile& x, const T::Tile& y) {
        for (auto [i, j] : T::Parallel(rows, width)) y(i, j) = x(i, j) + x(rows - 1 - i, j);
      },
      [=](const HostArray& x, int64_t i, int64_t j) { return at(x, i, j) + at(x, rows - 1 - i, j); }));
  out.push_back(whole_row(
      "column sums of a changed tile", s,
      [=](const Tiles&, const T::Tile& x, const T::Tile& y) {
        auto sum = T::alloc_fragment({width}, T::f32);
        for (auto [i, j] : T::Parallel(rows, width)) x(i, j) = x(i, j) * 2;
        T::reduce_sum(x, sum, {.dim = 0});
        for (auto [i, j] : T::Parallel(rows, width)) y(i, j) = x(i, j) - sum(j);
      },
      [=](const HostArray& x, int64_t i, int64_t j) {
        Real sum = 0;
        for (int64_t r = 0; r < rows; ++r) sum += 2 * at(x, r, j);
        return 2 * at(x, i, j) - sum;
      }));
  out.push_back(whole_row(
      "sum of the next row", s,
      [=](const Tiles&, const T::Tile& x, const T::Tile& y) {
        auto sum = T::alloc_fragment({rows}, T::f32);
        T::reduce_sum(x, sum);
        for (auto [i, j] : T::Parallel(rows, width))
          y(i, j) = x(i, j) + T::if_then_else(i + 1 < rows, sum(T::min(i + 1, rows - 1)), 0);
      },
      [=](const HostArray& x, int64_t i, int64_t j) {
        return at(x, i, j) + (i + 1 < rows ? row_sum(x, i + 1) : Real(0));
      }));
  out.push_back(whole_row(
      "maximum over passes", s,
      [=](const Tiles& t, const T::Tile& x, const T::Tile& y) {
        auto top = T::alloc_fragment({rows}, T::f32);
        T::fill(top, -1000);
        for (auto k : T::serial(3)) {
          T::copy(t[0], x);
          for (auto [i, j] : T::Parallel(rows, width)) x(i, j) = x(i, j) + T::cast(k, T::f32);
          T::reduce_max(x, top, {.clear = false});
        }
        for (auto [i, j] : T::Parallel(rows, width)) y(i, j) = top(i);
      },
      [=](const HostArray& x, int64_t i, int64_t) {
        Real top = at(x, i, 0);
        for (int64_t j = 1; j < width; ++j) top = std::max(top, at(x, i, j));
        return top + 2;
      }));
  out.push_back(whole_row(
      "part of a row", s,
      [=](const Tiles&, const T::Tile& x, const T::Tile& y) {
        const int64_t half = width / 2;
        T::fill(y, 7);
        for (auto [i, j] : T::Parallel(rows, half)) y(i, j) = x(i, j);
      },
      [=](const HostArray& x, int64_t i, int64_t j) { return j < width / 2 ? at(x, i, j) : Real(7); }));
  return out;
}

// x = 3 x + 1 in the tensor that it was read from.
Row in_place_row(const Shape& s) {
  HostArray x(T::f32, {s.rows, s.width});
  for (int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<Real>(i % 1000));
  return tensor_row(
      name_of("in place", s), {x},
      [s](const Tiles& t) {
        auto [b] = T::Kernel({T::ceildiv(s.rows, s.block_rows)});
        auto a = T::alloc_fragment({s.block_rows, s.width}, T::f32);
        T::copy(t[0](b * s.block_rows, 0), a);
        for (auto [i, j] : T::Parallel(s.block_rows, s.width)) a(i, j) = a(i, j) * 3 + 1;
        T::copy(a, t[0](b * s.block_rows, 0));
      },
      [](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < array(before, 0).size(); ++i) after[0].set(i, array(before, 0).get(i) * 3 + 1);
      });
}

// Columns of a wide tensor in blocks of two dimensions, where the next block lies to the right.
Row tiled_row(int64_t rows, int64_t cols, int64_t block_rows, int64_t block_cols) {
  const HostArray x = random_array(T::f32, {rows, cols}, 3);
  return tensor_row(
      fmt::format("blocks {}x{} of {}x{}", block_rows, block_cols, rows, cols), {x, HostArray(T::f32, {rows, cols})},
      [=](const Tiles& t) {
        auto [bx, by] = T::Kernel({T::ceildiv(cols, block_cols), T::ceildiv(rows, block_rows)});
        auto a = T::alloc_fragment({block_rows, block_cols}, T::f32);
        T::copy(t[0](by * block_rows, bx * block_cols), a);
        for (auto [i, j] : T::Parallel(block_rows, block_cols)) a(i, j) = -a(i, j);
        T::copy(a, t[1](by * block_rows, bx * block_cols));
      },
      [](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < array(before, 0).size(); ++i) after[1].set(i, -array(before, 0).get(i));
      });
}

// ---- rows that a loop of the author copies ----

// y[i] = the sum of X's rows i ... i + window - 1, which a loop copies into a tile of windows.
Row window_row(const Shape& s, int64_t window) {
  return tensor_row(
      name_of("windows", s), {random_array(T::f32, {s.rows, s.width}, 5), HostArray(T::f32, {s.rows, s.width})},
      [s, window](const Tiles& t) {
        auto [b] = T::Kernel({T::ceildiv(s.rows, s.block_rows)});
        auto x = T::alloc_fragment({s.block_rows, window, s.width}, T::f32);
        auto y = T::alloc_fragment({s.block_rows, s.width}, T::f32);
        for (auto r : T::serial(s.block_rows)) {
          const Expr first = b * s.block_rows + r;
          T::copy(t[0](T::slice(first, first + window), T::all), x(r, T::all, T::all));
        }
        T::reduce_sum(x, y, {.dim = 1});
        T::copy(y, t[1](b * s.block_rows, 0));
      },
      [s, window](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < s.rows; ++i) {
          for (int64_t j = 0; j < s.width; ++j) {
            Real sum = 0, magnitude = 0;
            for (int64_t k = i; k < std::min(i + window, s.rows); ++k) {
              const Real x = array(before, 0).get(k * s.width + j);
              sum += x;
              magnitude += std::abs(x);
            }
            after[1].set(i * s.width + j, sum, magnitude * static_cast<Real>(window) * unit_of(T::f32));
          }
        }
      });
}

// Y = 1, but in its first `part` columns X, which a loop copies row by row.
Row part_row(const Shape& s, int64_t part) {
  return tensor_row(
      name_of("parts", s) + fmt::format(" {}", part),
      {random_array(T::f32, {s.rows, part}, 6), HostArray(T::f32, {s.rows, s.width})},
      [s, part](const Tiles& t) {
        auto [b] = T::Kernel({T::ceildiv(s.rows, s.block_rows)});
        auto x = T::alloc_fragment({s.block_rows, s.width}, T::f32);
        T::fill(x, 1);
        for (auto r : T::serial(s.block_rows)) {
          T::copy(t[0](b * s.block_rows + r, T::slice(0, part)), x(r, T::slice(0, part)));
        }
        T::copy(x, t[1](b * s.block_rows, 0));
      },
      [s, part](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < s.rows; ++i) {
          for (int64_t j = 0; j < s.width; ++j)
            after[1].set(i * s.width + j, j < part ? array(before, 0).get(i * part + j) : 1);
        }
      });
}

// Y[i] = 2 X[I[i]], where I also names rows that X has not: zeros.
Row chosen_row(const Shape& s) {
  HostArray numbers(T::i32, {s.rows});
  for (int64_t i = 0; i < s.rows; ++i) numbers.set(i, static_cast<Real>(i * 7 % (s.rows + 4)));
  return tensor_row(
      name_of("chosen rows", s),
      {random_array(T::f32, {s.rows, s.width}, 7), numbers, HostArray(T::f32, {s.rows, s.width})},
      [s](const Tiles& t) {
        auto [b] = T::Kernel({T::ceildiv(s.rows, s.block_rows)});
        auto x = T::alloc_fragment({s.block_rows, s.width}, T::f32);
        for (auto r : T::serial(s.block_rows)) T::copy(t[0](t[1](b * s.block_rows + r), T::all), x(r, T::all));
        for (auto [i, j] : T::Parallel(s.block_rows, s.width)) x(i, j) = x(i, j) * 2;
        T::copy(x, t[2](b * s.block_rows, 0));
      },
      [s](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < s.rows; ++i) {
          const auto from = static_cast<int64_t>(array(before, 1).get(i));
          for (int64_t j = 0; j < s.width; ++j)
            after[2].set(i * s.width + j, from < s.rows ? 2 * array(before, 0).get(from * s.width + j) : 0);
        }
      });
}

// Y = A / sum(exp(X - max(X))) with rows of A and X of different lengths.
Row two_lengths_row(const Shape& s, int64_t longer) {
  return tensor_row(
      name_of("two lengths", s),
      {random_array(T::f32, {s.rows, s.width}, 8), random_array(T::f32, {s.rows, longer}, 9),
       HostArray(T::f32, {s.rows, s.width})},
      [s, longer](const Tiles& t) {
        auto [b] = T::Kernel({T::ceildiv(s.rows, s.block_rows)});
        auto a = T::alloc_fragment({s.block_rows, s.width}, T::f32);
        auto x = T::alloc_fragment({s.block_rows, longer}, T::f32);
        auto e = T::alloc_fragment({s.block_rows, longer}, T::f32);
        auto top = T::alloc_fragment({s.block_rows}, T::f32), sum = T::alloc_fragment({s.block_rows}, T::f32);
        T::copy(t[0](b * s.block_rows, 0), a);
        T::copy(t[1](b * s.block_rows, 0), x);
        T::reduce_max(x, top);
        for (auto [i, j] : T::Parallel(s.block_rows, longer)) e(i, j) = T::exp(x(i, j) - top(i));
        T::reduce_sum(e, sum);
        for (auto [i, j] : T::Parallel(s.block_rows, s.width)) a(i, j) = a(i, j) / sum(i);
        T::copy(a, t[2](b * s.block_rows, 0));
      },
      [s, longer](const Args& before, std::vector<Expected>& after) {
        const Real u = unit_of(T::f32);
        for (int64_t i = 0; i < s.rows; ++i) {
          Real top = -std::numeric_limits<Real>::infinity(), sum = 0, spread = 0;
          for (int64_t j = 0; j < longer; ++j) top = std::max(top, array(before, 1).get(i * longer + j));
          for (int64_t j = 0; j < longer; ++j) {
            const Real x = array(before, 1).get(i * longer + j);
            sum += std::exp(x - top);
            spread = std::max(spread, top - x);
          }
          for (int64_t j = 0; j < s.width; ++j) {
            const Real want = array(before, 0).get(i * s.width + j) / sum;
            after[2].set(i * s.width + j, want, std::abs(want) * (spread + static_cast<Real>(longer) + 6) * u);
          }
        }
      });
}

constexpr int64_t kWidths[] = {1, 2, 3, 31, 33, 95, 96, 97, 159, 160, 161, 1000};

}  // namespace

std::vector<Row> row_kernel_rows() {
  std::vector<Row> rows;
  for (const int64_t width : kWidths) {
    rows.push_back(softmax_row({.rows = 7, .width = width, .block_rows = 3}));
    rows.push_back(square_row({.rows = 11, .width = width, .block_rows = 4}, T::f32, T::f32));
  }
  rows.push_back(softmax_row({.rows = 5, .width = 97, .block_rows = 1}));
  rows.push_back(softmax_row({.rows = 7, .width = 97, .block_rows = 3}, {101, 1}));
  rows.push_back(softmax_row({.rows = 7, .width = 33, .block_rows = 3}, {70, 2}));
  rows.push_back(softmax_row({.rows = 7, .width = 33, .block_rows = 3}, {1, 9}));
  rows.push_back(square_row({.rows = 9, .width = 97, .block_rows = 4}, T::f16, T::f16));
  rows.push_back(square_row({.rows = 9, .width = 97, .block_rows = 4}, T::bf16, T::f32));
  rows.push_back(square_row({.rows = 9, .width = 97, .block_rows = 4}, T::i8, T::i8));
  rows.push_back(square_row({.rows = 9, .width = 33, .block_rows = 4}, T::i64, T::i64));
  for (const Shape& s : {Shape{2, 33, 2}, Shape{5, 97, 5}, Shape{16, 160, 16}}) {
    for (Row& row : crossing_rows(s)) rows.push_back(std::move(row));
  }
  for (const int64_t width : {1, 33, 160}) rows.push_back(in_place_row({.rows = 10, .width = width, .block_rows = 4}));
  rows.push_back(tiled_row(9, 70, 4, 32));
  rows.push_back(tiled_row(10, 33, 2, 33));
  for (const int64_t width : {33, 96, 160}) {
    rows.push_back(window_row({.rows = 13, .width = width, .block_rows = 4}, 3));
    rows.push_back(chosen_row({.rows = 10, .width = width, .block_rows = 4}));
  }
  rows.push_back(part_row({.rows = 9, .width = 256, .block_rows = 4}, 200));
  rows.push_back(part_row({.rows = 9, .width = 144, .block_rows = 4}, 137));
  rows.push_back(two_lengths_row({.rows = 9, .width = 256, .block_rows = 4}, 1024));
  rows.push_back(two_lengths_row({.rows = 9, .width = 150, .block_rows = 4}, 611));
  return rows;
}

}  // namespace tilewright::tests
