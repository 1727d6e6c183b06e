// Races that were put into small kernels, each without the one line that orders it, and the same kernels with it.
#include "sim/text_machine.h"
#include "sim/tools.h"

#include <algorithm>

namespace tilewright::test {
namespace {

using sim::Finding;

constexpr const char* kSchedules[] = {"fair", "greedy", "reverse", "random+seed=5"};

struct Watched {
  std::string body;
  int threads = 64;
  int blocks = 1;
};

Outcome run(const Watched& kernel, const std::string& how) {
  const TextMachine machine(kernel.body, 4096, "sim:sm_80+checked+" + how);
  std::vector<uint32_t> in(4096, 1), out(4096);
  uint32_t *from = in.data(), *to = out.data();
  const auto region = [](std::vector<uint32_t>& v) {
    return sim::Region{reinterpret_cast<unsigned char*>(v.data()), int64_t(4 * v.size()), 4};
  };
  return machine.run(kernel.blocks, kernel.threads, {&from, &to}, {region(in), region(out)});
}

std::string kernel_text(const std::string& body) {
  return "extern \"C\" __global__ void k(u32* in, u32* out) {\n"
         "  extern __shared__ unsigned char shared_memory[];\n"
         "  u32* box = reinterpret_cast<u32*>(shared_memory);\n"
         "  const u32 t = threadIdx.x;\n" +
         body + "\n}";
}

// The line after the four of kernel_text is 5.
void expect_clean(const std::string& body, int threads = 64, int blocks = 1) {
  for (const char* how : kSchedules) {
    const Outcome outcome = run({kernel_text(body), threads, blocks}, how);
    EXPECT_TRUE(outcome.findings.empty()) << how << ": " << outcome.findings[0].text << "\n" << body;
  }
}

void expect_race(const std::string& body, int line_a, int line_b, int threads = 64, int blocks = 1) {
  for (const char* how : kSchedules) {
    const Outcome outcome = run({kernel_text(body), threads, blocks}, how);
    bool found = false;
    for (size_t i = 0; i < outcome.findings.size(); ++i) {
      if (outcome.findings[i].kind != Finding::Kind::race) continue;
      const int now = outcome.lines[i], before = outcome.note_lines[i][0];
      found = found || (std::min(now, before) == line_a && std::max(now, before) == line_b);
    }
    EXPECT_TRUE(found) << how << ", " << outcome.findings.size() << " findings\n" << body;
  }
}

TEST(SimRace, WriteThenReadOfAnotherThread) {
  expect_clean("box[t] = t;\nsync_block();\nout[t] = box[63 - t];");
  expect_race("box[t] = t;\n\nout[t] = box[63 - t];", 5, 7);
}

TEST(SimRace, ReadThenWriteOfAnotherThread) {
  expect_clean("box[t] = t;\nsync_block();\nout[t] = box[63 - t];\nsync_block();\nbox[t] = 1;");
  expect_race("box[t] = t;\nsync_block();\nout[t] = box[63 - t];\n\nbox[t] = 1;", 7, 9);
}

TEST(SimRace, TwoWrites) { expect_race("box[t / 2] = t;", 5, 5); }

TEST(SimRace, ManyReadersAndOneWriter) {
  expect_clean("if (t == 5) box[0] = 1;\nsync_block();\nout[t] = box[0];\nsync_block();\nif (t == 9) box[0] = 2;");
  expect_race("if (t == 5) box[0] = 1;\nsync_block();\nout[t] = box[0];\n\nif (t == 9) box[0] = 2;", 7, 9);
}

TEST(SimRace, ABarrierOfAWarpOrdersThatWarpAlone) {
  expect_clean("box[t] = t;\nsync_warp();\nout[t] = box[t ^ 1];");
  expect_race("box[t] = t;\nsync_warp();\nout[t] = box[t ^ 32];", 5, 7);
}

// PTX: a shuffle exchanges values and orders no memory.
TEST(SimRace, AShuffleOrdersNothing) {
  expect_race("box[t] = t;\nout[t] = shuffle(t, 1);\nout[t] = box[t ^ 1];", 5, 7);
}

// Who only arrives does not know what others did.
TEST(SimRace, ArrivingReleasesAndDoesNotAcquire) {
  expect_clean(
      "if (t < 32) {\nbox[t] = t;\narrive_threads<1, 64>();\n} else {\nsync_threads<1, 64>();\nout[t] = box[t - "
      "32];\n}");
  expect_race(
      "if (t < 32) {\narrive_threads<1, 64>();\nout[t] = box[t + 32];\n} else {\nbox[t] = t;\nsync_threads<1, "
      "64>();\n}",
      7, 9);
}

TEST(SimRace, NamedBarriersOfTwoGroupsOrderTheirOwn) {
  expect_clean("box[t] = t;\nif (t < 32) sync_threads<1, 32>(); else sync_threads<2, 32>();\nout[t] = box[t ^ 1];");
  expect_race("box[t] = t;\nif (t < 32) sync_threads<1, 32>(); else sync_threads<2, 32>();\nout[t] = box[t ^ 32];", 5,
              7);
}

const std::string kCopy = "copy_async<16>(16 * t, in + 4 * t);\ncopy_async_commit();\n";

TEST(SimRace, AnAsynchronousCopyIsSeenByOthersBehindAWaitAndABarrier) {
  expect_clean(kCopy + "copy_async_wait<0>();\nsync_block();\nout[t] = box[4 * (63 - t)];");
  expect_race(kCopy + "\nsync_block();\nout[t] = box[4 * (63 - t)];", 5, 9);                       // no wait
  expect_race(kCopy + "copy_async_wait<1>();\nsync_block();\nout[t] = box[4 * (63 - t)];", 5, 9);  // for an older group
  expect_race(kCopy + "copy_async_wait<0>();\n\nout[t] = box[4 * (63 - t)];", 5, 9);               // no barrier
  expect_race(kCopy + "sync_block();\ncopy_async_wait<0>();\nout[t] = box[4 * (63 - t)];", 5, 9);  // in this order
}

TEST(SimRace, TheOwnCopyNeedsItsWait) {
  expect_clean(kCopy + "copy_async_wait<0>();\nout[t] = box[4 * t];");
  expect_race(kCopy + "\nout[t] = box[4 * t];", 5, 8);
}

TEST(SimRace, ACopyIntoWhatOthersStillRead) {
  const std::string first = "box[t] = t;\nsync_block();\nout[t] = box[63 - t];\n";
  expect_clean(first +
               "sync_block();\nif (t < 16) copy_async<16>(16 * t, in);\ncopy_async_commit();\ncopy_async_wait<0>();");
  expect_race(first + "\nif (t < 16) copy_async<16>(16 * t, in);\ncopy_async_commit();\ncopy_async_wait<0>();", 7, 9);
}

TEST(SimRace, ReadsOfMatrices) {
  const std::string write = "box[t] = t;\nbox[64 + t] = t;\n";
  const std::string read = "u32 a[4];\nif (t < 32) load_matrix_x4(a, 16 * t);\nif (t < 32) out[t] = a[0] + a[3];";
  expect_clean(write + "sync_block();\n" + read);
  expect_race(write + "sync_warp();\n" + read, 5, 9);
}

TEST(SimRace, GlobalMemoryOfTwoBlocks) {
  expect_clean("out[blockIdx.x * 64 + t] = in[t];", 64, 3);
  expect_race("out[t] = in[t];", 5, 5, 64, 3);
  expect_race("if (blockIdx.x == 1) in[t] = 5;\nout[blockIdx.x * 64 + t] = in[t];", 5, 6, 64, 2);
}

TEST(SimMemory, ValuesThatNobodyWrote) {
  for (const char* how : kSchedules) {
    const Outcome outcome = run({kernel_text("box[t] = 1;\nsync_block();\nout[t] = box[t + 1];"), 64, 1}, how);
    ASSERT_EQ(outcome.findings.size(), 1u) << how;
    EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::uninitialised);
    EXPECT_EQ(outcome.findings[0].memory[0].offset, 256);
    EXPECT_EQ(outcome.lines[0], 7);
  }
}

TEST(SimMemory, AnAccessBesideSharedMemory) {
  const Outcome outcome = run({kernel_text("box[t + 961] = 1;"), 64, 1}, "fair");
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::out_of_bounds);
  EXPECT_EQ(outcome.findings[0].text, "thread 63 of block 0 writes 4 bytes outside of memory");
  // Everywhere in the 4 KiB behind.
  const Outcome far = run({kernel_text("if (t == 7) box[2047] = 1;"), 64, 1}, "fair");
  ASSERT_EQ(far.findings.size(), 1u);
  EXPECT_EQ(far.findings[0].kind, Finding::Kind::out_of_bounds);
  ASSERT_EQ(far.findings[0].memory.size(), 1u);
  EXPECT_EQ(far.findings[0].memory[0].offset, 8188);
  // And before.
  const Outcome before = run({kernel_text("if (t == 7) box[-1024] = 1;"), 64, 1}, "fair");
  ASSERT_EQ(before.findings.size(), 1u);
  EXPECT_EQ(before.findings[0].kind, Finding::Kind::out_of_bounds);
  ASSERT_EQ(before.findings[0].memory.size(), 1u);
  EXPECT_EQ(before.findings[0].memory[0].offset, -4096);
}

TEST(SimMemory, AnAtomicOnWhatNobodyWrote) {
  const std::string update = "\nif (t < 8) fetch_add(SharedCell<u32>{4}, 1u);\nsync_block();\nout[t] = box[1];";
  expect_clean("if (t == 0) box[1] = 0;\nsync_block();" + update);
  for (const char* how : kSchedules) {
    const Outcome outcome = run({kernel_text(update), 64, 1}, how);
    ASSERT_EQ(outcome.findings.size(), 1u) << how;
    EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::uninitialised);
    EXPECT_NE(outcome.findings[0].text.find("updates atomically shared memory that nobody wrote"), std::string::npos)
        << outcome.findings[0].text;
    EXPECT_EQ(outcome.lines[0], 6);
  }
}

// Plain accesses of a type that needs more than the address has.
TEST(SimMemory, MisalignedAccesses) {
  const auto expect = [](const std::string& access, int bytes, int64_t offset) {
    const Outcome outcome = run({kernel_text("if (t == 2) " + access + ";"), 64, 1}, "fair");
    ASSERT_EQ(outcome.findings.size(), 1u) << access;
    EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::misuse) << access;
    EXPECT_EQ(outcome.findings[0].text, "thread 2 accesses " + std::to_string(bytes) +
                                            " bytes at an address that is no multiple of " + std::to_string(bytes));
    ASSERT_EQ(outcome.findings[0].memory.size(), 1u) << access;
    EXPECT_EQ(outcome.findings[0].memory[0].tensor, 0) << access;
    EXPECT_EQ(outcome.findings[0].memory[0].offset, offset) << access;
    EXPECT_EQ(outcome.lines[0], 5) << access;
  };
  expect("*reinterpret_cast<u64*>(in + 3) = 1", 8, 12);
  expect("out[0] = u32(*reinterpret_cast<u64*>(in + 1))", 8, 4);
  expect("*reinterpret_cast<u16*>(reinterpret_cast<u8*>(in) + 5) = 1", 2, 5);
  expect("reduce_add(reinterpret_cast<u64*>(in + 5), u64(1))", 8, 20);
  // clang copies 16 bytes by a function that is not told of their alignment.
  if (Tools::get().compiler.kind() != CompilerKind::gcc) return;
  expect("{ float v[4]; load_vector<4>(v, reinterpret_cast<float*>(in + 6)); out[0] = u32(v[3]); }", 16, 24);
  expect("{ float v[4] = {}; store_vector<4>(reinterpret_cast<float*>(in + 10), v); }", 16, 40);
}

// Two tiles of 60 bytes, each at a multiple of 64.
TEST(SimMemory, AnAccessBetweenTiles) {
  TextMachine machine(
      kernel_text("box[t < 15 ? t : t + 1] = 1;\nif (t == 9) box[15] = 2;\nif (t == 8) out[0] = box[31];"), 128,
      "sim:sm_80+checked");
  machine.shared_parts = {{0, 60}, {64, 124}};
  std::vector<uint32_t> memory(64);
  uint32_t* at = memory.data();
  const Outcome outcome = machine.run(1, 30, {&at, &at}, {{reinterpret_cast<unsigned char*>(at), 256, 4, false}});
  ASSERT_EQ(outcome.findings.size(), 2u);
  EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::out_of_bounds);
  EXPECT_EQ(outcome.findings[0].text, "thread 8 of block 0 reads 4 bytes outside of memory");
  EXPECT_EQ(outcome.findings[0].memory[0].offset, 124);
  EXPECT_EQ(outcome.lines[0], 7);
  EXPECT_EQ(outcome.findings[1].text, "thread 9 of block 0 writes 4 bytes outside of memory");
  EXPECT_EQ(outcome.findings[1].memory[0].offset, 60);
  EXPECT_EQ(outcome.lines[1], 6);
  // Without parts nothing is known.
  machine.shared_parts.clear();
  const Outcome all = machine.run(1, 30, {&at, &at}, {{reinterpret_cast<unsigned char*>(at), 256, 4, false}});
  ASSERT_EQ(all.findings.size(), 1u);
  EXPECT_EQ(all.findings[0].kind, Finding::Kind::uninitialised);
}

// Registers of a thread.
TEST(SimMemory, AnIndexBesideAnArrayOfTheThread) {
  const auto text = [](const char* index) {
    return kernel_text(std::string("float own[12];\nfor (u32 i = 0; i < 12; ++i) own[i] = float(i);\nown[") + index +
                       "] = 5;\nout[t] = u32(own[t % 12]);");
  };
  const Outcome outcome = run({text("t < 40 ? t % 12 : t - 28"), 64, 1}, "fair");
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, Finding::Kind::out_of_bounds);
  EXPECT_EQ(outcome.findings[0].text, "thread 40 accesses element 12 of an array of its own, which has none");
  EXPECT_EQ(outcome.lines[0], 7);
  EXPECT_TRUE(run({text("t % 12"), 64, 1}, "fair").findings.empty());
}

TEST(SimMemory, RegistersThatNobodySetAreNoZeros) {
  for (const char* target : {"sim:sm_80", "sim:sm_80+checked"}) {
    const TextMachine machine(
        kernel_text("u32 own[4];\nfor (u32 i = 0; i < t % 5; ++i) own[i] = 7;\nout[t] = own[in[t]];"), 0, target);
    std::vector<uint32_t> in(64, 3), out(64);
    uint32_t *from = in.data(), *to = out.data();
    machine.run(1, 64, {&from, &to});
    for (uint32_t t = 0; t < 64; ++t) {
      // Bytes of 0xfe by g++; another pattern by clang.
      if (t % 5 == 4)
        EXPECT_EQ(out[t], 7u);
      else
        EXPECT_GT(out[t], 0x7fffffffu) << target << " " << t;
    }
  }
}

// What lies near an array and belongs to nobody.
TEST(SimMemory, AnAccessBesideAnArray) {
  const TextMachine machine(kernel_text("if (t == 9) out[64] = in[-2];"), 0, "sim:sm_80+checked");
  std::vector<uint32_t> memory(256);
  uint32_t *in = memory.data() + 32, *out = memory.data() + 128;
  const auto region = [](uint32_t* first, int64_t count) {
    return sim::Region{reinterpret_cast<unsigned char*>(first), 4 * count, 4, true};
  };
  const Outcome outcome = machine.run(1, 64, {&in, &out}, {region(in, 32), region(out, 64)}, 64);
  ASSERT_EQ(outcome.findings.size(), 2u);
  EXPECT_EQ(outcome.findings[0].text, "thread 9 of block 0 reads 4 bytes outside of memory");
  EXPECT_EQ(outcome.findings[0].memory[0].tensor, 0);
  EXPECT_EQ(outcome.findings[0].memory[0].offset, -8);
  EXPECT_EQ(outcome.findings[1].text, "thread 9 of block 0 writes 4 bytes outside of memory");
  EXPECT_EQ(outcome.findings[1].memory[0].tensor, 1);
  EXPECT_EQ(outcome.findings[1].memory[0].offset, 256);
}

}  // namespace
}  // namespace tilewright::test
