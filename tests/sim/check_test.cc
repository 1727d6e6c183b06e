// check(): programs of the language under several schedules.
#include "../../examples/matmul_relu.h"

#include "target/sim.h"

#include <tilewright/check.h>
#include <tilewright/language.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

namespace tilewright::test {
namespace {

namespace T = tilewright::lang;

TEST(Check, AProductIsRight) {
  const int64_t m = 40, n = 72, k = 48;
  std::vector<uint16_t> a(m * k, 0x3c00), b(k * n, 0x4000), c(m * n, 0x1234);
  const CheckResult result = check(examples::matmul_relu(m, n, k, 32, 64, 16),
                                   {TensorView{a.data(), DType::f16, {m, k}}, TensorView{b.data(), DType::f16, {k, n}},
                                    TensorView{c.data(), DType::f16, {m, n}}},
                                   {.num_random = 1});
  EXPECT_TRUE(result.ok()) << result.report();
  ASSERT_EQ(result.runs.size(), 4u);
  EXPECT_EQ(result.runs[2].target, "sim:sm_80+checked+reverse+early");
  EXPECT_EQ(c, std::vector<uint16_t>(m * n, 0x1234));  // the arguments stay as they are
}

// Fewer pieces of 16 bytes than threads: one thread copies each.
TEST(Check, APieceIsCopiedByOneThread) {
  const Program program = T::prim_func("few_pieces", [] {
    auto A = T::tensor("A", {8, 16}, T::f32);
    auto B = T::tensor("B", {8, 16}, T::f32);
    auto blocks = T::Kernel({1}, {.threads = 128});
    auto tile = T::alloc_shared({8, 16}, T::f32);
    T::copy(A(0, 0), tile);
    T::copy(tile, B(0, 0));
  });
  std::vector<float> a(128, 1), b(128);
  const CheckResult result =
      check(program, {TensorView{a.data(), DType::f32, {8, 16}}, TensorView{b.data(), DType::f32, {8, 16}}});
  EXPECT_TRUE(result.ok()) << result.report();
}

TEST(Check, BlocksThatWriteTheSameElement) {
  int line = 0;
  const Program program = T::prim_func("overlap", [&] {
    auto A = T::tensor("A", {64}, T::f32);
    auto B = T::tensor("B", {40}, T::f32);
    auto [bx] = T::Kernel({2}, {.threads = 32});
    auto tile = T::alloc_shared({32}, T::f32);
    T::copy(A(bx * 32), tile);
    line = __LINE__ + 1;
    T::copy(tile, B(bx * 8));
  });
  std::vector<float> a(64, 1), b(40);
  const CheckResult result =
      check(program, {TensorView{a.data(), DType::f32, {64}}, TensorView{b.data(), DType::f32, {40}}});
  EXPECT_FALSE(result.ok());
  for (const CheckRun& run : result.runs) {
    ASSERT_EQ(run.findings.size(), 1u) << run.target;
    const Error& error = run.findings[0];
    EXPECT_EQ(error.message().substr(0, 2), "B[") << error.message();
    EXPECT_NE(error.message().find("of block 0 writes, and nothing orders the two"), std::string::npos)
        << error.message();
    EXPECT_EQ(error.loc().line, line);
    ASSERT_EQ(error.notes().size(), 2u);
    EXPECT_EQ(error.notes()[1].loc.line, line);
  }
}

TEST(Check, TargetsByName) {
  EXPECT_EQ(sim_target_from_name("sim").name(), "sim:sm_80");
  EXPECT_EQ(sim_target_from_name("sim:sm_90a+random+seed=9").name(), "sim:sm_90a+random+seed=9");
  EXPECT_EQ(sim_target_from_name("sim:sm_75+checked+early+greedy").name(), "sim:sm_75+checked+greedy+early");
  const auto message = [](const char* name) {
    try {
      sim_target_from_name(name);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::invalid_argument);
      return e.message();
    }
    return std::string("none");
  };
  EXPECT_EQ(message("sim:sm_8x"), "'sm_8x' is no architecture of an NVIDIA GPU");
  EXPECT_EQ(message("sim:sm_80+hurry"), "'hurry' in target 'sim:sm_80+hurry' says nothing about the simulator");
  EXPECT_EQ(message("sim:sm_80+seed=x"), "'seed=x' in target 'sim:sm_80+seed=x' says nothing about the simulator");
}

}  // namespace
}  // namespace tilewright::test
