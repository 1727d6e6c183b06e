// Worked examples: layouts of the literature and of this folder's essay, results by hand.
#include "layout/algebra.h"
#include "layout/draw.h"

#include <tilewright/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright::layout {

namespace {

std::string after(std::string_view a, std::string_view b) { return to_string(compose(parse(a), parse(b))); }
std::string rest(std::string_view a, int64_t cosize) { return to_string(complement(parse(a), cosize)); }
std::string divided(std::string_view a, std::string_view b) { return to_string(divide(parse(a), parse(b))); }
std::string repeated(std::string_view a, std::string_view b) { return to_string(product(parse(a), parse(b))); }

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// Lanes that each read one vector from the head of a row of `l`.
int rows_read(const Layout& l, int64_t rows, int elem_bytes, int access_bytes) {
  std::vector<std::vector<int64_t>> lanes;
  for (int64_t row = 0; row < rows; ++row) lanes.push_back({row, 0});
  return bank_conflict_ways(l, lanes, elem_bytes, access_bytes);
}

}  // namespace

TEST(LayoutExamples, Coalesce) {
  EXPECT_EQ(to_string(coalesce(parse("(2,(1,6)):(1,(6,2))"))), "(12):(1)");
  EXPECT_EQ(to_string(coalesce(parse("(4,8):(1,4)"))), "(32):(1)");
  EXPECT_EQ(to_string(coalesce(parse("(4,8):(8,1)"))), "((4,8)):((8,1))");
  EXPECT_EQ(to_string(coalesce(parse("(5,3):(0,0)"))), "(15):(0)");
  EXPECT_EQ(to_string(coalesce(parse("(1,1):(7,9)"))), "(1):(0)");
}

TEST(LayoutExamples, Compose) {
  EXPECT_EQ(after("(6,2):(8,2)", "(4,3):(3,1)"), "((2,2),3):((24,2),8)");
  EXPECT_EQ(after("20:2", "(5,4):(4,1)"), "(5,4):(8,2)");
  EXPECT_EQ(after("(10,2):(16,4)", "(5,4):(1,5)"), "(5,(2,2)):(16,(80,4))");
  EXPECT_EQ(after("(6,2):(8,2)", "4:3"), "((2,2)):((24,2))");
  // Three does not divide four, but two elements always are a layout, and three inside the first mode are too.
  EXPECT_EQ(after("(4,2):(1,100)", "2:3"), "(2):(3)");
  EXPECT_EQ(after("(5,2):(1,100)", "3:2"), "(3):(2)");
  EXPECT_EQ(after("(8,8):(8,1)^(2,0,3)", "8:8"), "(8):(1)^(2,0,3)");
}

TEST(LayoutExamples, ComposeRefuses) {
  const auto message = [](std::string_view a, std::string_view b) { return message_of([&] { after(a, b); }); };
  EXPECT_EQ(message("(4,6):(1,10)", "3:3"),
            "error: (4,6):(1,10) after (3):(3) is no layout\n"
            "  hint: extents and steps must divide each other, and the inner modes must not carry within an outer one");
  EXPECT_EQ(message("8:1", "5:2"), "error: (5):(2) reaches element 8 of (8):(1), which has 8");
  EXPECT_EQ(message("8:1", "(4,4):(4,1)^(2,0,2)"),
            "error: composition with an inner of the swizzled layout (4,4):(4,1)^(2,0,2)\n"
            "  hint: apply the swizzle last");
}

TEST(LayoutExamples, Complement) {
  EXPECT_EQ(rest("4:1", 24), "(6):(4)");
  EXPECT_EQ(rest("6:4", 24), "(4):(1)");
  EXPECT_EQ(rest("(4,6):(1,4)", 24), "(1):(0)");
  EXPECT_EQ(rest("4:2", 24), "((2,3)):((1,8))");
  EXPECT_EQ(rest("(2,4):(1,6)", 24), "(3):(2)");
  EXPECT_EQ(rest("(2,2):(1,6)", 24), "((3,2)):((2,12))");
}

TEST(LayoutExamples, DivideAndProduct) {
  EXPECT_EQ(divided("(4,2,3):(2,1,8)", "4:2"), "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(divided("(3,5):(5,1)", "5:3"), "(5,3):(1,5)");
  EXPECT_EQ(repeated("(2,2):(4,1)", "6:1"), "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(to_string(divide_each(parse("(9,(4,8)):(59,(13,1))"), std::vector<int64_t>{3, 8})),
            "(3,(4,2),3,4):(59,(13,1),177,2)");
  // A row-major block of 2 x 5, repeated 3 x 4 down the columns.
  EXPECT_EQ(to_string(tiled(parse("(2,5):(5,1)"), parse("(3,4):(1,3)"))), "((2,3),(5,4)):((5,10),(1,30))");
  EXPECT_EQ(to_string(tiled(parse("(8,64):(64,1)^(3,3,3)"), parse("(4,2):(1,4)"))),
            "((8,4),(64,2)):((64,512),(1,2048))^(3,3,3)");
}

TEST(LayoutExamples, Inverse) {
  EXPECT_EQ(to_string(right_inverse(parse("(4,8):(8,1)"))), "((8,4)):((4,1))");
  EXPECT_EQ(to_string(right_inverse(parse("(4,8):(1,5)"))), "(4):(1)");
  EXPECT_EQ(to_string(left_inverse(parse("(4,8):(8,1)"))), "((8,4)):((4,1))");
}

TEST(LayoutExamples, Making) {
  EXPECT_EQ(to_string(row_major(std::vector<int64_t>{3, 5, 7})), "(3,5,7):(35,7,1)");
  EXPECT_EQ(to_string(column_major(std::vector<int64_t>{3, 5, 7})), "(3,5,7):(1,3,15)");
  EXPECT_EQ(to_string(padded_row_major(std::vector<int64_t>{3, 5, 7}, 8)), "(3,5,7):(40,8,1)");
  EXPECT_EQ(to_string(column_panels(3, 8, 2)), "(3,(2,4)):(2,(1,6))");
  EXPECT_EQ(message_of([] { column_panels(3, 10, 4); }),
            "error: 10 columns do not divide into panels of 4\n  hint: 12 columns would");
}

TEST(LayoutExamples, Width) {
  const Layout padded = padded_row_major(std::vector<int64_t>{4, 12}, 20);
  EXPECT_EQ(contiguous_run(padded, 1), 4);
  EXPECT_EQ(contiguous_run(padded, 0), 1);
  EXPECT_EQ(vector_width(padded, 1, std::vector<int64_t>{0, 0}, 8), 8);
  EXPECT_EQ(vector_width(padded, 1, std::vector<int64_t>{1, 0}, 8), 4);
  EXPECT_EQ(vector_width(padded, 1, std::vector<int64_t>{1, 2}, 8), 2);
  // Runs of three end inside any pair that starts at 2.
  EXPECT_EQ(contiguous_run(parse("((3,4)):((1,100))"), 0), 1);
}

TEST(LayoutExamples, BankConflicts) {
  const std::vector<int64_t> square = {32, 32};
  EXPECT_EQ(rows_read(row_major(square), 32, 4, 4), 32);
  EXPECT_EQ(rows_read(padded_row_major(square, 33), 32, 4, 4), 1);
  EXPECT_EQ(rows_read(padded_row_major(square, 34), 32, 4, 4), 2);
  EXPECT_EQ(rows_read(parse("(32,32):(0,1)"), 32, 4, 4), 1);  // one word for all: a broadcast
  // Vectors of 16 bytes from rows of 128: eight lanes a phase, on the same banks unless swizzled by the row.
  const Layout rows = row_major(std::vector<int64_t>{32, 64});
  EXPECT_EQ(rows_read(rows, 32, 2, 16), 8);
  EXPECT_EQ(rows_read(rows.with_swizzle({.bits = 3, .base = 3, .shift = 3}), 32, 2, 16), 1);
  EXPECT_EQ(rows_read(rows.with_swizzle({.bits = 2, .base = 3, .shift = 3}), 32, 2, 16), 2);
  EXPECT_EQ(rows_read(padded_row_major(std::vector<int64_t>{32, 64}, 72), 32, 2, 16), 1);
  // A warp that reads consecutive vectors of 16 or 8 bytes is served in phases, without conflicts.
  EXPECT_EQ(rows_read(parse("(32,4):(4,1)"), 32, 4, 16), 1);
  EXPECT_EQ(rows_read(parse("(32,2):(2,1)"), 32, 4, 8), 1);
  // Two lanes of 2 bytes share a word.
  EXPECT_EQ(rows_read(parse("(32,1):(1,1)"), 32, 2, 2), 1);
}

TEST(LayoutErrors, Access) {
  EXPECT_EQ(message_of([] { bank_conflict_ways(std::vector<int64_t>{2}, 4); }),
            "error: an access of 4 bytes at byte 2\n  hint: accesses start at multiples of their size");
  EXPECT_EQ(message_of([] { bank_conflict_ways(std::vector<int64_t>{0}, 12); }),
            "error: an access of 12 bytes\n  hint: accesses have 1, 2, 4, 8 or 16 bytes");
  for (std::initializer_list<int64_t> wrong : {std::initializer_list<int64_t>{1}, {1, 2, 3}, {1, -1}}) {
    EXPECT_THROW(row_major(std::vector<int64_t>{4, 4})(wrong), Error);
  }
  EXPECT_THROW(row_major(std::vector<int64_t>{4, 4}).extent(2), Error);
}

TEST(LayoutErrors, Overflow) {
  const int64_t huge = int64_t(1) << 62;
  const Layout wide = strided(std::vector<int64_t>{2}, std::vector<int64_t>{huge});
  EXPECT_EQ(wide.cosize(), huge + 1);
  EXPECT_EQ(to_string(coalesce(concat(wide, parse("1:1")))), to_string(wide));
  for (const std::string& message :
       {message_of([&] {
          row_major(std::vector<int64_t>{huge, 4});
        }),
        message_of([&] { wide({2}); }),
        message_of([&] { strided(std::vector<int64_t>{4}, std::vector<int64_t>{huge}); }),
        message_of([&] { complement(wide, 1); }), message_of([&] { left_inverse(wide); }),
        message_of([&] { product(strided(std::vector<int64_t>{huge}, std::vector<int64_t>{1}), parse("4:1")); })}) {
    EXPECT_NE(message.find("error: a layout overflows 63 bits: "), std::string::npos) << message;
  }
  EXPECT_EQ(message_of([&] { strided(std::vector<int64_t>{-1}, std::vector<int64_t>{1}); }),
            "error: a layout has extent -1\n  hint: extents are 0 or more");
}

TEST(LayoutDraw, Text) {
  EXPECT_EQ(draw_text(parse("(4,4):(4,1)^(2,0,2)")),
            " 0  1  2  3\n"
            " 5  4  7  6\n"
            "10 11  8  9\n"
            "15 14 13 12\n");
  EXPECT_EQ(draw_text(parse("3:2")), "0 2 4\n");
  EXPECT_EQ(draw_text(parse("(0,4):(4,1)")), "");
  EXPECT_THROW(draw_text(parse("(2,2,2):(4,2,1)")), Error);
}

// Stages of a tile, and parts of one.
TEST(LayoutDraw, Regions) {
  const Layout staged = parse("(2,2,3):(6,3,1)");
  EXPECT_EQ(draw_text(staged, std::vector<DrawRange>{{1, 2}, {0, 2}, {0, 3}}), " 6  7  8\n 9 10 11\n");
  EXPECT_EQ(draw_text(staged, std::vector<DrawRange>{{0, 1}, {1, 2}, {1, 3}}), "4 5\n");
  const auto message = [&](std::vector<DrawRange> region) { return message_of([&] { draw_text(staged, region); }); };
  EXPECT_NE(message({{0, 1}, {0, 2}}).find("2 ranges for a shape of 3 dimensions"), std::string::npos);
  EXPECT_NE(message({{0, 1}, {0, 3}, {0, 3}}).find("[0, 3) is no part of dimension 1, whose extent is 2"),
            std::string::npos);
  EXPECT_NE(message({{0, 2}, {0, 2}, {0, 3}}).find("2 indices of dimension 0"), std::string::npos);
}

// PTX ISA, "Matrix fragments for mma.m16n8k16", accumulators: groupID = lane / 4, threadID_in_group = lane % 4; row =
// groupID for c0, c1 and groupID + 8 for c2, c3; column = threadID_in_group * 2 + (i & 1).
TEST(FragmentDraw, AccumulatorOfMma) {
  const Fragment c = mma_accumulator(16, 8, 1, 1);
  std::string expected;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const int lane = row % 8 * 4 + column / 2, reg = row / 8 * 2 + column % 2;
      expected += fmt::format("{}{:>5}", column ? " " : "", fmt::format("t{}.{}", lane, reg));
    }
    expected += "\n";
  }
  EXPECT_EQ(draw_text(c), expected);
  const std::string svg = draw_svg(c);
  EXPECT_NE(svg.find("<title>(9, 5); thread 6 (warp 0, lane 6), register 3</title>"), std::string::npos);
}

TEST(FragmentDraw, ReplicasAndHoles) {
  // Two threads hold all of three elements, of four registers.
  const Fragment f({3}, {{2, -1, 0}}, {{4, 0, 1}});
  EXPECT_EQ(draw_text(f), "t0.0* t0.1* t0.2*\n");
  EXPECT_NE(
      draw_svg(f).find("<title>(1); thread 0 (warp 0, lane 0), register 1; thread 1 (warp 0, lane 1), register 1"),
      std::string::npos);
  // Every second element has an owner.
  const Fragment g({4}, {{2, 0, 2}}, {});
  EXPECT_EQ(draw_text(g), "t0.0    - t1.0    -\n");
  EXPECT_NE(draw_svg(g).find("<title>(1) is held by no thread</title>"), std::string::npos);
  EXPECT_EQ(draw_text(g, std::vector<DrawRange>{{2, 3}}), "t1.0\n");
}

TEST(LayoutDraw, Svg) {
  const std::string svg = draw_svg(parse("(2,3):(3,1)"), 4, "a<b & \"c\">\n");
  EXPECT_NE(svg.find(">a&lt;b &amp; &quot;c&quot;&gt; </text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<title>(1, 2) offset 5 bank 5</title>"), std::string::npos) << svg;
  EXPECT_NE(draw_svg(parse("(2,3):(3,1)"), 4).find(">(2,3):(3,1)</text>"), std::string::npos);
  EXPECT_THROW(draw_svg(parse("(2,3):(3,1)"), 0), Error);
}

}  // namespace tilewright::layout
