// Tables as data: printed, read back, verified.
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/schedule_passes.h"
#include "schedule/tables.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

namespace tilewright::testing {
namespace {

void expect_round_trip(const ir::Program& program) {
  const std::string text = ir::print(program);
  const ir::Program again = ir::parse(text, "printed", schedule_defs());
  EXPECT_TRUE(ir::equal(again, program)) << text;
  EXPECT_EQ(ir::print(again), text);
}

TEST(ScheduleTables, PrintAndParse) {
  for (const Product& p :
       {Product{}, Product{.stages = 1}, Product{.stages = 5, .groups = 1, .rounds = 2}, Product{.dynamic = true}}) {
    for (const ir::Program& program : {cp_async_product(p), wgmma_product(p)}) {
      ir::verify_structure(program);
      expect_round_trip(program);
      // Roles, channels of the kernel and calls are text as well.
      const ir::Program expanded = passes::expand_schedule(program);
      ir::verify_structure(expanded);
      expect_round_trip(expanded);
      const ir::Program placed = passes::place_channel_sync(expanded);
      ir::verify_structure(placed);
      expect_round_trip(placed);
    }
  }
}

TEST(ScheduleTables, EqualitySeesTheTables) {
  const Product p;
  ir::Program other = wgmma_product(p);
  EXPECT_TRUE(ir::equal(other, wgmma_product(p)));
  other.kernels[0].roles[1].max_regs = 48;
  EXPECT_FALSE(ir::equal(other, wgmma_product(p)));
  EXPECT_FALSE(ir::equal(wgmma_product(p), wgmma_product({.stages = 4})));
  other = wgmma_product(p);
  other.kernels[0].maps[0].box[0] = 64;
  EXPECT_FALSE(ir::equal(other, wgmma_product(p)));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// The message that a changed table is refused with.
std::string refusal(const ir::Program& program, const std::string& from, const std::string& to) {
  try {
    ir::verify_structure(ir::parse(replaced(ir::print(program), from, to), "changed", schedule_defs()));
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(ScheduleTables, WhatCannotWorkIsRefused) {
  const ir::Program wgmma = wgmma_product({}), mma = cp_async_product({}), one = wgmma_product({.stages = 1});
  EXPECT_EQ(refusal(wgmma, "slot op(1) stage 0 order 2", "slot op(0) stage 0 order 2"),
            "statement 0 of the loop has 2 slots");
  EXPECT_EQ(refusal(wgmma, "slot op(1)", "slot op(7)"), "slot op(7) names one of 3 statements");
  EXPECT_EQ(refusal(wgmma, "slot op(1) stage 0 order 2", "slot op(1) stage 0 order 1"),
            "two slots of one role have stage 0 and order 1");
  EXPECT_EQ(refusal(wgmma, "slot op(2) stage 0 order 1", "slot op(2) stage 0 order 9"), "");
  EXPECT_EQ(refusal(wgmma, "slot op(2) stage 0 order 1", "slot op(2) stage 2 order 9"),
            "statement 2 does not run between wait and release of channel operands");
  EXPECT_EQ(refusal(wgmma, "slot op(0) stage 0 order 1", "slot op(0) stage 0 order 4"),
            "statement 0 does not run between acquire and commit of channel operands");
  EXPECT_EQ(refusal(wgmma, "slot commit(0)", "slot acquire(0)"),
            "channel operands has 2 slots acquire in the role of warps(8, 1)");
  EXPECT_EQ(refusal(wgmma, "schedule anchor 0", "schedule anchor 3"), "no slot has the anchor's stage 3");
  EXPECT_EQ(refusal(wgmma, "from warps(8, 1)", "from warps(0, 4)"),
            "channel operands has 0 slots acquire in the role of warps(0, 4)");
  EXPECT_EQ(refusal(wgmma, "slot op(0) stage 0 order 1 warps(8, 1)", "slot op(0) stage 0 order 1 warps(7, 2)"),
            "slot op(0) runs on warps(7, 2), which are no role's");
  EXPECT_EQ(refusal(wgmma, "regs 40", "regs 20"), "role load sets 20 registers on warps(8, 4)");
  EXPECT_EQ(refusal(wgmma, "role load: warps(8, 4)", "role load: warps(4, 8)"), "roles compute and load share warps");
  EXPECT_EQ(refusal(wgmma, "role load: warps(8, 4)", "role load: warps(9, 4)"),
            "role load is warps(9, 4), but a block has 12 warps");
  EXPECT_EQ(refusal(wgmma, "box [128, 64]", "box [512, 64]"), "map A is no box of a tensor");
  // With one buffer nothing may be read one step behind.
  EXPECT_EQ(refusal(one, "slot release(0) stage 0", "slot release(0) stage 1"),
            "channel operands has 1 stages, but 2 are in use before the first is released");
  // Three buffers hold two iterations ahead and the one that is read.
  EXPECT_EQ(refusal(mma, "stages 3", "stages 2"),
            "channel operands has 2 stages, but 3 are in use before the first is released");
  EXPECT_EQ(refusal(mma, "slot op(2) stage 2 order 6", "slot op(2) stage 1 order 6"),
            "statement 2 does not run between wait and release of channel operands");
}

// Text is an author's program; passes make tables.
TEST(ScheduleTables, AuthorsHaveNone) {
  const ir::Program mma = cp_async_product({}), wgmma = wgmma_product({});
  for (const ir::Program& program : {mma, wgmma, passes::expand_schedule(wgmma)}) {
    try {
      ir::verify(program);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_EQ(error.message(), "a program with schedules, roles, channels or tensor maps of its own");
    }
  }
}

TEST(ScheduleTables, ProgramsWithoutOnesPassUnchanged) {
  const ir::Program plain = ir::parse(
      replaced(ir::print(cp_async_product({.stages = 1})), "slot wait(0)", "slot wait(0)"), "plain", schedule_defs());
  ir::Program without = plain;
  without.kernels[0].body.erase(without.kernels[0].body.begin() + 1);
  EXPECT_TRUE(ir::equal(passes::expand_schedule(without), without));
  EXPECT_TRUE(ir::equal(passes::place_channel_sync(without), without));
}

}  // namespace
}  // namespace tilewright::testing
