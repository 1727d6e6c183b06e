// transpose, gather, and other names for the storage of tiles and tensors.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <cstring>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;
using T::Expr;

HostArray numbers(DType t, std::vector<int64_t> shape, uint64_t seed) {
  HostArray out(t, std::move(shape));
  out.fill_random(seed, is_unsigned(t) || is_boolean(t) ? 0 : -9, is_boolean(t) ? 1 : 9);
  return out;
}

// ---- transpose

// From global memory by way of a shared tile and a fragment, with a conversion on the way.
Row transpose_row(DType from, DType to, int64_t m, int64_t n) {
  return tensor_row(
      fmt::format("transpose {} x {} {} to {}", m, n, to_string(from), to_string(to)),
      {numbers(from, {m, n}, 7), HostArray(to, {n, m}), HostArray(to, {n, m})},
      [=](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto s = T::alloc_shared({m, n}, from);
        auto r = T::alloc_fragment({n, m}, to);
        T::copy(x[0], s);
        T::transpose(s, r);
        T::copy(r, x[1]);
        T::transpose(x[0], x[2]);
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            const Real v = cast_real(array(before, 0).get(i * n + j), from, to);
            after[1].set(j * m + i, v);
            after[2].set(j * m + i, v);
          }
        }
      });
}

// The last two dimensions of three; a part that hangs over both edges; a head address.
Row transpose_parts() {
  return tensor_row(
      "transpose of batches and of parts",
      {numbers(T::f32, {2, 3, 5}, 8), HostArray(T::f32, {2, 5, 3}), HostArray(T::f32, {6, 6}).fill_with({-1}),
       HostArray(T::f32, {4, 4})},
      [](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto s = T::alloc_shared({2, 3, 5}, T::f32);
        auto l = T::alloc_local({4, 6}, T::f32);
        T::copy(x[0], s);
        T::transpose(s, x[1]);
        // rows 1:5 and columns 2:8 of the last matrix, zero where there is none
        T::transpose(x[0](1, T::slice(1, 5), T::slice(2, 8)), x[2](0, 0));
        T::transpose(x[2](T::slice(0, 6), T::slice(0, 4)), l);
        T::copy(l(T::slice(0, 4), T::slice(2, 6)), x[3]);
      },
      [](const Args& before, std::vector<Expected>& after) {
        const HostArray& a = array(before, 0);
        for (int64_t b = 0; b < 2; ++b) {
          for (int64_t i = 0; i < 3; ++i) {
            for (int64_t j = 0; j < 5; ++j) after[1].set(b * 15 + j * 3 + i, a.at({b, i, j}));
          }
        }
        const auto part = [&](int64_t i, int64_t j) { return i + 1 < 3 && j + 2 < 5 ? a.at({1, i + 1, j + 2}) : 0; };
        for (int64_t i = 0; i < 4; ++i) {
          for (int64_t j = 0; j < 6; ++j) after[2].set(j * 6 + i, part(i, j));
          for (int64_t j = 2; j < 6; ++j) after[3].set(i * 4 + j - 2, part(i, j));
        }
      });
}

// ---- gather

// Rows by indices inside, before and behind the tensor.
Row gather_row(DType index, DType from, DType to) {
  HostArray rows(index, {6});
  rows.fill_with({3, 0, 4, 9, is_unsigned(index) ? Real(200) : Real(-1), 3});
  return {.name = fmt::format("gather by {} {} to {}", to_string(index), to_string(from), to_string(to)),
          .declare = [=](const std::string& prefix) -> Kernels {
            const T::Tile table = declare_tensor(prefix + "table", numbers(from, {5, 7}, 9), 4);
            const T::Tile which = declare_tensor(prefix + "which", rows);
            const T::Tile out = declare_tensor(prefix + "out", HostArray(to, {6, 7}));
            const T::Tile part = declare_tensor(prefix + "part", HostArray(to, {3, 7}));
            return [=] {
              auto [b] = T::Kernel({2});
              auto s = T::alloc_shared({3}, index);
              auto r = T::alloc_fragment({3, 7}, to);
              T::copy(which(b * 3), s);
              T::gather(table, s, r);
              T::copy(r, out(b * 3, 0));
              T::if_(b == 0, [&] {
                auto t = T::alloc_shared({5, 7}, from);
                T::copy(table, t);
                T::gather(t(T::all, T::slice(2, 5)), s, part(0, 1));
              });
            };
          },
          .launches = {{numbers(from, {5, 7}, 9), rows, HostArray(to, {6, 7}), HostArray(to, {3, 7})}},
          .reference =
              [=](const Args& before, std::vector<Expected>& after) {
                for (int64_t i = 0; i < 6; ++i) {
                  const auto row = static_cast<int64_t>(array(before, 1).get(i));
                  for (int64_t j = 0; j < 7; ++j) {
                    const Real v = row >= 0 && row < 5 ? array(before, 0).at({row, j}) : 4;
                    after[2].set(i * 7 + j, cast_real(v, from, to));
                    if (i < 3 && j >= 2 && j < 5) after[3].set(i * 7 + j - 1, cast_real(v, from, to));
                  }
                }
              }};
}

Row gather_vector() {
  return tensor_row(
      "gather of a vector, with a vector that is a column",
      {numbers(T::f32, {9}, 10), HostArray(T::i32, {4, 2}).fill_with({8, 0, 7, 1, 2, 3, 9, 4}), HostArray(T::f32, {4})},
      [](const Tiles& x) {
        auto [b] = T::Kernel({1});
        T::gather(x[0], x[1](T::all, 0), x[2]);
      },
      [](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 4; ++i) {
          const auto row = static_cast<int64_t>(array(before, 1).at({i, 0}));
          after[2].set(i, row < 9 ? array(before, 0).get(row) : 0);
        }
      });
}

// ---- views

// The bytes of an element, and an element from bytes.
std::vector<std::byte> bytes_of_elements(const HostArray& a) {
  HostArray copy(a.dtype(), a.shape());
  for (int64_t i = 0; i < a.size(); ++i) copy.set(i, a.get(i));
  const auto* data = static_cast<const std::byte*>(copy.view().data);
  return {data, data + a.size() * bytes_of(a.dtype())};
}

std::vector<Real> elements_of_bytes(const std::vector<std::byte>& bytes, DType t) {
  HostArray out(t, {static_cast<int64_t>(bytes.size()) / bytes_of(t)});
  std::memcpy(out.view().data, bytes.data(), bytes.size());
  return out.values();
}

enum class Space { shared, fragment, local };

T::Tile allocate(Space space, const T::Shape& shape, DType t) {
  return space == Space::shared     ? T::alloc_shared(shape, t)
         : space == Space::fragment ? T::alloc_fragment(shape, t)
                                    : T::alloc_local(shape, t);
}

// Written as [6, 20], read as [8, 15]; then written as [2, 60] by elements and read as [6, 20] again.
Row reshape_row(DType t, Space space) {
  return tensor_row(
      fmt::format("reshape {} {}", to_string(t), static_cast<int>(space)),
      {numbers(t, {6, 20}, 11), HostArray(t, {8, 15}), HostArray(t, {6, 20})},
      [=](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto s = allocate(space, {6, 20}, t);
        T::copy(x[0], s);
        auto wide = T::reshape(s, {8, 15});
        T::copy(wide, x[1]);
        auto flat = T::reshape(wide, {2, 60});
        for (auto i : T::serial(2)) {
          for (auto j : T::serial(10, 15)) flat(i, j) = i * 5 + j;
        }
        T::copy(s, x[2]);
      },
      [t](const Args& before, std::vector<Expected>& after) {
        for (int64_t k = 0; k < 120; ++k) {
          const Real v = array(before, 0).get(k);
          after[1].set(k, v);
          const int64_t i = k / 60, j = k % 60;
          after[2].set(k, j >= 10 && j < 15 ? cast_real(Real(i * 5 + j), T::i64, t) : v);
        }
      });
}

// Bits written as one dtype and read as another, on chip and in global memory, both ways.
Row view_row(DType from, DType to, Space space) {
  const int64_t n = 48, m = n * bytes_of(from) / bytes_of(to);
  HostArray source = numbers(from, {n}, 12);
  if (is_float(from)) source.set(3, 0.1L), source.set(4, -1e-3L);
  HostArray other = numbers(to, {m}, 13);
  return tensor_row(
      fmt::format("view {} as {} {}", to_string(from), to_string(to), static_cast<int>(space)),
      {source, HostArray(to, {m}), other, HostArray(from, {n}), HostArray(to, {m}), HostArray(from, {n})},
      [=](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto s = allocate(space, {2, n / 2}, from);
        auto v = T::view(s, {m}, to);
        T::copy(T::reshape(x[0], {2, n / 2}), s);
        T::copy(v, x[1]);
        for (auto i : T::serial(m)) v(i) = x[2](i);
        T::copy(T::reshape(s, {n}), x[3]);
        T::copy(T::view(x[0], {m}, to), x[4]);
        auto back = T::view(x[5], {m}, to);
        for (auto i : T::Parallel(m)) back(i) = x[2](i);
      },
      [=](const Args& before, std::vector<Expected>& after) {
        const std::vector<Real> as_to = elements_of_bytes(bytes_of_elements(array(before, 0)), to);
        const std::vector<Real> as_from = elements_of_bytes(bytes_of_elements(array(before, 2)), from);
        for (int64_t i = 0; i < m; ++i) after[1].set(i, as_to[size_t(i)]), after[4].set(i, as_to[size_t(i)]);
        for (int64_t i = 0; i < n; ++i) after[3].set(i, as_from[size_t(i)]), after[5].set(i, as_from[size_t(i)]);
      });
}

// Three dtypes on one tile, of which the narrow ones are written in part.
Row three_dtypes() {
  return tensor_row(
      "views of three dtypes",
      {HostArray(T::u32, {5}).fill_with({0x01020304, 0xfffefdfc, 7, 0x80000001, 9}), HostArray(T::u32, {5}),
       HostArray(T::u16, {10}), HostArray(T::u8, {20})},
      [](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto s = T::alloc_shared({5}, T::u32);
        auto h = T::view(s, {10}, T::u16), q = T::view(h, {20}, T::u8);
        T::copy(x[0], s);
        h(3) = 0x1234;
        q(0) = 0xff;
        q(19) = 0x7f;
        T::copy(s, x[1]);
        T::copy(h, x[2]);
        T::copy(q, x[3]);
      },
      [](const Args&, std::vector<Expected>& after) {
        const std::vector<uint32_t> words = {0x010203ff, 0x1234fdfc, 7, 0x80000001, 0x7f000009};
        for (int64_t i = 0; i < 5; ++i) after[1].set(i, words[size_t(i)]);
        for (int64_t i = 0; i < 10; ++i) after[2].set(i, words[size_t(i / 2)] >> (16 * (i % 2)) & 0xffff);
        for (int64_t i = 0; i < 20; ++i) after[3].set(i, words[size_t(i / 4)] >> (8 * (i % 4)) & 0xff);
      });
}

// gemm, reductions, transposition and atomics by way of views; copies whose rows are no whole vectors.
Row views_in_operations() {
  const int64_t m = 5, n = 9, k = 7;
  return tensor_row(
      "operations on views",
      {numbers(T::f32, {m * k}, 14), numbers(T::f32, {k, n}, 15), HostArray(T::f32, {m, n}), HostArray(T::f32, {n, m}),
       HostArray(T::f32, {m}), HostArray(T::i32, {3})},
      [=](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto a = T::alloc_shared({m, k}, T::f32), w = T::alloc_shared({k * n}, T::f32);
        auto c = T::alloc_fragment({m * n}, T::f32), r = T::alloc_fragment({1, m, 1}, T::f32);
        auto matrix = T::reshape(c, {m, n});
        T::copy(x[0], T::reshape(a, {m * k}));
        T::copy(x[1], T::reshape(w, {k, n}));
        T::gemm(a, T::reshape(w, {k, n}), matrix, {.clear_accum = true});
        T::copy(c, T::reshape(x[2], {m * n}));
        T::transpose(matrix, x[3]);
        T::reduce_sum(matrix, T::reshape(r, {m}));
        T::copy(T::reshape(r, {m}), x[4]);
        auto counts = T::alloc_shared({3, 1}, T::i32);
        T::clear(counts);
        for (auto i : T::Parallel(10)) T::atomic_add(T::reshape(counts, {3})(i % 3), 1);
        T::copy(counts, T::reshape(x[5], {3, 1}));
      },
      [=](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < m; ++i) {
          Real row = 0, row_magnitude = 0;
          for (int64_t j = 0; j < n; ++j) {
            Real sum = 0, magnitude = 0;
            for (int64_t l = 0; l < k; ++l) {
              const Real p = array(before, 0).get(i * k + l) * array(before, 1).at({l, j});
              sum += p, magnitude += std::fabs(p);
            }
            const Real bound = (std::pow(1 + unit_of(T::f32), Real(k + 1)) - 1) * magnitude;
            after[2].set(i * n + j, sum, bound);
            after[3].set(j * m + i, sum, bound);
            row += sum, row_magnitude += magnitude;
          }
          after[4].set(i, row, (std::pow(1 + unit_of(T::f32), Real(k + 1 + n)) - 1) * row_magnitude);
        }
        for (int64_t i = 0; i < 3; ++i) after[5].set(i, i == 0 ? 4 : 3);
      });
}

// A copy into part of a view must not reach the neighbouring rows, whatever vectors it uses.
Row copies_into_views() {
  return tensor_row(
      "copies into views", {numbers(T::f32, {3, 5}, 16), HostArray(T::f32, {3, 2, 5}), HostArray(T::f32, {30})},
      [](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto s = T::alloc_shared({3, 2, 5}, T::f32);
        auto flat = T::reshape(s, {30});
        T::fill(s, 1);
        T::copy(x[0], s(T::all, 0, T::all));
        T::copy(s, x[1]);
        T::copy(x[0](2, T::all), flat(T::slice(10, 15)));
        T::copy(flat, x[2]);
      },
      [](const Args& before, std::vector<Expected>& after) {
        for (int64_t k = 0; k < 30; ++k) {
          const Real v = k / 5 % 2 == 0 ? array(before, 0).at({k / 10, k % 5}) : 1;
          after[1].set(k, v);
          after[2].set(k, k >= 10 && k < 15 ? array(before, 0).at({2, k - 10}) : v);
        }
      });
}

// A tile without dimensions, tiles without elements, and private tiles of a parallel loop.
Row small_views() {
  return tensor_row(
      "small and private views", {HostArray(T::f32, {8}), HostArray(T::u32, {8})},
      [](const Tiles& x) {
        auto [b] = T::Kernel({1});
        auto empty = T::alloc_shared({0, 3}, T::f32);
        T::fill(T::reshape(empty, {7, 0}), 1);
        auto one = T::alloc_local({1, 1}, T::f32);
        one(0, 0) = 1.5;
        auto none = T::reshape(one, T::Shape(std::vector<Expr>{}));
        x[0](7) = none();
        none() = 2;
        x[1](7) = T::view(one, {1}, T::u32)(0);
        auto pair = T::alloc_local({2}, T::f32);
        auto words = T::view(pair, {1, 2}, T::u32);
        words(0, 0) = 7;  // hidden by what the iterations have
        for (auto i : T::Parallel(7)) {
          pair(0) = i;
          pair(1) = -i;
          x[1](i) = words(0, 1);
          words(0, 0) = words(0, 1);
          x[0](i) = pair(0);
        }
      },
      [](const Args&, std::vector<Expected>& after) {
        const auto word = [](float f) {
          uint32_t w = 0;
          std::memcpy(&w, &f, 4);
          return Real(w);
        };
        for (int64_t i = 0; i < 7; ++i) {
          after[0].set(i, Real(-i));
          after[1].set(i, word(float(-i)));
        }
        after[0].set(7, 1.5L);
        after[1].set(7, word(2));
      });
}

// A tensor of an extent that only the launch knows, flat and in pairs.
Row dynamic_view() {
  const auto args = [](int64_t m) -> Args {
    return {numbers(T::f32, {m, 6}, 17), HostArray(T::f32, {m * 6}), HostArray(T::u32, {m * 3, 2})};
  };
  return {.name = "views of dynamic extents",
          .declare = [](const std::string& prefix) -> Kernels {
            auto m = T::dynamic(prefix + "m");
            auto a = T::tensor(prefix + "a", {m, 6}, T::f32);
            auto flat = T::tensor(prefix + "flat", {m * 6}, T::f32);
            auto bits = T::tensor(prefix + "bits", {m * 3, 2}, T::u32);
            return [=] {
              auto [b] = T::Kernel({T::ceildiv(m, 4)});
              auto s = T::alloc_shared({24}, T::f32);
              T::copy(T::reshape(a, {m * 6})(b * 24), s);
              T::copy(s, flat(b * 24));
              auto pairs = T::view(a, {m * 3, 2}, T::u32);
              for (auto [i, j] : T::Parallel(12, 2)) bits(b * 12 + i, j) = pairs(b * 12 + i, j) ^ 1;
            };
          },
          .launches = {args(9), args(4), args(1)},
          .reference =
              [](const Args& before, std::vector<Expected>& after) {
                const std::vector<Real> words = elements_of_bytes(bytes_of_elements(array(before, 0)), T::u32);
                for (int64_t k = 0; k < array(before, 0).size(); ++k) {
                  after[1].set(k, array(before, 0).get(k));
                  after[2].set(k, Real(uint32_t(words[size_t(k)]) ^ 1u));
                }
              }};
}

}  // namespace

std::vector<Row> transpose_rows() {
  std::vector<Row> rows;
  for (auto [m, n] : std::vector<std::pair<int64_t, int64_t>>{{8, 16}, {7, 5}, {1, 9}, {33, 1}, {0, 4}, {17, 40}}) {
    rows.push_back(transpose_row(T::f32, T::f32, m, n));
    rows.push_back(transpose_row(T::f16, T::f32, m, n));
    rows.push_back(transpose_row(T::f32, T::bf16, m, n));
  }
  for (DType t : {T::f64, T::i8, T::u16, T::i64, T::boolean}) rows.push_back(transpose_row(t, t, 6, 11));
  rows.push_back(transpose_parts());
  return rows;
}

std::vector<Row> gather_rows() {
  std::vector<Row> rows;
  for (DType index : {T::i32, T::i64, T::u8, T::u64, T::i8}) rows.push_back(gather_row(index, T::f32, T::f32));
  rows.push_back(gather_row(T::i32, T::f16, T::f32));
  rows.push_back(gather_row(T::i32, T::f32, T::bf16));
  rows.push_back(gather_row(T::i32, T::i32, T::i8));
  rows.push_back(gather_vector());
  return rows;
}

std::vector<Row> view_rows() {
  std::vector<Row> rows;
  for (DType t : {T::f32, T::f16, T::bf16, T::f64, T::i8, T::u32, T::boolean}) {
    for (Space space : {Space::shared, Space::fragment, Space::local}) rows.push_back(reshape_row(t, space));
  }
  const std::vector<std::pair<DType, DType>> kPairs = {
      {T::f32, T::u32}, {T::u32, T::f32}, {T::f32, T::f16},  {T::f16, T::f32}, {T::bf16, T::u16}, {T::u8, T::i8},
      {T::f64, T::i32}, {T::i8, T::i64},  {T::bf16, T::f16}, {T::f16, T::u8},  {T::u64, T::bf16}};
  for (const auto& [from, to] : kPairs) {
    for (Space space : {Space::shared, Space::local}) rows.push_back(view_row(from, to, space));
  }
  rows.push_back(three_dtypes());
  rows.push_back(views_in_operations());
  rows.push_back(copies_into_views());
  rows.push_back(small_views());
  rows.push_back(dynamic_view());
  return rows;
}

}  // namespace tilewright::tests
