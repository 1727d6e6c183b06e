// Arguments that do not fit a program: each rule by a launch that breaks it.
#include "refusal.h"

#include <tilewright/compile.h>

#include "runtime/cache.h"
#include "runtime/host_compiler.h"
#include "runtime/test_folder.h"

#include <cmath>
#include <vector>

namespace errors {

using namespace tilewright;

namespace {

// A [m, 8] f32, B [2 m + 1] i32, n i32, x f16 and u u64; 64 floats and 64 integers to pass.
class ArgumentErrors : public testing::Test {
 protected:
  ArgumentErrors()
      : program(T::prim_func("sums", [] {
          auto m = T::dynamic("m");
          auto A = T::tensor("A", {m, 8}, T::f32);
          auto B = T::tensor("B", {m * 2 + 1}, T::i32);
          auto n = T::scalar("n", T::i32);
          auto x = T::scalar("x", T::f16);
          auto u = T::scalar("u", T::u64);
          auto [b] = T::Kernel({m});
          A(b, 0) = n + x + T::cast(u, T::f32) + B(b);
        })) {}

  TensorView a(std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
    return {.data = floats.data(), .dtype = DType::f32, .shape = std::move(shape), .strides = std::move(strides)};
  }
  TensorView b(int64_t extent) { return {.data = ints.data(), .dtype = DType::i32, .shape = {extent}}; }

  Refusal refused(std::vector<Argument> arguments) {
    return refusal_of([&] { interpret(program, std::move(arguments)); });
  }
  void expect(const Refusal& r, const std::string& message, const std::string& hint) {
    ASSERT_TRUE(r.refused) << "accepted; expected: " << message;
    EXPECT_EQ(r.kind, ErrorKind::invalid_argument) << r.report;
    EXPECT_EQ(r.message, message);
    EXPECT_EQ(r.hint, hint);
    ASSERT_FALSE(r.notes.empty()) << r.report;
    EXPECT_TRUE(r.notes[0].loc.known()) << "where the argument is declared";
  }

  std::vector<float> floats = std::vector<float>(64);
  std::vector<int32_t> ints = std::vector<int32_t>(64);
  Program program;
};

TEST_F(ArgumentErrors, Fit) { EXPECT_FALSE(refused({a({2, 8}), b(5), int64_t(1), 0.5, int64_t(3)}).refused); }

TEST_F(ArgumentErrors, Count) {
  expect(refused({a({2, 8}), b(5)}), "sums takes 5 arguments (A, B, n, x, u), but 2 were passed",
         "pass tensors and scalars in the order of their declarations");
}

TEST_F(ArgumentErrors, ScalarForATensor) {
  expect(refused({a({2, 8}), int64_t(5), int64_t(1), 0.5, int64_t(3)}),
         "argument 2 (B): a scalar was passed, but it is a tensor", "pass a TensorView");
}

TEST_F(ArgumentErrors, TensorForAScalar) {
  expect(refused({a({2, 8}), b(5), b(5), 0.5, int64_t(3)}), "argument 3 (n): a tensor was passed, but it is a scalar",
         "pass a number");
}

TEST_F(ArgumentErrors, DType) {
  TensorView other = a({2, 8});
  other.dtype = DType::f64;
  expect(refused({other, b(5), int64_t(1), 0.5, int64_t(3)}), "argument 1 (A): dtype is f64, but f32 is expected",
         "convert the tensor to f32");
}

TEST_F(ArgumentErrors, Rank) {
  expect(refused({a({16}), b(5), int64_t(1), 0.5, int64_t(3)}),
         "argument 1 (A): shape [16] has 1 dimensions, but 2 are expected", "reshape the view; unit dimensions count");
}

TEST_F(ArgumentErrors, ConstantExtent) {
  expect(refused({a({2, 7}), b(5), int64_t(1), 0.5, int64_t(3)}), "argument 1 (A): dimension 1 is 7, but 8 is expected",
         "pass a tensor with extent 8 there");
}

TEST_F(ArgumentErrors, ExtentsThatDisagree) {
  const Refusal r = refused({a({2, 8}), b(6), int64_t(1), 0.5, int64_t(3)});
  expect(r, "argument 2 (B): dimension 0 is 6, but m * 2 + 1 = 5 is expected", "pass a tensor with extent 5 there");
  ASSERT_EQ(r.notes.size(), 2u);
  EXPECT_EQ(r.notes[1].text, "m = 2 by dimension 0 of argument 1, A  f32[m, 8]");
}

TEST_F(ArgumentErrors, NegativeExtent) {
  expect(refused({a({-2, 8}), b(5), int64_t(1), 0.5, int64_t(3)}), "argument 1 (A): the extent of dimension 0 is -2",
         "extents are 0 or more");
}

TEST_F(ArgumentErrors, Stride) {
  expect(refused({a({2, 8}, {1, 2}), b(5), int64_t(1), 0.5, int64_t(3)}),
         "argument 1 (A): the stride of dimension 0 is 1, but 8 is expected",
         "pass a contiguous tensor, or declare strides to pass a strided or transposed view");
}

TEST_F(ArgumentErrors, NumberOfStrides) {
  expect(refused({a({2, 8}, {8}), b(5), int64_t(1), 0.5, int64_t(3)}),
         "argument 1 (A): there are 1 strides for 2 dimensions",
         "pass one stride for each dimension, or none for a contiguous tensor");
}

TEST_F(ArgumentErrors, Null) {
  TensorView none = b(5);
  none.data = nullptr;
  expect(refused({a({2, 8}), none, int64_t(1), 0.5, int64_t(3)}),
         "argument 2 (B): the pointer is null, but the shape is [5]",
         "only a tensor without elements may have a null pointer");
}

TEST_F(ArgumentErrors, Alignment) {
  TensorView odd = b(5);
  odd.data = reinterpret_cast<char*>(ints.data()) + 2;
  const Refusal r = refused({a({2, 8}), odd, int64_t(1), 0.5, int64_t(3)});
  EXPECT_EQ(r.message.find("argument 2 (B): the address 0x"), 0u) << r.report;
  EXPECT_NE(r.message.find(" is not a multiple of 4 bytes, the size of i32"), std::string::npos) << r.report;
  EXPECT_EQ(r.hint, "pass memory aligned to its elements");
}

TEST_F(ArgumentErrors, OtherDevice) {
  TensorView far = b(5);
  far.device = DeviceKind::cuda;
  expect(refused({a({2, 8}), far, int64_t(1), 0.5, int64_t(3)}),
         "argument 2 (B): the tensor is on cuda:0, but the kernel runs on the cpu",
         "copy the tensor to host memory, or compile for target cuda");
}

TEST_F(ArgumentErrors, IntegerOutOfRange) {
  expect(refused({a({2, 8}), b(5), int64_t(1) << 31, 0.5, int64_t(3)}),
         "argument 3 (n): 2147483648 is outside the range of i32", "i32 holds -2147483648 to 2147483647");
  expect(refused({a({2, 8}), b(5), int64_t(1), 0.5, int64_t(-3)}), "argument 5 (u): -3 is outside the range of u64",
         "a u64 value is 0 or more");
}

TEST_F(ArgumentErrors, FractionForAnInteger) {
  expect(refused({a({2, 8}), b(5), 1.5, 0.5, int64_t(3)}),
         "argument 3 (n): the value is 1.5, but i32 is an integer dtype", "pass an integer");
}

TEST_F(ArgumentErrors, IntegerThatAFloatLacks) {
  expect(refused({a({2, 8}), b(5), int64_t(1), int64_t(2049), int64_t(3)}),
         "argument 4 (x): the integer 2049 is not a value of f16",
         "pass a floating-point number if the nearest value will do");
}

TEST_F(ArgumentErrors, FloatOutOfRange) {
  expect(refused({a({2, 8}), b(5), int64_t(1), 1e6, int64_t(3)}), "argument 4 (x): 1000000 is outside the range of f16",
         "the largest finite f16 is 65504");
}

TEST_F(ArgumentErrors, MoreBytesThanAddresses) {
  expect(refused({a({int64_t(1) << 60, 8}), b(5), int64_t(1), 0.5, int64_t(3)}),
         "argument 1 (A): shape [1152921504606846976, 8] has more bytes than an address can count",
         "check the extents of the view");
}

// ---- extents above 2^48, which index arithmetic counts on ------------------------------------------------------

constexpr int64_t kMost = int64_t(1) << 48;

TEST(ExtentErrors, DynamicExtent) {
  const Program p = T::prim_func("large", [] {
    auto m = T::dynamic("m");
    auto A = T::tensor("A", {0, m}, T::f32);
    auto [b] = T::Kernel({T::Expr(1)});
    A(0, b) = 1;
  });
  const auto bind = [&](int64_t m) {
    return refusal_of([&] { interpret(p, {TensorView{.data = nullptr, .dtype = DType::f32, .shape = {0, m}}}); });
  };
  EXPECT_FALSE(bind(kMost).refused);
  const Refusal r = bind(kMost + 1);
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message, "the extent m is 281474976710657, but at most 281474976710656 is possible");
  EXPECT_EQ(r.hint, "check the shapes and strides of the tensors that use it");
}

TEST(ExtentErrors, ExtentByAFormula) {
  const Program p = T::prim_func("large", [] {
    auto m = T::dynamic("m");
    auto A = T::tensor("A", {0, m, m * m}, T::f32);
    auto [b] = T::Kernel({T::Expr(1)});
    A(0, b, b) = 1;
  });
  const int64_t m = int64_t(1) << 25;
  const Refusal r = refusal_of([&] {
    interpret(p, {TensorView{.data = nullptr, .dtype = DType::f32, .shape = {0, m, m * m}}});
  });
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message,
            "argument 1 (A): the extent of dimension 2 is 1125899906842624, but at most 281474976710656 is possible");
  EXPECT_EQ(r.hint, "that is 2^48; check the extents of the view");
}

TEST(ExtentErrors, ConstantOfATensor) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     AT(T::tensor("A", {0, kMost + 1}, T::f32));
                     auto [b] = T::Kernel({T::Expr(1)});
                   });
                 }),
                 "tensor A has extent 281474976710657, but at most 281474976710656 is possible");
}

TEST(ExtentErrors, StrideOfATensor) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     AT(T::tensor("A", {4, 4}, T::f32, {.strides = {kMost * 2, 1}}));
                     auto [b] = T::Kernel({T::Expr(1)});
                   });
                 }),
                 "tensor A has stride 562949953421312, but at most 281474976710656 is possible");
}

TEST(ExtentErrors, ConstantOfATile) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) { AT(T::alloc_shared({0, kMost + 1}, T::f32, "a")); });
                 }),
                 "tile a has extent 281474976710657, but at most 281474976710656 is possible");
}

TEST(ExtentErrors, BytesOfATile) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto) { AT(T::alloc_shared({int64_t(1) << 31, int64_t(1) << 31}, T::f32, "a")); });
  });
  expect_refused(r, "tile a has more bytes than 64 bits can count");
  EXPECT_EQ(r.hint, "split it over blocks or loops");
}

TEST(ExtentErrors, BytesOfAnEmptyTile) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) { AT(T::alloc_shared({kMost, 0, kMost}, T::f32, "a")); });
                 }),
                 "tile a has more bytes than 64 bits can count");
}

TEST(ExtentErrors, ConstantOfAGrid) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     broken_line = __LINE__ + 1;
                     auto [x] = T::Kernel({T::Expr(kMost + 1)});
                   });
                 }),
                 "the grid has extent 281474976710657, but at most 281474976710656 is possible");
}

TEST(ExtentErrors, ExtentComputedWithFloats) {
  const Refusal r = refusal_of([] {
    T::prim_func("p", [] {
      auto x = T::scalar("x", T::f32);
      AT(T::tensor("A", {T::cast(x * 0.5, T::i32)}, T::f32));
      auto [b] = T::Kernel({T::Expr(1)});
    });
  });
  expect_refused(r, "an extent of tensor A is computed with f32");
  EXPECT_EQ(r.hint, "use integer arithmetic, or pass the rounded value as an integer scalar");
}

TEST(ExtentErrors, NegativeGrid) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     broken_line = __LINE__ + 1;
                     auto [x, y] = T::Kernel({T::Expr(4), T::Expr(-1)});
                   });
                 }),
                 "the grid has extent -1");
}

TEST(ExtentErrors, LoopLongerThanNumbers) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto C) {
      broken_line = __LINE__ + 1;
      for (auto k : T::serial(INT64_MIN, INT64_MAX)) C(0, k) = 1;
    });
  });
  expect_refused(r,
                 "a loop from -9223372036854775808 to 9223372036854775807 has more iterations than 64 bits can count");
  EXPECT_EQ(r.hint, "nest two loops");
}

TEST(ExtentErrors, DomainLargerThanNumbers) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     broken_line = __LINE__ + 1;
                     for (auto [i, j] : T::Persistent({kMost, kMost}, 4, 0)) C(i, j) = 1;
                   });
                 }),
                 "Persistent: the domain has more points than 64 bits can count");
}

// Whole groups of the last dimension are numbered.
TEST(ExtentErrors, DomainThatGroupsRoundUpBeyondNumbers) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     broken_line = __LINE__ + 1;
                     for (auto i : T::Persistent({INT64_MAX}, 4, 0)) C(i, 0) = 1;
                   });
                 }),
                 "Persistent: the domain has more points than 64 bits can count");
}

TEST(ExtentErrors, StridesBeyondAddresses) {
  const Program p = T::prim_func("far", [] {
    auto s = T::dynamic("s"), m = T::dynamic("m");
    auto A = T::tensor("A", {m, 2}, T::f32, {.strides = {s, 1}});
    auto [b] = T::Kernel({T::Expr(1)});
    A(b, 0) = 1;
  });
  float a = 0;
  const Refusal r = refusal_of([&] {
    interpret(p, {TensorView{.data = &a, .dtype = DType::f32, .shape = {1 << 20, 2}, .strides = {kMost, 1}}});
  });
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message, "argument 1 (A): strides [281474976710656, 1] reach further than an address can count");
  EXPECT_EQ(r.hint, "check the strides of the view; they are in elements");
}

TEST(ExtentErrors, MoreElementsThanTheInterpreterHolds) {
  const Refusal r = refusal_of([] {
    interpret(T::prim_func("vast",
                           [] {
                             auto [b] = T::Kernel({T::Expr(1)});
                             AT(T::alloc_shared({int64_t(1) << 45}, T::f32, "s"));
                           }),
              {});
  });
  EXPECT_EQ(r.kind, ErrorKind::invalid_kernel);
  EXPECT_EQ(r.message.find("the interpreter needs 9 bytes for each of 35184372088832 elements of s, but this machine "
                           "has "),
            0u)
      << r.report;
  EXPECT_EQ(r.line, broken_line);
  EXPECT_FALSE(r.hint.empty());
}

TEST(ExtentErrors, Workspace) {
  const Program p = T::prim_func("vast", [] {
    auto W = T::alloc_global({int64_t(1) << 40, int64_t(1) << 40}, T::f32);
    auto [b] = T::Kernel({T::Expr(1)});
    W(b, 0) = 1;
  });
  const Refusal r = refusal_of([&] { interpret(p, {}); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message,
            "workspace workspace_0 has shape [1099511627776, 1099511627776] and strides [1099511627776, 1], "
            "which no memory can hold");
}

// The bytes fit, the elements do not.
TEST(ExtentErrors, WorkspaceOfManyNamesForOneElement) {
  const Program p = parse_program(R"(program p() vars 4 {
  workspace W: f32[1099511627776, 1099511627776] strides [0, 0]

  kernel k(bx@0 < 1) threads 32 {
    tile W: global f32[1099511627776, 1099511627776] of W
    W[bx, 0] = 1.0
  }
})",
                                  "vast.tw");
  const Refusal r = refusal_of([&] { interpret(p, {}); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_kernel);
  EXPECT_EQ(r.message.find("the interpreter needs 9 bytes for each of 9223372036854775807 elements of W"), 0u)
      << r.report;
}

// Without elements, whatever the other extents are.
TEST(ExtentErrors, NoElementsOfVastExtentsAreNoError) {
  const Program p = T::prim_func("empty", [] {
    auto A = T::tensor("A", {kMost, kMost, 0}, T::f32);
    auto C = T::tensor("C", {1}, T::f32);
    auto [b] = T::Kernel({T::Expr(1)});
    C(0) = A(5, 6, 0) + 1;
    A(5, 6, 0) = 2;
  });
  for (const bool compiled : {false, true}) {
    float c = 0;
    const std::vector<Argument> arguments = {
        TensorView{.data = nullptr, .dtype = DType::f32, .shape = {kMost, kMost, 0}},
        TensorView{.data = &c, .dtype = DType::f32, .shape = {1}}};
    if (compiled)
      compile(p, {.target = "cpu", .optimize = 0}).run(arguments);
    else
      interpret(p, arguments);
    EXPECT_EQ(c, 1);
  }
}

// A grid without blocks is no error: nothing runs, and a remark says so.
TEST(ExtentErrors, EmptyGridIsARemark) {
  const Program p = T::prim_func("nothing", [] {
    auto n = T::scalar("n", T::i32);
    auto A = T::tensor("A", {4}, T::f32);
    auto [b] = T::Kernel({T::ceildiv(n, 4)});
    A(b) = 1;
  });
  std::vector<float> a(4);
  const CompiledKernel kernel = compile(p, {.target = "cpu", .optimize = 0});
  const Launch launch = kernel.bind(int64_t(0), TensorView{.data = a.data(), .dtype = DType::f32, .shape = {4}});
  launch();
  EXPECT_EQ(a[0], 0);
  ASSERT_EQ(launch.remarks().size(), 1u);
  EXPECT_EQ(launch.remarks()[0].kind, "empty_grid");
  EXPECT_EQ(launch.remarks()[0].text, "no block of nothing runs: its grid is 0");
  EXPECT_TRUE(launch.remarks()[0].loc.known());
}

// Only a GPU has streams.
TEST(StreamErrors, OnACpu) {
  const Program p = T::prim_func("one", [] {
    auto A = T::tensor("A", {4}, T::f32);
    auto [b] = T::Kernel({4});
    A(b) = 1;
  });
  std::vector<float> a(4);
  const TensorView view{.data = a.data(), .dtype = DType::f32, .shape = {4}};
  for (const char* target : {"cpu", "sim:sm_80"}) {
    const Launch launch = compile(p, {.target = target, .optimize = 0}).bind(view);
    const Refusal r = refusal_of([&] { launch({.stream = a.data()}); });
    EXPECT_EQ(r.kind, ErrorKind::invalid_argument) << r.report;
    EXPECT_EQ(r.message, "a stream was passed, but only a GPU has streams");
    EXPECT_EQ(r.hint, "launch without one, or compile for \"cuda\"");
    EXPECT_EQ(a[0], 0);
    launch({});
    EXPECT_EQ(a[0], 1);
    a[0] = 0;
  }
}

// ---- compilation -----------------------------------------------------------------------------------------------

Program small() {
  return T::prim_func("small", [] {
    auto A = T::tensor("A", {4}, T::f32);
    auto [b] = T::Kernel({T::Expr(4)});
    A(b) = 1;
  });
}

TEST(CompileErrors, Target) {
  const Refusal r = refusal_of([] { compile(small(), {.target = "gpu"}); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message, "there is no target 'gpu'");
  EXPECT_EQ(r.hint,
            "targets are auto, cpu, cpu:x86-64, cpu:avx2, cpu:avx512, cpu:generic, cuda, cuda:sm_NN or sim:sm_NN");
  EXPECT_EQ(refusal_of([] { compile(small(), {.target = "cpu:mmx"}); }).message, "there is no target 'cpu:mmx'");
  EXPECT_EQ(refusal_of([] { compile(small(), {.target = "cuda:sm_1"}); }).message,
            "'sm_1' is no architecture of an NVIDIA GPU");
}

TEST(CompileErrors, UnbuiltTarget) {
  const Refusal r = refusal_of([] { compile(small(), {.target = "webgpu"}); });
  EXPECT_EQ(r.kind, ErrorKind::unsupported);
  EXPECT_EQ(r.message.find("target 'webgpu' is not built yet; targets are auto, cpu,"), 0u) << r.report;
}

TEST(CompileErrors, Options) {
  Refusal r = refusal_of([] { compile(small(), {.target = "cpu", .optimize = 4}); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message, "optimize is 4");
  EXPECT_EQ(r.hint, "0 to 3");
  r = refusal_of([] { compile(small(), {.target = "cpu", .num_threads = -1}); });
  EXPECT_EQ(r.message, "num_threads is -1");
  EXPECT_EQ(r.hint, "0 to 1024; 0 takes every usable core");
}

TEST(CompileErrors, NoHostCompiler) {
  const test::TestFolder folder;
  Cache cache = Cache::open({.dir = folder.path() / "cache"});
  Refusal r = refusal_of([&] { HostCompiler::find({.search_path = {"/none"}}, cache); });
  EXPECT_EQ(r.kind, ErrorKind::toolchain);
  EXPECT_EQ(r.message, "no host C++ compiler is installed, which CPU kernels need");
  EXPECT_EQ(r.hint, "install one (Debian, Ubuntu: apt install g++), or name it in TILEWRIGHT_CXX");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].text, "searched c++, g++, clang++, g++-N and clang++-N in /none");
  r = refusal_of([&] { HostCompiler::find({.cxx = "nocxx", .search_path = {"/none"}}, cache); });
  EXPECT_EQ(r.kind, ErrorKind::toolchain);
  EXPECT_EQ(r.message, "the host compiler \"nocxx\" is not a program");
}

}  // namespace
}  // namespace errors
