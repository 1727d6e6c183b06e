// Layouts and fragments that authors give: whatever they are, results are those without them.
#include "reports/cases.h"

#include <functional>

namespace tilewright::tests {
namespace {

// -most to most, so that every order of summation gives the same.
HostArray whole_numbers(DType dtype, std::vector<int64_t> shape, int64_t most) {
  HostArray a(dtype, std::move(shape));
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, Real((i * i * 31 + i * 17) % (2 * most + 1) - most));
  return a;
}

using Annotate = std::function<void(const T::Tile& a, const T::Tile& b, const T::Tile& c)>;

// C = relu(A B), of 2 x 2 blocks with tails.
Program product(const Annotate& annotate, int stages = 3) {
  return T::prim_func("product", [&] {
    auto A = T::tensor("A", {100, 88}, T::f16), B = T::tensor("B", {88, 120}, T::f16);
    auto C = T::tensor("C", {100, 120}, T::f32);
    auto [bx, by] = T::Kernel({2, 2}, {.threads = 128});
    auto a = T::alloc_shared({64, 32}, T::f16, "a"), b = T::alloc_shared({32, 64}, T::f16, "b");
    auto c = T::alloc_fragment({64, 64}, T::f32, "c");
    annotate(a, b, c);
    T::clear(c);
    for (auto ko : T::Pipelined(3, {.num_stages = stages})) {
      T::copy(A(by * 64, ko * 32), a);
      T::copy(B(ko * 32, bx * 64), b);
      T::gemm(a, b, c);
    }
    for (auto [i, j] : T::Parallel(64, 64)) c(i, j) = T::max(c(i, j), 0);
    T::copy(c, C(by * 64, bx * 64));
  });
}

void expect_product(const Annotate& annotate, int stages = 3) {
  const Args args = {whole_numbers(T::f16, {100, 88}, 4), whole_numbers(T::f16, {88, 120}, 4),
                     HostArray(T::f32, {100, 120})};
  Expected want = exactly(array(args, 2));
  for (int64_t i = 0; i < 100; ++i) {
    for (int64_t j = 0; j < 120; ++j) {
      Real sum = 0;
      for (int64_t k = 0; k < 88; ++k) sum += array(args, 0).at({i, k}) * array(args, 1).at({k, j});
      want.set(i * 120 + j, std::max<Real>(sum, 0));
    }
  }
  expect_result(product(annotate, stages), args, 2, want);
}

TEST(LayoutCases, OperandsLieAsTheAuthorSays) {
  expect_product([](auto& a, auto& b, auto&) {
    T::annotate_layout(a, T::make_linear_layout(a));
    T::annotate_layout(b, T::make_linear_layout(b));
  });
  expect_product([](auto& a, auto& b, auto&) {
    T::annotate_layout(a, T::make_half_bank_swizzled_layout(a));
    T::annotate_layout(b, T::make_full_bank_swizzled_layout(b));
  });
  // Rows of 40 elements; and of 33, which no 16-byte access reads.
  expect_product([](auto& a, auto& b, auto&) {
    T::annotate_layout(a, T::make_padded_layout(a, 8));
    T::annotate_layout(b, T::make_padded_layout(b, 1));
  });
  // Rows that begin at multiples of 8 bytes only.
  expect_product([](auto& a, auto& b, auto&) {
    T::annotate_layout({{a, T::make_padded_layout(a, 4)}, {b, T::make_padded_layout(b, 4)}});
  });
  // Column by column, and with elements exchanged inside the pieces of 16 bytes.
  expect_product([](auto& a, auto& b, auto&) {
    T::annotate_layout(a, T::Layout({64, 32}, [](int64_t i, int64_t j) { return i + 64 * j; }));
    T::annotate_layout(b, T::Layout({32, 64}, [](int64_t i, int64_t j) { return 64 * i + (j ^ i % 4); }));
  });
}

// The stages of a pipeline begin at aligned places, whatever a tile takes.
TEST(LayoutCases, StagesOfAnyLayout) {
  for (int stages : {1, 2, 4}) {
    expect_product(
        [](auto& a, auto& b, auto&) {
          T::annotate_layout(a, T::Layout("(64,32):(56,1)"));
          T::annotate_layout(b, T::make_quarter_bank_swizzled_layout(b));
        },
        stages);
  }
}

TEST(LayoutCases, FragmentsAreHeldAsTheAuthorSays) {
  for (const auto& [m, n] : {std::pair(1, 4), std::pair(4, 1), std::pair(2, 2)}) {
    expect_product(
        [m = m, n = n](auto&, auto&, auto& c) { T::annotate_layout(c, T::make_mma_accumulator_fragment(c, m, n)); });
  }
  // No gemm leaves these.
  expect_product([](auto&, auto&, auto& c) {
    T::annotate_layout(c, T::Fragment({64, 64}, [](int64_t i, int64_t j) { return T::Held{i * 2 + j / 32, j % 32}; }));
  });
  expect_product([](auto&, auto&, auto& c) {
    T::annotate_layout(c, T::Fragment({64, 64}, [](int64_t i, int64_t j) { return T::Held{j, i}; }).replicate(2));
  });
}

// Rows are summed from a fragment of the author's, another one holds what each row adds to.
Program row_sums(const std::function<void(const T::Tile& x, const T::Tile& s)>& annotate) {
  return T::prim_func("row_sums", [&] {
    auto X = T::tensor("X", {12, 40}, T::f32), Y = T::tensor("Y", {12, 40}, T::f32);
    auto [bx] = T::Kernel({1}, {.threads = 64});
    auto x = T::alloc_fragment({12, 40}, T::f32, "x");
    auto s = T::alloc_fragment({12}, T::f32, "s");
    annotate(x, s);
    T::copy(X, x);
    T::reduce_sum(x, s, {.dim = 1});
    for (auto [i, j] : T::Parallel(12, 40)) x(i, j) = x(i, j) + s(i);
    T::copy(x, Y);
  });
}

void expect_row_sums(const std::function<void(const T::Tile& x, const T::Tile& s)>& annotate) {
  const Args args = {whole_numbers(T::f32, {12, 40}, 100), HostArray(T::f32, {12, 40})};
  Expected want = exactly(array(args, 1));
  for (int64_t i = 0; i < 12; ++i) {
    Real sum = 0;
    for (int64_t j = 0; j < 40; ++j) sum += array(args, 0).at({i, j});
    for (int64_t j = 0; j < 40; ++j) want.set(i * 40 + j, array(args, 0).at({i, j}) + sum);
  }
  expect_result(row_sums(annotate), args, 1, want);
}

TEST(LayoutCases, FragmentsOfRowsWithHolesAndReplicas) {
  // 8 lanes a row, 5 columns each; of the third round of rows only half are there.
  expect_row_sums([](auto& x, auto&) {
    T::annotate_layout(x, T::Fragment({12, 40}, [](int64_t i, int64_t j) {
                         return T::Held{i % 8 * 8 + j % 8, j / 8 + i / 8 * 5};
                       }));
  });
  // A row in the lanes of two warps, which no shuffle adds up.
  expect_row_sums([](auto& x, auto&) {
    T::annotate_layout(x, T::Fragment({12, 40},
                                      [](int64_t i, int64_t j) {
                                        return T::Held{j % 40, i};
                                      },
                                      {.num_threads = 64}));
  });
  expect_row_sums([](auto& x, auto& s) {
    T::annotate_layout(x, T::make_fully_replicated_layout_fragment(x));
    T::annotate_layout(s, T::make_fully_replicated_layout_fragment(s));
  });
  // One of the two is the author's, and does not fit what follows for the other.
  expect_row_sums([](auto&, auto& s) {
    T::annotate_layout(s, T::Fragment({12},
                                      [](int64_t i, int64_t replica) {
                                        return T::Held{i + 16 * replica, 0};
                                      },
                                      {.replicas = 4, .num_threads = 64}));
  });
}

// A view names elements in the order of rows, and bits of another dtype: the swizzle gives way to it.
TEST(LayoutCases, ViewsOfASwizzledTile) {
  static constexpr int64_t kRows = 16, kCols = 64;
  const Program p = T::prim_func("views", [] {
    auto A = T::tensor("A", {kRows, kCols}, T::f16);
    auto W = T::tensor("W", {kRows, kCols / 2}, T::u32);
    auto F = T::tensor("F", {kRows * kCols}, T::f16);
    auto [bx] = T::Kernel({1}, {.threads = 128});
    auto a = T::alloc_shared({kRows, kCols}, T::f16, "a");
    T::annotate_layout(a, T::make_swizzled_layout(a));
    auto words = T::view(a, {kRows, kCols / 2}, T::u32);
    auto flat = T::reshape(a, {kRows * kCols});
    T::copy(A, a);
    T::copy(words, W);
    T::copy(flat, F);
  });
  const Args args = {HostArray(T::f16, {kRows, kCols}).fill_random(3, -8, 8), HostArray(T::u32, {kRows, kCols / 2}),
                     HostArray(T::f16, {kRows * kCols})};
  Expected flat = exactly(array(args, 2));
  for (int64_t i = 0; i < kRows * kCols; ++i) flat.set(i, array(args, 0).get(i));
  expect_result(p, args, 2, flat);
  const CompiledKernel kernel = compile(p, {.target = "sim:sm_80"});
  ASSERT_EQ(kernel.remarks().size(), 1u) << kernel.report();
  EXPECT_EQ(kernel.remarks()[0].kind, "layout_ignored");
}

// A layout function that is far from rows: digits of several dimensions interleaved.
TEST(LayoutCases, InterleavedDigits) {
  const Program p = T::prim_func("interleaved", [] {
    auto A = T::tensor("A", {3, 8, 12}, T::i32), B = T::tensor("B", {12, 8, 3}, T::i32);
    auto [bx] = T::Kernel({1}, {.threads = 96});
    auto a = T::alloc_shared({3, 8, 12}, T::i32, "a");
    T::annotate_layout(a, T::Layout({3, 8, 12}, [](int64_t i, int64_t j, int64_t k) {
                         return i + 3 * (k % 4) + 12 * (j % 2) + 24 * (k / 4) + 72 * (j / 2);
                       }));
    T::copy(A, a);
    for (auto [k, j, i] : T::Parallel(12, 8, 3)) B(k, j, i) = a(i, j, k);
  });
  const Args args = {counted(T::i32, {3, 8, 12}), HostArray(T::i32, {12, 8, 3})};
  Expected want = exactly(array(args, 1));
  for (int64_t k = 0; k < 12; ++k) {
    for (int64_t j = 0; j < 8; ++j) {
      for (int64_t i = 0; i < 3; ++i) want.set((k * 8 + j) * 3 + i, Real((i * 8 + j) * 12 + k));
    }
  }
  expect_result(p, args, 1, want);
}

}  // namespace
}  // namespace tilewright::tests
