// Atomics: of single elements in parallel and serial code, and of parts of tiles, on global and shared memory.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;
using T::Expr;

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
constexpr std::initializer_list<DType> kDTypes = {T::i32, T::u32, T::i64, T::u64, T::f16, T::bf16, T::f32, T::f64};
constexpr std::initializer_list<DType> kIntegers = {T::i32, T::u32, T::i64, T::u64};

// A sum in any order with one rounding for each addition, of terms that are elements of the dtype.
struct Sum {
  explicit Sum(DType t) : dtype(t) {}
  DType dtype;
  Real value = 0, magnitude = 0;
  int64_t terms = 0;

  Sum& add(Real x) {
    value += x;
    magnitude += std::fabs(x);
    ++terms;
    return *this;
  }
  void expect(Expected& e, int64_t at) const {
    if (!is_float(dtype)) {
      e.set(at, wrap_real(dtype, bits_of_int(value)));
      return;
    }
    e.set(at, value, (std::pow(1 + unit_of(dtype), Real(terms)) - 1) * magnitude + subnormal_of(dtype));
  }
};

HostArray numbers(DType t, std::vector<int64_t> shape, uint64_t seed) {
  HostArray out(t, std::move(shape));
  out.fill_random(seed, is_unsigned(t) ? 0 : -9, 9);
  return out;
}

// Four blocks add the rows of a matrix, each its part in a fragment of 3 x 17, to the same part of a tensor of 2 x 13
// that it hangs over.
Row add_tiles(DType t) {
  return tensor_row(
      fmt::format("atomic_add tiles of four blocks {}", to_string(t)),
      {numbers(t, {4, 3, 17}, 3), numbers(t, {2, 13}, 4)},
      [t](const Tiles& x) {
        auto [b] = T::Kernel({4});
        auto part = T::alloc_fragment({3, 17}, t);
        T::copy(x[0](b, 0, 0), part);
        T::atomic_add(x[1](0, 0), part, {.memory_order = "acq_rel"});
      },
      [t](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 2; ++i) {
          for (int64_t j = 0; j < 13; ++j) {
            Sum sum(t);
            sum.add(array(before, 1).at({i, j}));
            for (int64_t b = 0; b < 4; ++b) sum.add(array(before, 0).at({b, i, j}));
            sum.expect(after[1], i * 13 + j);
          }
        }
      });
}

// Every element of 5 blocks of 40 goes to one of 7 sums, first in shared memory, then in the tensor.
Row add_elements(DType t) {
  return tensor_row(
      fmt::format("atomic_add elements in Parallel {}", to_string(t)), {numbers(t, {200}, 5), numbers(t, {7}, 6)},
      [t](const Tiles& x) {
        auto [b] = T::Kernel({5});
        auto sums = T::alloc_shared({7}, t);
        T::clear(sums);
        for (auto i : T::Parallel(40)) T::atomic_add(sums(i * i % 7), x[0](b * 40 + i));
        for (auto i : T::Parallel(7)) T::atomic_add(x[1](i), sums(i), {.memory_order = "seq_cst"});
      },
      [t](const Args& before, std::vector<Expected>& after) {
        for (int64_t c = 0; c < 7; ++c) {
          Sum sum(t);
          sum.add(array(before, 1).get(c));
          for (int64_t k = 0; k < 200; ++k) {
            if ((k % 40) * (k % 40) % 7 == c) sum.add(array(before, 0).get(k));
          }
          sum.terms += 5;  // the additions of zeros and of the five parts
          sum.expect(after[1], c);
        }
      });
}

Real extreme(Real a, Real b, bool max) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return max ? std::max(a, b) : std::min(a, b);
}

Row extremes(DType t, bool max) {
  HostArray x = numbers(t, {60}, 8), y(t, {5});
  if (is_float(t)) {
    x.set(11, kNan), x.set(12, kInf), x.set(13, -kInf), x.set(14, -0.0L);
    y.fill_with({kNan, 0, -3.5L, kInf, -kInf});
  } else {
    x.set(11, t == T::u64 ? Real(~uint64_t(0)) : is_unsigned(t) ? Real(4e9) : Real(-2e9));
  }
  return tensor_row(
      fmt::format("atomic_{} {}", max ? "max" : "min", to_string(t)), {x, y, y, y},
      [=](const Tiles& a) {
        auto [b] = T::Kernel({6});
        auto s = T::alloc_shared({5}, t);
        T::copy(a[3], s);
        for (auto i : T::Parallel(10)) {
          const Expr v = a[0](b * 10 + i);
          max ? T::atomic_max(a[1](i % 5), v) : T::atomic_min(a[1](i % 5), v);
          max ? T::atomic_max(s(i % 5), v) : T::atomic_min(s(i % 5), v);
        }
        max ? T::atomic_max(a[2], s) : T::atomic_min(a[2], s);
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (int64_t c = 0; c < 5; ++c) {
          Real value = array(before, 1).get(c);
          for (int64_t k = c; k < 60; k += 5) value = extreme(value, array(before, 0).get(k), max);
          after[1].set(c, value);
          after[2].set(c, value);
        }
      });
}

// Bits that different blocks set, clear and flip.
Row bits(DType t) {
  return tensor_row(
      fmt::format("atomic_or and xor {}", to_string(t)), {HostArray(t, {3, 4}).fill_with({-1, 0, 12345, 77})},
      [t](const Tiles& x) {
        auto [b] = T::Kernel({8});
        auto s = T::alloc_shared({4}, t);
        T::fill(s, T::cast(-1, t));
        for (auto i : T::Parallel(4)) {
          const Expr bit = T::cast(1, t) << T::cast(b + i, t);
          T::atomic_and(s(i), bit | 1);
          T::atomic_or(x[0](0, i), bit);
          T::atomic_xor(x[0](1, i), bit);
        }
        T::atomic_and(x[0](2, T::slice(0, 4)), s);
      },
      [t](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 4; ++i) {
          uint64_t set = bits_of_int(array(before, 0).at({0, i})), flip = bits_of_int(array(before, 0).at({1, i}));
          uint64_t keep = bits_of_int(array(before, 0).at({2, i}));
          for (int64_t b = 0; b < 8; ++b) {
            set |= uint64_t(1) << (b + i);
            flip ^= uint64_t(1) << (b + i);
            keep &= (uint64_t(1) << (b + i)) | 1;
          }
          after[0].set(i, wrap_real(t, set));
          after[0].set(4 + i, wrap_real(t, flip));
          after[0].set(8 + i, wrap_real(t, keep));
        }
      });
}

// Each of 4 x 25 iterations draws a number of its own from a counter and marks it.
Row tickets(DType t) {
  return tensor_row(
      fmt::format("atomic_add return_prev {}", to_string(t)), {HostArray(t, {1}), HostArray(T::i32, {110})},
      [](const Tiles& x) {
        auto [b] = T::Kernel({4});
        for (auto i : T::Parallel(25)) {
          const Expr ticket = T::atomic_add(x[0](0), 1, {.return_prev = true});
          x[1](T::cast(ticket, T::i64)) = 1;
        }
      },
      [](const Args&, std::vector<Expected>& after) {
        after[0].set(0, 100);
        for (int64_t i = 0; i < 100; ++i) after[1].set(i, 1);
      });
}

// The values from before, in serial code: of every kind, in shared memory, in a tensor, and outside of it.
Row previous(DType t) {
  return tensor_row(
      fmt::format("previous values {}", to_string(t)), {HostArray(t, {4}).fill_with({5, 6, 7, 8}), HostArray(t, {12})},
      [t](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto s = T::alloc_shared({4}, t);
        T::copy(x[0], s);
        const T::AtomicOptions get{.return_prev = true};
        for (auto k : T::serial(2)) {
          x[1](k) = T::atomic_add(x[0](0), 2, get);
          x[1](2 + k) = T::atomic_max(s(1), k * 10, get);
          x[1](4 + k) = T::atomic_min(x[0](k + 3), 3, get);  // k = 1 is outside
        }
        T::atomic_store(s(2), 11);
        x[1](6) = T::atomic_load(s(2));
        T::atomic_store(x[0](2), T::atomic_load(s(2), "acquire") + 1, "release");
        x[1](7) = T::atomic_load(x[0](2), "relaxed");
        x[1](8) = T::atomic_load(x[0](-1));
        T::atomic_store(x[0](4), 99);
        x[1](9) = s(1);
      },
      [](const Args&, std::vector<Expected>& after) {
        after[0].set(0, 9), after[0].set(2, 12), after[0].set(3, 3);
        const std::vector<Real> got = {5, 7, 6, 6, 8, 0, 11, 12, 0, 10};
        for (size_t i = 0; i < got.size(); ++i) after[1].set(static_cast<int64_t>(i), got[i]);
      });
}

// Pairs and quadruples of neighbours, between global and shared memory.
Row neighbours(DType t) {
  const bool four = t == T::f32;
  return tensor_row(
      fmt::format("atomic_addx2{} {}", four ? " and x4" : "", to_string(t)),
      {numbers(t, {3, 8}, 31), numbers(t, {3, 8}, 32)},
      [=](const Tiles& x) {
        auto [b] = T::Kernel({2});
        auto s = T::alloc_shared({3, 8}, t);
        T::copy(x[0], s);
        for (auto [i, j] : T::Parallel(3, 4)) T::atomic_addx2(x[1](i, j * 2), s(i, j * 2));
        if (!four) return;
        for (auto [i, j] : T::Parallel(3, 2)) T::atomic_addx4(x[1](i, j * 4), x[0](i, j * 4));
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (int64_t k = 0; k < 24; ++k) {
          Sum sum(t);
          sum.add(array(before, 1).get(k));
          for (int n = 0; n < (four ? 4 : 2); ++n) sum.add(array(before, 0).get(k));
          sum.expect(after[1], k);
        }
      });
}

// One number for all elements of a part, a number that the dtype does not represent as such, and nothing to do.
Row one_value(DType t) {
  return tensor_row(
      fmt::format("one value for a part {}", to_string(t)), {numbers(t, {5, 6}, 41), HostArray(t, {0, 4})},
      [](const Tiles& x) {
        auto [b] = T::Kernel({3});
        T::atomic_add(x[0](T::slice(1, 3), T::slice(2, 9)), b + 1);
        T::atomic_max(x[0](4, 0), 42.0);
        T::atomic_add(x[1], 1);
        auto s = T::alloc_shared({0, 4}, T::f32);
        T::atomic_add(x[0](T::slice(0, 0), T::slice(0, 4)), s);
      },
      [t](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 1; i < 3; ++i) {
          for (int64_t j = 2; j < 6; ++j) {
            Sum sum(t);
            sum.add(array(before, 0).at({i, j})).add(1).add(2).add(3);
            sum.expect(after[0], i * 6 + j);
          }
        }
        after[0].set(24, 42);
      });
}

// A whole rank-0 tensor, and f32 products into 16 bits: the value is rounded before it is added.
Row scalar_tensor() {
  return tensor_row(
      "a tensor without dimensions", {HostArray(T::i64, {}), HostArray(T::f16, {2}).fill_with({2048, 1})},
      [](const Tiles& x) {
        auto [b] = T::Kernel({7});
        T::atomic_add(x[0](), b);
        for (auto i : T::serial(2)) T::if_(b == 0, [&] { T::atomic_add(x[1](i), T::cast(1.0 / 3, T::f32)); });
      },
      [](const Args&, std::vector<Expected>& after) {
        after[0].set(0, 21);
        const Real third = round_real(T::f16, round_real(T::f32, Real(1) / 3));
        after[1].set(0, round_real(T::f16, 2048 + third));
        after[1].set(1, round_real(T::f16, 1 + third));
      });
}

// A read depends on the atomic of the same iteration before it, whatever overlaps.
Row reads_between() {
  return tensor_row(
      "reads between atomics of a pipelined loop", {HostArray(T::i32, {1}), HostArray(T::i32, {6})},
      [](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto s = T::alloc_shared({2}, T::i32);
        T::clear(s);
        for (auto k : T::Pipelined(6, {.num_stages = 3})) {
          T::atomic_add(x[0](0), k);
          T::atomic_add(s(k % 2), x[0](0));
          s((k + 1) % 2) = s(k % 2) * 2;
          x[1](k) = s((k + 1) % 2) + x[0](0);
        }
      },
      [](const Args&, std::vector<Expected>& after) {
        int sum = 0, s[2] = {};
        for (int k = 0; k < 6; ++k) {
          sum += k;
          s[k % 2] += sum;
          s[(k + 1) % 2] = s[k % 2] * 2;
          after[1].set(k, s[(k + 1) % 2] + sum);
        }
        after[0].set(0, sum);
      });
}

}  // namespace

std::vector<Row> atomic_rows() {
  std::vector<Row> rows;
  for (DType t : kDTypes) {
    rows.push_back(add_tiles(t));
    rows.push_back(add_elements(t));
    rows.push_back(extremes(t, true));
    rows.push_back(extremes(t, false));
    rows.push_back(previous(t));
    rows.push_back(one_value(t));
    if (bytes_of(t) > 2) rows.push_back(tickets(t));
  }
  for (DType t : kIntegers) rows.push_back(bits(t));
  for (DType t : {T::f16, T::bf16, T::f32}) rows.push_back(neighbours(t));
  rows.push_back(scalar_tensor());
  rows.push_back(reads_between());
  return rows;
}

}  // namespace tilewright::tests
