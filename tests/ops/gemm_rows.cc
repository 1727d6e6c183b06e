// gemm over shapes, dtypes, transposes, accumulators and operand forms.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace tilewright::tests {

namespace {

using Tiles = std::vector<T::Tile>;

enum class Accum { keep, clear, first_step };

struct Product {
  int64_t m, n, k;
  DType in = T::f16;
  DType acc = T::f32;
  DType in_B = T::boolean;  // boolean: as `in`
  DType b() const { return in_B == T::boolean ? in : in_B; }
  bool transpose_A = false;
  bool transpose_B = false;
  Accum accum = Accum::clear;
  T::WarpPolicy policy = T::Square;
  int threads = 128;
  bool fragment_A = false;
};

// Bound of one element: K products and sums in the accumulator's arithmetic (at least f32) and one rounding to C.
Real product_bound(const Product& p, Real terms, Real magnitudes, Real result) {
  if (!is_float(p.acc)) return 0;
  const DType sums = p.acc == T::f64 ? T::f64 : T::f32;
  const Real out = p.acc == sums ? Real(0) : unit_of(p.acc) * std::fabs(result);
  return (terms + 2) * unit_of(sums) * magnitudes + out + subnormal_of(p.acc) / 2;
}

// C' = [C0 +] steps * op(A) op(B), with C0 in argument 2.
Reference product_reference(Product p, int steps) {
  return [=](const Args& before, std::vector<Expected>& after) {
    const HostArray &A = array(before, 0), &B = array(before, 1), &C = array(before, 2);
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        Real sum = p.accum == Accum::keep ? C.at({i, j}) : Real(0);
        Real magnitudes = std::fabs(sum);
        uint64_t wrapped = is_float(p.acc) ? 0 : bits_of_int(sum);
        for (int64_t k = 0; k < p.k; ++k) {
          const Real a = p.transpose_A ? A.at({k, i}) : A.at({i, k}), b = p.transpose_B ? B.at({j, k}) : B.at({k, j});
          sum += a * b * steps;
          magnitudes += std::fabs(a * b) * steps;
          if (!is_float(p.acc)) wrapped += bits_of_int(a) * bits_of_int(b) * static_cast<uint64_t>(steps);
        }
        const Real value = is_float(p.acc) ? sum : wrap_real(p.acc, wrapped);
        // Every further step of an accumulation rounds to C once more.
        const Real terms = static_cast<Real>(p.k * steps + (p.accum == Accum::keep ? 1 : 0));
        Real bound = product_bound(p, terms, magnitudes, value);
        if (is_float(p.acc) && p.acc != T::f64 && p.acc != T::f32) bound += unit_of(p.acc) * magnitudes * (steps - 1);
        after[2].set(i * p.n + j, value, bound);
      }
    }
  };
}

Row product_row(Product p) {
  const bool ints = !is_float(p.in);
  HostArray A(p.in, p.transpose_A ? std::vector{p.k, p.m} : std::vector{p.m, p.k});
  HostArray B(p.b(), p.transpose_B ? std::vector{p.n, p.k} : std::vector{p.k, p.n});
  HostArray C(p.acc, {p.m, p.n});
  A.fill_random(1, ints ? -100 : -1, ints ? 100 : 1);
  B.fill_random(2, ints ? -100 : -1, ints ? 100 : 1);
  C.fill_random(3, ints ? -1000 : -1, ints ? 1000 : 1);
  const int steps = p.accum == Accum::first_step ? 3 : 1;
  const std::string name =
      fmt::format("gemm {}x{}x{} {} {}->{} {}{} accum {} threads {}{}", p.m, p.n, p.k, to_string(p.in),
                  to_string(p.b()), to_string(p.acc), p.transpose_A ? "T" : "N", p.transpose_B ? "T" : "N",
                  static_cast<int>(p.accum), p.threads, p.fragment_A ? " A in fragment" : "");
  return tensor_row(
      name, {A, B, C},
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1}, {.threads = p.threads});
        const std::vector<T::Expr> a_shape(A.shape().begin(), A.shape().end());
        auto a = p.fragment_A ? T::alloc_fragment(a_shape, p.in) : T::alloc_shared(a_shape, p.in);
        auto b = T::alloc_shared(std::vector<T::Expr>(B.shape().begin(), B.shape().end()), p.b());
        auto c = T::alloc_fragment({p.m, p.n}, p.acc);
        T::copy(t[0], a);
        T::copy(t[1], b);
        T::copy(t[2], c);
        T::GemmOptions options{.transpose_A = p.transpose_A, .transpose_B = p.transpose_B, .policy = p.policy};
        if (p.accum == Accum::first_step) {
          for (auto step : T::serial(steps)) {
            options.clear_accum = step == 0;
            T::gemm(a, b, c, options);
          }
        } else {
          options.clear_accum = p.accum == Accum::clear;
          T::gemm(a, b, c, options);
        }
        T::copy(c, t[2]);
      },
      product_reference(p, steps));
}

void add_shapes(std::vector<Row>& rows) {
  constexpr int64_t kExtents[] = {0, 1, 2, 3, 7, 16, 17, 31, 33, 64, 100, 129};
  constexpr size_t kCount = std::size(kExtents);
  // Each extent in each position, with partners that differ from position to position; every transpose in turn.
  size_t turn = 0;
  for (size_t shift : {1, 5, 7}) {
    for (size_t i = 0; i < kCount; ++i, ++turn) {
      rows.push_back(product_row({.m = kExtents[i],
                                  .n = kExtents[(i * shift + 3) % kCount],
                                  .k = kExtents[(i * 5 + shift) % kCount],
                                  .in = turn % 3 == 0 ? T::f32 : T::f16,
                                  .transpose_A = turn % 2 == 1,
                                  .transpose_B = turn / 2 % 2 == 1,
                                  .accum = turn % 5 == 0 ? Accum::keep : Accum::clear}));
    }
  }
}

void add_dtypes(std::vector<Row>& rows) {
  struct Pair {
    DType in, acc, in_B = T::boolean;
  };
  for (const Pair d : {Pair{T::f32, T::f32},
                       {T::f16, T::f32},
                       {T::bf16, T::f32},
                       {T::f16, T::f16},
                       {T::bf16, T::bf16},
                       {T::f64, T::f64},
                       {T::i8, T::i32},
                       {T::u8, T::i32},
                       {T::i32, T::i32},
                       {T::f32, T::f64},
                       {T::i16, T::i64},
                       {T::tf32, T::f32},
                       {T::tf32, T::tf32},
                       {T::f8e4m3, T::f32},
                       {T::f8e5m2, T::f32},
                       {T::f8e4m3, T::f32, T::f8e5m2},
                       {T::f8e5m2, T::f32, T::f8e4m3},
                       {T::f8e4m3, T::f16},
                       {T::f8e4m3, T::f8e4m3},
                       {T::u8, T::i32, T::i8},
                       {T::i8, T::i32, T::u8}}) {
    for (const int transposes : {0, 1, 2, 3}) {
      rows.push_back(product_row({.m = 33,
                                  .n = 40,
                                  .k = 50,
                                  .in = d.in,
                                  .acc = d.acc,
                                  .in_B = d.in_B,
                                  .transpose_A = (transposes & 1) != 0,
                                  .transpose_B = (transposes & 2) != 0,
                                  .accum = static_cast<Accum>(transposes % 3)}));
    }
  }
}

// Slices of larger tiles as operands; a slice of C is updated, the rest stays.
Row slices_row(DType in) {
  HostArray A(in, {20, 30}), B(in, {30, 24}), C(T::f32, {20, 24});
  A.fill_random(4, -1, 1);
  B.fill_random(5, -1, 1);
  C.fill_random(6, -1, 1);
  return tensor_row(
      fmt::format("gemm slices {}", to_string(in)), {A, B, C},
      [=](const Tiles& t) {
        auto blocks = T::Kernel({1});
        auto a = T::alloc_shared({2, 20, 30}, in);
        auto b = T::alloc_shared({30, 24}, in);
        auto c = T::alloc_fragment({20, 24}, T::f32);
        T::clear(a);
        T::copy(t[0], a(1, T::all, T::all));
        T::copy(t[1], b);
        T::copy(t[2], c);
        T::gemm(a(1, T::slice(3, 14), T::slice(5, 22)), b(T::slice(5, 22), T::slice(2, 15)),
                c(T::slice(4, 15), T::slice(7, 20)));
        T::copy(c, t[2]);
      },
      [](const Args& before, std::vector<Expected>& after) {
        for (int64_t i = 0; i < 11; ++i) {
          for (int64_t j = 0; j < 13; ++j) {
            Real sum = array(before, 2).at({4 + i, 7 + j}), magnitudes = std::fabs(sum);
            for (int64_t k = 5; k < 22; ++k) {
              const Real term = array(before, 0).at({3 + i, k}) * array(before, 1).at({k, 2 + j});
              sum += term;
              magnitudes += std::fabs(term);
            }
            after[2].set((4 + i) * 24 + 7 + j, sum, 20 * unit_of(T::f32) * magnitudes);
          }
        }
      });
}

}  // namespace

std::vector<Row> gemm_rows() {
  std::vector<Row> rows;
  add_shapes(rows);
  add_dtypes(rows);
  rows.push_back(slices_row(T::f32));
  rows.push_back(slices_row(T::f16));
  for (const int threads : {1, 32, 96, 100, 256, 1024})
    rows.push_back(product_row({.m = 33, .n = 17, .k = 31, .threads = threads}));
  rows.push_back(product_row({.m = 64, .n = 64, .k = 64, .policy = T::FullRow}));
  rows.push_back(product_row({.m = 64, .n = 64, .k = 64, .policy = T::FullCol}));
  rows.push_back(product_row({.m = 17, .n = 33, .k = 65, .fragment_A = true}));
  rows.push_back(product_row({.m = 129, .n = 129, .k = 129, .in = T::f32}));
  return rows;
}

}  // namespace tilewright::tests
