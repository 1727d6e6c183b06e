// Tables as data: printed, read back, verified.
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/schedule_passes.h"
#include "schedule/tables.h"

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

// The message that a changed table is refused with.
std::string refusal(const ir::Program& program, const std::string& from, const std::string& to) {
  return refusal_of([&] { ir::verify_structure(changed(program, from, to)); });
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

TEST(ScheduleTables, StepsOutOfOrderAreRefused) {
  const ir::Program wgmma = wgmma_product({}), mma = cp_async_product({});
  EXPECT_EQ(refusal(wgmma, "slot acquire(0) stage 0 order 0", "slot acquire(0) stage 0 order 9"),
            "channel operands: acquire and commit are not in one step, in this order");
  EXPECT_EQ(refusal(wgmma, "slot acquire(0) stage 0", "slot acquire(0) stage 1"),
            "channel operands: acquire and commit are not in one step, in this order");
  EXPECT_EQ(refusal(wgmma, "slot wait(0) stage 0", "slot wait(0) stage 2"),
            "channel operands: a release does not come after its wait");
  EXPECT_EQ(refusal(mma, "slot wait(0) stage 2 order 0", "slot wait(0) stage 0 order 0"),
            "channel operands: its role waits before it commits");
}

TEST(ScheduleTables, RowsThatNameNothingUsefulAreRefused) {
  const ir::Program wgmma = wgmma_product({});
  const std::string load_b = "bulk_copy(B[ko * 64:+64, bx * 128:+128], B_shared[0:64, 0:128]) {map = 1}";
  for (const char* stmt : {"break", "continue", "let x@3: i64 = 1"}) {
    EXPECT_EQ(refusal(wgmma, load_b, stmt), "statement 1 of a scheduled loop is a let, break or continue") << stmt;
  }
  EXPECT_EQ(refusal(wgmma, "(A_shared, B_shared)", "(A_shared, A_shared)"),
            "a tile is in two channels, operands the second");
  EXPECT_EQ(refusal(wgmma, "(A_shared, B_shared)", "(A_shared, C_local)"),
            "channel operands has tile 5, which is no shared tile");
  EXPECT_EQ(refusal(wgmma, "role load: warps(8, 4)", "role load: warps(8, 0)"), "role load has no warps");
  const ir::Program stores = ir::parse(R"(program p() vars 2 {
  kernel p(bx@0 < 1) threads 32 {
    tile s: shared f32[4]
    for i@1 in serial(0:4) {
      schedule anchor 0
      slot op(0) stage 0 order 0
      s[i] = 1.0
    }
  }
}
)",
                                       "stores", schedule_defs());
  EXPECT_EQ(refusal(stores, "in serial", "in unrolled"), "");
  EXPECT_EQ(refusal(stores, "in serial", "in parallel"), "a schedule on a parallel loop of 1 dimensions");
}

// Barriers count the channel's warps: each of them arrives once, and no other.
TEST(ScheduleTables, ArrivalsAreThoseOfTheChannelsWarps) {
  const ir::Program two = wgmma_product({}), one = wgmma_product({.block_m = 64, .groups = 1});
  const ir::Program mma = cp_async_product({});
  const auto message = [](const char* slot, const char* warps) {
    return fmt::format("slot {} of channel operands runs on {}, which are not the channel's warps", slot, warps);
  };
  const std::string both = "to warps(0, 4), warps(4, 4)";
  EXPECT_EQ(refusal(two, both, "to warps(0, 4), warps(0, 4)"), message("wait", "warps(0, 8)"));
  EXPECT_EQ(refusal(two, both, "to warps(0, 4)"), message("wait", "warps(0, 8)"));
  EXPECT_EQ(refusal(two, both, "to warps(0, 4), warps(3, 4)"), message("wait", "warps(0, 8)"));
  EXPECT_EQ(refusal(one, "slot release(0) stage 1 order 2 warps(0, 4)", "slot release(0) stage 1 order 2 warps(0, 2)"),
            message("release", "warps(0, 2)"));
  EXPECT_EQ(refusal(one, "from warps(4, 1)", "from warps(4, 2)"), message("acquire", "warps(4, 1)"));
  EXPECT_EQ(refusal(one, "slot commit(0) stage 0 order 3 warps(4, 1)", "slot commit(0) stage 0 order 3 warps(4, 2)"),
            message("commit", "warps(4, 2)"));
  // All warps, by name or not.
  EXPECT_EQ(refusal(two, both, "to warps(0, 8)"), "");
  EXPECT_EQ(refusal(mma, "to warps(0, 0)", "to warps(0, 8)"), "");
  EXPECT_EQ(refusal(mma, "to warps(0, 0)", both), "");
  EXPECT_EQ(refusal(mma, "to warps(0, 0)", "to warps(0, 4)"), message("wait", "warps(0, 0)"));
  EXPECT_EQ(refusal(mma, "to warps(0, 0)", "to warps(0, 0), warps(0, 0)"), message("wait", "warps(0, 0)"));
}

TEST(ScheduleTables, ViewsOfTilesOfChannelsAreRefused) {
  const ir::Program wgmma = wgmma_product({});
  const auto with_view = [&](const char* rows, const std::string& tiles) {
    std::string text = replaced(ir::print(wgmma), "    tile C_local", rows + std::string("    tile C_local"));
    return refusal(ir::parse(text, "views", schedule_defs()), "(A_shared, B_shared)", tiles);
  };
  const char* view = "    tile A_view: shared u16[128, 64] {view_of = 3}\n";
  EXPECT_EQ(with_view(view, "(A_shared, B_shared)"), "channel operands has tile A_shared, which has a view");
  EXPECT_EQ(with_view(view, "(A_view, B_shared)"), "channel operands has tile A_view, which is a view");
}

// A role has a barrier of its threads; the hardware has 16, one of them for all threads.
TEST(ScheduleTables, TooManyRolesAreRefused) {
  const auto with_roles = [](int num) {
    std::string rows;
    for (int r = 0; r < num; ++r) rows += fmt::format("    role r{0}: warps({0}, 1)\n", r);
    return ir::parse("program p() vars 1 {\n  kernel p(bx@0 < 1) threads 1024 {\n" + rows + "  }\n}\n", "roles",
                     schedule_defs());
  };
  ir::verify_structure(with_roles(15));
  EXPECT_EQ(refusal(with_roles(16), "threads 1024", "threads 1024"), "a kernel has 16 roles");
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
  ir::Program without = cp_async_product({.stages = 1});
  without.kernels[0].body.erase(without.kernels[0].body.begin() + 1);
  EXPECT_TRUE(ir::equal(passes::expand_schedule(without), without));
  EXPECT_TRUE(ir::equal(passes::place_channel_sync(without), without));
}

}  // namespace
}  // namespace tilewright::testing
