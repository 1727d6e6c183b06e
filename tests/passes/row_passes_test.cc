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
  EXPECT_EQ(k.count("for row in serial("), 1) << k.text;
  EXPECT_EQ(k.count("serial("), 1) << k.text;
  EXPECT_EQ(k.storage("x"), 96);
  EXPECT_TRUE(k.has("cpu.row_tile")) << k.text;
}

// Sums of the rows of [rows, width] in blocks of block_rows x block_cols.
Lowered summed(int64_t rows, int64_t width, int64_t block_rows, int64_t block_cols) {
  return Lowered(rows, width, [&](const T::Tile& X, const T::Tile& Y) {
    auto [bx, by] = T::Kernel({T::ceildiv(width, block_cols), T::ceildiv(rows, block_rows)});
    auto x = T::alloc_fragment({block_rows, block_cols}, T::f32, "x");
    auto sum = T::alloc_fragment({block_rows}, T::f32, "sum");
    T::copy(X(by * block_rows, bx * block_cols), x);
    T::reduce_sum(x, sum);
    for (auto i : T::Parallel(block_rows)) Y(by * block_rows + i, bx) = sum(i);
  });
}

TEST(FuseRows, ReadsAheadWhereNothingIsWritten) {
  const Lowered k(100, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto [b] = T::Kernel({10});
    auto x = T::alloc_fragment({10, 96}, T::f32, "x");
    auto sum = T::alloc_fragment({10}, T::f32, "sum");
    T::copy(X(b * 10, 0), x);
    T::reduce_sum(x, sum);
    for (auto i : T::Parallel(10)) Y(b, i) = sum(i);
  });
  EXPECT_EQ(k.count("cpu.prefetch"), 1) << k.text;
  EXPECT_TRUE(k.has("; 960)")) << k.text;  // ten rows of 384 bytes in 4 KiB
  EXPECT_FALSE(doubled(100, 96, 10).has("cpu.prefetch"));
}

TEST(FuseRows, ReadsNothingAheadBelowABlockThatTheNextOneDoesNotContinue) {
  // Sixteen rows, of which 32 are in 4 KiB.
  EXPECT_FALSE(summed(64, 96, 16, 32).has("cpu.prefetch"));
  // Ten rows ahead: not for the last ten of a block.
  const Lowered k = summed(256, 192, 64, 96);
  EXPECT_TRUE(k.has("select(row + 10 < 64, 1920, 0)") || k.has("select(row < 54, 1920, 0)")) << k.text;
}

TEST(FuseRows, EndsWithTheTensorsWhereRowsOutsideLeaveNoTrace) {
  const Lowered k = doubled(101, 96, 10);
  EXPECT_TRUE(k.has("serial(0:+min(10, 101 - bx * 10))") || k.has("serial(0:+min(101 - bx * 10, 10))") ||
              k.has("serial(0:min(101 - bx * 10, 10))"))
      << k.text;
  EXPECT_TRUE(summed(101, 96, 10, 96).has("row in serial(0:10)"));
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

TEST(FuseRows, ATileOfWhichAnAtomicUpdatesAnElementStaysWhole) {
  const auto doubled_and = [](bool atomic) {
    return Lowered(16, 96, [&](const T::Tile& X, const T::Tile& Y) {
      auto blocks = T::Kernel({1});
      auto x = T::alloc_shared({16, 96}, T::f32, "x");
      T::copy(X, x);
      for (auto [i, j] : T::Parallel(16, 96)) x(i, j) = x(i, j) * 2;
      T::copy(x, Y);
      if (atomic) T::atomic_add(x(3, 5), 1.0f);
    });
  };
  EXPECT_EQ(doubled_and(false).storage("x"), 96);
  EXPECT_GE(doubled_and(true).storage("x"), 15 * 96);
}

TEST(FuseRows, ATileThatIsReadByAnotherShapeStaysWhole) {
  const Lowered k(16, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_shared({16, 96}, T::f32, "x");
    auto y = T::alloc_fragment({16, 96}, T::f32, "y");
    auto turned = T::reshape(x, {96, 16});
    T::copy(X, x);
    for (auto [i, j] : T::Parallel(16, 96)) y(i, j) = x(i, j) + turned(i, 0);
    T::copy(y, Y);
  });
  EXPECT_GE(k.storage("x"), 15 * 96) << k.text;
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
  EXPECT_TRUE(doubled(100, 61, 10).has("parallel(0:64)"));
  EXPECT_TRUE(doubled(100, 64, 10).has("parallel(0:64)"));
  const CpuTarget narrow{.level = CpuLevel::x86_64};
  EXPECT_TRUE(doubled(100, 29, 10, narrow).has("parallel(0:32)"));
  EXPECT_TRUE(doubled(100, 25, 10, narrow).has("parallel(0:28)"));
}

TEST(PadRows, TensorsAndPartsOfRowsAreNotPadded) {
  const Lowered k(16, 61, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 61}, T::f32, "x");
    auto y = T::alloc_fragment({16, 90}, T::f32, "y");
    T::copy(X, x);
    for (auto [i, j] : T::Parallel(16, 61)) x(i, j) = x(i, j) * X(0, j);
    for (auto [i, j] : T::Parallel(16, 61)) y(i, j) = x(i, j);
    T::copy(x, Y);
  });
  EXPECT_EQ(k.count("parallel(0:61)"), 2) << k.text;
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

TEST(HoistInvariants, WhatALoopThatMayBeEmptyReadsStays) {
  const Lowered k(16, 96, [&](const T::Tile& X, const T::Tile& Y) {
    auto n = T::scalar("n", T::i32);
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 96}, T::f32, "x");
    auto sum = T::alloc_fragment({16}, T::f32, "sum");
    T::copy(X, x);
    T::reduce_sum(x, sum);
    for (auto [i, j] : T::Parallel(16, n)) x(i, j) = x(i, j) * (1 / sum(i));
    T::copy(x, Y);
  });
  EXPECT_TRUE(k.has("1.0 / sum")) << k.text;
  EXPECT_FALSE(k.has("let")) << k.text;
}

TEST(FuseColumns, CopiesNestsAndReductionsShareChunks) {
  const Lowered k(16, 200, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 200}, T::f32, "x");
    auto y = T::alloc_fragment({16, 200}, T::f32, "y");
    auto sum = T::alloc_fragment({16}, T::f32, "sum");
    T::copy(X, x);
    for (auto [i, j] : T::Parallel(16, 200)) y(i, j) = x(i, j) * x(i, j);
    T::reduce_sum(y, sum);
    for (auto [i, j] : T::Parallel(16, 200)) x(i, j) = x(i, j) * sum(i);
    T::copy(x, Y);
  });
  // Three chunks of 64 and 8 columns more, padded to 16 where a nest computes; once until the sum is known, and after.
  EXPECT_EQ(k.count("for chunk in serial(0:3)"), 2) << k.text;
  EXPECT_EQ(k.count("cpu.accumulate"), 2) << k.text;
  EXPECT_EQ(k.count("parallel(0:64)"), 2) << k.text;
  EXPECT_EQ(k.count("parallel(0:16)"), 2) << k.text;
}

TEST(FuseColumns, TheNextRowIsFetchedWhileARowIsComputed) {
  const Lowered k(160, 256, [&](const T::Tile& X, const T::Tile& Y) {
    auto [b] = T::Kernel({10});
    auto x = T::alloc_fragment({16, 256}, T::f32, "x");
    auto top = T::alloc_fragment({16}, T::f32, "top");
    auto sum = T::alloc_fragment({16}, T::f32, "sum");
    T::copy(X(b * 16, 0), x);
    T::reduce_max(x, top);
    for (auto [i, j] : T::Parallel(16, 256)) x(i, j) = T::exp(x(i, j) - top(i));
    T::reduce_sum(x, sum);
    for (auto [i, j] : T::Parallel(16, 256)) x(i, j) = x(i, j) / sum(i);
    T::copy(x, Y(b * 16, 0));
  });
  EXPECT_EQ(k.count("cpu.prefetch"), 1) << k.text;
  EXPECT_LT(k.text.find("cpu.prefetch"), k.text.find("exp(")) << k.text;
  EXPECT_GT(k.text.find("cpu.prefetch"), k.text.find("cpu.end_accumulate")) << k.text;
}

TEST(FuseColumns, AReadOfAnotherColumnEndsAChunk) {
  const Lowered k(16, 256, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 256}, T::f32, "x");
    auto y = T::alloc_fragment({16, 256}, T::f32, "y");
    T::copy(X, x);
    for (auto [i, j] : T::Parallel(16, 256)) y(i, j) = x(i, 255 - j);
    T::copy(y, Y);
  });
  EXPECT_EQ(k.count("for chunk in serial(0:4)"), 1) << k.text;  // the nest and the copy out
  EXPECT_TRUE(k.has("cols = 256")) << k.text;                   // the copy in
}

TEST(FuseColumns, ShortRowsStayWhole) { EXPECT_FALSE(doubled(100, 127, 10).has("chunk")); }

TEST(FuseColumns, OnlyTensorsBeyondTheCacheAreStreamed) {
  // 100 x 96 floats are 38400 bytes.
  for (const int64_t least : {38400, 38401}) {
    const Lowered k = doubled(100, 96, 10, {.level = CpuLevel::avx512, .stream_bytes = least});
    EXPECT_EQ(k.has(", true)"), least == 38400) << k.text;
  }
}

// Rows minus their largest element, [rows, width] of a tensor as wide as `tensor_width`; all tensors are large.
Lowered centred(int64_t rows, int64_t width, int64_t tensor_width, bool with_exp = false) {
  const CpuTarget target{.level = CpuLevel::avx512, .stream_bytes = 1};
  return Lowered(
      rows, tensor_width,
      [&](const T::Tile& X, const T::Tile& Y) {
        auto [b] = T::Kernel({tensor_width / width});
        auto x = T::alloc_fragment({rows, width}, T::f32, "x");
        auto top = T::alloc_fragment({rows}, T::f32, "top");
        T::copy(X(0, b * width), x);
        T::reduce_max(x, top);
        if (with_exp) {
          for (auto [i, j] : T::Parallel(rows, width)) x(i, j) = T::exp(x(i, j) - top(i));
          T::reduce_sum(x, top);
        }
        for (auto [i, j] : T::Parallel(rows, width)) x(i, j) = x(i, j) - top(i);
        T::copy(x, Y(0, b * width));
      },
      target);
}

TEST(FuseColumns, RowsThatFollowEachOtherGoThroughOneStream) {
  const Lowered k = centred(16, 187, 187);
  EXPECT_EQ(k.count("ragged = 1"), 2) << k.text;  // chunks and what is left
  EXPECT_EQ(k.count(", true)"), 2) << k.text;
}

TEST(FuseColumns, RowsApartAreStreamedWhereTheyAreLongOrWholeLines) {
  EXPECT_EQ(centred(16, 250, 500).count("stream = "), 0);
  EXPECT_EQ(centred(16, 192, 384).count("ragged = 0"), 1);
  EXPECT_EQ(centred(16, 260, 520).count("ragged = 1"), 2);
}

TEST(FuseColumns, WritesAfterAPassThatOnlyComputesAreNotStreamed) {
  EXPECT_FALSE(centred(16, 256, 256, true).has(", true)"));
}

TEST(FuseColumns, ATensorThatIsAccessedTwiceKeepsNothingOfALine) {
  const CpuTarget target{.level = CpuLevel::avx512, .stream_bytes = 1};
  const Lowered k(
      16, 256,
      [&](const T::Tile& X, const T::Tile& Y) {
        auto blocks = T::Kernel({1});
        auto x = T::alloc_fragment({16, 256}, T::f32, "x");
        T::copy(X, x);
        for (auto [i, j] : T::Parallel(16, 256)) x(i, j) = x(i, j) * 2;
        T::copy(x, Y);
        T::copy(x, Y);
      },
      target);
  EXPECT_TRUE(k.has(", true)")) << k.text;
  EXPECT_FALSE(k.has("stream = ")) << k.text;
}

TEST(FuseColumns, WhatOnePassMakesAndUsesHoldsOneChunk) {
  const Lowered k = doubled(100, 200, 10);
  EXPECT_EQ(k.storage("x_chunk"), 128) << k.text;
  // A row that both passes of a reduction need stays; its second form is made and used by the second pass.
  const Lowered c = centred(16, 256, 256);
  EXPECT_TRUE(c.has("\"cpu.copy_in\"(X[row, chunk * 64:+64], x@0[row, chunk * 64:+64]")) << c.text;
  EXPECT_TRUE(c.has("x_chunk@7[j] = x@4[row, chunk * 64 + j] - once")) << c.text;
}

TEST(FuseColumns, ARowThatIsUsedLaterStaysWhole) {
  const Lowered k(16, 256, [&](const T::Tile& X, const T::Tile& Y) {
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({16, 256}, T::f32, "x");
    auto y = T::alloc_fragment({16, 256}, T::f32, "y");
    T::copy(X, x);
    for (auto [i, j] : T::Parallel(16, 256)) x(i, j) = x(i, j) * 2;
    for (auto [i, j] : T::Parallel(16, 256)) y(i, j) = x(i, 255 - j);
    T::copy(y, Y);
  });
  EXPECT_FALSE(k.has("x_chunk")) << k.text;
  EXPECT_TRUE(k.has("y_chunk")) << k.text;
}

}  // namespace
}  // namespace tilewright::tests
