// fuse_rows, pad_rows and hoist_invariants by what they leave of a kernel.
#include "ir/print.h"
#include "ir/rewrite.h"
#include "passes/passes.h"

#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

namespace tilewright::tests {
namespace {

namespace T = tilewright::lang;

constexpr CpuTarget kTarget{.level = CpuLevel::avx512, .stream_bytes = int64_t(1) << 40};

// The kernel "k" that `body` makes over X, Y [rows, width] in one block, after the CPU's passes.
struct Lowered {
  Lowered(int64_t rows, int64_t width, const std::function<void(const T::Tile& X, const T::Tile& Y)>& body,
          const CpuTarget& target = kTarget) {
    const Program program = T::prim_func("k", [&] {
      auto X = T::tensor("X", {rows, width}, T::f32);
      auto Y = T::tensor("Y", {rows, width}, T::f32);
      body(X, Y);
    });
    std::vector<Remark> remarks;
    kernel = passes::cpu_pipeline(program.ir(), target, remarks).kernels[0];
    text = ir::print(kernel);
  }
  bool has(const std::string& part) const { return text.find(part) != std::string::npos; }
  int count(const std::string& part) const {
    int n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
  // Elements of storage of a tile.
  int64_t storage(const std::string& name) const {
    for (const ir::Tile& tile : kernel.tiles) {
      if (tile.name == name) return tile.layout->cosize();
    }
    return -1;
  }

  ir::Kernel kernel;
  std::string text;
};

// Copy in, double, copy out.
Lowered doubled(int64_t rows, int64_t width, int64_t block_rows, const CpuTarget& target = kTarget) {
  return Lowered(
      rows, width,
      [&](const T::Tile& X, const T::Tile& Y) {
        auto [b] = T::Kernel({T::ceildiv(rows, block_rows)});
        auto x = T::alloc_fragment({block_rows, width}, T::f32, "x");
        T::copy(X(b * block_rows, 0), x);
        for (auto [i, j] : T::Parallel(block_rows, width)) x(i, j) = x(i, j) * 2;
        T::copy(x, Y(b * block_rows, 0));
      },
      target);
}

TEST(FuseRows, CopiesAndNestsBecomeOneLoopOverOneRow) {
  const Lowered k = doubled(100, 96, 10);
  EXPECT_TRUE(k.has("for row in serial(0:10)")) << k.text;
  EXPECT_EQ(k.count("serial("), 1) << k.text;
  EXPECT_EQ(k.storage("x"), 96);
}

TEST(FuseRows, FetchesTheRowSomeRowsAhead) {
  const Lowered k = doubled(100, 96, 10);  // rows of 6 lines, 10 of them in 4 KiB
  EXPECT_EQ(k.count("cpu.prefetch"), 3) << k.text;
  EXPECT_TRUE(k.has("960")) << k.text;
}

TEST(FuseRows, FetchesNothingBelowABlockThatTheNextOneDoesNotContinue) {
  const Lowered k(64, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto [bx, by] = T::Kernel({3, 4});
    auto x = T::alloc_fragment({16, 32}, T::f32, "x");
    T::copy(X(by * 16, bx * 32), x);
    for (auto [i, j] : T::Parallel(16, 32)) x(i, j) = x(i, j) * 2;
    T::copy(x, Y(by * 16, bx * 32));
  });
  EXPECT_TRUE(k.has("for row in serial(0:16)")) << k.text;
  // 32 rows of 128 bytes ahead: never inside the block.
  EXPECT_FALSE(k.has("cpu.prefetch")) << k.text;
}

TEST(FuseRows, TheLastRowsOfABlockThatTheNextOneDoesNotContinueFetchNothing) {
  const Lowered k(256, 192, [&](const T::Tile& X, const T::Tile& Y) {
    auto [bx, by] = T::Kernel({2, 4});
    auto x = T::alloc_fragment({64, 96}, T::f32, "x");
    T::copy(X(by * 64, bx * 96), x);
    for (auto [i, j] : T::Parallel(64, 96)) x(i, j) = x(i, j) * 2;
    T::copy(x, Y(by * 64, bx * 96));
  });
  EXPECT_TRUE(k.has("select(row + 10 < 64, 1920, 0)") || k.has("select(row < 54, 1920, 0)")) << k.text;
}

TEST(FuseRows, ATileThatIsReadAcrossRowsStaysWhole) {
  const Lowered k(16, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 96}, T::f32, "x");
    auto y = T::alloc_fragment({16, 96}, T::f32, "y");
    T::copy(X, x);
    for (auto [i, j] : T::Parallel(16, 96)) y(i, j) = x(15 - i, j);
    T::copy(y, Y);
  });
  EXPECT_TRUE(k.has("for row in serial(0:16)")) << k.text;  // the nest and the copy out
  EXPECT_GE(k.storage("x"), 15 * 96);
  EXPECT_EQ(k.storage("y"), 96);
}

TEST(FuseRows, ATileThatALaterStatementReadsStaysWhole) {
  const Lowered k(16, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 96}, T::f32, "x");
    auto sum = T::alloc_fragment({96}, T::f32, "sum");
    T::copy(X, x);
    for (auto [i, j] : T::Parallel(16, 96)) x(i, j) = x(i, j) * 2;
    T::reduce_sum(x, sum, {.dim = 0});
    for (auto j : T::Parallel(96)) Y(0, j) = sum(j);
  });
  EXPECT_TRUE(k.has("for row in serial(0:16)")) << k.text;
  EXPECT_GE(k.storage("x"), 15 * 96);
}

TEST(FuseRows, ATensorThatIsReadAndWrittenIsNotReordered) {
  const Lowered k(16, 96, [&](const T::Tile& X, const T::Tile&) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 96}, T::f32, "x");
    T::copy(X, x);
    for (auto [i, j] : T::Parallel(16, 96)) x(i, j) = x(i, j) * 2;
    T::copy(x, X);
  });
  EXPECT_GE(k.storage("x"), 15 * 96);
}

TEST(FuseRows, StatementsThatShareNothingStayApart) {
  const Lowered k(16, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 96}, T::f32, "x");
    auto y = T::alloc_fragment({16, 96}, T::f32, "y");
    T::copy(X, x);
    T::copy(Y, y);
  });
  EXPECT_FALSE(k.has("for row")) << k.text;
}

TEST(FuseRows, ARowThatAnotherPassOfALoopReadsStays) {
  const Lowered k(16, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 96}, T::f32, "x");
    for (auto pass : T::serial(3)) {
      for (auto [i, j] : T::Parallel(16, 96)) x(i, j) = T::if_then_else(pass == 0, X(i, j), x(i, j) + 1);
      T::copy(x, Y);
    }
  });
  EXPECT_GE(k.storage("x"), 15 * 96);
}

TEST(PadRows, WholeRowsRunToAWholeVector) {
  EXPECT_TRUE(doubled(100, 187, 10).has("parallel(0:192)"));
  EXPECT_TRUE(doubled(100, 192, 10).has("parallel(0:192)"));
  const CpuTarget narrow{.level = CpuLevel::x86_64};
  EXPECT_TRUE(doubled(100, 187, 10, narrow).has("parallel(0:188)"));
}

TEST(PadRows, TensorsAndPartsOfRowsAreNotPadded) {
  const Lowered k(16, 187, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 187}, T::f32, "x");
    auto y = T::alloc_fragment({16, 250}, T::f32, "y");
    T::copy(X, x);
    for (auto [i, j] : T::Parallel(16, 187)) x(i, j) = x(i, j) * X(0, j);
    for (auto [i, j] : T::Parallel(16, 187)) y(i, j) = x(i, j);
    T::copy(x, Y);
  });
  EXPECT_EQ(k.count("parallel(0:187)"), 2) << k.text;
}

TEST(HoistInvariants, AQuotientOfARowIsComputedOnce) {
  const Lowered k(16, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 96}, T::f32, "x");
    auto sum = T::alloc_fragment({16}, T::f32, "sum");
    T::copy(X, x);
    T::reduce_sum(x, sum);
    for (auto [i, j] : T::Parallel(16, 96)) x(i, j) = x(i, j) * (1 / sum(i));
    T::copy(x, Y);
  });
  const size_t let = k.text.find("1.0 / sum"), nest = k.text.rfind("parallel(");
  ASSERT_NE(let, std::string::npos) << k.text;
  EXPECT_LT(let, nest) << k.text;
}

TEST(HoistInvariants, WhatTheNestWritesOrASelectGuardsStays) {
  const Lowered k(16, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 96}, T::f32, "x");
    auto s = T::alloc_fragment({16}, T::f32, "s");
    T::copy(X, x);
    T::reduce_max(x, s);
    for (auto [i, j] : T::Parallel(16, 96)) x(i, j) = x(i, 0) + T::if_then_else(j < 50, s(T::min(i + 1, 15)) / 3, 0);
    T::copy(x, Y);
  });
  EXPECT_FALSE(k.has("let")) << k.text;
}

TEST(LowerCpu, OnlyTensorsBeyondTheCacheAreStreamed) {
  // 100 x 96 floats are 38400 bytes.
  for (const int64_t least : {38400, 38401}) {
    const Lowered k = doubled(100, 96, 10, {.level = CpuLevel::avx512, .stream_bytes = least});
    EXPECT_EQ(k.has(", true)"), least == 38400) << k.text;
  }
}

}  // namespace
}  // namespace tilewright::tests
