// check(): programs of the language under several schedules.
#include "../../examples/matmul_relu.h"

#include "driver/compiled_kernel.h"
#include "sim/programs.h"
#include "target/sim.h"

#include <tilewright/check.h>
#include <tilewright/language.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
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
  const Program program = one_tile();
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

// The error of a call that must throw one.
template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_argument);
    return e.message();
  }
  return "none";
}

// Block b reads the half b of A and writes the other one of B.
Program exchange_halves() {
  return T::prim_func("exchange_halves", [] {
    auto A = T::tensor("A", {64}, T::f32);
    auto B = T::tensor("B", {64}, T::f32);
    auto [bx] = T::Kernel({2}, {.threads = 32});
    auto tile = T::alloc_shared({32}, T::f32);
    T::copy(A(bx * 32), tile);
    T::copy(tile, B(32 - bx * 32));
  });
}

TEST(Check, ArgumentsThatDoNotFitAreRefusedBeforeTheyAreRead) {
  const Program program = exchange_halves();
  std::vector<float> b(64);
  const TensorView good{b.data(), DType::f32, {64}};
  EXPECT_EQ(message_of([&] {
              check(program, {TensorView{nullptr, DType::f32, {64}}, good});
            }),
            "argument 1 (A): the pointer is null, but the shape is [64]");
  EXPECT_EQ(message_of([&] {
              check(program, {good, TensorView{b.data(), DType::f32, {-64}}});
            }),
            "argument 2 (B): the extent of dimension 0 is -64");
  EXPECT_EQ(message_of([&] { check(program, {good}); }), "exchange_halves takes 2 arguments (A, B), but 1 was passed");
  EXPECT_EQ(message_of([&] {
              check(program, {good, int64_t(64)});
            }),
            "argument 2 (B): a scalar was passed, but it is a tensor");
  const TensorView one_stride{.data = b.data(), .dtype = DType::f32, .shape = {40, 72}, .strides = {72}};
  EXPECT_EQ(message_of([&] {
              check(examples::matmul_relu(40, 72, 48, 32, 64, 16, DType::f32), {good, good, one_stride});
            }),
            "argument 1 (A): shape [64] has 1 dimensions, but 2 are expected");
  const TensorView a{b.data(), DType::f32, {8, 8}};
  const TensorView bad{.data = b.data(), .dtype = DType::f32, .shape = {8, 8}, .strides = {8}};
  EXPECT_EQ(message_of([&] {
              check(examples::matmul_relu(8, 8, 8, 16, 16, 16, DType::f32), {bad, a, a});
            }),
            "argument 1 (A): there are 1 strides for 2 dimensions");
}

TEST(Check, TensorsThatOverlap) {
  const Program program = exchange_halves();
  std::vector<float> memory(128, 1);
  const auto view = [&](int64_t first) { return TensorView{memory.data() + first, DType::f32, {64}}; };
  const CheckResult apart = check(program, {view(0), view(64)});
  EXPECT_TRUE(apart.ok()) << apart.report();
  // Half a tensor further each block writes what it has read itself.
  const CheckResult half = check(program, {view(0), view(32)});
  EXPECT_TRUE(half.ok()) << half.report();
  // B is A, begins within it, and ends there: what one block writes the other reads.
  for (const auto& [a, b] : {std::pair<int64_t, int64_t>{0, 0}, {0, 16}, {16, 0}}) {
    const CheckResult result = check(program, {view(a), view(b)}, {.num_random = 0});
    EXPECT_FALSE(result.ok()) << a << " " << b;
    for (const CheckRun& run : result.runs) {
      ASSERT_GE(run.findings.size(), 1u) << run.target;
      EXPECT_NE(run.findings[0].message().find("nothing orders the two"), std::string::npos) << result.report();
    }
  }
}

// Elements lie behind and before the one that the pointer names.
TEST(Check, NegativeStrides) {
  const auto rows = [](int64_t step) {
    return T::prim_func("rows", [&] {
      auto A = T::tensor("A", {4, 32}, T::f32, {.strides = {-40, 1}});
      auto B = T::tensor("B", {4, 32}, T::f32, {.strides = {40, -1}});
      auto [bx] = T::Kernel({4}, {.threads = 32});
      for (auto i : T::Parallel(32)) B(bx, (i + bx * step) % 32) = A(bx, i) + A(3 - bx, i);
      T::if_(bx == 1, [&] { B(bx + T::Expr(step), 3) = 1; });
    });
  };
  std::vector<float> a(4 * 40, 1), b(4 * 40);
  const TensorView from{.data = a.data() + 120, .dtype = DType::f32, .shape = {4, 32}, .strides = {-40, 1}};
  const TensorView to{.data = b.data() + 31, .dtype = DType::f32, .shape = {4, 32}, .strides = {40, -1}};
  const AddressRange range = range_of(
      {.data = from.data, .device = DeviceKind::cpu, .shape = from.shape, .strides = from.strides}, DType::f32);
  EXPECT_EQ(range.begin, reinterpret_cast<uintptr_t>(a.data()));
  EXPECT_EQ(range.end, reinterpret_cast<uintptr_t>(a.data() + 152));
  const CheckResult right = check(rows(0), {from, to}, {.num_random = 0});
  EXPECT_TRUE(right.ok()) << right.report();
  const CheckResult wrong = check(rows(1), {from, to}, {.num_random = 0});
  for (const CheckRun& run : wrong.runs) {
    ASSERT_EQ(run.findings.size(), 1u) << run.target;
    EXPECT_EQ(run.findings[0].message().substr(0, 8), "B[2, 3]:") << run.findings[0].message();
  }
}

// The thread that runs last decides.
TEST(Check, ResultsThatDiffer) {
  int line = 0;
  const Program program = T::prim_func("last_wins", [&] {
    auto out = T::tensor("out", {4}, T::i32);
    auto blocks = T::Kernel({1}, {.threads = 64});
    for (auto t : T::Parallel(64)) {
      line = __LINE__ + 1;
      out(t - t) = t;
    }
  });
  std::vector<int32_t> out(4);
  const CheckResult result = check(program, {TensorView{out.data(), DType::i32, {4}}}, {.num_random = 0});
  ASSERT_EQ(result.runs.size(), 3u);
  EXPECT_TRUE(result.runs[0].same_result);
  EXPECT_TRUE(result.runs[1].same_result);
  EXPECT_FALSE(result.runs[2].same_result);
  for (const CheckRun& run : result.runs) {
    ASSERT_EQ(run.findings.size(), 1u) << run.target;
    EXPECT_EQ(run.findings[0].loc().line, line);
  }
  const std::string report = result.report();
  EXPECT_NE(report.find("error: the result differs from that of the first run\n"
                        "  in 1 of 3 runs: sim:sm_80+checked+reverse+early\n"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("out[0]: thread 1 of block 0 writes, thread 0 writes, and nothing orders the two"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("  in 2 of 3 runs: sim:sm_80+checked, sim:sm_80+checked+greedy\n"), std::string::npos)
      << report;
}

// What a check of the generated code finds comes with what the simulator found before.
TEST(Check, AFailedCheckIsAFinding) {
  const Program program = T::prim_func("assumes", [] {
    auto n = T::dynamic("n");
    auto out = T::tensor("out", {n}, T::i32);
    auto blocks = T::Kernel({1}, {.threads = 32});
    for (auto t : T::Parallel(32)) out(t - t) = t;
    T::assume(n >= 5);
    out(1) = 1;
  });
  std::vector<int32_t> out(4);
  const CheckResult result = check(program, {TensorView{out.data(), DType::i32, {4}}}, {.num_random = 0});
  for (const CheckRun& run : result.runs) {
    ASSERT_EQ(run.findings.size(), 2u) << run.target;
    EXPECT_EQ(run.findings[0].kind(), ErrorKind::invalid_kernel);
    EXPECT_EQ(run.findings[0].message(), "5 <= n is assumed, but does not hold");
    EXPECT_NE(run.findings[1].message().find("nothing orders the two"), std::string::npos);
  }
}

// No program of the language leaves its tensors; this launch is told of fewer elements than its text writes.
TEST(Check, AnAccessBesideATensor) {
  std::vector<float> memory(128, 1);
  const CompiledKernel kernel = compile(exchange_halves(), {.target = "sim:sm_80+checked"});
  const Launch launch = kernel.bind_arguments(
      {TensorView{memory.data(), DType::f32, {64}}, TensorView{memory.data() + 64, DType::f32, {64}}});
  const_cast<Launch::Impl&>(launch.impl()).bound.tensors[1].shape = {48};
  const std::vector<Error> findings =
      launch.impl().launch->watch(sim_target_from_name("sim:sm_80+checked"), 64, nullptr);
  ASSERT_EQ(findings.size(), 1u);
  // The thread that comes to the barrier last goes on first.
  EXPECT_EQ(findings[0].message(), "B +252 bytes: thread 31 of block 0 writes 4 bytes outside of memory");
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

// A workspace has no red zone: what lies beside it is whatever the host put there.
TEST(Check, SmallWorkspaces) {
  for (const int64_t n : {10, 100, 1000}) {
    const Program p = T::prim_func("through", [n] {
      auto X = T::tensor("X", {n}, T::f32);
      auto W = T::alloc_global({n}, T::f32);
      {
        auto [b] = T::Kernel({T::Expr(1)});
        for (auto i : T::Parallel(n)) W(i) = X(i);
      }
      auto [b] = T::Kernel({T::Expr(1)});
      for (auto i : T::Parallel(n)) X(i) = W(i) + 1;
    });
    std::vector<float> x(size_t(n), 2);
    for (int round = 0; round < 3; ++round) {
      const CheckResult result = check(p, {TensorView{x.data(), DType::f32, {n}}});
      EXPECT_TRUE(result.ok()) << n << "\n" << result.report();
    }
  }
}

}  // namespace
}  // namespace tilewright::test
