// Registers go to and from tensors in vectors where addresses are known to be their multiples, and only there.
#include "ir/print.h"
#include "passes/cuda_passes.h"

#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <string>

namespace tilewright::passes {
namespace {

namespace T = tilewright::lang;

// A copy through registers, and what the whole pipeline makes of it.
std::string lowered(int64_t rows, int64_t cols, DType from, DType to, CudaTarget target = {.sm = 80},
                    int64_t column = 0) {
  const Program program = T::prim_func("p", [&] {
    auto A = T::tensor("A", {rows, cols + column}, from), B = T::tensor("B", {rows, cols + column}, to);
    auto blocks = T::Kernel({1}, {.threads = 128});
    auto x = T::alloc_fragment({rows, cols}, T::f32, "x");
    T::copy(A(0, column), x);
    T::copy(x, B(0, column));
  });
  std::vector<Remark> remarks;
  return ir::print(cuda_pipeline(program.ir(), target, remarks));
}

int count(const std::string& text, const std::string& word) {
  int out = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++out;
  return out;
}

TEST(VectorizeAccesses, WholeVectorsOfFourFloats) {
  const std::string text = lowered(16, 128, T::f32, T::f32);
  EXPECT_EQ(count(text, "load_vector("), 1) << text;
  EXPECT_EQ(count(text, "store_vector("), 1) << text;
  EXPECT_EQ(count(text, "{count = 4}"), 2) << text;
}

TEST(VectorizeAccesses, NarrowElementsKeepTheCount) {
  // Four values of f32 are four elements of 2 and of 1 bytes.
  for (const DType narrow : {T::f16, T::bf16, T::f8e4m3, T::f8e5m2}) {
    const std::string text = lowered(16, 128, narrow, narrow);
    EXPECT_EQ(count(text, "load_vector("), 1) << text;
    EXPECT_EQ(count(text, "store_vector("), 1) << text;
  }
}

TEST(VectorizeAccesses, SeveralWhereOneWouldBeTooWide) {
  // Four f64 are 32 bytes.
  const std::string text = lowered(16, 128, T::f64, T::f32);
  EXPECT_EQ(count(text, "load_vector("), 2) << text;
  EXPECT_EQ(count(text, "store_vector("), 1) << text;
}

// What the pipeline makes of B = A * w + 1 along rows of a number of elements, with a name in the loop.
std::string with_names(int64_t cols, DType dtype, bool by_name) {
  const Program program = T::prim_func("p", [&] {
    auto A = T::tensor("A", {64, cols}, dtype), B = T::tensor("B", {64, cols}, dtype);
    auto W = T::tensor("W", {cols}, dtype);
    auto [b] = T::Kernel({16}, {.threads = 128});
    auto x = T::alloc_fragment({4, cols}, T::f32, "x");
    auto sum = T::alloc_fragment({4}, T::f32, "sum");
    T::copy(A(b * 4, 0), x);
    T::reduce_sum(x, sum);
    for (auto [i, j] : T::Parallel(4, cols)) {
      auto column = T::let(by_name ? j + 0 * i : T::Expr(j));
      auto w = T::let(T::cast(W(column), T::f32) * sum(i));
      x(i, j) = x(i, j) * w + 1;
    }
    T::copy(x, B(b * 4, 0));
  });
  std::vector<Remark> remarks;
  return ir::print(cuda_pipeline(program.ir(), {.sm = 80}, remarks));
}

TEST(VectorizeAccesses, BesideNamesAndThroughThem) {
  for (const bool by_name : {false, true}) {
    const std::string text = with_names(256, T::bf16, by_name);
    EXPECT_EQ(count(text, "load_vector("), 2) << text;
    EXPECT_EQ(count(text, "store_vector("), 1) << text;
    EXPECT_EQ(count(text, "count = 8"), 3) << text;
  }
}

// 1000 elements on 32 lanes: the last vector of some lanes is outside, as a whole.
TEST(VectorizeAccesses, BehindAConditionOnWholeVectors) {
  const std::string text = with_names(1000, T::f16, false);
  EXPECT_EQ(count(text, "load_vector("), 2) << text;
  EXPECT_EQ(count(text, "store_vector("), 1) << text;
  EXPECT_EQ(count(text, "count = 8"), 3) << text;
}

// What a block alone has passes L1 by; what all blocks read stays there.
TEST(VectorizeAccesses, SaysWhatIsReadOnce) {
  const std::string text = with_names(256, T::bf16, false);
  EXPECT_EQ(count(text, "once = true"), 1) << text;  // A; B is too small to leave L2 for it
}

TEST(VectorizeAccesses, NotWhereRowsBeginBetweenVectors) {
  EXPECT_EQ(count(lowered(16, 127, T::f32, T::f32), "_vector("), 0);
  EXPECT_EQ(count(lowered(16, 128, T::f32, T::f32, {.sm = 80}, 1), "_vector("), 0);
  EXPECT_EQ(count(lowered(16, 128, T::f32, T::f32, {.sm = 80}, 4), "_vector("), 2);
}

TEST(VectorizeAccesses, NotWhereTensorsMayBeginAnywhere) {
  EXPECT_EQ(count(lowered(16, 128, T::f32, T::f32, {.sm = 80, .aligned_tensors = false}), "_vector("), 0);
}

TEST(VectorizeAccesses, NotAcrossColumns) {
  const Program program = T::prim_func("p", [&] {
    auto A = T::tensor("A", {128, 16}, T::f32);
    auto B = T::tensor("B", {16, 128}, T::f32);
    auto blocks = T::Kernel({1}, {.threads = 128});
    auto x = T::alloc_fragment({16, 128}, T::f32, "x");
    for (auto [i, j] : T::Parallel(16, 128)) x(i, j) = A(j, i);
    T::copy(x, B);
  });
  std::vector<Remark> remarks;
  const std::string text = ir::print(cuda_pipeline(program.ir(), {.sm = 80}, remarks));
  EXPECT_EQ(count(text, "load_vector("), 0) << text;
  EXPECT_EQ(count(text, "store_vector("), 1) << text;
}

// An edge that may be outside is checked element by element.
// A vector is loaded whether or not the condition holds that keeps its elements inside.
TEST(VectorizeAccesses, NotUnderAConditionOfTheLoad) {
  const auto text_of = [](bool chosen) {
    const Program program = T::prim_func("p", [&] {
      auto A = T::tensor("A", {20, 128}, T::f32), B = T::tensor("B", {20, 128}, T::f32);
      auto [by] = T::Kernel({2}, {.threads = 128});
      auto x = T::alloc_fragment({16, 128}, T::f32, "x");
      T::clear(x);
      for (auto [i, j] : T::Parallel(16, 128)) {
        if (chosen)
          x(i, j) = T::if_then_else(by * 16 + i < 20, A(by * 16 + i, j), 0);
        else
          B(by * 16 + i, j) = x(i, j) + A(by * 16 + i, j);
      }
      T::copy(x, B(by * 16, 0));
    });
    std::vector<Remark> remarks;
    return ir::print(cuda_pipeline(program.ir(), {.sm = 80}, remarks));
  };
  const std::string select = text_of(true);
  EXPECT_EQ(count(select, "load_vector("), 0) << select;
  // Only where the whole nest is inside, in front of the branch that checks.
  const std::string stored = text_of(false);
  EXPECT_EQ(count(stored, "load_vector("), 1) << stored;
  EXPECT_LT(stored.find("load_vector("), stored.find("} else {")) << stored;
}

TEST(VectorizeAccesses, NotWhereAccessesAreChecked) {
  const Program program = T::prim_func("p", [&] {
    auto A = T::tensor("A", {12, 128}, T::f32);
    auto blocks = T::Kernel({1}, {.threads = 128});
    auto x = T::alloc_fragment({16, 128}, T::f32, "x");
    T::copy(A(0, 0), x);
    T::copy(x, A(0, 0));
  });
  std::vector<Remark> remarks;
  const std::string text = ir::print(cuda_pipeline(program.ir(), {.sm = 80}, remarks));
  EXPECT_EQ(count(text, "_vector("), 0) << text;
}

}  // namespace
}  // namespace tilewright::passes
