// Lists in the text of loop options, and options through print and parse.
#include "ir/loop_options.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ops/ops.h"

#include <gtest/gtest.h>

namespace tilewright::ir {
namespace {

using Numbers = std::vector<int64_t>;

TEST(LoopOptions, ListsAreReadBack) {
  for (const Numbers& list : {Numbers{}, {0}, {2, 0, 1}, {-1, 7}}) EXPECT_EQ(list_from_text(list_text(list)), list);
  EXPECT_EQ(list_text(Numbers{2, 0, 1}), "2, 0, 1");
  EXPECT_EQ(list_from_text(" 1 ,2"), (Numbers{1, 2}));
  for (const char* text : {"1,", ",", "1 2", "a", "1;2", "99999999999999999999", "1.5"}) {
    EXPECT_EQ(list_from_text(text), std::nullopt) << text;
  }
}

TEST(LoopOptions, GroupsAreReadBack) {
  using Groups = std::vector<Numbers>;
  for (const Groups& groups : {Groups{}, {{0}}, {{0, 1}, {2}}, {{0}, {}, {1}}}) {
    EXPECT_EQ(groups_from_text(groups_text(groups)), groups);
  }
  EXPECT_EQ(groups_text(Groups{{0, 1}, {2}}), "0, 1; 2");
  EXPECT_EQ(groups_from_text("0; x"), std::nullopt);
}

TEST(LoopOptions, TextIsReadBack) {
  const std::string text =
      "program p() vars 7 {\n"
      "\n"
      "  kernel k(bx@0 < 4) threads 24 (4, 3, 2) {\n"
      "    tile v: local i64[]\n"
      "    for i@1 in vectorized(0:8) {\n"
      "      v[] = i\n"
      "    }\n"
      "    for i@2 in unrolled(0:8) {explicit = true} {\n"
      "      v[] = i\n"
      "    }\n"
      "    for i@3 in unrolled(0:+3 step -2) {factor = 4} {\n"
      "      v[] = i\n"
      "    }\n"
      "    for i@4 in pipelined(0:8) {num_stages = 3, order = \"1, 0\", stage = \"0, 1\", sync = \"0, 1\"} {\n"
      "      v[] = i\n"
      "    }\n"
      "    for i@5, j@6 in parallel(0:8, 0:6) {coalesced_width = 2} {\n"
      "      v[] = i\n"
      "    }\n"
      "  }\n"
      "}\n";
  const Program program = parse(text, "t", ops::all_ops());
  EXPECT_EQ(print(program), text);
  EXPECT_EQ(program.kernels[0].thread_extents, (std::vector<int>{4, 3, 2}));
  EXPECT_EQ(get_if<ForStmt>(program.kernels[0].body[0])->kind, LoopKind::vectorized);
  Program other = program;
  other.kernels[0].thread_extents = {24};
  EXPECT_FALSE(equal(program, other));
}

}  // namespace
}  // namespace tilewright::ir
