// Products of unusual extents and dtypes, and transpositions.
#include "reports/cases.h"

namespace tilewright::tests {
namespace {

// C = A B over k, with what C held before where `accumulate`.
Program product(int64_t m, int64_t n, int64_t k, DType in, DType out, int64_t block_m, int64_t block_n, int64_t block_k,
                bool accumulate) {
  return T::prim_func("product", [&] {
    auto A = T::tensor("A", {m, k}, in);
    auto B = T::tensor("B", {k, n}, in);
    auto C = T::tensor("C", {m, n}, out);
    auto [bx, by] = T::Kernel({T::ceildiv(n, block_n), T::ceildiv(m, block_m)}, {.threads = 128});
    auto a = T::alloc_shared({block_m, block_k}, in);
    auto b = T::alloc_shared({block_k, block_n}, in);
    auto c = T::alloc_fragment({block_m, block_n}, out);
    if (accumulate)
      T::copy(C(by * block_m, bx * block_n), c);
    else
      T::clear(c);
    for (auto ko : T::Pipelined(T::ceildiv(k, block_k), {.num_stages = 2})) {
      T::copy(A(by * block_m, ko * block_k), a);
      T::copy(B(ko * block_k, bx * block_n), b);
      T::gemm(a, b, c);
    }
    T::copy(c, C(by * block_m, bx * block_n));
  });
}

TEST(GemmCases, NoTermsGiveZeros) {
  const Args args = {HostArray(T::f16, {512, 0}), HostArray(T::f16, {0, 1024}),
                     HostArray(T::f32, {512, 1024}).fill_random(1, -1, 1)};
  expect_result(product(512, 1024, 0, T::f16, T::f32, 128, 128, 32, false), args, 2, exactly(array(args, 2)));
}

// The same where the tiles on chip have no elements, and the sum begins with what was there.
TEST(GemmCases, TilesWithoutTermsLeaveTheAccumulator) {
  const Program p = T::prim_func("empty", [] {
    auto C = T::tensor("C", {48, 40}, T::f32);
    auto D = T::tensor("D", {48, 40}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto a = T::alloc_shared({48, 0}, T::f16);
    auto b = T::alloc_shared({0, 40}, T::f16);
    auto c = T::alloc_fragment({48, 40}, T::f32);
    T::clear(a);
    T::clear(b);
    T::copy(C, c);
    T::gemm(a, b, c);
    T::copy(c, D);
  });
  const Args args = {HostArray(T::f32, {48, 40}).fill_random(3, -2, 2), HostArray(T::f32, {48, 40})};
  Expected want = exactly(array(args, 1));
  for (int64_t i = 0; i < 48 * 40; ++i) want.set(i, array(args, 0).get(i));
  expect_result(p, args, 1, want);
}

TEST(GemmCases, BytesIntoAnAccumulatorOfAnyRows) {
  static constexpr int64_t kM = 97, kN = 40, kK = 75;
  for (const int64_t block_m : {32, 33, 96}) {
    const Args args = {HostArray(T::i8, {kM, kK}).fill_random(1, -128, 127),
                       HostArray(T::i8, {kK, kN}).fill_random(2, -128, 127),
                       HostArray(T::i32, {kM, kN}).fill_random(3, -1000, 1000)};
    Expected want = exactly(array(args, 2));
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        Real sum = array(args, 2).at({i, j});
        for (int64_t k = 0; k < kK; ++k) sum += array(args, 0).at({i, k}) * array(args, 1).at({k, j});
        want.set(i * kN + j, sum);
      }
    }
    expect_result(product(kM, kN, kK, T::i8, T::i32, block_m, 24, 32, true), args, 2, want);
  }
}

TEST(TransposeCases, OnlyTheLastTwoOfThreeDimensions) {
  static constexpr int64_t kA = 3, kM = 5, kN = 12;
  const Program p = T::prim_func("transposed", [] {
    auto A = T::tensor("A", {kA, kM, kN}, T::f32);
    auto B = T::tensor("B", {kA, kN, kM}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto a = T::alloc_shared({kA, kM, kN}, T::f32);
    auto b = T::alloc_fragment({kA, kN, kM}, T::f32);
    T::copy(A, a);
    T::transpose(a, b);
    T::copy(b, B);
  });
  const Args args = {counted(T::f32, {kA, kM, kN}), HostArray(T::f32, {kA, kN, kM})};
  Expected want = exactly(array(args, 1));
  for (int64_t a = 0; a < kA; ++a) {
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) want.set((a * kN + j) * kM + i, Real((a * kM + i) * kN + j));
    }
  }
  expect_result(p, args, 1, want);
}

}  // namespace
}  // namespace tilewright::tests
