// Indices that wrap around, repeat or are large; names and widths of generated text; stores that are read again; casts
// of every width.
#include "reports/cases.h"

#include <fmt/format.h>

#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <string>

namespace tilewright::tests {
namespace {

// 1024 elements, of which those read repeat every kK, which does not divide the row.
TEST(LoopCases, IndexModuloWhatDoesNotDivideTheRow) {
  static constexpr int64_t kRows = 4, kColumns = 256, kK = 48;
  const Program p = T::prim_func("repeated", [] {
    auto B = T::tensor("B", {kK}, T::f32);
    auto C = T::tensor("C", {kRows, kColumns}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 128});
    auto b = T::alloc_shared({kK}, T::f32);
    T::copy(B, b);
    for (auto [i, j] : T::Parallel(kRows, kColumns)) C(i, j) = b((i * kColumns + j) % kK) + b(j % kK) * 100;
  });
  const Args args = {counted(T::f32, {kK}), HostArray(T::f32, {kRows, kColumns})};
  Expected want = exactly(array(args, 1));
  for (int64_t e = 0; e < kRows * kColumns; ++e) want.set(e, Real(e % kK + e % kColumns % kK * 100));
  expect_result(p, args, 1, want);
}

// Rows 6e8 elements apart: every index fits 31 bits, products of the stride do not.
TEST(LoopCases, StrideOfSixHundredMillion) {
  static constexpr int64_t kStride = 600'000'000, kRows = 4, kColumns = 16;
  const size_t bytes = size_t((kRows - 1) * kStride + kColumns);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED) << "no address space for " << bytes << " bytes: does a limit (ulimit -v) stand?";
  auto* data = static_cast<int8_t*>(memory);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) data[i * kStride + j] = int8_t(i * kColumns + j);
  }
  const Program p = T::prim_func("spread", [] {
    auto A = T::tensor("A", {kRows, kColumns}, T::i8, {.strides = {kStride, 1}});
    auto C = T::tensor("C", {kRows, kColumns}, T::i8);
    auto [bx] = T::Kernel({T::Expr(1)});
    for (auto [i, j] : T::Parallel(kRows, kColumns)) C(i, j) = A(kRows - 1 - i, j) + 1;
  });
  const TensorView a{.data = data, .dtype = DType::i8, .shape = {kRows, kColumns}, .strides = {kStride, 1}};
  for (const bool compiled : {false, true}) {
    std::vector<int8_t> c(kRows * kColumns);
    const TensorView out{.data = c.data(), .dtype = DType::i8, .shape = {kRows, kColumns}};
    if (compiled)
      compile(p, {.target = "cpu"})(a, out);
    else
      interpret(p, {a, out});
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) {
        ASSERT_EQ(c[size_t(i * kColumns + j)], int8_t((kRows - 1 - i) * kColumns + j + 1)) << i << " " << j;
      }
    }
  }
  munmap(memory, bytes);
}

// A row that stands for every row, by a stride of 0, multiplied on chip with one column that stands for all.
TEST(LoopCases, DotProductOfBroadcastOperands) {
  static constexpr int64_t kM = 12, kK = 20;
  const Program p = T::prim_func("broadcast", [] {
    auto A = T::tensor("A", {kM, kK}, T::f32, {.strides = {0, 1}});
    auto B = T::tensor("B", {kM, kK}, T::f32, {.strides = {1, 0}});
    auto C = T::tensor("C", {kM}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 32});
    auto a = T::alloc_shared({kM, kK}, T::f32);
    auto b = T::alloc_shared({kM, kK}, T::f32);
    T::copy(A, a);
    T::copy(B, b);
    for (auto i : T::Parallel(kM)) {
      auto sum = T::alloc_var(T::f32, 0);
      for (auto k : T::serial(kK)) sum += a(i, k) * b(i, k);
      C(i) = sum;
    }
  });
  std::vector<float> a(kK), b(kM);
  for (size_t i = 0; i < a.size(); ++i) a[i] = float(i) - 7;
  for (size_t i = 0; i < b.size(); ++i) b[i] = float(i * 3) - 4;
  const TensorView rows{.data = a.data(), .dtype = DType::f32, .shape = {kM, kK}, .strides = {0, 1}};
  const TensorView columns{.data = b.data(), .dtype = DType::f32, .shape = {kM, kK}, .strides = {1, 0}};
  for (const bool compiled : {false, true}) {
    std::vector<float> c(kM);
    const TensorView out{.data = c.data(), .dtype = DType::f32, .shape = {kM}};
    if (compiled)
      compile(p, {.target = "cpu"})(rows, columns, out);
    else
      interpret(p, {rows, columns, out});
    double sum = 0;
    for (const float x : a) sum += double(x);
    for (size_t i = 0; i < c.size(); ++i) EXPECT_EQ(double(c[i]), sum * double(b[i])) << i;  // integers: exact
  }
}

TEST(LoopCases, PartsOfAFragmentInASerialLoop) {
  const Program p = T::prim_func("parts", [] {
    auto A = T::tensor("A", {8}, T::f32);
    auto C = T::tensor("C", {8}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 128});
    auto f = T::alloc_fragment({8}, T::f32);
    T::copy(A, f);
    for (auto k : T::serial(2)) {
      for (auto i : T::Parallel(4)) f(k * 4 + i) = f(k * 4 + i) * 10 + k;
    }
    T::copy(f, C);
  });
  const Args args = {counted(T::f32, {8}), HostArray(T::f32, {8})};
  Expected want = exactly(array(args, 1));
  for (int64_t i = 0; i < 8; ++i) want.set(i, Real(i * 10 + i / 4));
  expect_result(p, args, 1, want);
}

// One loop over all pairs, unrolled, whose loads may be staged: what is stored is what is read back.
TEST(LoopCases, StoreAndReloadInAFlattenedLoop) {
  static constexpr int64_t kM = 6, kN = 5, kTile = 8;
  const Program p = T::prim_func("reloaded", [] {
    auto A = T::tensor("A", {kM, kN * kTile}, T::f32);
    auto W = T::tensor("W", {kTile}, T::f32);
    auto D = T::tensor("D", {kM, kN * kTile}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_shared({kTile}, T::f32);
    auto back = T::alloc_shared({kTile}, T::f32);
    for (auto step : T::Pipelined(kM * kN, {.num_stages = 2})) {
      T::copy(A(step / kN, step % kN * kTile), s);
      for (auto u : T::unroll(kTile)) W(u) = s(u) * 2 + step;
      T::copy(W, back);
      for (auto i : T::Parallel(kTile)) D(step / kN, step % kN * kTile + i) = back(i) - (s(i) * 2 + step);
    }
  });
  const Args args = {counted(T::f32, {kM, kN * kTile}), HostArray(T::f32, {kTile}),
                     HostArray(T::f32, {kM, kN * kTile}).fill_random(2, 1, 2)};
  expect_result(p, args, 2, exactly(array(args, 2)));
}

TEST(LoopCases, ParallelLoopOfHalfAMillionElements) {
  static constexpr int64_t kM = 64, kN = 8192;
  const Program p = T::prim_func("large", [] {
    auto A = T::tensor("A", {kM, kN}, T::f32);
    auto B = T::tensor("B", {kM, kN}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 256});
    auto a = T::alloc_fragment({kM, kN}, T::f32);
    T::copy(A, a);
    for (auto [i, j] : T::Parallel(kM, kN)) a(i, j) = a(i, j) * 2 + i;
    T::copy(a, B);
  });
  const Args args = {counted(T::f32, {kM, kN}), HostArray(T::f32, {kM, kN})};
  Expected want = exactly(array(args, 1));
  for (int64_t e = 0; e < kM * kN; ++e) want.set(e, Real(e * 2 + e / kN));  // below 2^24: exact
  for (const char* runner : {"interpreter", "cpu"}) {
    EXPECT_EQ(difference(array(run_on(runner, p, args), 1), want), "") << runner;
  }
  try {
    compile(p, {.target = kSimulatedGpus[0]});
    FAIL() << "more memory than a multiprocessor has";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "large needs 2097152 bytes of shared memory, but a block of sm_80 has 166912");
  }
}

// Names that the generated text, CUDA C++ or a variable might have, too.
TEST(NameCases, OfTilesAndTensors) {
  static constexpr const char* kNames[] = {"k_1",         "x_2",        "bx_0",          "tensor_0",    "tensor_1",
                                           "tid_4",       "end_k_1",    "shared_memory", "first_block", "threadIdx",
                                           "blockIdx",    "__shared__", "__asm",         "failure",     "failure_tile",
                                           "reduction_0", "stream_0",   "map_A_0",       "TW_ATOM",     "cells"};
  for (const char* name : kNames) {
    SCOPED_TRACE(name);
    const Program p = T::prim_func("names", [name] {
      auto X = T::tensor(name, {8}, T::f32);
      auto Y = T::tensor("Y", {8}, T::f32);
      auto [b] = T::Kernel({T::Expr(4)});
      auto v = T::alloc_local({}, T::f32, std::string(name) == "k_1" ? "x_2" : "k_1");
      auto s = T::alloc_shared({2}, T::f32, std::string(name) == "bx_0" ? "tid_6" : "bx_0");
      v() = 7;
      T::copy(X(T::slice(b * 2, b * 2 + 2)), s);
      for (auto k : T::serial(2)) {
        auto x = T::let(k * 2);
        for (auto i : T::Parallel(1)) Y(b * 2 + k) = v() * 100 + s(k) * 10 + x + i;
      }
    });
    const Args args = {counted(T::f32, {8}), HostArray(T::f32, {8})};
    Expected want = exactly(array(args, 1));
    for (int64_t i = 0; i < 8; ++i) want.set(i, Real(700 + i * 10 + i % 2 * 2));
    expect_result(p, args, 1, want);
  }
}

// Index arithmetic is 64 bits wide for the functions that it is an operand of, whatever width its values need.
TEST(WidthCases, FunctionsOfIndices) {
  const Program p = T::prim_func("widths", [] {
    auto X = T::tensor("X", {4}, T::i64);
    auto Y = T::tensor("Y", {4, 9}, T::i64);
    auto D = T::tensor("D", {4}, T::f64);
    auto [b] = T::Kernel({T::Expr(4)});
    for (auto i : T::Parallel(1)) {
      auto x = T::let(b + 1);
      Y(b, 0) = T::clz(b);
      Y(b, 1) = T::popcount(-b - i);
      Y(b, 2) = T::shift_left(1, 64 - T::clz(b));
      Y(b, 3) = T::truncdiv(X(b), 3);
      Y(b, 4) = T::truncmod(X(b), 3);
      Y(b, 5) = T::truncdiv(10, X(b));
      Y(b, 6) = T::truncdiv(X(b), x);
      Y(b, 7) = T::truncmod(T::cast(X(b), T::i8), x);
      Y(b, 8) = T::clz(x);
      D(b) = T::reinterpret(b, T::f64);
    }
  });
  HostArray x(T::i64, {4});
  const int64_t xs[] = {-7, 8, -9, 10};
  for (int64_t i = 0; i < 4; ++i) x.set(i, Real(xs[i]));
  const Args args = {x, HostArray(T::i64, {4, 9}), HostArray(T::f64, {4})};
  Expected want = exactly(array(args, 1)), as_doubles = exactly(array(args, 2));
  for (int64_t b = 0; b < 4; ++b) {
    const int64_t clz = b == 0 ? 64 : std::countl_zero(uint64_t(b)), shifted = clz == 64 ? 1 : int64_t(1) << (64 - clz);
    const int64_t row[] = {clz,
                           std::popcount(uint64_t(-b)),
                           shifted,
                           xs[b] / 3,
                           xs[b] % 3,
                           10 / xs[b],
                           xs[b] / (b + 1),
                           xs[b] % (b + 1),
                           std::countl_zero(uint64_t(b + 1))};
    for (int64_t j = 0; j < 9; ++j) want.set(b * 9 + j, Real(row[j]));
    as_doubles.set(b, Real(std::bit_cast<double>(b)));
  }
  expect_result(p, args, 1, want);
  expect_result(p, args, 2, as_doubles);
}

// Rows of a tile that no 31 bits count.
TEST(WidthCases, RowsOfTwoToTheThirtyOneElements) {
  for (const int64_t cols : {(int64_t(1) << 31) - 16, int64_t(1) << 31}) {
    const Program p = T::prim_func("long_rows", [cols] {
      auto X = T::tensor("X", {2, 8}, T::i8);
      auto [b] = T::Kernel({T::Expr(1)});
      auto s = T::alloc_shared({2, cols}, T::i8, "s");
      T::copy(X, s(T::all, T::slice(0, 8)));
      T::copy(s(T::all, T::slice(0, 8)), X);
    });
    EXPECT_NO_THROW(compile(p, {.target = "cpu", .optimize = 0})) << cols;
  }
}

// Four dynamic extents, each of them odd, one of them 0.
TEST(LoopCases, FourDynamicExtents) {
  const Program p = T::prim_func("four", [] {
    auto a = T::dynamic("a"), b = T::dynamic("b"), c = T::dynamic("c"), d = T::dynamic("d");
    auto X = T::tensor("X", {a, b, c, d}, T::i32);
    auto Y = T::tensor("Y", {d, c, b, a}, T::i32);
    auto [bx, by] = T::Kernel({T::ceildiv(a, 2), T::ceildiv(b, 3)});
    for (auto [i, j, k, l] : T::Parallel(2, 3, c, d)) Y(l, k, by * 3 + j, bx * 2 + i) = X(bx * 2 + i, by * 3 + j, k, l);
  });
  const std::vector<std::vector<int64_t>> shapes = {{5, 7, 3, 11}, {1, 1, 1, 1}, {3, 0, 2, 5}};
  for (const std::vector<int64_t>& s : shapes) {
    const Args args = {counted(T::i32, s), HostArray(T::i32, {s[3], s[2], s[1], s[0]})};
    Expected want = exactly(array(args, 1));
    for (int64_t e = 0; e < array(args, 0).size(); ++e) {
      const int64_t l = e % s[3], k = e / s[3] % s[2], j = e / s[3] / s[2] % s[1], i = e / s[3] / s[2] / s[1];
      want.set(((l * s[2] + k) * s[1] + j) * s[0] + i, Real(e));
    }
    expect_result(p, args, 1, want);
  }
}

// Every pair once element by element and once over a tile that vectors do not divide; and a choice between two.
TEST(CastCases, OneElementAndManyAgree) {
  static constexpr int64_t kN = 13;
  const std::vector<DType> dtypes = {T::f8e4m3, T::f8e5m2, T::bf16, T::f32, T::i8};
  const Program p = T::prim_func("casts", [&] {
    std::vector<T::Tile> in, one, many;
    for (const DType from : dtypes) in.push_back(T::tensor(fmt::format("A_{}", to_string(from)), {kN}, from));
    for (const DType to : dtypes) {
      const T::Shape shape({int64_t(dtypes.size()), kN});
      one.push_back(T::tensor(fmt::format("one_{}", to_string(to)), shape, to));
      many.push_back(T::tensor(fmt::format("many_{}", to_string(to)), shape, to));
    }
    auto [bx] = T::Kernel({T::Expr(1)});
    for (size_t to = 0; to < dtypes.size(); ++to) {
      for (size_t from = 0; from < dtypes.size(); ++from) {
        for (auto i : T::serial(kN)) one[to](int64_t(from), i) = T::cast(in[from](i), dtypes[to]);
        for (auto i : T::Parallel(kN)) {
          many[to](int64_t(from), i) =
              T::select(i % 2 == 0, T::cast(in[from](i), dtypes[to]), one[to](int64_t(from), i));
        }
      }
    }
  });
  Args args;
  for (const DType from : dtypes) {
    HostArray a(from, {kN});
    for (int64_t i = 0; i < kN; ++i) a.set(i, cast_real(Real(i * i) * 3.25L - 70, DType::f64, from));
    args.emplace_back(std::move(a));
  }
  for (const DType to : dtypes) {
    args.emplace_back(HostArray(to, {int64_t(dtypes.size()), kN}));
    args.emplace_back(HostArray(to, {int64_t(dtypes.size()), kN}));
  }
  for (const char* runner : {"interpreter", "cpu"}) {
    const Args after = run_on(runner, p, args);
    for (size_t to = 0; to < dtypes.size(); ++to) {
      Expected want = exactly(array(args, dtypes.size() + 2 * to));
      for (size_t from = 0; from < dtypes.size(); ++from) {
        for (int64_t i = 0; i < kN; ++i) {
          want.set(int64_t(from) * kN + i, cast_real(array(args, from).get(i), dtypes[from], dtypes[to]));
        }
      }
      for (const size_t kind : {0, 1}) {
        EXPECT_EQ(difference(array(after, dtypes.size() + 2 * to + kind), want), "")
            << runner << " to " << to_string(dtypes[to]) << (kind ? " many" : " one");
      }
    }
  }
}

// Two shared tiles whose lives never overlap. No option turns barriers off, and tiles share no memory unless barriers
// order their uses: every use is ordered, each round again.
TEST(LoopCases, SharedTilesOneAfterTheOther) {
  constexpr int64_t n = 96, rounds = 3;
  const Program p = T::prim_func("turns", [&] {
    auto A = T::tensor("A", {rounds, n}, T::i32);
    auto C = T::tensor("C", {rounds, n}, T::i32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 64});
    auto first = T::alloc_shared({n}, T::i32, "first");
    auto second = T::alloc_shared({n}, T::i32, "second");
    for (auto r : T::serial(rounds)) {
      for (auto i : T::Parallel(n)) first(i) = A(r, i) + 1;
      for (auto i : T::Parallel(n)) C(r, i) = first(n - 1 - i);
      for (auto i : T::Parallel(n)) second(i) = C(r, n - 1 - i) * 2;
      for (auto i : T::Parallel(n)) C(r, i) = second(n - 1 - i) + C(r, i);
    }
  });
  const Args args = {counted(DType::i32, {rounds, n}), HostArray(T::i32, {rounds, n})};
  Expected want = exactly(array(args, 1));
  for (int64_t r = 0; r < rounds; ++r) {
    for (int64_t i = 0; i < n; ++i) {
      // first is reversed into C; second doubles the reverse of that, and is reversed again
      const Real c = Real(r * n + n - 1 - i) + 1;
      want.set(r * n + i, 2 * c + c);
    }
  }
  expect_result(p, args, 1, want);
}

// A loop in vectors which reads, under a condition, what it wrote.
TEST(LoopCases, WhatALoopWroteIsReadUnderACondition) {
  constexpr int64_t rows = 4, width = 64;
  const Program p = T::prim_func("twice", [&] {
    auto A = T::tensor("A", {rows, width}, T::f32);
    auto Y = T::tensor("Y", {rows, width}, T::f32);
    auto Z = T::tensor("Z", {rows, width}, T::f32);
    auto n = T::scalar("n", T::i32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 32});
    auto x = T::alloc_fragment({rows, width}, T::f32, "x");
    T::copy(A, x);
    for (auto [i, j] : T::Parallel(rows, width)) {
      Y(i, j) = x(i, j) * 2;
      Z(i, j) = T::if_then_else(n > 0, Y(i, j), 0);
    }
  });
  const Args args = {counted(DType::f32, {rows, width}), HostArray(T::f32, {rows, width}),
                     HostArray(T::f32, {rows, width}), int64_t(1)};
  Expected want = exactly(array(args, 2));
  for (int64_t i = 0; i < rows * width; ++i) want.set(i, Real(2 * i));
  expect_result(p, args, 1, want);
  expect_result(p, args, 2, want);
}

}  // namespace
}  // namespace tilewright::tests
