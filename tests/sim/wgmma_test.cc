// Products of warpgroups: what must be fenced, waited for and done together; registers that move between warps. What
// they compute is tested by the tests of the GPU (wgmma_atoms_test.cc).
#include "runtime/sim/wgmma.h"
#include "sim/watched_text.h"

namespace tilewright::test {
namespace {

using enum sim::Finding::Kind;

// Ones in A [64, 16] at byte 0 and B [8, 16] at byte 2048, not swizzled: two columns of core matrices each.
const std::string kFill = "for (u32 i = t; i < 576; i += 128) box[i] = 0x3f803f80;\n";
const std::string kDescriptors =
    "float d[4] = {1, 2, 3, 4}; const u64 a = wgmma_descriptor(0, 1024, 128, SharedLayout::plain), b = "
    "wgmma_descriptor(2048, 128, 128, SharedLayout::plain);\n";
// Lines 5 to 8.
const std::string kStart = kFill + "fence_async_shared();\nsync_block();\n" + kDescriptors;
const std::string kFence = "wgmma_fence();\n", kProduct = "wgmma_m64k16_f32_bf16<8>(d, a, b, true);\n";
const std::string kCommit = "wgmma_commit();\n", kWait = "wgmma_wait<0>();\n";
const std::string kOut = "for (u32 i = 0; i < 4; ++i) out[4 * t + i] = u32(d[i]);\n";

WatchedText group(const std::string& body) { return {.body = body, .threads = 128}; }

TEST(SimWgmma, OneProduct) {
  expect_clean(group(kStart + kFence + kProduct + kCommit + kWait + kOut), 512,
               [](uint32_t i) { return 16 + i % 4 + 1; });
  // A chain of them in two groups; the first sums are not needed before the second product.
  expect_clean(
      group(kStart + kFence + kProduct + kCommit + kProduct + kProduct + kCommit + "wgmma_wait<1>();\n" + kWait + kOut),
      512, [](uint32_t i) { return 48 + i % 4 + 1; });
  // `a` in registers: ones.
  expect_clean(group(kStart + "u32 ra[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};\n" + kFence +
                     "wgmma_m64k16_f32_bf16<8>(d, ra, b, false);\n" + kCommit + kWait + kOut),
               512, [](uint32_t) { return 16; });
}

TEST(SimWgmma, OperandsNeedFenceAndBarrier) {
  const std::string end = kDescriptors + kFence + kProduct + kCommit + kWait;
  expect_found(group(kFill + "\nsync_block();\n" + end), race, "no fence_async_shared of the writer lies between", 10);
  expect_race(group(kFill + "fence_async_shared();\n\n" + end), 5, 10);
}

// cp.async writes as ordinary stores do.
TEST(SimWgmma, OperandsByCpAsyncNeedAFence) {
  const std::string copy =
      "for (u32 i = t; i < 144; i += 128) copy_async<16>(16 * i, in + 4 * "
      "i);\ncopy_async_commit();\ncopy_async_wait<0>();\n";
  const std::string end = "sync_block();\n" + kDescriptors + kFence + kProduct + kCommit + kWait;
  expect_clean(group(copy + "fence_async_shared();\n" + end));
  expect_found(group(copy + end), race, "no fence_async_shared of the writer lies between", 11);
  // In front of the wait it is too early.
  expect_found(group("fence_async_shared();\n" + copy + end), race, "no fence_async_shared of the writer lies between",
               12);
}

TEST(SimWgmma, OperandsAreReadUntilTheWait) {
  const std::string start = kStart + kFence + kProduct + kCommit;
  expect_clean(group(start + kWait + "sync_block();\nbox[t] = 0;\n" + kOut), 512,
               [](uint32_t i) { return 16 + i % 4 + 1; });
  expect_race(group(start + "sync_block();\nbox[t] = 0;\n" + kWait), 10, 13);
  // The wait of a warp speaks for that warp alone: all of them read B.
  expect_race(group(start + kWait + "\nif (t < 64) box[512 + t] = 0;"), 10, 14);
  expect_clean(group(start + "wgmma_wait<0>();\nsync_block();\nif (t < 64) box[512 + t] = 0;"));
}

TEST(SimWgmma, AccumulatorsNeedTheWait) {
  const WatchedText kernel = group(kStart + kFence + kProduct + kCommit + kOut);
  expect_found(kernel, misuse, "the block ends before anybody waited for a product of a warpgroup", 10);
  EXPECT_NE(kernel.run("fair+late").out[0], 17u);  // but NaN
  // A wait for groups waits for nothing without a commit.
  expect_found(group(kStart + kFence + kProduct + kWait), misuse,
               "the block ends before anybody waited for a product of a warpgroup", 10);
  expect_found(group(kStart + kFence + kProduct + kCommit + "d[1] = 0;\n" + kWait), misuse,
               "were written while a product was in flight", 10);
}

TEST(SimWgmma, RegistersOfAStayUntilTheWait) {
  const std::string start = kStart + "u32 ra[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};\n" + kFence +
                            "wgmma_m64k16_f32_bf16<8>(d, ra, b, false);\n" + kCommit;
  const std::string write = "if (t == 70) ra[3] = 0;\n", use = "out[t] = ra[3] + u32(d[0]);\n";
  expect_found(group(start + write + kWait + use), misuse,
               "registers of warp 2 were written while a product that reads them as `a` was in flight", 11);
  // A wait for other groups is too early.
  expect_found(group(start + "wgmma_wait<1>();\n" + write + kWait + use), misuse, "that reads them as `a`", 11);
  expect_clean(group(start + kWait + write + use));
}

TEST(SimWgmma, AccumulatorsNeedAFence) {
  const std::string text = "were written by other instructions, and no wgmma_fence lies between these and the product";
  expect_found(group(kStart + kProduct + kCommit + kWait), misuse, text, 9);
  const std::string first = kStart + kFence + kProduct + kCommit + kWait;
  expect_found(group(first + "d[2] = 5;\n" + kProduct + kCommit + kWait), misuse, text, 14);
  expect_clean(group(first + "d[2] = 5;\n" + kFence + kProduct + kCommit + kWait));
  // Nothing else wrote them.
  expect_clean(group(first + kProduct + kCommit + kWait + kOut), 512, [](uint32_t i) { return 32 + i % 4 + 1; });
}

// While other accumulators are in flight, as where one product is issued, a sum rescaled, and the next one issued.
TEST(SimWgmma, AFenceStandsBehindTheWritesOfEachAccumulator) {
  const std::string text = "were written by other instructions, and no wgmma_fence lies between these and the product";
  const std::string other = "wgmma_m64k16_f32_bf16<8>(e, a, b, true);\n";
  // Both were used: lines 9 to 14.
  const std::string both = kStart + "float e[4] = {5, 6, 7, 8};\n" + kFence + kProduct + other + kCommit + kWait;
  const std::string use = "for (u32 i = 0; i < 4; ++i) out[4 * t + i] = u32(d[i] + e[i]);\n";
  const std::string scale = "for (u32 i = 0; i < 4; ++i) e[i] *= 2;\n";
  expect_found(group(both + kFence + kProduct + kCommit + scale + other + kCommit + kWait + use), misuse, text, 19);
  expect_clean(group(both + kProduct + kCommit + scale + kFence + other + kCommit + kWait + use), 512,
               [](uint32_t i) { return 32 + i % 4 + 1 + 2 * (16 + i % 4 + 5) + 16; });
  // Waiting for some takes nothing from the fence of others.
  expect_clean(group(both + kProduct + kCommit + scale + kFence + kWait + other + kCommit + kWait + use), 512,
               [](uint32_t i) { return 32 + i % 4 + 1 + 2 * (16 + i % 4 + 5) + 16; });
}

// Registers that no product has used yet, and those of `a`.
TEST(SimWgmma, AFenceStandsBehindTheWritesOfNewRegisters) {
  const std::string other = "wgmma_m64k16_f32_bf16<8>(e, a, b, true);\n";
  const std::string use = "for (u32 i = 0; i < 4; ++i) out[4 * t + i] = u32(d[i] + e[i]);\n";
  const auto sums = [](uint32_t i) { return 16 + i % 4 + 1 + 16 + i % 4 + 5; };
  const std::string text = "were written by other instructions, and no wgmma_fence lies between these and the product";
  const std::string both = kStart + "float e[4];\nfor (u32 i = 0; i < 4; ++i) e[i] = float(in[5 + i]);\n";
  const std::string late = kStart + "float e[4] = {};\n" + kFence + kProduct + kCommit +
                           "for (u32 i = 0; i < 4; ++i) e[i] = float(in[5 + i]);\n";
  expect_clean(group(both + kFence + kProduct + kCommit + other + kCommit + kWait + use), 512, sums);
  expect_found(group(late + other + kCommit + kWait + use), misuse, text, 14);
  expect_clean(group(late + kFence + other + kCommit + kWait + use), 512, sums);

  const std::string registers = "u32 ra[4] = {};\n",
                    fill = "for (u32 i = 0; i < 4; ++i) ra[i] = 0x3f803f80 + 0 * in[i];\n",
                    product = "wgmma_m64k16_f32_bf16<8>(d, ra, b, false);\n";
  expect_found(group(kStart + registers + kFence + fill + product + kCommit + kWait + kOut), misuse,
               "that a product reads as `a` were written by other instructions", 12);
  expect_clean(group(kStart + registers + fill + kFence + product + kCommit + kWait + kOut), 512,
               [](uint32_t) { return 16; });
}

TEST(SimWgmma, AllFourWarpsMustCome) {
  expect_deadlock(group(kStart + "if (t >= 32) {\n" + kFence + kProduct + kCommit + kWait + "}"),
                  {{"threads 32-63 wait for products to which 3 of 4 warps came", 13},
                   {"threads 64-95 wait for products to which 3 of 4 warps came", 13},
                   {"threads 96-127 wait for products to which 3 of 4 warps came", 13}});
  expect_found(group(kStart + kFence + "wgmma_m64k16_f32_bf16<8>(d, a, t < 64 ? b : a, true);\n" + kCommit + kWait),
               misuse, "of a warpgroup come to different products", 10);
  expect_found(group(kStart + kFence + "wgmma_m64k16_f32_bf16<8>(d, a, b, t % 2 == 0);\n" + kCommit + kWait), misuse,
               "come to one operation on matrices in different forms", 10);
  expect_found({.body = kDescriptors + kFence + kProduct, .threads = 96}, misuse,
               "multiplies as one of a warpgroup, which are four warps; the block has 96 threads", 7);
}

TEST(SimWgmma, OperandsOutside) {
  expect_found(group(kStart + kFence + "wgmma_m64k16_f32_bf16<8>(d, a, advance(b, 16384 - 2048 - 128), true);\n" +
                     kCommit + kWait),
               out_of_bounds, "reads b[0, 8] at address 16384 of shared memory, which has 16384", 10);
}

// PTX ISA, "Matrix Descriptor Format", by hand: 8 rows of 128 bytes whose pieces of 16 bytes are exchanged by the
// number of the row.
TEST(SimWgmma, DescriptorsWithASwizzle) {
  const auto descriptor = [](uint64_t start, uint64_t leading, uint64_t stride, uint64_t base, uint64_t mode) {
    return start / 16 | leading / 16 << 16 | stride / 16 << 32 | base << 49 | mode << 62;
  };
  const sim::OperandLayout k_major(descriptor(2048, 0, 1024, 0, 1), false, 2);
  EXPECT_EQ(k_major.at(0, 0), 2048u);
  EXPECT_EQ(k_major.at(1, 0), 2048u + 128 + 16);
  EXPECT_EQ(k_major.at(5, 9), 2048u + 5 * 128 + (1 ^ 5) * 16 + 2);
  EXPECT_EQ(k_major.at(13, 3), 2048u + 1024 + 5 * 128 + 5 * 16 + 6);
  // The pattern begins at 2048 + 3 * 128: row 0 there has its pieces in place.
  const sim::OperandLayout shifted(descriptor(2048 + 3 * 128, 0, 1024, 3, 1), false, 2);
  EXPECT_EQ(shifted.at(0, 0), 2048u + 3 * 128);
  EXPECT_EQ(shifted.at(2, 8), 2048u + 5 * 128 + (1 ^ 2) * 16);
  // Spans of 64 bytes hold two rows in 128 bytes, so that every second row changes the pattern.
  const sim::OperandLayout narrow(descriptor(512, 0, 512, 0, 2), false, 1);
  EXPECT_EQ(narrow.at(1, 0), 512u + 64);
  EXPECT_EQ(narrow.at(2, 0), 512u + 128 + 16);
  EXPECT_EQ(narrow.at(9, 17), 512u + 512 + 64 + 16 + 1);
  // Of m or n: 64 elements a span, then `leading`; 8 k, then `stride`.
  const sim::OperandLayout mn_major(descriptor(0, 4096, 1024, 0, 1), true, 2);
  EXPECT_EQ(mn_major.at(70, 9), 4096u + 1024 + 128 + ((6 * 2 / 16) ^ 1) * 16 + 12);
}

// ---- setmaxnreg: 384 threads begin with 168 registers each, 64512 in all ----

WatchedText three_groups(const std::string& body) { return {.body = body, .threads = 384}; }

TEST(SimRegisters, MoveFromWarpgroupToWarpgroup) {
  expect_clean(three_groups("if (t < 256) more_registers<240>(); else fewer_registers<24>();"));
  expect_clean(three_groups("if (t < 256) more_registers<232>(); else fewer_registers<40>();"));
}

TEST(SimRegisters, MoreThanTheBlockHas) {
  // 2 * 240 + 40 are 520 of 504: one warp of the eight stays without.
  const WatchedText kernel = three_groups("if (t < 256) more_registers<240>(); else fewer_registers<40>();");
  const Outcome outcome = kernel.run("fair").outcome;
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, deadlock);
  ASSERT_EQ(outcome.findings[0].notes.size(), 1u);
  EXPECT_EQ(
      outcome.findings[0].notes[0].text,
      "threads 224-255 wait for 240 registers each: the 384 threads of the block have 64512, of which 256 are free");
  EXPECT_EQ(outcome.note_lines[0], std::vector<int>{5});
  expect_found(kernel, deadlock, "waits for ever", 5);
  expect_found(three_groups("if (t >= 256) fewer_registers<200>();"), misuse,
               "gives registers away and asks for 200 of each thread, of which it has 168", 5);
}

// Two blocks share the registers: of 128 threads each has 256 of 256, of 384 threads 80 of 85.
TEST(SimRegisters, LaunchBoundsShareThemOut) {
  const auto run = [](const std::string& bounds) {
    const TextMachine machine(
        "extern \"C\" __global__ void " + bounds +
            " k() {\n  if (threadIdx.x < 256) more_registers<104>(); else fewer_registers<32>();\n}",
        0, "sim:sm_90a");
    return machine.run(1, 384, {});
  };
  EXPECT_TRUE(run("__launch_bounds__(384, 2)").findings.empty());
  EXPECT_TRUE(run("__launch_bounds__(384, 1)").findings.empty());
  EXPECT_TRUE(run("__launch_bounds__(384)").findings.empty());
  // A fifth of all: 32 registers, of which nobody can give 80 away.
  const Outcome outcome = run("__launch_bounds__(384, 5)");
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, deadlock);
}

}  // namespace
}  // namespace tilewright::test
