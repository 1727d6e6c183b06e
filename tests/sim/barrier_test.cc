// Barriers, deadlocks and misuse of them.
#include "sim/text_machine.h"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::test {
namespace {

using sim::Finding;

TEST(SimBarrier, CountsAndVotesOfABlock) {
  const TextMachine machine(R"(extern "C" __global__ void k(u32* out) {
  const u32 t = threadIdx.x;
  out[4 * t] = sync_block_count(t % 3 == 0);
  out[4 * t + 1] = sync_block_any(t == 70);
  out[4 * t + 2] = sync_block_all(t < 95);
  out[4 * t + 3] = sync_block_all(t < 96);
})");
  std::vector<uint32_t> out(4 * 96);
  uint32_t* at = out.data();
  EXPECT_TRUE(machine.run(1, 96, {&at}).findings.empty());
  for (size_t t = 0; t < 96; ++t) {
    EXPECT_EQ(out[4 * t], 32u);
    EXPECT_EQ(out[4 * t + 1], 1u);
    EXPECT_EQ(out[4 * t + 2], 0u);
    EXPECT_EQ(out[4 * t + 3], 1u);
  }
}

// Half of the threads produce, the others consume, by two named barriers, in each order of running.
TEST(SimBarrier, NamedBarriersBetweenProducersAndConsumers) {
  for (const char* how : {"fair", "greedy", "reverse", "random+seed=3"}) {
    const TextMachine machine(R"(extern "C" __global__ void k(u32* out) {
  extern __shared__ unsigned char shared_memory[];
  u32* box = reinterpret_cast<u32*>(shared_memory);
  const u32 t = threadIdx.x % 64;
  for (u32 i = 0; i < 10; ++i) {
    if (threadIdx.x < 64) {
      if (i > 0) sync_threads<2, 128>();
      box[t] = i * 1000 + t;
      arrive_threads<1, 128>();
    } else {
      sync_threads<1, 128>();
      out[i * 64 + t] = box[63 - t];
      if (i < 9) arrive_threads<2, 128>();
    }
  }
})",
                              256, std::string("sim:sm_80+") + how);
    std::vector<uint32_t> out(640);
    uint32_t* at = out.data();
    const Outcome outcome = machine.run(1, 128, {&at});
    ASSERT_TRUE(outcome.findings.empty()) << how << ": " << outcome.findings[0].text;
    for (uint32_t i = 0; i < 10; ++i) {
      for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[i * 64 + t], i * 1000 + 63 - t) << how;
    }
  }
}

TEST(SimBarrier, ThreadsThatEndedAreNotWaitedFor) {
  const TextMachine machine(R"(extern "C" __global__ void k(u32* out) {
  if (threadIdx.x >= 40) return;
  sync_block();
  out[threadIdx.x] = sync_block_count(true);
})");
  std::vector<uint32_t> out(40);
  uint32_t* at = out.data();
  EXPECT_TRUE(machine.run(1, 64, {&at}).findings.empty());
  EXPECT_EQ(out, std::vector<uint32_t>(40, 40));
}

TEST(SimBarrier, DeadlockNamesWhoWaitsWhere) {
  const TextMachine machine(R"(extern "C" __global__ void k() {
  if (threadIdx.x < 40)
    sync_block();
  else
    sync_warp();
})");
  const Outcome outcome = machine.run(1, 64, {});
  ASSERT_EQ(outcome.findings.size(), 1u);
  const Finding& f = outcome.findings[0];
  EXPECT_EQ(f.kind, Finding::Kind::deadlock);
  EXPECT_EQ(f.text, "block 0 waits for ever: 0 of its 64 threads have ended");
  ASSERT_EQ(f.notes.size(), 2u);
  EXPECT_EQ(f.notes[0].text, "threads 0-39 wait at barrier 0, to which 40 of 64 threads came");
  EXPECT_EQ(f.notes[1].text, "threads 40-63 wait for the lanes 0xffffffff of a warp");
  EXPECT_EQ(outcome.note_lines[0], (std::vector<int>{3, 5}));
}

TEST(SimBarrier, TooFewThreadsForANamedBarrier) {
  const TextMachine machine(R"(extern "C" __global__ void k() {
  if (threadIdx.x < 32) sync_threads<3, 64>();
})");
  const Outcome outcome = machine.run(1, 64, {});
  ASSERT_EQ(outcome.findings.size(), 1u);
  ASSERT_EQ(outcome.findings[0].notes.size(), 1u);
  EXPECT_EQ(outcome.findings[0].notes[0].text, "threads 0-31 wait at barrier 3, to which 32 of 64 threads came");
}

TEST(SimBarrier, CountsThatDiffer) {
  const TextMachine machine(R"(extern "C" __global__ void k() {
  if (threadIdx.x < 32)
    sync_threads<1, 64>();
  else
    sync_threads<1, 96>();
})");
  const Outcome outcome = machine.run(1, 64, {});
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::misuse);
  EXPECT_EQ(outcome.findings[0].text, "thread 32 comes to barrier 1 with a count of 96, others in this phase with 64");
  EXPECT_EQ(outcome.lines[0], 5);
}

TEST(SimWarp, LanesThatMeetInDifferentOperations) {
  const TextMachine machine(R"(extern "C" __global__ void k(u32* out) {
  if (threadIdx.x < 16)
    out[threadIdx.x] = shuffle(threadIdx.x, 3);
  else
    out[threadIdx.x] = warp_ballot(true);
})");
  std::vector<uint32_t> out(32);
  uint32_t* at = out.data();
  const Outcome outcome = machine.run(1, 32, {&at});
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::misuse);
  EXPECT_EQ(outcome.findings[0].text,
            "lanes of warp 0 come to different operations, or name different masks: 0xffffffff and 0xffffffff");
  EXPECT_EQ(outcome.lines[0], 5);
  EXPECT_EQ(outcome.note_lines[0], std::vector<int>{3});
}

// One instruction of a warp has one form: how many matrices, transposed or not, which element types and extents.
TEST(SimWarp, LanesThatMeetInFormsOfOneOperation) {
  const std::pair<const char*, const char*> forms[] = {
      {"load_matrix_x1(d, at)", "load_matrix_x4(d, at)"},
      {"load_matrix_x2(d, at)", "load_matrix_x2_transposed(d, at)"},
      {"store_matrix_x1(at, a)", "store_matrix_x2(at, a)"},
      {"mma_m16n8k8_f32_f16(f, a, b)", "mma_m16n8k16_f32_f16(f, a, b)"},
      {"mma_m16n8k16_f32_f16(f, a, b)", "mma_m16n8k16_f32_bf16(f, a, b)"},
  };
  for (const auto& [one, other] : forms) {
    const TextMachine machine(std::string(R"(extern "C" __global__ void k() {
  u32 a[4] = {}, b[2] = {}, d[4] = {}, at = 16 * threadIdx.x; float f[4] = {};
  if (threadIdx.x < 16)
    )") + one + ";\n  else\n    " +
                                  other + ";\n}",
                              512, "sim:sm_90a");
    const Outcome outcome = machine.run(1, 32, {});
    ASSERT_EQ(outcome.findings.size(), 1u) << one;
    EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::misuse) << one;
    EXPECT_EQ(outcome.findings[0].text, "lanes of warp 0 come to one operation on matrices in different forms") << one;
    EXPECT_EQ(outcome.lines[0], 6) << one;
    EXPECT_EQ(outcome.note_lines[0], std::vector<int>{4}) << one;
  }
}

TEST(SimWarp, ALaneOutsideOfTheMask) {
  const TextMachine machine(R"(extern "C" __global__ void k(u32* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = shuffle(threadIdx.x, 20, 0xffff);
})");
  std::vector<uint32_t> out(32);
  uint32_t* at = out.data();
  const Outcome outcome = machine.run(1, 32, {&at});
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].text, "lane 0 takes the value of lane 20, which is not in the mask 0xffff");
}

// A GPU ends the launch at an address that is no multiple of what is accessed there at once.
TEST(SimMemory, AtomsAtMisalignedAddresses) {
  const std::pair<const char*, int> accesses[] = {
      {"load_global_v4(a, out + 5)", 16}, {"load_global_v2(a, out + 1)", 8},    {"store_global_v4(out + 6, a)", 16},
      {"store_global_v2(out + 3, a)", 8}, {"load_global_v1(a, bytes + 2)", 4},  {"store_global_u16(bytes + 1, 7)", 2},
      {"load_global_u16(bytes + 3)", 2},  {"store_global_v1(bytes + 1, a)", 4}, {"reduce_add(wide, u64(1))", 8},
  };
  for (const auto& [access, bytes] : accesses) {
    const TextMachine machine(std::string(R"(extern "C" __global__ void k(u32* out) {
  u32 a[4] = {}; u8* bytes = reinterpret_cast<u8*>(out); u64* wide = reinterpret_cast<u64*>(out + 1);
  if (threadIdx.x == 3) )") + access +
                              ";\n}");
    alignas(16) uint32_t out[16] = {};
    uint32_t* at = out;
    const Outcome outcome = machine.run(1, 32, {&at});
    ASSERT_EQ(outcome.findings.size(), 1u) << access;
    EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::misuse) << access;
    EXPECT_EQ(outcome.findings[0].text, "thread 3 accesses " + std::to_string(bytes) +
                                            " bytes at an address that is no multiple of " + std::to_string(bytes));
    EXPECT_EQ(outcome.lines[0], 3) << access;
    for (const uint32_t x : out) EXPECT_EQ(x, 0u) << access;
  }
}

TEST(SimMemory, SharedAddressesOutside) {
  const TextMachine machine(R"(extern "C" __global__ void k(u32* out) {
  load_matrix_x1(out, 16 * (threadIdx.x % 8) + 16);
})",
                            128);
  std::vector<uint32_t> out(32);
  uint32_t* at = out.data();
  const Outcome outcome = machine.run(1, 32, {&at});
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::out_of_bounds);
  EXPECT_EQ(outcome.findings[0].text, "thread 7 accesses 16 bytes at address 128 of shared memory, which has 128");
  EXPECT_EQ(outcome.lines[0], 2);
}

}  // namespace
}  // namespace tilewright::test
