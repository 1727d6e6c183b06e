// Copies and products whose extents fit no instruction, pitches, and statements under conditions.
#include "reports/cases.h"

namespace tilewright::tests {
namespace {

// -most to most, so that every order of summation gives the same.
HostArray whole_numbers(DType dtype, std::vector<int64_t> shape, int64_t most) {
  HostArray a(dtype, std::move(shape));
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, Real((i * i * 13 + i * 29) % (2 * most + 1) - most));
  return a;
}

Expected product_of(const HostArray& a, const HostArray& b, const HostArray& like) {
  Expected want = exactly(like);
  const int64_t m = like.shape()[0], n = like.shape()[1], k = a.shape()[1];
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      Real sum = 0;
      for (int64_t x = 0; x < k; ++x) sum += a.at({i, x}) * b.at({x, j});
      want.set(i * n + j, sum);
    }
  }
  return want;
}

void expect_product(int64_t m, int64_t n, int64_t k, int64_t block_m, int64_t block_n, int64_t block_k, DType in) {
  const Program p = T::prim_func("product", [&] {
    auto A = T::tensor("A", {m, k}, in), B = T::tensor("B", {k, n}, in), C = T::tensor("C", {m, n}, T::f32);
    auto [bx, by] = T::Kernel({T::ceildiv(n, block_n), T::ceildiv(m, block_m)}, {.threads = 128});
    auto a = T::alloc_shared({block_m, block_k}, in), b = T::alloc_shared({block_k, block_n}, in);
    auto c = T::alloc_fragment({block_m, block_n}, T::f32);
    T::clear(c);
    for (auto ko : T::Pipelined(T::ceildiv(k, block_k), {.num_stages = 2})) {
      T::copy(A(by * block_m, ko * block_k), a);
      T::copy(B(ko * block_k, bx * block_n), b);
      T::gemm(a, b, c);
    }
    T::copy(c, C(by * block_m, bx * block_n));
  });
  const Args args = {whole_numbers(in, {m, k}, 4), whole_numbers(in, {k, n}, 4), HostArray(T::f32, {m, n})};
  expect_result(p, args, 2, product_of(array(args, 0), array(args, 1), array(args, 2)));
}

// All of K is summed, not the part of it that instructions of 16 take.
TEST(GemmCases, StepsOfKThatAreNoMultipleOfSixteen) {
  for (const int64_t block_k : {8, 24, 40}) expect_product(64, 64, 120, 64, 64, block_k, T::f16);
}

TEST(GemmCases, FewRows) {
  for (const int64_t block_m : {1, 4, 8}) {
    for (const DType in : {T::f16, T::f32}) expect_product(12, 40, 48, block_m, 32, 16, in);
  }
}

// 252 bytes are no whole number of 16-byte pieces.
TEST(CopyCases, AVectorOfSixtyThree) {
  const Program p = T::prim_func("vector", [] {
    auto A = T::tensor("A", {63}, T::f32), B = T::tensor("B", {63}, T::f32);
    auto [bx] = T::Kernel({1}, {.threads = 128});
    auto s = T::alloc_shared({63}, T::f32);
    T::copy(A, s);
    T::copy(s, B);
  });
  const Args args = {counted(T::f32, {63}), HostArray(T::f32, {63})};
  Expected want = exactly(array(args, 1));
  for (int64_t i = 0; i < 63; ++i) want.set(i, Real(i));
  expect_result(p, args, 1, want);
}

// The shared tile has more columns than what is copied; the rest keeps what it had.
TEST(CopyCases, ColumnsBehindWhatIsCopied) {
  static constexpr int64_t kRows = 24, kCols = 40, kPitch = 56;
  const Program p = T::prim_func("pitch", [] {
    auto A = T::tensor("A", {kRows, kCols}, T::f16), B = T::tensor("B", {kRows, kCols}, T::f16);
    auto W = T::tensor("W", {kRows, kPitch}, T::f16);
    auto [bx] = T::Kernel({1}, {.threads = 128});
    auto s = T::alloc_shared({kRows, kPitch}, T::f16);
    T::fill(s, -1);
    T::copy(A, s(T::all, T::slice(0, kCols)));
    T::copy(s(T::all, T::slice(0, kCols)), B);
    T::copy(s, W);
  });
  const Args args = {counted(T::f16, {kRows, kCols}), HostArray(T::f16, {kRows, kCols}),
                     HostArray(T::f16, {kRows, kPitch})};
  Expected narrow = exactly(array(args, 1)), wide = exactly(array(args, 2));
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kPitch; ++j) {
      if (j < kCols) narrow.set(i * kCols + j, Real(i * kCols + j));
      wide.set(i * kPitch + j, j < kCols ? Real(i * kCols + j) : -1);
    }
  }
  expect_result(p, args, 1, narrow);
  expect_result(p, args, 2, wide);
}

// A stage of 64 bytes: the second one must still begin where copies of 16 bytes may write.
TEST(CopyCases, TwoStagesOfAShortVector) {
  for (const int64_t elems : {8, 20, 32, 64}) {
    const Program p = T::prim_func("stages", [&] {
      auto A = T::tensor("A", {6, elems}, T::f16), B = T::tensor("B", {6, elems}, T::f16);
      auto [bx] = T::Kernel({1}, {.threads = 32});
      auto s = T::alloc_shared({elems}, T::f16);
      for (auto i : T::Pipelined(6, {.num_stages = 2})) {
        T::copy(A(i, 0), s);
        for (auto j : T::Parallel(elems)) B(i, j) = s(j) + 1;
      }
    });
    const Args args = {counted(T::f16, {6, elems}), HostArray(T::f16, {6, elems})};
    Expected want = exactly(array(args, 1));
    for (int64_t i = 0; i < 6 * elems; ++i) want.set(i, Real(i + 1));
    expect_result(p, args, 1, want);
  }
}

// Part of a tile by another shape and dtype, while an accumulator of the same bytes is not touched.
TEST(CopyCases, ScratchOverAnOperand) {
  static constexpr int64_t kM = 32, kK = 64;
  const Program p = T::prim_func("scratch", [] {
    auto A = T::tensor("A", {kM, kK}, T::f16), B = T::tensor("B", {kK, kM}, T::f16);
    auto C = T::tensor("C", {kM, kM}, T::f32);
    auto [bx] = T::Kernel({1}, {.threads = 128});
    auto a = T::alloc_shared({kM, kK}, T::f16), b = T::alloc_shared({kK, kM}, T::f16);
    auto c = T::alloc_fragment({kM, kM}, T::f32);
    T::annotate_layout(b, T::make_swizzled_layout(b));
    T::copy(A, a);
    T::copy(B, b);
    T::clear(c);
    T::gemm(a, b, c);
    auto scratch = T::view(a, {kM, kM}, T::f32);  // where the operand was
    T::copy(c, scratch);
    for (auto [i, j] : T::Parallel(kM, kM)) C(i, j) = scratch(j, i);
  });
  const Args args = {whole_numbers(T::f16, {kM, kK}, 4), whole_numbers(T::f16, {kK, kM}, 4),
                     HostArray(T::f32, {kM, kM})};
  const Expected product = product_of(array(args, 0), array(args, 1), array(args, 2));
  Expected want = exactly(array(args, 2));
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kM; ++j) want.set(i * kM + j, product.value[size_t(j * kM + i)]);
  }
  expect_result(p, args, 2, want);
}

// What one iteration writes under a condition on data, another reads behind it.
TEST(ConditionCases, WritesUnderAMask) {
  static constexpr int64_t kN = 96;
  const Program p = T::prim_func("mask", [] {
    auto Mask = T::tensor("Mask", {kN}, T::i32), X = T::tensor("X", {kN}, T::f32), Y = T::tensor("Y", {kN}, T::f32);
    auto [bx] = T::Kernel({1}, {.threads = kN});
    auto s = T::alloc_shared({kN}, T::f32);
    T::fill(s, -1);
    for (auto i : T::Parallel(kN)) {
      T::if_(Mask(i) != 0, [&] { s(i) = X(i); }).else_([&] { T::if_(i % 4 == 0, [&] { s(i) = 2 * X(i); }); });
    }
    for (auto i : T::Parallel(kN)) Y(i) = s(kN - 1 - i);
  });
  const Args args = {HostArray(T::i32, {kN}).fill_with({1, 0, 0, 1, 0}), counted(T::f32, {kN}),
                     HostArray(T::f32, {kN})};
  Expected want = exactly(array(args, 2));
  for (int64_t i = 0; i < kN; ++i) {
    const int64_t from = kN - 1 - i;
    want.set(i, array(args, 0).get(from) != 0 ? Real(from) : from % 4 == 0 ? Real(2 * from) : -1);
  }
  expect_result(p, args, 2, want);
}

// Blocks that take several tiles in turn, each a pipelined sum that a condition cuts short.
TEST(ConditionCases, AGuardInThePipelineOfAPersistentBlock) {
  static constexpr int64_t kTiles = 5, kSteps = 4;
  const Program p = T::prim_func("guard", [] {
    auto A = T::tensor("A", {kTiles * 32, kSteps * 32}, T::f16), B = T::tensor("B", {kSteps * 32, 32}, T::f16);
    auto C = T::tensor("C", {kTiles * 32, 32}, T::f32);
    auto [bx] = T::Kernel({2}, {.threads = 128});
    auto a = T::alloc_shared({32, 32}, T::f16), b = T::alloc_shared({32, 32}, T::f16);
    auto c = T::alloc_fragment({32, 32}, T::f32);
    for (auto t : T::serial(bx, kTiles, 2)) {
      T::clear(c);
      for (auto k : T::Pipelined(kSteps, {.num_stages = 2})) {
        T::if_(k < 2, [&] {
          T::copy(A(t * 32, k * 32), a);
          T::copy(B(k * 32, 0), b);
          T::gemm(a, b, c);
        });
      }
      T::copy(c, C(t * 32, 0));
    }
  });
  const Args args = {whole_numbers(T::f16, {kTiles * 32, kSteps * 32}, 4), whole_numbers(T::f16, {kSteps * 32, 32}, 4),
                     HostArray(T::f32, {kTiles * 32, 32})};
  Expected want = exactly(array(args, 2));
  for (int64_t i = 0; i < kTiles * 32; ++i) {
    for (int64_t j = 0; j < 32; ++j) {
      Real sum = 0;
      for (int64_t k = 0; k < 64; ++k) sum += array(args, 0).at({i, k}) * array(args, 1).at({k, j});
      want.set(i * 32 + j, sum);
    }
  }
  expect_result(p, args, 2, want);
}

// Steps of a product, dealt out to blocks without regard to tiles; each block adds what it has of one.
TEST(GemmCases, StepsDealtOutToBlocks) {
  static constexpr int64_t kTiles = 3, kSteps = 5, kBlocks = 4;  // 15 steps for 4 blocks
  const Program p = T::prim_func("stream_k", [] {
    auto A = T::tensor("A", {kTiles * 32, kSteps * 16}, T::f16), B = T::tensor("B", {kSteps * 16, 32}, T::f16);
    auto C = T::tensor("C", {kTiles * 32, 32}, T::f32);
    auto [bx] = T::Kernel({kBlocks}, {.threads = 128});
    auto a = T::alloc_shared({32, 16}, T::f16), b = T::alloc_shared({16, 32}, T::f16);
    auto c = T::alloc_fragment({32, 32}, T::f32);
    for (auto tile : T::serial(kTiles)) {
      T::clear(c);
      for (auto k : T::serial(kSteps)) {
        T::if_((tile * kSteps + k) * kBlocks / (kTiles * kSteps) == bx, [&] {
          T::copy(A(tile * 32, k * 16), a);
          T::copy(B(k * 16, 0), b);
          T::gemm(a, b, c);
        });
      }
      T::atomic_add(C(tile * 32, 0), c);
    }
  });
  const Args args = {whole_numbers(T::f16, {kTiles * 32, kSteps * 16}, 4), whole_numbers(T::f16, {kSteps * 16, 32}, 4),
                     HostArray(T::f32, {kTiles * 32, 32})};
  expect_result(p, args, 2, product_of(array(args, 0), array(args, 1), array(args, 2)));
}

}  // namespace
}  // namespace tilewright::tests
