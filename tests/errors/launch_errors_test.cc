// Launches that cannot be: one rule each, with its message.
#include "refusal.h"

#include <tilewright/compile.h>

#include <cmath>
#include <vector>

namespace errors {

using namespace tilewright;

TEST(LaunchErrors, GridTooLarge) {
  const Program program = T::prim_func("wide", [] {
    auto A = T::tensor("A", {4}, T::f32);
    auto n = T::scalar("n", T::i64);
    auto [bx, by] = T::Kernel({n, n});
    A(bx) = 1;
  });
  std::vector<float> a(4);
  const TensorView view{.data = a.data(), .dtype = DType::f32, .shape = {4}};
  const CompiledKernel kernel = compile(program, {.target = "cpu", .optimize = 0});
  EXPECT_NO_THROW(kernel.bind(view, int64_t(0)));
  EXPECT_NO_THROW(kernel.bind(view, int64_t(-5)));
  const Refusal r = refusal_of([&] { kernel.bind(view, int64_t(1) << 40); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message, "the grid of wide has 1099511627776 x 1099511627776 blocks, more than 2^63");
  EXPECT_FALSE(r.hint.empty());
}

TEST(LaunchErrors, AnAssumptionThatDoesNotHold) {
  static int line = 0;
  const Program program = T::prim_func("assuming", [] {
    auto A = T::tensor("A", {8}, T::i32);
    auto n = T::scalar("n", T::i32);
    auto [bx] = T::Kernel({T::Expr(3)});
    line = __LINE__ + 1;
    T::assume(n % 4 == 0 && bx < 3);
    A(bx) = n;
  });
  std::vector<int> a(8);
  const TensorView view{.data = a.data(), .dtype = DType::i32, .shape = {8}};
  const CompiledKernel kernel = compile(program, {.target = "cpu", .optimize = 0});
  EXPECT_NO_THROW(kernel(view, 12));
  EXPECT_NO_THROW(interpret(program, {view, int64_t(12)}));
  EXPECT_EQ(a[2], 12);
  for (const Refusal& r : {refusal_of([&] { kernel(view, 13); }), refusal_of([&] {
                             interpret(program, {view, int64_t(13)});
                           })}) {
    EXPECT_EQ(r.kind, ErrorKind::invalid_kernel) << r.report;
    EXPECT_NE(r.message.find(" is assumed, but does not hold"), std::string::npos) << r.report;
    EXPECT_NE(r.message.find("n % i32(4) == i32(0)"), std::string::npos) << r.report;
    EXPECT_EQ(r.line, line) << r.report;
    EXPECT_FALSE(r.hint.empty());
  }
}

TEST(LaunchErrors, ScalarsThatAnEightBitFloatLacks) {
  const Program program = T::prim_func("scalars", [] {
    auto A = T::tensor("A", {1}, T::f32);
    auto x = T::scalar("x", T::f8e4m3);
    auto y = T::scalar("y", T::f8e5m2);
    auto [bx] = T::Kernel({T::Expr(1)});
    A(bx) = T::cast(x, T::f32) + y;
  });
  std::vector<float> a(1);
  const TensorView view{.data = a.data(), .dtype = DType::f32, .shape = {1}};
  EXPECT_NO_THROW(interpret(program, {view, 448.0, INFINITY}));
  EXPECT_EQ(a[0], INFINITY);
  const Refusal r = refusal_of([&] { interpret(program, {view, 1000.0, 0.0}); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message, "argument 2 (x): 1000 is outside the range of f8e4m3");
  EXPECT_EQ(r.hint, "the largest finite f8e4m3 is 448");
}

TEST(LaunchErrors, TilesLargerThanMemory) {
  const Program program = T::prim_func("vast", [] {
    auto A = T::tensor("A", {4}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_shared({1 << 25, 1 << 25}, T::f32, "s");
    T::clear(s);
    A(0) = s(1, 1);
  });
  std::vector<float> a(4);
  const TensorView view{.data = a.data(), .dtype = DType::f32, .shape = {4}};
  const Refusal r = refusal_of([&] { compile(program, {.target = "cpu", .optimize = 0}).bind(view); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_kernel);
  EXPECT_EQ(r.message.find(
                "the on-chip tiles of vast need 4503601774854080 bytes for each of 1 threads, but this machine has "),
            0u)
      << r.report;
  EXPECT_FALSE(r.hint.empty());
}

TEST(LaunchErrors, ViewOfOtherBits) {
  const Program program = T::prim_func("viewed", [] {
    auto m = T::dynamic("m");
    auto n = T::dynamic("n");
    auto A = T::tensor("A", {m}, T::f16);
    auto B = T::tensor("B", {n}, T::f32);
    auto pairs = T::view(A, {n}, T::f32);
    auto [bx] = T::Kernel({n});
    B(bx) = pairs(bx);
  });
  std::vector<uint16_t> a(8);
  std::vector<float> b(8);
  const CompiledKernel kernel = compile(program, {.target = "cpu", .optimize = 0});
  const auto bind = [&](int64_t m, int64_t n) {
    kernel.bind(TensorView{a.data(), DType::f16, {m}}, TensorView{b.data(), DType::f32, {n}});
  };
  EXPECT_NO_THROW(bind(8, 4));
  EXPECT_NO_THROW(bind(0, 0));
  const Refusal r = refusal_of([&] { bind(7, 4); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message, "A_view_2, a view of A, has shape [4] and 128 bits, but A has shape [7] and 112");
  EXPECT_EQ(r.notes.size(), 2u);
  const Refusal odd = refusal_of([&] {
    kernel.bind(TensorView{a.data() + 1, DType::f16, {4}}, TensorView{b.data(), DType::f32, {2}});
  });
  EXPECT_EQ(odd.message.find("A_view_2, a view of A: the address "), 0u) << odd.report;
  EXPECT_NE(odd.message.find("is not a multiple of 4 bytes, the size of f32"), std::string::npos) << odd.report;
}

TEST(LaunchErrors, GatherOutsideOfATile) {
  const Program program = T::prim_func("gathered", [] {
    auto I = T::tensor("I", {4}, T::i32);
    auto C = T::tensor("C", {4, 2}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_shared({3, 2}, T::f32, "s");
    T::fill(s, 1);
    AT(T::gather(s, I, C));
  });
  const int line = broken_line;
  std::vector<int32_t> index = {0, 2, 3, 1};
  std::vector<float> c(8);
  const std::vector<Argument> arguments = {TensorView{index.data(), DType::i32, {4}},
                                           TensorView{c.data(), DType::f32, {4, 2}}};
  const Refusal slow = refusal_of([&] { interpret(program, arguments); });
  EXPECT_EQ(slow.message, "load of s[3, 0] is outside shared f32[3, 2], in block (0)");
  EXPECT_EQ(slow.line, line);
  const Refusal fast = refusal_of([&] { compile(program, {.target = "cpu", .optimize = 0}).run(arguments); });
  EXPECT_EQ(fast.message.find("s[3, "), 0u) << fast.report;
  EXPECT_EQ(fast.line, line);
}

TEST(LaunchErrors, AtomicOutsideOfATile) {
  const Program program = T::prim_func("counted", [] {
    auto I = T::tensor("I", {4}, T::i32);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_shared({3}, T::i32, "s");
    T::clear(s);
    for (auto i : T::Parallel(4)) AT(T::atomic_add(s(T::cast(I(i), T::i64)), 1));
    I(0) = s(0);
  });
  const int line = broken_line;
  std::vector<int32_t> index = {0, 2, -1, 1};
  const std::vector<Argument> arguments = {TensorView{index.data(), DType::i32, {4}}};
  const Refusal slow = refusal_of([&] { interpret(program, arguments); });
  EXPECT_EQ(slow.message, "store of s[-1] is outside shared i32[3], in block (0)");
  EXPECT_EQ(slow.line, line);
  const Refusal fast = refusal_of([&] { compile(program, {.target = "cpu", .optimize = 0}).run(arguments); });
  EXPECT_EQ(fast.message.find("s[-1] is "), 0u) << fast.report;
  EXPECT_EQ(fast.line, line);
}

}  // namespace errors
