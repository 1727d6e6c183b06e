// The sample of the language, word for word, and each further word at least once with checked results.
#include "ops/numbers.h"
#include "ops/op_table.h"

#include <tilewright/compile.h>
#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <cmath>

// clang-format off: the sample is quoted as the documentation has it.
namespace sample {

namespace T = tilewright::lang;
using T::f16, T::f32;

T::Program matmul_relu(int64_t M, int64_t N, int64_t K, int block_M, int block_N, int block_K) {
  return T::prim_func("matmul_relu", [&] {
    auto A = T::tensor("A", {M, K}, f16);
    auto B = T::tensor("B", {K, N}, f16);
    auto C = T::tensor("C", {M, N}, f16);
    auto [bx, by] = T::Kernel({T::ceildiv(N, block_N), T::ceildiv(M, block_M)}, {.threads = 128});
    auto A_shared = T::alloc_shared({block_M, block_K}, f16);
    auto B_shared = T::alloc_shared({block_K, block_N}, f16);
    auto C_local = T::alloc_fragment({block_M, block_N}, f32);
    T::use_swizzle(4);
    T::clear(C_local);
    for (auto ko : T::Pipelined(T::ceildiv(K, block_K), {.num_stages = 3})) {
      T::copy(A(by * block_M, ko * block_K), A_shared);
      T::copy(B(ko * block_K, bx * block_N), B_shared);
      T::gemm(A_shared, B_shared, C_local);
    }
    for (auto [i, j] : T::Parallel(block_M, block_N)) C_local(i, j) = T::max(C_local(i, j), 0);
    T::copy(C_local, C(by * block_M, bx * block_N));
  });
}

}  // namespace sample
// clang-format on

namespace tilewright::tests {
namespace {

const std::vector<std::string> kRunners = {"interpreter", "cpu"};

// Runs `program` everywhere and compares argument `out` with `want`, exactly.
void expect_exact(const Program& program, const Args& args, size_t out, const std::vector<Real>& want) {
  for (const std::string& runner : kRunners) {
    const Args after = run_on(runner, program, args);
    EXPECT_EQ(array(after, out).values(), want) << runner;
  }
}

HostArray counted(DType dtype, std::vector<int64_t> shape) {
  HostArray a(dtype, std::move(shape));
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, static_cast<Real>(i));
  return a;
}

TEST(Language, Sample) {
  constexpr int64_t kM = 100, kN = 70, kK = 45;
  const Args args = {HostArray(T::f16, {kM, kK}).fill_random(1, -1, 1),
                     HostArray(T::f16, {kK, kN}).fill_random(2, -1, 1), HostArray(T::f16, {kM, kN})};
  Expected want{.value = std::vector<Real>(kM * kN), .bound = std::vector<Real>(kM * kN)};
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      Real sum = 0, magnitudes = 0;
      for (int64_t k = 0; k < kK; ++k) {
        const Real term = array(args, 0).at({i, k}) * array(args, 1).at({k, j});
        sum += term;
        magnitudes += std::fabs(term);
      }
      const Real r = std::max(sum, Real(0));
      want.set(i * kN + j, r, (kK + 2) * unit_of(T::f32) * magnitudes + unit_of(T::f16) * r + subnormal_of(T::f16) / 2);
    }
  }
  for (const std::string& runner : kRunners) {
    const Args after = run_on(runner, sample::matmul_relu(kM, kN, kK, 32, 32, 16), args);
    EXPECT_EQ(difference(array(after, 2), want), "") << runner;
  }
}

TEST(Language, ProgramHasNameAndText) {
  const Program p = sample::matmul_relu(100, 70, 45, 32, 32, 16);
  EXPECT_EQ(p.name(), "matmul_relu");
  EXPECT_EQ(p.print(), sample::matmul_relu(100, 70, 45, 32, 32, 16).print());
  EXPECT_EQ(parse_program(p.print(), "matmul_relu.tw").print(), p.print());
}

TEST(Language, CallOperatorBindAndNames) {
  HostArray a = HostArray(T::f16, {9, 8}).fill_random(1, 0, 1), b = HostArray(T::f16, {8, 7}).fill_random(2, 0, 1),
            c(T::f16, {9, 7}), d(T::f16, {9, 7});
  const CompiledKernel kernel = compile(sample::matmul_relu(9, 7, 8, 16, 16, 16), {.target = "cpu"});
  kernel(a.view(), b.view(), c.view());
  const Launch launch = kernel.bind(a.view(), b.view(), d.view());
  launch();
  EXPECT_EQ(c.values(), d.values());
  EXPECT_GT(c.get(0), 0);
  EXPECT_TRUE(kernel.target().starts_with("cpu:"));
  EXPECT_FALSE(kernel.get_kernel_source().empty());
  EXPECT_FALSE(kernel.report().empty());
}

TEST(Language, IfElseWhileBreakContinue) {
  const Program p = T::prim_func("branches", [] {
    auto out = T::tensor("out", {4}, T::i32);
    auto blocks = T::Kernel({1});
    auto v = T::alloc_var(T::i32, 0);
    auto steps = T::alloc_var(T::i32, 0);
    T::while_(v < 100, [&] {
      v = v + 1;
      T::if_(v % 2 == 0, [] { T::loop_continue(); });
      T::if_(v > 20, [] { T::loop_break(); });
      T::if_(v == 7 || (v > 10 && !(v > 12)), [&] { steps += 100; }).else_([&] { steps += 1; });
    });
    out(0) = v;
    out(1) = steps;
    for (auto i : T::serial(3, 0, -1)) out(2) = out(2) * 10 + i;
    for (auto i : T::unroll(3)) out(3) += i;
  });
  // Odd numbers below 20: ten of them; 7 and 11 count 100.
  expect_exact(p, {HostArray(T::i32, {4})}, 0, {21, 208, 321, 3});
}

TEST(Language, LetReadsNowAndExpressionsReadLater) {
  const Program p = T::prim_func("lets", [] {
    auto A = T::tensor("A", {3}, T::f32);
    auto blocks = T::Kernel({1});
    auto now = T::let(A(0) * 2);
    auto later = A(0) * 2;
    A(0) = 10;
    A(1) = now;
    A(2) = later;
  });
  expect_exact(p, {HostArray(T::f32, {3}).fill_with({3})}, 0, {10, 6, 20});
}

TEST(Language, SlicesAllAndUnitDimensions) {
  const Program p = T::prim_func("slices", [] {
    auto A = T::tensor("A", {4, 3, 5}, T::i32);
    auto B = T::tensor("B", {2, 5}, T::i32);
    auto blocks = T::Kernel({1});
    auto s = T::alloc_shared({2, 5}, T::i32, "window");
    T::copy(A(T::slice(1, 3), 2, T::all), s);
    T::copy(s, B(T::slice(0, 2), T::all));
  });
  std::vector<Real> want;
  for (int i = 1; i < 3; ++i) {
    for (int k = 0; k < 5; ++k) want.push_back(i * 15 + 10 + k);
  }
  expect_exact(p, {counted(T::i32, {4, 3, 5}), HostArray(T::i32, {2, 5})}, 1, want);
}

TEST(Language, ScalarParametersAndIfThenElse) {
  const Program p = T::prim_func("scalars", [] {
    auto n = T::scalar("n", T::i32);
    auto x = T::scalar("x", T::f32);
    auto A = T::tensor("A", {8}, T::f32);
    auto blocks = T::Kernel({1});
    for (auto i : T::Parallel(8)) A(i) = T::if_then_else(i < n, x, -T::infinity(T::f32));
  });
  const Real low = -std::numeric_limits<Real>::infinity();
  expect_exact(p, {int64_t(3), 1.5, HostArray(T::f32, {8})}, 2, {1.5L, 1.5L, 1.5L, low, low, low, low, low});
  expect_exact(p, {int64_t(-3), 1.5, HostArray(T::f32, {8})}, 2, std::vector<Real>(8, low));
}

TEST(Language, GemmOptions) {
  const Program p = T::prim_func("scores", [] {
    auto Q = T::tensor("Q", {6, 4}, T::f16);
    auto K = T::tensor("K", {5, 4}, T::f16);
    auto S = T::tensor("S", {6, 5}, T::f32);
    auto blocks = T::Kernel({1});
    auto q = T::alloc_shared({6, 4}, T::f16);
    auto k = T::alloc_shared({5, 4}, T::f16);
    auto s = T::alloc_fragment({6, 5}, T::f32);
    T::use_swizzle(2, {.order = T::col});
    T::copy(Q, q);
    T::copy(K, k);
    T::fill(s, 1000);
    T::gemm(q, k, s, {.transpose_B = true, .policy = T::FullCol, .clear_accum = true});
    T::copy(s, S);
  });
  // Small integers: every sum is exact.
  std::vector<Real> want;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 5; ++j) {
      Real sum = 0;
      for (int k = 0; k < 4; ++k) sum += static_cast<Real>((i * 4 + k) * (j * 4 + k));
      want.push_back(sum);
    }
  }
  expect_exact(p, {counted(T::f16, {6, 4}), counted(T::f16, {5, 4}), HostArray(T::f32, {6, 5})}, 2, want);
}

// A macro is a C++ function.
void add_bias(const T::Tile& tile, const T::Tile& bias, int rows, int cols) {
  for (auto [i, j] : T::Parallel(rows, cols)) tile(i, j) += bias(j);
}

// Memory of f32 is a tf32 tensor: its elements are read rounded.
TEST(Language, Tf32ReadsFloats) {
  const Program p = T::prim_func("rounding", [] {
    auto A = T::tensor("A", {3}, T::tf32);
    auto B = T::tensor("B", {3}, T::f32);
    auto blocks = T::Kernel({1});
    auto s = T::alloc_shared({3}, T::tf32);
    T::copy(A, s);
    T::copy(s, B);
  });
  const HostArray floats = HostArray(T::f32, {3}).fill_with({1 + 0x1p-20L, 3, -1 - 0x3p-11L});
  expect_exact(p, {floats, HostArray(T::f32, {3})}, 1, {1, 3, -1 - 0x1p-9L});
}

// Products of f32 are products of f32, and of rounded numbers where the author says so.
TEST(Language, GemmRoundsOperandsForTf32Only) {
  for (const DType dtype : {T::f32, T::tf32}) {
    const Program p = T::prim_func("products", [dtype] {
      auto A = T::tensor("A", {2, 2}, T::f32);
      auto C = T::tensor("C", {2, 2}, T::f32);
      auto blocks = T::Kernel({1});
      auto a = T::alloc_shared({2, 2}, dtype);
      auto c = T::alloc_fragment({2, 2}, T::f32);
      T::copy(A, a);
      T::gemm(a, a, c, {.clear_accum = true});
      T::copy(c, C);
    });
    // The square of a diagonal.
    const Real x = 1 + 0x1p-11L, square = dtype == T::f32 ? 1 + 0x1p-10L + 0x1p-22L : 1;
    expect_exact(p, {HostArray(T::f32, {2, 2}).fill_with({x, 0, 0, x}), HostArray(T::f32, {2, 2})}, 1,
                 {square, 0, 0, square});
  }
}

// The side that is not chosen is evaluated too, so that an index of it must be inside.
TEST(Language, SelectGuardsNothing) {
  for (const bool lazy : {true, false}) {
    const Program p = T::prim_func("sides", [lazy] {
      auto A = T::tensor("A", {8}, T::f32);
      auto n = T::scalar("n", T::i32);
      auto blocks = T::Kernel({1});
      auto s = T::alloc_shared({8}, T::f32, "s");
      T::fill(s, 3);
      for (auto i : T::serial(8))
        A(i) = lazy ? T::if_then_else(i + n < 8, s(i + n), 1) : T::select(i + n < 8, s(i + n), 1);
    });
    const Args args = {HostArray(T::f32, {8}), int64_t(6)};
    for (const std::string& runner : kRunners) {
      if (lazy) {
        EXPECT_EQ(array(run_on(runner, p, args), 0).values(), (std::vector<Real>{3, 3, 1, 1, 1, 1, 1, 1})) << runner;
      } else {
        EXPECT_THROW(run_on(runner, p, args), Error) << runner;
      }
    }
  }
}

TEST(Language, LiteralsInFunctions) {
  const Program p = T::prim_func("literals", [] {
    auto A = T::tensor("A", {8}, T::f16);
    auto I = T::tensor("I", {3}, T::i64);
    auto blocks = T::Kernel({1});
    A(0) = T::pow(A(0), 2);
    A(1) = T::atan2(0, A(1));
    A(2) = T::hypot(3, 4.0);
    A(3) = T::ieee_fmaf(2, T::cast(A(3), T::f32), 0.5);
    A(4) = T::clamp(A(4), 0, 1);
    A(5) = -T::infinity(T::f16);
    A(6) = T::max_value(T::f16);
    A(7) = T::ldexp(A(0), -1);
    I(0) = T::truncdiv(-7, 2) + T::truncmod(T::Expr(-7), 4);
    I(1) = T::align_up(13, 8);
    I(2) = T::bitwise_not(5) + T::popcount(255) + T::max_value(T::i16);
  });
  expect_exact(p, {HostArray(T::f16, {8}).fill_with({3}), HostArray(T::i64, {3})}, 0,
               {9, 0, 5, 6.5L, 1, -std::numeric_limits<Real>::infinity(), 65504, 4.5L});
  expect_exact(p, {HostArray(T::f16, {8}).fill_with({3}), HostArray(T::i64, {3})}, 1, {-6, 16, -6 + 8 + 32767});
}

// With what is assumed the accesses need no checks.
TEST(Language, AssumptionsFeedTheProofs) {
  for (const bool assumes : {false, true}) {
    const Program p = T::prim_func("windows", [assumes] {
      auto A = T::tensor("A", {32}, T::i32);
      auto n = T::scalar("n", T::i32);
      auto blocks = T::Kernel({1});
      auto s = T::alloc_shared({32}, T::i32);
      for (auto i : T::Parallel(32)) s(i) = i;
      if (assumes) T::assume(0 <= n && n <= 16);
      for (auto i : T::serial(16)) A(i) = s(i + n);
    });
    const CompiledKernel kernel = compile(p, {.target = "cpu"});
    EXPECT_EQ(kernel.get_kernel_source().find("tw::failed") == std::string::npos, assumes)
        << kernel.get_kernel_source();
    HostArray a(T::i32, {32});
    kernel(a.view(), 5);
    EXPECT_EQ(a.get(15), 20);
  }
}

TEST(Language, MacrosAreFunctions) {
  const Program p = T::prim_func("bias", [] {
    auto A = T::tensor("A", {3, 4}, T::f32);
    auto b = T::tensor("b", {4}, T::f32);
    auto blocks = T::Kernel({1});
    auto f = T::alloc_fragment({3, 4}, T::f32);
    T::copy(A, f);
    add_bias(f, b, 3, 4);
    add_bias(f, b, 3, 4);
    T::copy(f, A);
  });
  std::vector<Real> want;
  for (int i = 0; i < 12; ++i) want.push_back(i + i % 4 * 2);
  expect_exact(p, {counted(T::f32, {3, 4}), counted(T::f32, {4})}, 0, want);
}

TEST(Language, SoftmaxRowWithReductions) {
  static constexpr int64_t kRows = 3, kCols = 37;
  const Program p = T::prim_func("softmax", [] {
    auto X = T::tensor("X", {kRows, kCols}, T::f32);
    auto sums = T::tensor("sums", {kRows}, T::f32);
    auto blocks = T::Kernel({1});
    auto x = T::alloc_fragment({kRows, kCols}, T::f32);
    auto top = T::alloc_fragment({kRows}, T::f32);
    auto sum = T::alloc_fragment({kRows}, T::f32);
    T::copy(X, x);
    T::reduce_max(x, top, {.dim = 1});
    for (auto [i, j] : T::Parallel(kRows, kCols)) x(i, j) = T::if_then_else(x(i, j) == top(i), 1.0, 0.0);
    T::reduce_sum(x, sum);
    T::copy(sum, sums);
  });
  // The largest element of each row occurs once.
  expect_exact(p, {counted(T::f32, {kRows, kCols}), HostArray(T::f32, {kRows})}, 1, {1, 1, 1});
}

TEST(Language, ReductionsOfDynamicExtents) {
  const Program p = T::prim_func("rows", [] {
    auto m = T::dynamic("m"), k = T::dynamic("k");
    auto A = T::tensor("A", {m, k}, T::i32);
    auto sums = T::tensor("sums", {m}, T::i32);
    auto columns = T::tensor("columns", {k}, T::i32);
    {
      auto [b] = T::Kernel({m});
      T::reduce_sum(A(T::slice(b, b + 1), T::all), sums(b));
      T::cumsum(A(b, T::all), {.dim = 1, .reverse = true});
    }
    auto blocks = T::Kernel({1});
    T::reduce_max(A, columns, {.dim = 0});
  });
  for (const int64_t m : {0, 1, 5}) {
    for (const int64_t k : {0, 1, 6}) {
      std::vector<Real> sums(static_cast<size_t>(m)), columns(static_cast<size_t>(k), -0x1p31L);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = k; j-- > 0;) {
          sums[static_cast<size_t>(i)] += static_cast<Real>(i * k + j);
          columns[static_cast<size_t>(j)] = std::max(columns[static_cast<size_t>(j)], sums[static_cast<size_t>(i)]);
        }
      }
      const Args args = {counted(T::i32, {m, k}), HostArray(T::i32, {m}), HostArray(T::i32, {k})};
      expect_exact(p, args, 1, sums);
      expect_exact(p, args, 2, columns);
    }
  }
}

TEST(Language, SlowReductionsAreRemarked) {
  const Program p = T::prim_func("slow", [] {
    auto A = T::tensor("A", {3, 4}, T::f32);
    auto sums = T::tensor("sums", {3}, T::f32);
    auto blocks = T::Kernel({1});
    T::reduce_sum(A, sums, {.accumulate = T::f16});
    T::cummax(A, {.dim = 1, .nan_propagate = true});
  });
  const CompiledKernel kernel = compile(p, {.target = "cpu"});
  ASSERT_EQ(kernel.remarks().size(), 2u);
  EXPECT_EQ(kernel.remarks()[0].kind, "scalar_reduce");
  EXPECT_EQ(kernel.remarks()[0].text.substr(0, 26), "reduce_sum of A runs one e");
  EXPECT_EQ(kernel.remarks()[1].kind, "scalar_scan");
}

TEST(Language, DynamicExtentsStridesAndWorkspace) {
  const Program p = T::prim_func("dynamic", [] {
    auto m = T::dynamic("m");
    auto A = T::tensor("A", {m, 4}, T::i32, {.strides = {1, m}, .safe_value = 0});
    auto B = T::tensor("B", {m, 4}, T::i32);
    auto W = T::alloc_global({m, 4}, T::i32);
    {
      auto [b] = T::Kernel({m});
      for (auto j : T::Parallel(4)) W(b, j) = A(b, j) + 1;
    }
    {
      auto [b] = T::Kernel({T::ceildiv(m, 8)});
      auto s = T::alloc_shared({8, 4}, T::i32);
      T::copy(W(b * 8, 0), s);
      T::copy(s, B(b * 8, 0));
    }
  });
  for (const int64_t m : {1, 7, 8, 19}) {
    HostArray a(T::i32, {m, 4}, {1, m});
    std::vector<Real> want;
    for (int64_t i = 0; i < a.size(); ++i) {
      a.set(i, static_cast<Real>(i * 3));
      want.push_back(static_cast<Real>(i * 3 + 1));
    }
    expect_exact(p, {a, HostArray(T::i32, {m, 4})}, 1, want);
  }
}

TEST(Language, TileQueries) {
  const Program p = T::prim_func("queries", [] {
    auto A = T::tensor("A", {6, 4}, T::f16);
    auto out = T::tensor("out", {2}, T::i32);
    EXPECT_EQ(A.dtype(), T::f16);
    EXPECT_EQ(A.rank(), 2);
    auto blocks = T::Kernel({1});
    out(0) = A.shape(0);
    out(1) = T::floordiv(T::Expr(-7), 2) + T::floormod(T::Expr(-7), 4);
  });
  expect_exact(p, {HostArray(T::f16, {6, 4}), HostArray(T::i32, {2})}, 1, {6, -3});
}

}  // namespace
}  // namespace tilewright::tests
