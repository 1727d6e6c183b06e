// The rules that divide rows and columns: what must hold of every plan, and those of usual widths.
#include <tilewright/tune.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace tilewright {
namespace {

void expect_sound(int64_t rows, int64_t width, DType dtype, int num_tiles) {
  const RowPlan p = suggest_row_plan(rows, width, dtype, num_tiles);
  SCOPED_TRACE(::testing::Message() << rows << " x " << width << " " << to_string(dtype) << ", " << num_tiles);
  EXPECT_GE(p.block_rows, 1);
  EXPECT_GE(int64_t(p.block_width) * p.num_parts, std::max<int64_t>(width, 1));
  EXPECT_LT(int64_t(p.block_width) * (p.num_parts - 1), std::max<int64_t>(width, 1));  // no part without elements
  EXPECT_EQ(p.threads % 32, 0);
  EXPECT_GE(p.threads, 32);
  EXPECT_LE(p.threads, 1024);
  // Tiles of f32 fit the registers of a thread.
  const int64_t elems = (int64_t(p.block_rows) * p.block_width + p.threads - 1) / p.threads;
  EXPECT_LE(elems * num_tiles, std::max(40, 16 * num_tiles));
}

TEST(RowPlan, IsSoundForEveryShape) {
  std::mt19937_64 random(1);
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64, DType::i8}) {
    for (int64_t width = 0; width < 300; ++width) expect_sound(1000, width, dtype, 1);
    for (int i = 0; i < 2000; ++i) {
      expect_sound(int64_t(random() % 100000), int64_t(random() % 70000), dtype, 1 + int(random() % 3));
    }
  }
}

// 2^27 elements of bf16: no thread idles, and each has 3 to 5 vectors of 16 bytes.
TEST(RowPlan, UsualWidthsLeaveNoThreadIdle) {
  for (const int64_t width : {96, 160, 192, 256, 320, 384, 512, 640, 1024, 4096, 16384}) {
    const RowPlan p = suggest_row_plan((int64_t(1) << 27) / width, width, DType::bf16);
    const int64_t vectors = p.block_rows * width / 8;
    EXPECT_EQ(p.num_parts, 1);
    EXPECT_EQ(vectors % p.threads, 0) << width;
    EXPECT_GE(vectors / p.threads, 3) << width;
    EXPECT_LE(vectors / p.threads, 5) << width;
  }
}

TEST(RowPlan, FewRowsGoToMoreBlocks) {
  EXPECT_GE(4096 / suggest_row_plan(4096, 160, DType::bf16).block_rows, 256);
  EXPECT_EQ(suggest_row_plan(1, 160, DType::bf16).threads, 32);
}

TEST(ColumnPlan, CoversEveryShape) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    const auto rows = int64_t(random() % 50000), width = int64_t(random() % 5000);
    for (const bool whole : {false, true}) {
      const ColumnPlan p = suggest_column_plan(rows, width, i % 2 ? DType::bf16 : DType::f32, whole);
      SCOPED_TRACE(::testing::Message() << rows << " x " << width << (whole ? " whole" : ""));
      EXPECT_EQ(p.strip_rows % p.block_rows, 0);
      EXPECT_GE(p.strip_rows * p.num_strips, rows);
      EXPECT_LT(p.strip_rows * (p.num_strips - 1), std::max<int64_t>(rows, 1));
      EXPECT_TRUE(!whole || p.num_strips == 1);
      EXPECT_LE(int64_t(p.block_rows) * p.block_width, 40 * p.threads);
    }
  }
}

}  // namespace
}  // namespace tilewright
