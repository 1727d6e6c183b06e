// Atomics of several threads on one element.
#include "sim/text_machine.h"

#include <cmath>

namespace tilewright::test {
namespace {

TEST(SimAtomic, EveryOperation) {
  const TextMachine machine(R"(#include <tilewright/device/cuda/atomic.h>
extern "C" __global__ void k(u32* w, i32* s, u64* d, float* f) {
  const u32 t = threadIdx.x;
  reduce_add(w, t); reduce_min(w + 1, t + 5); reduce_max(w + 2, t);
  reduce_and(w + 3, ~(1u << t % 32)); reduce_or(w + 4, 1u << t % 32); reduce_xor(w + 5, t);
  reduce_add(s, -i32(t)); reduce_min(s + 1, -i32(t)); reduce_max(s + 2, 7 - i32(t));
  reduce_add(d, u64(1) << 40);
  reduce_add(f, 0.5f); reduce_max(f + 1, -1.0f - t); reduce_min(f + 2, 3.0f - t);
  if (fetch_exchange(w + 6, 9u) == 0) reduce_add(w + 7, 1u);
  u32 before = w[8];
  for (u32 seen; (seen = compare_exchange(w + 8, before, before + 3)) != before;) before = seen;
})");
  std::vector<uint32_t> w(9);
  w[1] = ~0u, w[3] = ~0u;
  std::vector<int32_t> s(3, 0);
  s[2] = -100;
  std::vector<uint64_t> d(1);
  std::vector<float> f = {0, -1e9f, 1e9f};
  void *a = w.data(), *b = s.data(), *c = d.data(), *e = f.data();
  const Outcome outcome = machine.run(2, 64, {&a, &b, &c, &e});
  ASSERT_TRUE(outcome.findings.empty()) << outcome.findings[0].text;
  EXPECT_EQ(w, (std::vector<uint32_t>{2 * 2016, 5, 63, 0, ~0u, 0, 9, 1, 384}));
  EXPECT_EQ(s, (std::vector<int32_t>{-2 * 2016, -63, 7}));
  EXPECT_EQ(d[0], uint64_t(128) << 40);
  EXPECT_EQ(f, (std::vector<float>{64, -1, -60}));
}

// As atom.max.s32 and atom.min.u32 order bits: -0 below 0.
TEST(SimAtomic, ZerosOfBothSigns) {
  const TextMachine machine(R"(extern "C" __global__ void k(float* f) {
  if (threadIdx.x > 0) return;
  reduce_max(f, 0.0f); reduce_max(f + 1, -0.0f); reduce_min(f + 2, 0.0f); reduce_min(f + 3, -0.0f);
})");
  std::vector<float> f = {-0.0f, 0.0f, -0.0f, 0.0f};
  void* a = f.data();
  ASSERT_TRUE(machine.run(1, 32, {&a}).findings.empty());
  const bool negative[] = {false, false, true, true};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(std::signbit(f[i]), negative[i]) << i;
}

TEST(SimAtomic, SharedMemory) {
  const TextMachine machine(R"(#include <tilewright/device/cuda/atomic.h>
extern "C" __global__ void k(u32* out) {
  extern __shared__ unsigned char shared_memory[];
  if (threadIdx.x == 0) *reinterpret_cast<u32*>(shared_memory + 4) = 0;
  sync_block();
  out[fetch_add(SharedCell<u32>{4}, 1u)] = 1;
})",
                            64);
  std::vector<uint32_t> out(70);
  void* a = out.data();
  const Outcome outcome = machine.run(1, 64, {&a});
  ASSERT_TRUE(outcome.findings.empty()) << outcome.findings[0].text;
  for (size_t i = 0; i < 70; ++i) EXPECT_EQ(out[i], uint32_t(i < 64));
}

// Updates need no order among each other; a plain access needs one.
TEST(SimAtomic, RaceWithPlainAccesses) {
  const auto findings = [](const std::string& body) {
    const TextMachine machine(
        "#include <tilewright/device/cuda/atomic.h>\n"
        "extern \"C\" __global__ void k(u32* out) {\n" +
            body + "\n}",
        0, "sim:sm_80+checked");
    std::vector<uint32_t> out(64);
    void* a = out.data();
    return machine.run(2, 64, {&a}, {{reinterpret_cast<unsigned char*>(out.data()), 256, 4}}).findings.size();
  };
  EXPECT_EQ(findings("reduce_add(out, 1u);"), 0u);
  EXPECT_GE(findings("reduce_add(out, 1u);\nif (threadIdx.x == 5) out[0] = 1;"), 1u);
}

}  // namespace
}  // namespace tilewright::test
