// The short form of tools/mutate_sync: what is planted into a few kernels is noticed, and nothing without it.
#include "mutation/processes.h"
#include "mutation/sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilewright::mutation {
namespace {

// "kind change: text behind it" of each mutant of one line.
std::vector<std::string> changes(const std::string& line) {
  std::vector<std::string> out;
  for (const Mutant& m : mutants_of(line)) {
    EXPECT_EQ(m.line, 1);
    out.push_back(fmt::format("{} {}", name_of(m.kind), m.applied_to(line)));
  }
  return out;
}
using Strings = std::vector<std::string>;

TEST(Mutants, Barriers) {
  EXPECT_EQ(changes("a(); tw::sync_block(); b();"), Strings({"barrier a(); ; b();"}));
  EXPECT_EQ(changes("tw::sync_threads<1, 64>();"), Strings({"barrier ;"}));
  EXPECT_EQ(mutants_of("x\ny\n  tw::sync_block();\n").at(0).line, 3);
}

TEST(Mutants, WaitsCommitsAndFences) {
  EXPECT_EQ(changes("tw::copy_async_wait<1>();"), Strings({"wait ;", "wait tw::copy_async_wait<2>();"}));
  EXPECT_EQ(changes("tw::wgmma_wait<0>();"), Strings({"wait ;", "wait tw::wgmma_wait<1>();"}));
  EXPECT_EQ(changes("tw::copy_async_commit();"), Strings({"commit ;"}));
  EXPECT_EQ(changes("tw::wgmma_commit();"), Strings({"commit ;"}));
  for (const char* fence : {"wgmma_fence", "fence_mbarrier_init", "fence_async_shared"}) {
    EXPECT_EQ(changes(fmt::format("tw::{}();", fence)), Strings({"fence ;"}));
  }
}

TEST(Mutants, Mbarriers) {
  EXPECT_EQ(changes("tw::mbarrier_init(tw::shared_address(b + (1)), tw::u32(8));"),
            Strings({"arrival ;", "arrival tw::mbarrier_init(tw::shared_address(b + (1)), tw::u32(8) + 1);",
                     "arrival tw::mbarrier_init(tw::shared_address(b + (1)), tw::u32(8) - 1);"}));
  EXPECT_EQ(changes("tw::mbarrier_arrive(b);"), Strings({"arrival ;"}));
  EXPECT_EQ(changes("tw::mbarrier_arrive_expect(b, tw::u32(64));"),
            Strings({"bytes tw::mbarrier_arrive(b);", "arrival tw::mbarrier_expect(b, tw::u32(64));",
                     "bytes tw::mbarrier_arrive_expect(b, tw::u32(64) + 16);",
                     "bytes tw::mbarrier_arrive_expect(b, tw::u32(64) - 16);"}));
  EXPECT_EQ(changes("tw::mbarrier_wait(b, tw::u32(tw::remainder(i, 2)));"),
            Strings({"wait ;", "phase tw::mbarrier_wait(b, tw::u32(0));",
                     "phase tw::mbarrier_wait(b, 1 - tw::u32(tw::remainder(i, 2)));"}));
  EXPECT_EQ(changes("tw::mbarrier_wait(b, tw::u32(1 - tw::remainder(i, 2)));").at(1),
            "phase tw::mbarrier_wait(b, tw::u32(1));");
}

TEST(Mutants, Clusters) {
  EXPECT_EQ(changes("tw::sync_cluster();"),
            Strings({"barrier ;", "barrier (tw::cluster_arrive_relaxed(), tw::cluster_wait());"}));
  EXPECT_EQ(changes("tw::cluster_arrive();"), Strings({"barrier ;", "barrier tw::cluster_arrive_relaxed();"}));
  EXPECT_EQ(changes("tw::cluster_wait();"), Strings({"barrier ;"}));
  EXPECT_EQ(changes("tw::mbarrier_arrive_cluster(b);"), Strings({"arrival ;"}));
  EXPECT_EQ(changes("tw::mbarrier_release_cluster(b);"),
            Strings({"arrival ;", "arrival tw::mbarrier_arrive_cluster(b);"}));
  EXPECT_EQ(
      changes("tw::mbarrier_wait_cluster(b, tw::u32(i));"),
      Strings({"wait ;", "wait tw::mbarrier_wait(b, tw::u32(i));", "phase tw::mbarrier_wait_cluster(b, tw::u32(0));",
               "phase tw::mbarrier_wait_cluster(b, 1 - tw::u32(i));"}));
  EXPECT_EQ(changes("tw::tma_load_multicast_2d(to, &m, b, tw::u16(3), 0, 0);"),
            Strings({"guard tw::tma_load_multicast_2d(to, &m, b, tw::u16(1), 0, 0);"}));
}

TEST(Mutants, Conditions) {
  EXPECT_EQ(changes("if (0 <= x & f(x) < 9) { y(); }"),
            Strings({"guard if (true & f(x) < 9) { y(); }", "guard if (0 <= x & true) { y(); }",
                     "guard if (0 <= x & f(x) <= 9) { y(); }"}));
  // What the first of two branches takes for granted is removed whole.
  EXPECT_EQ(
      changes("if (x < 9) { if (z) {} } else { y(); }"),
      Strings({"guard if (true) { if (z) {} } else { y(); }", "guard if (x < 9) { if (true) {} } else { y(); }"}));
  EXPECT_EQ(changes("} else if (w >= 8) {"), Strings());
  EXPECT_EQ(changes("a[i] = (tw::u64(i + 1) < tw::u64(n) ? b[i] : 0);"),
            Strings({"guard a[i] = (true ? b[i] : 0);", "guard a[i] = (tw::u64(i + 1) <= tw::u64(n) ? b[i] : 0);"}));
  EXPECT_EQ(changes("for (i = t, e = t + tw::quotient(131 - tid_1, 128) * 128; i < e; i += 128)"),
            Strings({"guard for (i = t, e = t + tw::quotient(132 - tid_1, 128) * 128; i < e; i += 128)"}));
}

TEST(Mutants, Choices) {
  EXPECT_EQ(changes("const float x = 0 < b ? w[b + (-1)] : 0.0f;"),
            Strings({"guard const float x = true ? w[b + (-1)] : 0.0f;"}));
  EXPECT_EQ(
      changes("f(a, (i == 0 ? (j <= 3 && k ? 1 : 2) : 3));"),
      Strings({"guard f(a, (true ? (j <= 3 && k ? 1 : 2) : 3));", "guard f(a, (i == 0 ? (true && k ? 1 : 2) : 3));",
               "guard f(a, (i == 0 ? (j <= 3 && true ? 1 : 2) : 3));"}));
}

// A predicate stands in the address as well.
TEST(Mutants, PredicatesOfCopies) {
  EXPECT_EQ(
      changes("tw::copy_async_zero_fill<16>(to, A + (0 < (i < 70 ? 16 : 0) ? i : 0), tw::u32(i < 70 ? 16 : 0));"),
      Strings({"guard tw::copy_async_zero_fill<16>(to, A + (0 < (true ? 16 : 0) ? i : 0), tw::u32(true ? 16 : 0));"}));
  EXPECT_EQ(changes("tw::copy_async_zero_fill<16>(to, A, tw::u32(tw::maximum<tw::i32>(0, f(i, 16))));"),
            Strings({"guard tw::copy_async_zero_fill<16>(to, A, tw::u32(16));"}));
  EXPECT_EQ(changes("tw::copy_async_zero_fill<16>(to, A, tw::u32(16));"), Strings());
}

TEST(Processes, WhatCrashesOrHangsIsToldApart) {
  const auto answers = one_by_one(5, std::chrono::milliseconds(300), [](size_t i) {
    if (i == 1) std::raise(SIGKILL);
    for (volatile bool on = i == 3; on;) {
    }
    return std::to_string(i);
  });
  using enum Answer::State;
  ASSERT_EQ(answers.size(), 5u);
  const Answer::State want[] = {done, crashed, done, hung, done};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(answers[i].state, want[i]) << i;
    EXPECT_EQ(answers[i].text, want[i] == done ? std::to_string(i) : "") << i;
  }
  EXPECT_EQ(in_processes(3, 2, [](size_t i) { return std::string(i, 'x'); }), Strings({"", "x", "xx"}));
  const auto ends = [](size_t) -> std::string { throw std::runtime_error("an item of a test that fails"); };
  EXPECT_THROW(in_processes(1, 1, ends), std::runtime_error);
}

// A mutant that nobody notices is missed, whatever else happens to it.
TEST(Fates, Missed) {
  Fate fate;
  EXPECT_TRUE(fate.missed());
  fate.report = "hang";
  EXPECT_TRUE(fate.missed());
  fate.report = "race";
  EXPECT_FALSE(fate.missed());
  fate.report.clear();
  fate.equivalent = "a clause";
  EXPECT_FALSE(fate.missed());
  EXPECT_FALSE(fate.noticed());
  const std::vector<std::string> found = shortcomings({fate});
  EXPECT_NE(std::find(found.begin(), found.end(), "barrier: 1 of 1 mutants are equivalent"), found.end());
  EXPECT_NE(std::find(found.begin(), found.end(), "fence: 0 mutants"), found.end());
}

TEST(Mutation, EachMutantIsNoticed) {
  const std::vector<Fate> fates = sweep(few_subjects(), {.jobs = 2});
  std::map<Kind, std::set<std::string>> reports;
  for (const Fate& f : fates) {
    EXPECT_FALSE(f.missed()) << f.subject << ", kernel " << f.kernel << ", line " << f.mutant.line << ": "
                             << f.mutant.change << ": " << f.mutant.place << " " << f.report;
    if (f.noticed()) reports[f.mutant.kind].insert(f.report);
  }
  // By what they are found, at the least.
  const std::map<Kind, std::set<std::string>> want = {
      {Kind::barrier, {"race"}},           {Kind::fence, {"misuse", "race"}},
      {Kind::wait, {"misuse", "race"}},    {Kind::commit, {"race"}},
      {Kind::bytes, {"deadlock", "race"}}, {Kind::arrival, {"deadlock", "misuse"}},
      {Kind::phase, {"deadlock", "race"}}, {Kind::guard, {"outside", "race", "wrong value"}}};
  for (const auto& [kind, kinds] : want) {
    for (const std::string& report : kinds) EXPECT_TRUE(reports[kind].contains(report)) << name_of(kind) << report;
  }
}

TEST(Mutation, NothingIsReportedWithoutAChange) {
  EXPECT_EQ(reports_without_change(few_subjects(), 64, {.jobs = 2}), Strings());
}

}  // namespace
}  // namespace tilewright::mutation
