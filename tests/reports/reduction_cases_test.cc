// Reductions and scans whose widths and threads do not divide each other, in every width of element; atomics.
#include "reports/cases.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>

namespace tilewright::tests {
namespace {

TEST(ReductionCases, SumOverFortyEightThreads) {
  const Program p = T::prim_func("summed", [] {
    auto A = T::tensor("A", {48}, T::f32);
    auto S = T::tensor("S", {1}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 48});
    auto a = T::alloc_fragment({48}, T::f32);
    auto s = T::alloc_fragment({1}, T::f32);
    T::copy(A, a);
    T::reduce_sum(a, s);
    T::copy(s, S);
  });
  Args args = {HostArray(T::f32, {48}), HostArray(T::f32, {1})};
  for (int64_t i = 0; i < 48; ++i) std::get<HostArray>(args[0]).set(i, Real(i + 1));
  Expected want = exactly(array(args, 1));
  want.set(0, 48 * 49 / 2);
  expect_result(p, args, 1, want);
}

// y = A x, a row block at a time, with a partial sum for each block of columns.
TEST(ReductionCases, MatrixTimesVectorWithColumnsThatDoNotDivideThreads) {
  static constexpr int64_t kM = 20, kN = 250;
  for (const int64_t block_n : {48, 96, 100}) {
    const Program p = T::prim_func("product", [&] {
      auto A = T::tensor("A", {kM, kN}, T::f32);
      auto X = T::tensor("X", {kN}, T::f32);
      auto Y = T::tensor("Y", {kM}, T::f32);
      auto [by] = T::Kernel({T::ceildiv(kM, 8)}, {.threads = 128});
      auto a = T::alloc_shared({8, block_n}, T::f32);
      auto x = T::alloc_shared({block_n}, T::f32);
      auto products = T::alloc_fragment({8, block_n}, T::f32);
      auto y = T::alloc_fragment({8}, T::f32);
      T::clear(y);
      for (auto k : T::serial(T::ceildiv(kN, block_n))) {
        T::copy(A(by * 8, k * block_n), a);
        T::copy(X(k * block_n), x);
        for (auto [i, j] : T::Parallel(8, block_n)) products(i, j) = a(i, j) * x(j);
        T::reduce_sum(products, y, {.dim = 1, .clear = false});
      }
      T::copy(y, Y(by * 8));
    });
    const Args args = {HostArray(T::f32, {kM, kN}).fill_random(1, -1, 1), HostArray(T::f32, {kN}).fill_random(2, -1, 1),
                       HostArray(T::f32, {kM})};
    Expected want = exactly(array(args, 2));
    for (int64_t i = 0; i < kM; ++i) {
      Real sum = 0, magnitudes = 0;
      for (int64_t j = 0; j < kN; ++j) {
        const Real term = array(args, 0).at({i, j}) * array(args, 1).at({j});
        sum += term;
        magnitudes += std::fabs(term);
      }
      // One rounding for the product and at most kN + the number of blocks for the sum.
      want.set(i, sum, (kN + 8) * unit_of(T::f32) * magnitudes);
    }
    expect_result(p, args, 2, want);
  }
}

// Eight elements, as eight lanes of one warp hold them.
TEST(ReductionCases, EightLanesOfNarrowElements) {
  const Program p = T::prim_func("narrow", [] {
    const std::vector<DType> dtypes = {T::i8, T::i16, T::bf16, T::u8, T::f16};
    std::vector<T::Tile> in, out;
    for (size_t i = 0; i < dtypes.size(); ++i) {
      in.push_back(T::tensor(fmt::format("A{}", i), {8}, dtypes[i]));
      out.push_back(T::tensor(fmt::format("S{}", i), {1}, dtypes[i]));
    }
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 32});
    for (size_t i = 0; i < dtypes.size(); ++i) {
      auto a = T::alloc_fragment({8}, dtypes[i]);
      auto s = T::alloc_fragment({1}, dtypes[i]);
      T::copy(in[i], a);
      T::reduce_sum(a, s);
      T::copy(s, out[i]);
    }
  });
  const std::initializer_list<Real> wide = {60, 50, 40, 30, 20, 10, -5, -3};  // 202
  const std::initializer_list<Real> small = {1, 2, 3, 5, 7, 8, 9, 6};         // 41
  Args args;
  const std::vector<std::pair<DType, bool>> rows = {
      {T::i8, true}, {T::i16, true}, {T::bf16, false}, {T::u8, false}, {T::f16, false}};
  for (const auto& [dtype, is_wide] : rows) {
    args.emplace_back(HostArray(dtype, {8}).fill_with(is_wide ? wide : small));
    args.emplace_back(HostArray(dtype, {1}));
  }
  const std::vector<Real> sums = {202 - 256, 202, 41, 41, 41};
  for (size_t i = 0; i < sums.size(); ++i) {
    Expected want = exactly(array(args, 2 * i + 1));
    want.set(0, sums[i]);
    expect_result(p, args, 2 * i + 1, want);
  }
}

std::string remarks_of(const Program& program) {
  std::string out;
  const CompiledKernel kernel = compile(program, {.target = "cuda:sm_80"});
  for (const Remark& remark : kernel.remarks()) out += remark.kind + ": " + remark.text + "\n";
  return out;
}

// Rows that several warps share: of one row and of many, of whole vectors and not, in a loop that reduces twice.
TEST(ReductionCases, RowsOfSeveralWarps) {
  struct Case {
    int64_t rows, cols;
    int threads;
  };
  for (const Case& c : {Case{1, 1000, 128}, Case{1, 4096, 1024}, Case{2, 1777, 256}, Case{3, 640, 96}, Case{5, 96, 128},
                        Case{1, 33, 64}, Case{1, 7, 256}, Case{4, 2048, 128}}) {
    SCOPED_TRACE(::testing::Message() << c.rows << " x " << c.cols << ", " << c.threads << " threads");
    const int64_t blocks = 3;
    const Program p = T::prim_func("rows", [&] {
      auto A = T::tensor("A", {blocks * c.rows, c.cols}, T::f32);
      auto B = T::tensor("B", {blocks * c.rows, c.cols}, T::f32);
      auto M = T::tensor("M", {blocks * c.rows}, T::f32);
      auto [b] = T::Kernel({T::Expr(blocks)}, {.threads = c.threads});
      auto a = T::alloc_fragment({c.rows, c.cols}, T::f32);
      auto m = T::alloc_fragment({c.rows}, T::f32), sum = T::alloc_fragment({c.rows}, T::f32);
      T::copy(A(b * c.rows, 0), a);
      T::fill(m, -100);
      for ([[maybe_unused]] auto k : T::serial(2)) {
        T::reduce_max(a, m, {.dim = 1, .clear = false});
        T::reduce_sum(a, sum, {.dim = 1});
        for (auto [i, j] : T::Parallel(c.rows, c.cols)) a(i, j) = a(i, j) + sum(i) - m(i);
      }
      T::copy(a, B(b * c.rows, 0));
      T::copy(m, M(b * c.rows));
    });
    // Most threads have nothing of so short a row. Rows of an odd number of elements go one by one, which is said.
    const std::string remarks = remarks_of(p);
    if (c.cols > 7 && c.cols % 4 == 0) {
      EXPECT_EQ(remarks, "");
    } else if (c.cols > 7) {
      EXPECT_EQ(remarks.rfind("narrow_access: A", 0), 0u) << remarks;
      EXPECT_EQ(remarks.find("fragment_in_shared"), std::string::npos) << remarks;
    }
    HostArray a(T::f32, {blocks * c.rows, c.cols});
    for (int64_t i = 0; i < a.size(); ++i) a.set(i, Real(i * 7 % 13 - 6));
    const Args args = {a, HostArray(T::f32, {blocks * c.rows, c.cols}), HostArray(T::f32, {blocks * c.rows})};
    Expected want = exactly(array(args, 1)), most = exactly(array(args, 2));
    for (int64_t i = 0; i < blocks * c.rows; ++i) {  // whole numbers below 2^24: exact in any order
      Real m = -100;
      std::vector<Real> row;
      for (int64_t j = 0; j < c.cols; ++j) row.push_back(a.get(i * c.cols + j));
      for (int k = 0; k < 2; ++k) {
        Real sum = 0;
        for (const Real x : row) m = std::max(m, x), sum += x;
        for (Real& x : row) x += sum - m;
      }
      for (int64_t j = 0; j < c.cols; ++j) want.set(i * c.cols + j, row[size_t(j)]);
      most.set(i, m);
    }
    expect_result(p, args, 1, want);
    expect_result(p, args, 2, most);
  }
}

// Rows of an accumulator whose warps stand side by side, as they do in attention.
TEST(ReductionCases, RowsOfAProductAcrossWarps) {
  const Program p = T::prim_func("product", [] {
    auto A = T::tensor("A", {32, 64}, T::f16), B = T::tensor("B", {64, 128}, T::f16);
    auto C = T::tensor("C", {32, 128}, T::f32), S = T::tensor("S", {32}, T::f32);
    auto [b] = T::Kernel({T::Expr(1)}, {.threads = 128});
    auto a = T::alloc_shared({32, 64}, T::f16), w = T::alloc_shared({64, 128}, T::f16);
    auto c = T::alloc_fragment({32, 128}, T::f32), s = T::alloc_fragment({32}, T::f32);
    T::copy(A, a);
    T::copy(B, w);
    T::clear(c);
    T::gemm(a, w, c, {.policy = T::WarpPolicy::FullCol});
    T::reduce_sum(c, s, {.dim = 1});
    for (auto [i, j] : T::Parallel(32, 128)) c(i, j) = c(i, j) - s(i);
    T::copy(c, C);
    T::copy(s, S);
  });
  EXPECT_EQ(remarks_of(p), "");
  HostArray a(T::f16, {32, 64}), b(T::f16, {64, 128});
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, Real(i * 5 % 7 - 3));
  for (int64_t i = 0; i < b.size(); ++i) b.set(i, Real(i * 3 % 5 - 2));
  const Args args = {a, b, HostArray(T::f32, {32, 128}), HostArray(T::f32, {32})};
  Expected want = exactly(array(args, 2)), sums = exactly(array(args, 3));
  for (int64_t i = 0; i < 32; ++i) {
    std::vector<Real> row(128);
    Real sum = 0;
    for (int64_t j = 0; j < 128; ++j) {
      for (int64_t k = 0; k < 64; ++k) row[size_t(j)] += a.get(i * 64 + k) * b.get(k * 128 + j);
      sum += row[size_t(j)];
    }
    for (int64_t j = 0; j < 128; ++j) want.set(i * 128 + j, row[size_t(j)] - sum);
    sums.set(i, sum);
  }
  expect_result(p, args, 2, want);
  expect_result(p, args, 3, sums);
}

TEST(ScanCases, NinetySixThreads) {
  const Program p = T::prim_func("scanned", [] {
    auto A = T::tensor("A", {3, 100}, T::i32);
    auto B = T::tensor("B", {3, 100}, T::i32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 96});
    auto a = T::alloc_shared({3, 100}, T::i32);
    auto b = T::alloc_shared({3, 100}, T::i32);
    T::copy(A, a);
    T::cumsum(a, b, {.dim = 1});
    T::copy(b, B);
  });
  const Args args = {HostArray(T::i32, {3, 100}).fill_random(5, -99, 99), HostArray(T::i32, {3, 100})};
  Expected want = exactly(array(args, 1));
  for (int64_t i = 0; i < 3; ++i) {
    Real sum = 0;
    for (int64_t j = 0; j < 100; ++j) want.set(i * 100 + j, sum += array(args, 0).at({i, j}));
  }
  expect_result(p, args, 1, want);
}

// A combination in which the order counts, over eight elements: (a, b) then (c, d) is (a c, b c + d), the composition
// of x -> a x + b. There is no scan of pairs; a serial loop keeps the order that is written.
TEST(ScanCases, AffineMapsAreComposedInOrder) {
  const Program p = T::prim_func("composed", [] {
    auto A = T::tensor("A", {8}, T::i64);
    auto B = T::tensor("B", {8}, T::i64);
    auto P = T::tensor("P", {8, 2}, T::i64);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto a = T::alloc_var(T::i64, 1);
    auto b = T::alloc_var(T::i64, 0);
    for (auto i : T::serial(8)) {
      b = b * A(i) + B(i);
      a = a * A(i);
      P(i, 0) = a;
      P(i, 1) = b;
    }
  });
  const Args args = {HostArray(T::i64, {8}).fill_with({2, 3, -1, 5, 7, 1, -2, 4}),
                     HostArray(T::i64, {8}).fill_with({1, -1, 2, 0, 3, 9, 1, 1}), HostArray(T::i64, {8, 2})};
  Expected want = exactly(array(args, 2));
  int64_t a = 1, b = 0;
  for (int64_t i = 0; i < 8; ++i) {
    const auto c = int64_t(array(args, 0).get(i)), d = int64_t(array(args, 1).get(i));
    const int64_t at_zero = b;  // the map so far, applied to 0 and to 1
    const int64_t at_one = a + b;
    b = c * at_zero + d;
    a = (c * at_one + d) - b;
    want.set(2 * i, Real(a));
    want.set(2 * i + 1, Real(b));
  }
  expect_result(p, args, 2, want);
}

TEST(RowCases, WidthsThatDoNotDivideTheThreads) {
  const std::vector<int64_t> widths = {96, 100, 192, 229};
  const Program p = T::prim_func("rows", [&] {
    std::vector<T::Tile> in, out;
    for (const int64_t width : widths) {
      in.push_back(T::tensor(fmt::format("A{}", width), {7, width}, T::f32));
      out.push_back(T::tensor(fmt::format("B{}", width), {7, width}, T::f32));
    }
    for (size_t i = 0; i < widths.size(); ++i) {
      auto [bx] = T::Kernel({T::Expr(2)}, {.threads = 128});
      auto a = T::alloc_fragment({4, widths[i]}, T::f32);
      auto top = T::alloc_fragment({4}, T::f32);
      T::copy(in[i](bx * 4, 0), a);
      T::reduce_max(a, top);
      for (auto [r, c] : T::Parallel(4, widths[i])) a(r, c) = a(r, c) - top(r);
      T::copy(a, out[i](bx * 4, 0));
    }
  });
  Args args;
  for (size_t i = 0; i < widths.size(); ++i) args.emplace_back(HostArray(T::f32, {7, widths[i]}).fill_random(i, -4, 4));
  Args all;
  for (Arg& a : args) {
    const HostArray in = std::get<HostArray>(a);
    all.emplace_back(in);
    all.emplace_back(HostArray(T::f32, in.shape()));
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    Expected want = exactly(array(all, 2 * i));
    for (int64_t r = 0; r < 7; ++r) {
      Real top = -100;
      for (int64_t c = 0; c < widths[i]; ++c) top = std::max(top, array(all, 2 * i).at({r, c}));
      for (int64_t c = 0; c < widths[i]; ++c) {
        want.set(r * widths[i] + c, round_real(T::f32, array(all, 2 * i).at({r, c}) - top));
      }
    }
    expect_result(p, all, 2 * i + 1, want);
  }
}

TEST(AtomicCases, MaximumOfALiteralInHalfPrecision) {
  const Program p = T::prim_func("maximum", [] {
    auto C = T::tensor("C", {2}, T::f16);
    auto [bx] = T::Kernel({T::Expr(3)});
    T::atomic_max(C(0), 42.0);
    T::atomic_max(C(1), -42.0);
  });
  const Args args = {HostArray(T::f16, {2}).fill_with({0, -50})};
  Expected want = exactly(array(args, 0));
  want.set(0, 42);
  want.set(1, -42);
  expect_result(p, args, 0, want);
}

// A read after an atomic update of the same element, in a loop that may be overlapped.
TEST(AtomicCases, ReadAfterUpdateInAPipelinedLoop) {
  const Program p = T::prim_func("counted", [] {
    auto C = T::tensor("C", {1}, T::i32);
    auto D = T::tensor("D", {16}, T::i32);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_shared({1}, T::i32);
    T::clear(s);
    for (auto k : T::Pipelined(16, {.num_stages = 3})) {
      T::atomic_add(C(0), k);
      T::atomic_add(s(0), 1);
      D(k) = C(0) * 100 + s(0);
    }
  });
  const Args args = {HostArray(T::i32, {1}), HostArray(T::i32, {16})};
  Expected want = exactly(array(args, 1));
  int64_t sum = 0;
  for (int64_t k = 0; k < 16; ++k) want.set(k, Real((sum += k) * 100 + k + 1));
  expect_result(p, args, 1, want);
}

// Atomics of other elements between a store and the read of it.
TEST(AtomicCases, NeighboursAreReadBehindTheUpdate) {
  const Program p = T::prim_func("neighbours", [] {
    auto D = T::tensor("D", {64}, T::i32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 64});
    auto s = T::alloc_shared({64}, T::i32);
    for (auto i : T::Parallel(64)) s(i ^ 1) = i * 10;
    for (auto i : T::Parallel(64)) T::atomic_add(s(i), i);
    for (auto i : T::Parallel(64)) D(i) = s(i ^ 1);
  });
  const Args args = {HostArray(T::i32, {64})};
  Expected want = exactly(array(args, 0));
  for (int64_t i = 0; i < 64; ++i) want.set(i, Real(i * 10 + (i ^ 1)));
  expect_result(p, args, 0, want);
}

// What the block's own atomic found is known to all of its threads, again and again.
TEST(AtomicCases, EveryThreadKnowsWhatTheBlockFound) {
  const Program p = T::prim_func("found", [] {
    auto C = T::tensor("C", {1}, T::i32);
    auto D = T::tensor("D", {5, 100}, T::i32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 96});
    for (auto k : T::serial(5)) {
      const T::Expr before = T::atomic_add(C(0), k + 1, {.return_prev = true});
      for (auto i : T::Parallel(100)) D(k, i) = before * 1000 + i;
    }
  });
  const Args args = {HostArray(T::i32, {1}), HostArray(T::i32, {5, 100})};
  Expected want = exactly(array(args, 1));
  for (int64_t k = 0; k < 5; ++k) {
    for (int64_t i = 0; i < 100; ++i) want.set(k * 100 + i, Real(k * (k + 1) / 2 * 1000 + i));
  }
  expect_result(p, args, 1, want);
}

// A kernel whose rows are held by several threads each: one of them updates.
TEST(AtomicCases, SumsOfRowsAreAddedOnce) {
  const Program p = T::prim_func("rows", [] {
    auto A = T::tensor("A", {32, 64}, T::f32);
    auto C = T::tensor("C", {32}, T::f32);
    auto [bx] = T::Kernel({T::Expr(3)}, {.threads = 128});
    auto a = T::alloc_fragment({32, 64}, T::f32);
    auto sum = T::alloc_fragment({32}, T::f32);
    T::copy(A, a);
    T::reduce_sum(a, sum, {.dim = 1});
    for (auto i : T::Parallel(32)) T::atomic_add(C(i), sum(i));
  });
  HostArray values(T::f32, {32, 64});
  for (int64_t i = 0; i < values.size(); ++i) values.set(i, Real(i % 7));
  const Args args = {values, HostArray(T::f32, {32})};
  Expected want = exactly(array(args, 1));
  for (int64_t i = 0; i < 32; ++i) {
    int64_t sum = 0;
    for (int64_t j = 0; j < 64; ++j) sum += (i * 64 + j) % 7;
    want.set(i, Real(3 * sum));
  }
  expect_result(p, args, 1, want);
}

// A loop over a tile that several threads hold, which reads what it writes.
TEST(ReductionCases, RowsHeldBySeveralThreadsReadWhatTheyWrite) {
  const Program p = T::prim_func("rows", [] {
    auto A = T::tensor("A", {16, 256}, T::f32);
    auto S = T::tensor("S", {16}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 128});
    auto a = T::alloc_fragment({16, 256}, T::f32);
    auto f = T::alloc_fragment({16}, T::f32);
    auto s = T::alloc_shared({16}, T::f32);
    T::copy(A, a);
    T::copy(S, s);
    for (auto i : T::Parallel(16)) {
      f(i) = s(i);
      s(i) = s(i) + 100;
    }
    for (auto [i, j] : T::Parallel(16, 256)) a(i, j) = a(i, j) * f(i);
    T::copy(a, A);
    T::copy(s, S);
  });
  HostArray a(T::f32, {16, 256}), s(T::f32, {16});
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, Real(i % 5));
  for (int64_t i = 0; i < 16; ++i) s.set(i, Real(i + 1));
  const Args args = {a, s};
  Expected want = exactly(a), sums = exactly(s);
  for (int64_t i = 0; i < a.size(); ++i) want.set(i, Real(i % 5 * (i / 256 + 1)));
  for (int64_t i = 0; i < 16; ++i) sums.set(i, Real(i + 101));
  expect_result(p, args, 0, want);
  expect_result(p, args, 1, sums);
}

// Updates of the same bits as two types do not commute.
TEST(AtomicCases, UpdatesThroughAView) {
  const Program p = T::prim_func("views", [] {
    auto X = T::tensor("X", {64}, T::f32);
    auto V = T::view(X, {64}, T::i32);
    auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 64});
    for (auto i : T::Parallel(64)) T::atomic_add(X(i), 1.0);
    for (auto i : T::Parallel(64)) T::atomic_add(V(63 - i), 1);
  });
  const Args args = {counted(T::f32, {64})};
  Expected want = exactly(array(args, 0));
  for (int64_t i = 0; i < 64; ++i) {
    const float sum = std::bit_cast<float>(std::bit_cast<int32_t>(float(i + 1)) + 1);
    want.set(i, Real(sum));
  }
  expect_result(p, args, 0, want);
}

// What a block releases is what all of its threads did.
TEST(AtomicCases, AReleaseWaitsForTheOtherThreads) {
  const auto source = [](const char* order) {
    const Program p = T::prim_func("flag", [order] {
      auto Y = T::tensor("Y", {256}, T::i32);
      auto flag = T::tensor("flag", {1}, T::i32);
      auto [bx] = T::Kernel({T::Expr(1)}, {.threads = 128});
      for (auto i : T::Parallel(256)) T::atomic_add(Y(i), 1);
      T::atomic_store(flag(0), 1, order);
    });
    return compile(p, {.target = "cuda:sm_80"}).get_kernel_source();
  };
  for (const char* order : {"release", "seq_cst"}) {
    const std::string text = source(order);
    const size_t add = text.find("tw::atomic_add"), barrier = text.find("tw::sync_block()"),
                 store = text.find("tw::atomic_store");
    EXPECT_LT(add, barrier) << text;
    EXPECT_LT(barrier, store) << text;
  }
  EXPECT_EQ(source("relaxed").find("tw::sync_block()"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::tests
