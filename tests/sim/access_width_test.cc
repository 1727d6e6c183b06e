// The detector knows memory by pieces of 16 bytes until an access is smaller: what it knew of a piece then holds for
// each of its parts.
#include "sim/text_machine.h"

#include <algorithm>

namespace tilewright::test {
namespace {

using sim::Finding;

Outcome run(const std::string& body, const std::string& how, int blocks) {
  const std::string text =
      "extern \"C\" __global__ void k(u32* in, u32* out) {\n"
      "  extern __shared__ unsigned char shared_memory[];\n"
      "  u32* box = reinterpret_cast<u32*>(shared_memory);\n"
      "  const u32 t = threadIdx.x;\n"
      "  u32 v[4] = {t, t, t, t};\n" +
      body + "\n}";
  const TextMachine machine(text, 4096, "sim:sm_80+checked+" + how);
  std::vector<uint32_t> in(4096, 1), out(4096);
  uint32_t *from = in.data(), *to = out.data();
  const auto region = [](std::vector<uint32_t>& v) {
    return sim::Region{reinterpret_cast<unsigned char*>(v.data()), int64_t(4 * v.size()), 1};
  };
  return machine.run(blocks, 64, {&from, &to}, {region(in), region(out)});
}

constexpr const char* kSchedules[] = {"fair", "greedy", "reverse"};

void expect_clean(const std::string& body, int blocks = 1) {
  for (const char* how : kSchedules) {
    const Outcome outcome = run(body, how, blocks);
    EXPECT_TRUE(outcome.findings.empty()) << how << ": " << outcome.findings[0].text << "\n" << body;
  }
}

// Findings of that kind alone, at one of `offsets`, under all schedules. An atom's access may be found twice, as that
// of the atom and as one of the code that it is made of.
void expect(const std::string& body, Finding::Kind kind, const std::vector<int64_t>& offsets, int blocks = 1) {
  for (const char* how : kSchedules) {
    const Outcome outcome = run(body, how, blocks);
    EXPECT_FALSE(outcome.findings.empty()) << how << "\n" << body;
    for (const Finding& finding : outcome.findings) {
      EXPECT_EQ(finding.kind, kind) << how << "\n" << body;
      ASSERT_EQ(finding.memory.size(), 1u);
      const int64_t at = finding.memory[0].offset;
      EXPECT_NE(std::find(offsets.begin(), offsets.end(), at), offsets.end()) << how << ": " << at << "\n" << body;
    }
  }
}

const std::string kFill = "store_shared_v4(16 * t, v);\n";

TEST(SimAccessWidth, SmallAfterWide) {
  expect_clean(kFill + "sync_block();\nout[t] = box[255 - 4 * t];");
  expect_clean(kFill + "sync_block();\nbox[t] = 1;");
  expect_clean(kFill + "sync_block();\nshared_memory[1023 - t] = 1;");
  // Thread 9 reads words 36 to 39, which thread 9 wrote; thread 40 writes word 38.
  expect(kFill + "sync_block();\nif (t == 40) box[38] = 1;\nif (t == 9) { load_shared_v4(v, 144); out[0] = v[0]; }",
         Finding::Kind::race, {152});
  expect(kFill + "sync_block();\n" + kFill + "if (t == 40) out[1] = box[38];", Finding::Kind::race, {152, 144});
}

TEST(SimAccessWidth, ManyReadersOfAWidePiece) {
  const std::string read = kFill + "sync_block();\nload_shared_v4(v, 32);\nout[t] = v[3];\n";
  expect_clean(read + "sync_block();\nif (t == 50) box[9] = 1;");
  expect_clean(read + "sync_block();\nif (t >= 8 && t < 12) box[t] = 1;");
  expect(read + "if (t == 50) box[9] = 1;", Finding::Kind::race, {36});
  // Only one of the warps is ordered before.
  expect(read + "sync_warp();\nif (t == 50) shared_memory[47] = 1;", Finding::Kind::race, {47});
}

TEST(SimAccessWidth, WideAfterSmall) {
  expect_clean(
      "box[4 * t] = 1; box[4 * t + 1] = 1; box[4 * t + 2] = 1; box[4 * t + 3] = 1;\nsync_block();\n"
      "load_shared_v4(v, 1008 - 16 * t);\nout[t] = v[0];");
  expect("box[t] = t;\nsync_block();\nif (t == 3) { load_shared_v4(v, 256); out[0] = v[0]; }",
         Finding::Kind::uninitialised, {256});
  expect("if (t < 63) box[t] = t;\nsync_block();\nif (t == 3) { load_shared_v4(v, 240); out[0] = v[3]; }",
         Finding::Kind::uninitialised, {252});
}

TEST(SimAccessWidth, CopiesAndSmallAccesses) {
  const std::string copy = "copy_async<16>(16 * t, in + 4 * t);\ncopy_async_commit();\n";
  expect_clean(copy + "copy_async_wait<0>();\nsync_block();\nout[t] = box[255 - t];");
  expect_clean(copy + "copy_async_wait<0>();\nsync_block();\nout[t] = shared_memory[255 - t];");
  expect(copy + "if (t == 7) out[0] = box[29];\ncopy_async_wait<0>();", Finding::Kind::race, {116});
  // A part that lies behind what is split while the copy is on its way.
  expect_clean(copy + "if (t == 7) box[512] = 1;\ncopy_async_wait<0>();\nsync_block();\nout[t] = box[255 - t];");
  expect(copy + "if (t == 7) box[512] = 1;\nsync_block();\nif (t == 1) out[0] = box[29];\ncopy_async_wait<0>();",
         Finding::Kind::race, {116});
}

TEST(SimAccessWidth, GlobalMemory) {
  const std::string wide = "float w[4] = {};\nstore_vector<4>(reinterpret_cast<float*>(out) + 4 * t, w);\n";
  expect_clean(wide + "sync_block();\nreinterpret_cast<u8*>(out)[1023 - t] = 1;");
  expect(wide + "if (t == 40) out[38] = 1;", Finding::Kind::race, {152});
  // Of another block, in a tensor that is split by then.
  expect(wide.substr(0, wide.find('\n') + 1) +
             "if (blockIdx.x == 0) store_vector<4>(reinterpret_cast<float*>(out) + 4 * t, w);\n"
             "if (blockIdx.x == 1 && t == 0) { reinterpret_cast<u8*>(out)[2048] = 1; out[5] = 1; }",
         Finding::Kind::race, {20}, 2);
}

}  // namespace
}  // namespace tilewright::test
