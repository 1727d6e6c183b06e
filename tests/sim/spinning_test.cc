// Threads that wait for what others write, by reading it again and again.
#include "sim/text_machine.h"

#include <string>
#include <vector>

namespace tilewright::test {
namespace {

using sim::Finding;

constexpr const char* kOrders[] = {"fair", "greedy", "reverse", "random+seed=5"};

Outcome run(const std::string& body, const std::string& how, int blocks = 1) {
  TextMachine machine(
      "extern \"C\" __global__ void k(u32* out) {\n"
      "  extern __shared__ unsigned char shared_memory[];\n"
      "  u32* box = reinterpret_cast<u32*>(shared_memory);\n"
      "  volatile u32* const flag = reinterpret_cast<volatile u32*>(box);\n"
      "  const u32 t = threadIdx.x;\n" +
          body + "\n}",
      256, "sim:sm_80+" + how);
  std::vector<uint32_t> out(64);
  uint32_t* at = out.data();
  return machine.run(blocks, 64, {&at}, {{reinterpret_cast<unsigned char*>(at), 256, 4, false}});
}

const std::string kClear = "if (t == 0) box[0] = 0;\nsync_block();\n";

// Whoever runs first: the others come to their turn.
TEST(SimSpinning, WhatAnotherThreadWritesComes) {
  for (const std::string order : kOrders) {
    const std::string atomics = kClear +
                                "if (t == 40) atomic_add<k_relaxed>(shared_cell(box), 1u);\n"
                                "while (atomic_load<k_relaxed>(shared_cell(box)) == 0) {}";
    for (const std::string checked : {"", "+checked"}) {
      const Outcome outcome = run(atomics, order + checked);
      EXPECT_TRUE(outcome.findings.empty()) << order << checked << ": " << outcome.findings[0].text;
    }
    // By plain accesses it ends, too, and is a race.
    const Outcome plain = run(kClear + "if (t == 40) *flag = 1;\nwhile (*flag == 0) {}", order + "+checked");
    ASSERT_FALSE(plain.findings.empty()) << order;
    EXPECT_EQ(plain.findings[0].kind, Finding::Kind::race) << order << ": " << plain.findings[0].text;
  }
}

TEST(SimSpinning, WhatNobodyWritesIsADeadlock) {
  const auto expect_endless = [](const std::string& body, const std::string& how, int line) {
    const Outcome outcome = run(body, how);
    ASSERT_FALSE(outcome.findings.empty()) << body;
    const Finding& f = outcome.findings[0];
    EXPECT_EQ(f.kind, Finding::Kind::deadlock) << f.text;
    EXPECT_NE(f.text.find("block 0 goes on for ever"), std::string::npos) << f.text;
    EXPECT_EQ(outcome.lines[0], line) << body;
  };
  const std::string load = "while (atomic_load<k_relaxed>(shared_cell(box)) == 0) {}";
  expect_endless(kClear + load, "fair", 8);
  expect_endless(kClear + "while (*flag == 0) {}", "greedy+checked", 8);
  // Barriers are no progress.
  expect_endless(kClear + "while (sync_block_all(true)) {}", "fair", 8);
}

}  // namespace
}  // namespace tilewright::test
