// Barriers in shared memory: what they order, and what goes wrong without one word. The barrier lies at byte 8192.
#include "sim/watched_text.h"

namespace tilewright::test {
namespace {

using enum sim::Finding::Kind;

// Lines 5 and 6.
std::string init(int arrivals) {
  return "if (t == 0) { mbarrier_init(8192, " + std::to_string(arrivals) +
         "); fence_mbarrier_init(); }\nsync_block();\n";
}

const std::string kProduce = "if (t < 32) {\nbox[t] = t;\nmbarrier_arrive(8192);\n} else {\n";

TEST(SimMbarrier, ArrivalsReleaseAndWaitsAcquire) {
  const auto want = [](uint32_t i) { return 31 - i; };
  expect_clean({init(32) + kProduce + "mbarrier_wait(8192, 0);\nout[t - 32] = box[63 - t];\n}"}, 32, want);
  expect_clean({init(32) + kProduce + "while (!mbarrier_test(8192, 0)) {}\nout[t - 32] = box[63 - t];\n}"}, 32, want);
  expect_clean({init(32) + kProduce + "while (!mbarrier_try(8192, 0)) sleep_ns(20);\nout[t - 32] = box[63 - t];\n}"},
               32, want);
  // The producers themselves know nothing by arriving.
  expect_race({init(32) + "if (t < 32) {\nbox[t] = t;\nmbarrier_arrive(8192);\nout[t] = box[t ^ 1];\n}"}, 8, 10);
  expect_race({init(32) + kProduce + "\nout[t - 32] = box[63 - t];\n}"}, 8, 12);
  // In the wrong order.
  expect_race({init(32) +
               "if (t < 32) {\nmbarrier_arrive(8192);\nbox[t] = t;\nsync_warp();\n} else {\nmbarrier_wait(8192, 0);\n"
               "out[t - 32] = box[63 - t];\n}"},
              9, 13);
}

// The phase before the first counts as ended: parity 1 passes at once, and orders nothing.
TEST(SimMbarrier, AWaitForTheWrongParity) {
  expect_race({init(32) + kProduce + "mbarrier_wait(8192, 1);\nout[t - 32] = box[63 - t];\n}"}, 8, 12);
  expect_deadlock(
      {init(32) + kProduce + "mbarrier_wait(8192, 0);\nmbarrier_wait(8192, 1);\n}"},
      {{"threads 32-63 wait for phase 1 of the mbarrier at byte 8192 of shared memory: 0 of 32 arrivals came, "
        "0 bytes are to come",
        12}});
}

TEST(SimMbarrier, PhasesFollowEachOther) {
  // A ring of one box: 20 rounds between two groups of 32 threads, full at 8192, empty at 8200.
  expect_clean({R"(if (t == 0) { mbarrier_init(8192, 32); mbarrier_init(8200, 32); fence_mbarrier_init(); }
sync_block();
for (u32 i = 0; i < 20; ++i) {
  if (t < 32) {
    mbarrier_wait(8200, i & 1 ^ 1);
    box[t] = 100 * i + t;
    mbarrier_arrive(8192);
  } else {
    mbarrier_wait(8192, i & 1);
    out[32 * i + t - 32] = box[63 - t];
    mbarrier_arrive(8200);
  }
})"},
               640, [](uint32_t i) { return 100 * (i / 32) + 31 - i % 32; });
}

TEST(SimMbarrier, TooFewArrivals) {
  expect_deadlock(
      {init(33) + kProduce + "mbarrier_wait(8192, 0);\n}"},
      {{"threads 32-63 wait for phase 0 of the mbarrier at byte 8192 of shared memory: 32 of 33 arrivals came, "
        "0 bytes are to come",
        11}});
  const Outcome outcome = WatchedText{init(33) + kProduce + "mbarrier_wait(8192, 0);\n}"}.run("fair").outcome;
  EXPECT_EQ(outcome.findings[0].text, "block 0 waits for ever: 32 of its 64 threads have ended");
  ASSERT_EQ(outcome.findings[0].notes[0].memory.size(), 1u);  // by which a report names the tile
  EXPECT_EQ(outcome.findings[0].notes[0].memory[0].offset, 8192);
  expect_found(
      {init(33) + kProduce + "while (!mbarrier_test(8192, 0)) {}\n}"}, deadlock,
      "tests again and again with parity 0 for phase 0 of the mbarrier at byte 8192 of shared memory: 32 of 33", 11,
      "fair");
}

TEST(SimMbarrier, TooManyArrivals) {
  expect_found({init(31) + "if (t < 32) mbarrier_arrive(8192, 2);"}, misuse,
               "arrives 2 times at an mbarrier whose phase 0 lacks 1 of 31 arrivals and 0 bytes", 7);
}

const std::string kLoad = "bulk_load(0, in, 256, 8192);\n";

TEST(SimMbarrier, BytesThatAreExpected) {
  const std::string read = "mbarrier_wait(8192, 0);\nout[t] = box[t];";
  expect_clean({init(1) + "if (t == 0) {\nmbarrier_arrive_expect(8192, 256);\n" + kLoad + "}\n" + read}, 64);
  expect_clean(
      {init(1) + "if (t == 0) {\nmbarrier_expect(8192, 256);\n" + kLoad + "mbarrier_arrive(8192);\n}\n" + read}, 64);
  // The copy may come before the bytes are expected.
  expect_clean({init(1) + "if (t == 0) {\n" + kLoad + "mbarrier_arrive_expect(8192, 256);\n}\n" + read}, 64);
  // Too many.
  expect_deadlock(
      {init(1) + "if (t == 0) {\nmbarrier_arrive_expect(8192, 272);\n" + kLoad + "}\n" + read},
      {{"threads 0-63 wait for phase 0 of the mbarrier at byte 8192 of shared memory: 1 of 1 arrivals came, 16 "
        "bytes are to come",
        11}});
}

// The phase ends without the copy, which counts in the next.
TEST(SimMbarrier, BytesThatNobodyExpects) {
  const std::string start = init(1) + "if (t == 0) {\nmbarrier_arrive(8192);\n" + kLoad + "}\n";
  expect_race({start + "mbarrier_wait(8192, 0);\nout[t] = box[t];"}, 9, 12);
  expect_deadlock(
      {start + "mbarrier_wait(8192, 0);\nif (t == 0) mbarrier_arrive(8192);\nmbarrier_wait(8192, 1);"},
      {{"threads 0-63 wait for phase 1 of the mbarrier at byte 8192 of shared memory: 1 of 1 arrivals came, 256 "
        "bytes came that nobody expected",
        13}},
      "+early");
}

TEST(SimMbarrier, CopiesThatArrive) {
  const std::string copy = "copy_async<16>(16 * t, in + 4 * t);\n";
  const std::string read = "out[t] = box[63 - t];";
  const auto want = [](uint32_t i) { return 63 - i; };
  expect_clean({init(64) + copy + "mbarrier_arrive_after_copies(8192);\nmbarrier_wait(8192, 0);\n" + read}, 64, want);
  expect_race({init(64) + copy + "mbarrier_arrive(8192);\nmbarrier_wait(8192, 0);\n" + read}, 7, 10);
  expect_race({init(64) + "mbarrier_arrive_after_copies(8192);\n" + copy + "mbarrier_wait(8192, 0);\n" + read}, 8, 10);
}

// A ring of two boxes: 6 rounds, producers 0-31 copy 4 bytes each into box i % 2, full at 8192 and 8200, empty at 8208
// and 8216. Each arrival speaks for the copies since the one before.
constexpr const char* kRing = R"(if (t == 0) {
  for (u32 b = 0; b < 4; ++b) mbarrier_init(8192 + 8 * b, 32);
  fence_mbarrier_init();
}
sync_block();
for (u32 i = 0; i < 6; ++i) {
  const u32 stage = i & 1, phase = i / 2 & 1;
  if (t < 32) {
    mbarrier_wait(8208 + 8 * stage, phase ^ 1);
    copy_async<4>(256 * stage + 4 * t, in + 32 * i + t);
    mbarrier_arrive_after_copies(8192 + 8 * stage);
  } else {
    mbarrier_wait(8192 + 8 * WHICH, phase);
    out[32 * i + t - 32] = box[64 * stage + 63 - t];
    in[32 * i + t - 32] = 7;
    mbarrier_arrive(8208 + 8 * stage);
  }
})";

std::string ring(const std::string& which) {
  std::string text = kRing;
  return text.replace(text.find("WHICH"), 5, which);
}

TEST(SimMbarrier, CopiesThatArriveInARing) {
  // The consumer also writes over the source, behind the copy from it.
  WatchedText::for_all([](const std::string& how) {
    const WatchedText::Result result = WatchedText{ring("stage")}.run(how);
    // Lane 63 - t of the box is read while element t - 32 of the source is written, which is another one's.
    for (const sim::Finding& f : result.outcome.findings) ADD_FAILURE() << how << ": " << f.text;
    for (uint32_t i = 0; i < 192; ++i) ASSERT_EQ(result.out[i], i / 32 * 32 + 31 - i % 32) << how;
  });
}

// One that waits for the other box's copies of the round before knows nothing of its own.
TEST(SimMbarrier, CopiesThatArriveElsewhere) {
  const std::string copies =
      "if (t == 0) { mbarrier_init(8192, 64); mbarrier_init(8200, 64); fence_mbarrier_init(); }\nsync_block();\n"
      "copy_async<4>(4 * t, in + t);\nmbarrier_arrive_after_copies(8192);\n"
      "copy_async<4>(256 + 4 * t, in + 64 + t);\nmbarrier_arrive_after_copies(8200);\n";
  const auto first = [](uint32_t i) { return 63 - i; };
  expect_clean({copies + "mbarrier_wait(8192, 0);\nout[t] = box[63 - t];\nmbarrier_wait(8200, 0);"}, 64, first);
  // The second arrival comes behind all copies before it.
  expect_clean({copies + "mbarrier_wait(8200, 0);\nout[t] = box[63 - t];"}, 64, first);
  expect_clean({copies + "mbarrier_wait(8200, 0);\nout[t] = box[127 - t];"}, 64, [](uint32_t i) { return 127 - i; });
  expect_race({copies + "mbarrier_wait(8192, 0);\nout[t] = box[127 - t];\nmbarrier_wait(8200, 0);"}, 9, 12);
  // Groups wait for the same copies.
  const std::string both = init(64) +
                           "copy_async<4>(4 * t, in + t);\nmbarrier_arrive_after_copies(8192);\n"
                           "copy_async_commit();\ncopy_async_wait<0>();\n";
  expect_clean({both + "out[t] = box[t];"}, 64);
  expect_clean({both + "mbarrier_wait(8192, 0);\nout[t] = box[63 - t];"}, 64, first);
}

// sm_80 has mbarriers for cp.async, and no instruction that sleeps.
TEST(SimMbarrier, BeforeSm90) {
  for (const char* how : {"fair", "greedy+early", "reverse", "random+anytime+seed=2"}) {
    const TextMachine machine(R"(extern "C" __global__ void k(const u32* in, u32* out) {
  extern __shared__ unsigned char shared_memory[];
  const u32* box = reinterpret_cast<u32*>(shared_memory);
  if (threadIdx.x == 0) mbarrier_init(1024, 64);
  sync_block();
  copy_async<4>(4 * threadIdx.x, in + threadIdx.x);
  mbarrier_arrive_after_copies(1024);
  mbarrier_wait(1024, 0);
  out[threadIdx.x] = box[63 - threadIdx.x];
})",
                              2048, std::string("sim:sm_80+checked+") + how);
    std::vector<uint32_t> in(64), out(64);
    for (uint32_t i = 0; i < 64; ++i) in[i] = i;
    uint32_t *from = in.data(), *to = out.data();
    const Outcome outcome = machine.run(1, 64, {&from, &to});
    ASSERT_TRUE(outcome.findings.empty()) << how << ": " << outcome.findings[0].text;
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 63 - i) << how;
  }
}

TEST(SimMbarrier, Misuse) {
  expect_found({"if (t == 9) mbarrier_arrive(8192);"}, misuse,
               "thread 9 arrives at an mbarrier at byte 8192 of shared memory, where none was initialised", 5);
  expect_found({"if (t == 0) mbarrier_init(8192, 0);"}, misuse, "an mbarrier of 0 arrivals; 1 to 1048575 are possible",
               5);
  expect_found({"if (t == 0) {\nmbarrier_init(8192, 1);\nmbarrier_init(8192, 1);\n}"}, misuse,
               "thread 0 initialises an mbarrier that was initialised and not invalidated", 7);
  expect_clean({"if (t == 0) {\nmbarrier_init(8192, 1);\nmbarrier_invalidate(8192);\nmbarrier_init(8192, 1);\n}"});
  expect_found({init(1) + "if (t == 1) {\nbox[2048] = 7;\nmbarrier_arrive(8192);\n}"}, misuse,
               "thread 1 arrives at an mbarrier whose memory was overwritten", 9);
  expect_found({init(1) + "mbarrier_wait(8192, 2);"}, misuse, "with parity 2; 0 and 1 are possible", 7);
  expect_found({init(1) + "if (t == 0) mbarrier_expect(8192, 1 << 20);"}, misuse,
               "an mbarrier counts 1048576 pending bytes; at most 1048575 are possible", 7);
  expect_found({"mbarrier_init(8196, 1);"}, out_of_bounds, "no multiple of 8", 5);
  // Nobody else knows of it before a barrier.
  expect_found({"if (t == 0) mbarrier_init(8192, 64);\n\nmbarrier_arrive(8192);"}, race,
               "thread 1 arrives at an mbarrier that thread 0 initialises, and nothing orders the two", 7, "fair");
  expect_found({"if (t == 0) mbarrier_init(8192, 64);\n\nmbarrier_arrive(8192);"}, misuse, "where none was initialised",
               7, "reverse");
}

}  // namespace
}  // namespace tilewright::test
