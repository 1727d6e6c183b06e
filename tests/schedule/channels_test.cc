// Channels of other forms than those of the two products: what synchronises them follows from who fills and reads them
// and how.
#include "ir/rewrite.h"
#include "harness/text.h"
#include "ir/print.h"
#include "schedule/executor.h"
#include "schedule/tables.h"

#include <gtest/gtest.h>

#include <functional>

namespace tilewright::testing {
namespace {

// A kernel of 64 x 64 tiles with `rows` (roles, maps) and a loop with `body`, its table first.
ir::Program program_of(int steps, int threads, const std::string& rows, const std::string& body) {
  return ir::parse(fmt::format(R"(program p(A, B) vars 4 {{
  tensor A: f16[64, {0}]
  tensor B: f16[{0}, 64]
  kernel p(bx@0 < 1, by@1 < 1) threads {1} {{
    tile A: global f16[64, {0}] of A
    tile B: global f16[{0}, 64] of B
    tile a: shared f16[64, 64]
    tile b: shared f16[64, 64]
    tile c: fragment f32[64, 64]
{2}
    for ko@2 in pipelined(0:{3}) {{
{4}
    }}
  }}
}}
)",
                               64 * steps, threads, rows, steps, body),
                   "channels", schedule_defs());
}

constexpr const char* kFillA = "(A[by * 64:+64, ko * 64:+64], a[0:64, 0:64])";
constexpr const char* kFillB = "(B[ko * 64:+64, bx * 64:+64], b[0:64, 0:64])";
constexpr const char* kUse = "(a[0:64, 0:64], b[0:64, 0:64], c[0:64, 0:64]; false)";

std::string expect_right(const std::function<ir::Program(int)>& make) {
  std::string text;
  for (int steps = 0; steps <= 9; ++steps) {
    const ir::Program code = placed(make(steps));
    text = ir::print(code);
    for (unsigned seed = 0; seed < 6; ++seed) {
      const Execution run = execute(code, steps, 1, seed);
      EXPECT_EQ(run.error, std::nullopt) << steps << " steps\n" << text;
      if (run.error) return text;
    }
  }
  return text;
}

// The groups of both channels are counted together, and one barrier serves both waits.
TEST(Channels, TwoOfCpAsyncWithDifferentStages) {
  const std::string text = expect_right([](int steps) {
    return program_of(steps, 128, "",
                      fmt::format(R"(schedule anchor 2
      channel first: (a) stages 3 from warps(0, 0) to warps(0, 0)
      channel second: (b) stages 2 from warps(0, 0) to warps(0, 0)
      slot wait(0) stage 2 order 0
      slot wait(1) stage 2 order 1
      slot acquire(0) stage 0 order 2
      slot op(0) stage 0 order 3
      slot commit(0) stage 0 order 4
      slot acquire(1) stage 1 order 5
      slot op(1) stage 1 order 6
      slot commit(1) stage 1 order 7
      slot op(2) stage 2 order 8
      slot release(0) stage 2 order 9
      slot release(1) stage 2 order 10
      async_copy{}
      async_copy{}
      gemm{})",
                                  kFillA, kFillB, kUse));
  });
  const std::string loop = text.substr(text.find("in serial(0:9)"));
  EXPECT_EQ(occurrences(loop, "block_sync()"), 1) << loop;
  EXPECT_EQ(occurrences(loop, "cp_async_wait()"), 2);
  // Of `first`, two later groups of its own and one of `second`; of `second`, at least nothing but its own.
  EXPECT_EQ(occurrences(loop, "cp_async_wait() {pending = 2}"), 1) << loop;
}

// The channel that is read late waits at a barrier of its own; two barriers, or one, as the table says.
TEST(Channels, WaitsApartHaveTheirOwnBarriers) {
  const std::string text = expect_right([](int steps) {
    return program_of(steps, 64, "",
                      fmt::format(R"(schedule anchor 1
      channel first: (a) stages 2 from warps(0, 0) to warps(0, 0)
      channel second: (b) stages 1 from warps(0, 0) to warps(0, 0)
      slot wait(0) stage 1 order 0
      slot acquire(0) stage 0 order 1
      slot op(0) stage 0 order 2
      slot commit(0) stage 0 order 3
      slot acquire(1) stage 1 order 4
      slot op(1) stage 1 order 5
      slot commit(1) stage 1 order 6
      slot wait(1) stage 1 order 7
      slot op(2) stage 1 order 8
      slot release(0) stage 1 order 9
      slot release(1) stage 1 order 10
      async_copy{}
      async_copy{}
      gemm{})",
                                  kFillA, kFillB, kUse));
  });
  const std::string loop = text.substr(text.find("in serial(0:9)"));
  // `wait(0)` says that the last iteration's reads of b are over as well.
  EXPECT_EQ(occurrences(loop, "block_sync()"), 2) << loop;
  EXPECT_EQ(occurrences(loop, "{pending = 0}"), 2) << loop;
}

constexpr const char* kRoles = R"(    role compute: warps(0, 4)
    role load: warps(4, 2))";

std::string two_roles(const char* fill, const char* use, int stages) {
  return fmt::format(R"(schedule anchor 0
      channel operands: (a, b) stages {3} from warps(4, 2) to warps(0, 4)
      slot acquire(0) stage 0 order 0 warps(4, 2)
      slot op(0) stage 0 order 1 warps(4, 2)
      slot op(1) stage 0 order 2 warps(4, 2)
      slot commit(0) stage 0 order 3 warps(4, 2)
      slot wait(0) stage 0 order 0 warps(0, 4)
      slot op(2) stage 0 order 1 warps(0, 4)
      slot release(0) stage 0 order 2 warps(0, 4)
      {0}{4}
      {0}{5}
      {1}{2})",
                     fill, use, kUse, stages, kFillA, kFillB);
}

// The copies of a thread arrive by themselves: one arrival for each thread.
TEST(Channels, CpAsyncOfOtherWarps) {
  for (int stages = 1; stages <= 3; ++stages) {
    const std::string text = expect_right(
        [&](int steps) { return program_of(steps, 192, kRoles, two_roles("async_copy", "gemm", stages)); });
    EXPECT_EQ(occurrences(text, "mbarrier_init(full_operands[0]; 64)"), 1) << text;
    EXPECT_EQ(occurrences(text, "mbarrier_init(empty_operands[0]; 4)"), 1);
    EXPECT_EQ(occurrences(text, "mbarrier_arrive_after_copies(full_operands"), 1);
    EXPECT_EQ(occurrences(text, "cp_async_wait"), 0);
    // Lanes read by ordinary loads: the one that arrives speaks for them.
    EXPECT_EQ(occurrences(text, "sync_warp()"), 1);
    EXPECT_EQ(occurrences(text, "fence_async_shared"), 0);
  }
}

// Ordinary stores that products read: every thread makes its own seen before its warp arrives.
TEST(Channels, StoresOfOtherWarpsForProducts) {
  const std::string text =
      expect_right([&](int steps) { return program_of(steps, 192, kRoles, two_roles("copy", "warpgroup_gemm", 2)); });
  EXPECT_EQ(occurrences(text, "mbarrier_init(full_operands[0]; 2)"), 1) << text;
  const size_t fence = text.find("fence_async_shared()"), sync = text.find("sync_warp()", fence),
               arrive = text.find("mbarrier_arrive(full_operands", sync);
  EXPECT_NE(arrive, std::string::npos) << text;
  EXPECT_EQ(
      occurrences(text, "wgmma_wait() {pending = 0}") + occurrences(text, "wgmma_wait(c[0:64, 0:64]) {pending = 0}"), 1)
      << text;
}

// Ordinary copies and products on the same warps: fence, barrier, and no group is in flight when the buffer is filled.
TEST(Channels, CopiesAndProductsOfTheSameWarps) {
  for (const char* fill : {"async_copy", "copy"}) {
    const std::string text = expect_right([&](int steps) {
      return program_of(steps, 128, "",
                        fmt::format(R"(schedule anchor 1
      channel operands: (a, b) stages 2 from warps(0, 0) to warps(0, 0)
      slot wait(0) stage 1 order 0
      slot acquire(0) stage 0 order 1
      slot op(0) stage 0 order 2
      slot op(1) stage 0 order 3
      slot commit(0) stage 0 order 4
      slot op(2) stage 1 order 5
      slot release(0) stage 1 order 6
      {0}{1}
      {0}{2}
      warpgroup_gemm{3})",
                                    fill, kFillA, kFillB, kUse));
    });
    const std::string loop = text.substr(text.find("in serial(0:9)"));
    EXPECT_EQ(occurrences(loop, "fence_async_shared()"), 1) << loop;
    EXPECT_EQ(occurrences(loop, "block_sync()"), 1);
    EXPECT_EQ(occurrences(loop, "{pending = 0}"), std::string_view(fill) == "copy" ? 1 : 2);
  }
}

// Two warps load one operand each, with their own number of stages.
TEST(Channels, TwoLoadRoles) {
  const std::string rows = R"(    map A: A box [64, 64] span 128
    map B: B box [64, 64] span 128
    role compute: warps(0, 4)
    role load_a: warps(4, 1)
    role load_b: warps(5, 1))";
  const std::string text = expect_right([&](int steps) {
    return program_of(steps == 0 ? 0 : steps, 192, rows,
                      fmt::format(R"(schedule anchor 0
      channel first: (a) stages 4 from warps(4, 1) to warps(0, 4)
      channel second: (b) stages 2 from warps(5, 1) to warps(0, 4)
      slot acquire(0) stage 0 order 0 warps(4, 1)
      slot op(0) stage 0 order 1 warps(4, 1)
      slot commit(0) stage 0 order 2 warps(4, 1)
      slot acquire(1) stage 0 order 0 warps(5, 1)
      slot op(1) stage 0 order 1 warps(5, 1)
      slot commit(1) stage 0 order 2 warps(5, 1)
      slot wait(0) stage 0 order 0 warps(0, 4)
      slot wait(1) stage 0 order 1 warps(0, 4)
      slot op(2) stage 0 order 2 warps(0, 4)
      slot release(0) stage 1 order 3 warps(0, 4)
      slot release(1) stage 1 order 4 warps(0, 4)
      bulk_copy{} {{map = 0}}
      bulk_copy{} {{map = 1}}
      warpgroup_gemm{})",
                                  kFillA, kFillB, kUse));
  });
  EXPECT_EQ(occurrences(text, "mbarrier_arrive_expect(full_first[it % 4]; 8192)"), 1) << text;
  EXPECT_EQ(occurrences(text, "mbarrier_arrive_expect(full_second[it % 2]; 8192)"), 1);
}

std::string refusal(const ir::Program& program) {
  return refusal_of([&] { placed(program); });
}

TEST(Channels, MixturesAreRefused) {
  std::string mixed = two_roles("copy", "gemm", 2);
  mixed.replace(mixed.find("copy(A"), 4, "async_copy");
  EXPECT_EQ(refusal(program_of(4, 192, kRoles, mixed)), "channel operands: its tiles are filled in several ways");
  EXPECT_EQ(refusal(program_of(4, 192, kRoles, two_roles("async_copy", "warpgroup_gemm", 2))),
            "channel operands: cp.async by other warps than those of the products");
  ir::Program outside = program_of(4, 192, kRoles, two_roles("copy", "gemm", 2));
  outside.kernels[0].body.push_back(ir::get_if<ir::ForStmt>(outside.kernels[0].body[0])->body[0]);
  outside.kernels[0].body.back() = ir::substitute(
      {outside.kernels[0].body.back()}, std::vector{ir::get_if<ir::ForStmt>(outside.kernels[0].body[0])->dims[0].var},
      std::vector{ir::int_imm(0)})[0];
  EXPECT_EQ(refusal(outside), "tile a of channel operands is used outside of its loop");
}

const std::string kProduct = std::string("warpgroup_gemm") + kUse;
const std::string kBulkA = fmt::format("bulk_copy{} {{map = 0}}", kFillA);
const std::string kBulkB = fmt::format("bulk_copy{} {{map = 1}}", kFillB);
constexpr const char* kMaps = R"(    map A: A box [64, 64] span 128
    map B: B box [64, 64] span 128)";
const std::string kBulkRoles = std::string(kMaps) + R"(
    role compute: warps(0, 4)
    role load: warps(4, 1))";

// A warp loads both operands by bulk copies; three stages.
const std::string kBulkBody = fmt::format(R"(schedule anchor 0
      channel operands: (a, b) stages 3 from warps(4, 1) to warps(0, 4)
      slot acquire(0) stage 0 order 0 warps(4, 1)
      slot op(0) stage 0 order 1 warps(4, 1)
      slot op(1) stage 0 order 2 warps(4, 1)
      slot commit(0) stage 0 order 3 warps(4, 1)
      slot wait(0) stage 0 order 0 warps(0, 4)
      slot op(2) stage 0 order 1 warps(0, 4)
      slot release(0) stage 1 order 2 warps(0, 4)
      {}
      {}
      {})",
                                          kBulkA, kBulkB, kProduct);

ir::Program bulk_program(int steps, const std::string& from, const std::string& to) {
  return program_of(steps, 160, kBulkRoles, replaced(kBulkBody, from, to));
}

// A barrier expects what bulk copies bring, whatever else is read behind it.
TEST(Channels, BytesAreThoseOfBulkCopies) {
  const std::string both = ir::print(placed(program_of(4, 160, kBulkRoles, kBulkBody)));
  EXPECT_EQ(occurrences(both, "mbarrier_arrive_expect(full_operands[it % 3]; 16384)"), 1) << both;
  // One tile is filled; the other is read first, or behind it.
  for (const char* tiles : {"(a[0:64, 0:64], b[0:64, 0:64]", "(b[0:64, 0:64], a[0:64, 0:64]"}) {
    std::string body = replaced(kBulkBody, kBulkB, "fill(c[0:64, 0:64]; 0.0)");
    body = replaced(body, "op(1) stage 0 order 2 warps(4, 1)", "op(1) stage 0 order 9 warps(0, 4)");
    body = replaced(body, "warpgroup_gemm(a[0:64, 0:64], b[0:64, 0:64]", std::string("warpgroup_gemm") + tiles);
    const std::string text = ir::print(placed(program_of(4, 160, kBulkRoles, body)));
    EXPECT_EQ(occurrences(text, "mbarrier_arrive_expect(full_operands[it % 3]; 8192)"), 1) << text;
  }
  EXPECT_EQ(refusal(bulk_program(4, kBulkB, kBulkA)), "two bulk copies to a in one iteration");
}

// Products have their fence, group and wait where no channel asks for them.
TEST(Channels, ProductsWithoutChannels) {
  for (const std::string& product :
       {kProduct, "if ko < 3 { " + kProduct + " }", "for j@3 in serial(0:2) { " + kProduct + " }"}) {
    const std::string text = ir::print(placed(program_of(4, 128, "", R"(schedule anchor 0
      slot op(0) stage 0 order 0
      slot op(1) stage 0 order 1
      )" + product + R"(
      fill(c[0:64, 0:64]; 0.0))")));
    size_t at = 0;
    for (const std::string& word : {std::string("wgmma_fence()"), kProduct, std::string("wgmma_commit()"),
                                    std::string("wgmma_wait(c[0:64, 0:64]) {pending = 0}"), std::string("fill(c")}) {
      at = text.find(word, at);
      ASSERT_NE(at, std::string::npos) << word << " in " << text;
    }
    EXPECT_EQ(occurrences(text, "wgmma_fence()"), 1) << text;
  }
}

TEST(Channels, ProductsInOtherStatementsAreRefused) {
  for (const std::string& stmt : {"while ko < 0 { " + kProduct + " }", "lanes { " + kProduct + " }",
                                  "if ko < 3 { while ko < 0 { " + kProduct + " } }"}) {
    EXPECT_EQ(refusal(program_of(4, 128, "", "schedule anchor 0\n      slot op(0) stage 0 order 0\n      " + stmt)),
              "products or bulk copies inside of this statement")
        << stmt;
  }
  for (const char* stmt : {"lanes { ", "if ko < 3 { "}) {
    EXPECT_EQ(refusal(bulk_program(4, kBulkA, stmt + kBulkA + " }")),
              "role load mixes copies that one thread starts with other statements")
        << stmt;
  }
}

// What a release waits for is a number of groups, and those inside of a statement are not counted.
TEST(Channels, ProductsInsideOfAStatementHaveNoneBesideThem) {
  const std::string inside = "if ko < 99 { " + kProduct + " }";
  const std::string text = expect_right([&](int steps) { return bulk_program(steps, kProduct, inside); });
  EXPECT_EQ(occurrences(text, "{pending = 1}"), 0) << text;
  const std::string slot = "slot release(0) stage 1";
  const std::string beside = replaced(kBulkBody, kProduct, inside + "\n      " + kProduct);
  EXPECT_EQ(refusal(program_of(4, 160, kBulkRoles,
                               replaced(beside, slot, "slot op(3) stage 0 order 2 warps(0, 4)\n      " + slot))),
            "products inside of a statement of a scheduled loop, beside others");
}

// Between two consumers there is nobody who waits.
TEST(Channels, AReaderThatDoesNotWaitIsRefused) {
  const auto program = [](const char* warps) {
    return program_of(4, 416, R"(    role first: warps(0, 4)
    role between: warps(4, 4)
    role last: warps(8, 4)
    role load: warps(12, 1))",
                      fmt::format(R"(schedule anchor 0
      channel operands: (a, b) stages 2 from warps(12, 1) to warps(0, 4), warps(8, 4)
      slot acquire(0) stage 0 order 0 warps(12, 1)
      slot op(0) stage 0 order 1 warps(12, 1)
      slot op(1) stage 0 order 2 warps(12, 1)
      slot commit(0) stage 0 order 3 warps(12, 1)
      slot wait(0) stage 0 order 0 warps(0, 4)
      slot op(2) stage 0 order 1 {0}
      slot release(0) stage 0 order 2 warps(0, 4)
      slot wait(0) stage 0 order 0 warps(8, 4)
      slot op(3) stage 0 order 1 warps(8, 4)
      slot release(0) stage 0 order 2 warps(8, 4)
      copy{1}
      copy{2}
      gemm{3}
      gemm{3})",
                                  warps, kFillA, kFillB, kUse));
  };
  EXPECT_EQ(refusal(program("warps(0, 4)")), "");
  EXPECT_EQ(execute(placed(program("warps(0, 4)")), 4, 1, 0).error, std::nullopt);
  EXPECT_EQ(refusal(program("warps(4, 4)")), "statement 2 reads tiles of channel operands on warps(4, 4)");
}

TEST(Channels, WhatOneThreadStartsIsRefusedElsewhere) {
  // By two warps, or among others.
  const std::string two = replaced(two_roles("copy", "gemm", 2), std::string("copy") + kFillA, kBulkA);
  EXPECT_EQ(refusal(program_of(4, 192, std::string(kMaps) + "\n" + kRoles, two)),
            "role load mixes copies that one thread starts with other statements");
  EXPECT_EQ(refusal(bulk_program(4, kBulkB, std::string("copy") + kFillB)),
            "role load mixes copies that one thread starts with other statements");
  EXPECT_EQ(refusal(bulk_program(4, kBulkA, "bulk_copy(A[by * 64:+64, ko * 64:+32], a[0:64, 0:32]) {map = 0}")),
            "a bulk copy to a part of a");
  const std::string body = replaced(kBulkBody, "(a, b)", "(a)");
  EXPECT_EQ(refusal(program_of(4, 160, kBulkRoles, body)), "a bulk copy to b, which no channel has");
  ir::Program own = passes::expand_schedule(program_of(4, 160, kBulkRoles, kBulkBody));
  own.kernels[0].channels[0].consumers = {own.kernels[0].channels[0].producer};
  EXPECT_EQ(refusal_of([&] { passes::place_channel_sync(own); }),
            "channel operands: bulk copies by the warps that read them");
}

TEST(Channels, SchedulesElsewhereAreRefused) {
  std::string apart = replaced(kBulkBody, kProduct, kProduct + "\n      fill(c[0:64, 0:64]; 0.0)");
  apart = replaced(apart, "slot wait(0)", "slot op(3) stage 0 order 9 warps(0, 2)\n      slot wait(0)");
  EXPECT_EQ(refusal(program_of(4, 160, kBulkRoles, apart)), "slots of role compute run on several sets of warps");
  ir::Program inside = program_of(4, 160, kBulkRoles, kBulkBody);
  ir::Block& statements = inside.kernels[0].body;
  statements = {ir::make_stmt(ir::LanesStmt{.exec = {}, .body = statements})};
  EXPECT_EQ(refusal(inside), "a scheduled loop inside of this statement");
  // Roles are made of loops with schedules.
  EXPECT_EQ(refusal(program_of(4, 160, kBulkRoles, kProduct)),
            "a statement outside of roles in a kernel that has some");
}

}  // namespace
}  // namespace tilewright::testing
