// T::print and T::device_assert: the same text from the interpreter, the CPU and CUDA text on a simulated GPU, errors
// with the author's line, and a process that lives on.
#include "harness/machine.h"

#include <tilewright/compile.h>
#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilewright {
namespace {

namespace T = tilewright::lang;

// What `program` prints, on the interpreter ("") or a target.
std::string printed(const Program& program, const std::vector<Argument>& arguments, const std::string& target,
                    int num_threads = 1) {
  std::string out;
  const PrintHook hook = [&](std::string_view text) { out += text; };
  if (target.empty())
    interpret(program, arguments, hook);
  else
    compile(program, {.target = target, .num_threads = num_threads, .optimize = 0, .on_print = hook}).run(arguments);
  return out;
}

constexpr const char* kSimulated = "sim:sm_80+checked+greedy";
std::vector<std::string> compiled_targets() { return testing::with_gpu({"cpu", kSimulated}); }
// The empty one is the interpreter.
std::vector<std::string> all_targets() { return testing::with_gpu({"", "cpu", kSimulated}); }

void expect_printed(const Program& program, const std::vector<Argument>& arguments, const std::string& expected) {
  for (const std::string& target : all_targets()) EXPECT_EQ(printed(program, arguments, target), expected) << target;
}

TEST(Print, Scalars) {
  const Program p = T::prim_func("scalars", [] {
    auto n = T::scalar("n", T::i32);
    auto x = T::scalar("x", T::f32);
    auto [bx, by] = T::Kernel({2, 1});
    auto s = T::alloc_shared({2}, T::f16, "s");
    auto v = T::alloc_var(T::u64, T::cast(-1, T::u64));
    T::fill(s, 0.1);
    T::print("begin");
    T::print(n, "an argument");
    T::print(x);
    T::print(s(1), "an element");
    T::print(v);
    T::print(x < 3 && n > bx, "a condition");
    T::print(T::cast(x, T::f64) / 3);
    T::print(T::infinity(T::f32));
    T::print(n * 2 + by);
  });
  std::string expected;
  for (int block = 0; block < 2; ++block) {
    const std::string at = "block (" + std::to_string(block) + ", 0): ";
    expected += at + "begin\n";
    expected += at + "an argument: n = 7\n";
    expected += at + "x = 2.5\n";
    expected += at + "an element: s[1] = 0.1\n";
    expected += at + "local_1[] = 18446744073709551615\n";
    expected += at + "a condition: x < 3.0 && bx < i64(n) = true\n";
    expected += at + "f64(x) / f64(3.0) = 0.8333333333333334\n";
    expected += at + "inf = inf\n";
    expected += at + "i64(n * i32(2)) + by = 14\n";
  }
  for (const std::string& target : all_targets()) {
    const std::string text = printed(p, {int64_t(7), 2.5}, target);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 18) << text;
    EXPECT_EQ(text, expected) << text;
  }
}

TEST(Print, TilesAndParts) {
  const Program p = T::prim_func("tiles", [] {
    auto A = T::tensor("A", {3, 20}, T::f32);
    auto [b] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_fragment({2, 3}, T::i8, "s");
    auto e = T::alloc_shared({0, 3}, T::f32, "e");
    for (auto [i, j] : T::Parallel(2, 3)) s(i, j) = i * 10 - j;
    T::print(s);
    T::print(s(1, T::all), "a row");
    T::print(A(T::slice(1, 4), T::slice(2, 20)), "outside is 0");
    T::fill(e, 0);
    T::print(e);
  });
  std::vector<float> a(60);
  for (size_t i = 0; i < 60; ++i) a[i] = float(i) / 4;
  expect_printed(p, {TensorView{a.data(), DType::f32, {3, 20}}},
                 "block (0): s fragment i8[0:2, 0:3]\n"
                 "  [0, 0:3] 0 -1 -2\n"
                 "  [1, 0:3] 10 9 8\n"
                 "block (0): a row: s fragment i8[1:2, 0:3]\n"
                 "  [1, 0:3] 10 9 8\n"
                 "block (0): outside is 0: A global f32[1:4, 2:20]\n"
                 "  [1, 2:18] 5.5 5.75 6.0 6.25 6.5 6.75 7.0 7.25 7.5 7.75 8.0 8.25 8.5 8.75 9.0 9.25\n"
                 "  [1, 18:20] 9.5 9.75\n"
                 "  [2, 2:18] 10.5 10.75 11.0 11.25 11.5 11.75 12.0 12.25 12.5 12.75 13.0 13.25 13.5 13.75 14.0 14.25\n"
                 "  [2, 18:20] 14.5 14.75\n"
                 "  [3, 2:18] 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0\n"
                 "  [3, 18:20] 0.0 0.0\n"
                 "block (0): e shared f32[0:0, 0:3]\n"
                 "  no elements\n");
}

// At most 256 elements, also where only the launch knows how many there are.
TEST(Print, IsBounded) {
  const Program p = T::prim_func("bounded", [] {
    auto m = T::dynamic("m");
    auto A = T::tensor("A", {m, 2, 5}, T::i32);
    auto [b] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_shared({100, 100}, T::i32, "s");
    T::fill(s, 5);
    T::print(s);
    T::print(A);
  });
  for (const std::string& target : all_targets()) {
    for (int64_t m : {0, 3, 40}) {
      std::vector<int32_t> a(size_t(m * 10));
      for (size_t i = 0; i < a.size(); ++i) a[i] = int32_t(i);
      const std::string text = printed(p, {TensorView{a.data(), DType::i32, {m, 2, 5}}}, target);
      EXPECT_NE(text.find("  ... 9744 of 10000 elements more\n"), std::string::npos) << text;
      EXPECT_NE(text.find("  [2, 48:56] 5 5 5 5 5 5 5 5\n"), std::string::npos) << text;
      EXPECT_NE(text.find("A global i32[0:" + std::to_string(m) + ", 0:2, 0:5]\n"), std::string::npos) << text;
      const std::string end = m == 0   ? "0:5]\n  no elements\n"
                              : m == 3 ? "24\n  [2, 1, 0:5] 25 26 27 28 29\n"
                                       : "  [25, 1, 0:1] 255\n  ... 144 of 400 elements more\n";
      EXPECT_TRUE(text.ends_with(end)) << text;
    }
  }
}

// Once for each iteration, in the interpreter too, which runs parallel loops in two orders.
TEST(Print, InParallelLoops) {
  const Program p = T::prim_func("parallel", [] {
    auto [b] = T::Kernel({T::Expr(2)});
    for (auto [i, j] : T::Parallel(2, 3)) {
      T::if_(j != 1, [&] { T::print(i * 10 + j + b * 100, "at"); });
    }
  });
  for (const std::string& target : all_targets()) {
    const std::string text = printed(p, {}, target, 2);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8) << text;
    for (int block : {0, 1}) {
      for (int i : {0, 1}) {
        for (int j : {0, 2}) {
          const std::string line = "block (" + std::to_string(block) +
                                   "): at: i * 10 + j + bx * 100 = " + std::to_string(i * 10 + j + block * 100) + "\n";
          EXPECT_NE(text.find(line), std::string::npos) << line << text;
        }
      }
    }
  }
}

TEST(Print, GoesToTheStandardOutput) {
  const Program p = T::prim_func("out", [] {
    auto [b] = T::Kernel({T::Expr(1)});
    T::print("here");
  });
  ::testing::internal::CaptureStdout();
  interpret(p, {});
  std::string expected = "block (0): here\n";
  for (const std::string& target : compiled_targets()) {
    compile(p, {.target = target, .optimize = 0}).run({});
    expected += "block (0): here\n";
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), expected);
}

TEST(Print, HookThatThrows) {
  const Program p = T::prim_func("out", [] {
    auto [b] = T::Kernel({T::Expr(8)});
    T::print("here");
  });
  const PrintHook hook = [](std::string_view) { throw std::runtime_error("full"); };
  EXPECT_THROW(interpret(p, {}, hook), std::runtime_error);
  for (const std::string& target : compiled_targets()) {
    EXPECT_THROW(compile(p, {.target = target, .num_threads = 2, .optimize = 0, .on_print = hook}).run({}),
                 std::runtime_error);
  }
}

// A tile that the tensor cores left in registers stays there, and the result is the same bit by bit.
TEST(Print, OfAnAccumulatorChangesNothing) {
  constexpr int64_t kN = 64, kK = 48;
  const auto product = [](bool prints) {
    return T::prim_func("product", [prints] {
      auto A = T::tensor("A", {kN, kK}, T::f16);
      auto B = T::tensor("B", {kK, kN}, T::f16);
      auto C = T::tensor("C", {kN, kN}, T::f32);
      auto [b] = T::Kernel({T::Expr(1)}, {.threads = 128});
      auto a = T::alloc_shared({kN, 16}, T::f16), w = T::alloc_shared({16, kN}, T::f16);
      auto c = T::alloc_fragment({kN, kN}, T::f32, "c");
      T::clear(c);
      for (auto k : T::Pipelined(kK / 16, {.num_stages = 2})) {
        T::copy(A(0, k * 16), a);
        T::copy(B(k * 16, 0), w);
        T::gemm(a, w, c);
        if (prints) T::print(c(T::slice(9, 11), T::slice(60, 64)), "so far");
      }
      if (prints) {
        T::print(c(63, 1), "one");
        T::device_assert(c(0, 0) < 1000);
      }
      T::copy(c, C);
    });
  };
  std::vector<uint16_t> a(kN * kK), b(kK * kN);
  for (size_t i = 0; i < a.size(); ++i) a[i] = uint16_t(0x3800 + i * 37 % 1024);  // 0.5 to 1
  for (size_t i = 0; i < b.size(); ++i) b[i] = uint16_t(0xb800 + i * 53 % 1024);  // -1 to -0.5
  std::vector<float> with(kN * kN), without(kN * kN);
  const auto arguments = [&](std::vector<float>& c) {
    return std::vector<Argument>{TensorView{a.data(), DType::f16, {kN, kK}}, TensorView{b.data(), DType::f16, {kK, kN}},
                                 TensorView{c.data(), DType::f32, {kN, kN}}};
  };
  const std::string text = printed(product(true), arguments(with), kSimulated);
  EXPECT_EQ(printed(product(false), arguments(without), kSimulated), "");
  EXPECT_EQ(with, without);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 * 3 + 1) << text;
  EXPECT_NE(text.find("block (0): so far: c fragment f32[9:11, 60:64]\n  [9, 60:64] "), std::string::npos) << text;
  EXPECT_NE(text.find("block (0): one: c[63, 1] = -"), std::string::npos) << text;
  const CompiledKernel kernel = compile(product(true), {.target = kSimulated});
  for (const Remark& r : kernel.remarks()) ADD_FAILURE() << r.text;
  EXPECT_NE(kernel.get_kernel_source().find("tw::mma_m16n8k16"), std::string::npos);
}

// Parts of a fragment that begin, or end, outside of it.
TEST(Print, FragmentsBeyondTheirEnd) {
  const Program p = T::prim_func("beyond", [] {
    auto n = T::scalar("n", T::i64);
    auto [b] = T::Kernel({T::Expr(1)}, {.threads = 64});
    auto f = T::alloc_fragment({64}, T::i32, "f");
    for (auto i : T::Parallel(64)) f(i) = i + 1;
    T::print(f(T::slice(n, n + 4)));
    T::print(T::if_then_else(n < 64, f(n), -5), "guarded");
  });
  for (const int64_t n : {0, 62, 63, 64, 70}) {
    std::string values;
    for (int64_t i = n; i < n + 4; ++i) values += " " + std::to_string(i < 64 ? i + 1 : 0);
    const std::string text = printed(p, {n}, kSimulated);
    EXPECT_NE(text.find(values + "\n"), std::string::npos) << n << "\n" << text;
    EXPECT_NE(text.find(" = " + std::to_string(n < 64 ? n + 1 : -5) + "\n"), std::string::npos) << n << "\n" << text;
    EXPECT_EQ(text, printed(p, {n}, "cpu")) << n;
  }
  const Program element = T::prim_func("element", [] {
    auto n = T::scalar("n", T::i64);
    auto [b] = T::Kernel({T::Expr(1)}, {.threads = 64});
    auto f = T::alloc_fragment({64}, T::i32, "f");
    for (auto i : T::Parallel(64)) f(i) = i + 1;
    T::print(f(n));
  });
  EXPECT_NE(printed(element, {int64_t(63)}, kSimulated).find(" = 64\n"), std::string::npos);
  EXPECT_THROW(printed(element, {int64_t(64)}, kSimulated), Error);
  EXPECT_THROW(printed(element, {int64_t(64)}, "cpu"), Error);
}

// More than the memory for it holds: what fits, and a line that says so.
TEST(Print, MoreThanFits) {
  const Program p = T::prim_func("much", [] {
    auto [b] = T::Kernel({T::Expr(6000)}, {.threads = 32});
    auto s = T::alloc_shared({256}, T::i32, "s");
    T::fill(s, b);
    T::print("a");
    T::print(s);
  });
  const std::string text = printed(p, {}, "sim:sm_80", 2);
  EXPECT_NE(text.find("block (0): a\nblock (0): s shared i32[0:256]\n"), std::string::npos) << text.substr(0, 300);
  EXPECT_TRUE(text.ends_with("... more was printed than the 8388608 bytes of memory for it hold\n"))
      << text.substr(text.size() - 300);
  size_t greetings = 0;
  for (size_t at = text.find(": a\n"); at != std::string::npos; at = text.find(": a\n", at + 1)) ++greetings;
  EXPECT_LE(greetings, 6000u);
  EXPECT_EQ(text.find("block (0): a\n", 10), std::string::npos) << "block 0 greets once";
}

TEST(Print, StatementsOfABlockStayInOrder) {
  const Program p = T::prim_func("order", [] {
    auto [b] = T::Kernel({T::Expr(2)}, {.threads = 128});
    for (auto k : T::serial(2)) {
      for (auto i : T::Parallel(128)) T::if_(i % 32 == 31, [&] { T::print(i + k * 1000, "lane"); });
      T::print(k, "done");
    }
  });
  for (const char* how : {"fair", "greedy", "reverse", "random+seed=3"}) {
    const std::string text = printed(p, {}, std::string("sim:sm_80+checked+") + how);
    for (const char* block : {"block (0): ", "block (1): "}) {
      std::string order;
      for (size_t at = text.find(block); at != std::string::npos; at = text.find(block, at + 1))
        order += text.substr(at + 11, 4) == "lane" ? 'l' : 'd';
      EXPECT_EQ(order, "lllldlllld") << how << "\n" << text;
    }
  }
}

// ---- assertions

struct Failed {
  std::string message;
  int line = 0;
  std::vector<Note> notes;
  ErrorKind kind = ErrorKind::internal;
};

Failed run_failing(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& e) {
    return {.message = e.message(), .line = e.loc().line, .notes = e.notes(), .kind = e.kind()};
  }
  ADD_FAILURE() << "the assertion held";
  return {};
}

TEST(DeviceAssert, NamesValuesBlockAndLine) {
  int line = 0;
  const Program p = T::prim_func("checked", [&] {
    auto I = T::tensor("I", {6}, T::i32);
    auto n = T::scalar("n", T::i32);
    auto [bx, by] = T::Kernel({3, 2});
    auto s = T::alloc_shared({1}, T::i32, "s");
    T::copy(I(by * 3 + bx), s);
    for (auto i : T::Parallel(1)) {
      line = __LINE__ + 1;
      T::device_assert(s(i) < n, "index out of range");
    }
  });
  std::vector<int32_t> good = {0, 1, 2, 3, 4, 5}, bad = {0, 1, 2, 3, 9, 5};
  const auto view = [](std::vector<int32_t>& data) { return TensorView{data.data(), DType::i32, {6}}; };
  const CompiledKernel kernel = compile(p, {.target = "cpu", .num_threads = 2, .optimize = 0});
  const CompiledKernel simulated = compile(p, {.target = kSimulated});
  EXPECT_NO_THROW(interpret(p, {view(good), int64_t(6)}));
  EXPECT_NO_THROW(kernel(view(good), int64_t(6)));
  EXPECT_NO_THROW(simulated(view(good), int64_t(6)));
  const std::vector<std::function<void()>> runs = {[&] {
                                                     interpret(p, {view(bad), int64_t(6)});
                                                   },
                                                   [&] { kernel(view(bad), int64_t(6)); },
                                                   [&] { simulated(view(bad), int64_t(6)); }};
  for (const auto& run : runs) {
    const Failed f = run_failing(run);
    EXPECT_EQ(f.message,
              "device_assert: index out of range: s[i] < n is false with s[i] = 9, i = 0, n = 6, in block (1, 1)");
    EXPECT_EQ(f.line, line);
    EXPECT_EQ(f.kind, ErrorKind::invalid_kernel);
    ASSERT_GE(f.notes.size(), 1u);
    EXPECT_EQ(f.notes[0].text, "s  shared i32[1]");
  }
  EXPECT_NO_THROW(kernel(view(good), int64_t(6))) << "the process lives on";
}

TEST(DeviceAssert, StopsTheOtherBlocksSoon) {
  constexpr int64_t kBlocks = 1 << 20;
  const Program p = T::prim_func("stopped", [] {
    auto C = T::tensor("C", {1}, T::i64);
    auto [b] = T::Kernel({T::Expr(kBlocks)});
    T::atomic_add(C(0), 1);
    T::device_assert(b != 17);
  });
  int64_t count = 0;
  const CompiledKernel kernel = compile(p, {.target = "cpu", .num_threads = 2, .optimize = 0});
  const Failed f = run_failing([&] { kernel(TensorView{&count, DType::i64, {1}}); });
  EXPECT_EQ(f.message, "device_assert: bx != 17 is false with bx = 17, in block (17)");
  EXPECT_LT(count, kBlocks);
  EXPECT_GE(count, 1);
}

TEST(DeviceAssert, LaterKernelsDoNotRun) {
  const Program p = T::prim_func("two", [] {
    auto C = T::tensor("C", {2}, T::f32);
    {
      auto [b] = T::Kernel({T::Expr(1)});
      T::device_assert(C(0) > 0, "positive");
    }
    auto [b] = T::Kernel({T::Expr(1)});
    C(1) = 5;
  });
  for (const std::string& target : compiled_targets()) {
    std::vector<float> c = {-1, 0};
    const TensorView view{c.data(), DType::f32, {2}};
    const Failed f = run_failing([&] { compile(p, {.target = target, .optimize = 0}).run({view}); });
    EXPECT_EQ(f.message, "device_assert: positive: 0.0 < C[0] is false with C[0] = -1.0, in block (0)");
    EXPECT_EQ(c[1], 0);
  }
}

TEST(DeviceAssert, NaNIsFalse) {
  const Program p = T::prim_func("nan", [] {
    auto x = T::scalar("x", T::f32);
    auto [b] = T::Kernel({T::Expr(1)});
    T::device_assert(x == x);
  });
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const CompiledKernel kernel = compile(p, {.target = "cpu"});
  EXPECT_NO_THROW(kernel(1.5));
  EXPECT_EQ(run_failing([&] { kernel(nan); }).message, run_failing([&] { interpret(p, {nan}); }).message);
}

}  // namespace
}  // namespace tilewright
