// Atomics in the interpreter: which programs race, what the two orders of a parallel loop may give, and error bounds.
#include "runtime/interp/interp.h"

#include <tilewright/compile.h>
#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace tilewright {
namespace {

namespace T = tilewright::lang;

// A program over one f32 tensor X[64], one i32 tensor N[64] and an f32 tensor C[8].
Program over_tensors(int64_t blocks, const std::function<void(T::Tile, T::Tile, T::Tile, T::Expr)>& body) {
  return T::prim_func("sample", [&] {
    auto X = T::tensor("X", {64}, T::f32);
    auto N = T::tensor("N", {64}, T::i32);
    auto C = T::tensor("C", {8}, T::f32);
    auto [b] = T::Kernel({T::Expr(blocks)});
    body(X, N, C, b);
  });
}

struct Sample {
  std::vector<float> x = std::vector<float>(64), c = std::vector<float>(8);
  std::vector<int32_t> n = std::vector<int32_t>(64);
  std::string error;
  std::vector<std::vector<double>> bounds;

  Sample() {
    for (size_t i = 0; i < 64; ++i) x[i] = 0.1f * float(i) - 2, n[i] = int32_t(i * 7 % 64);
  }
  Sample& run(const Program& program, bool track = false) {
    const std::vector<Argument> arguments = {TensorView{x.data(), DType::f32, {64}},
                                             TensorView{n.data(), DType::i32, {64}},
                                             TensorView{c.data(), DType::f32, {8}}};
    try {
      const InterpResult result = interpret(program.ir(), arguments, {.track_error = track});
      for (int p = 0; p < 3; ++p) bounds.push_back(result.bounds(p));
    } catch (const Error& e) {
      error = e.message();
    }
    return *this;
  }
};

std::string error_of(int64_t blocks, const std::function<void(T::Tile, T::Tile, T::Tile, T::Expr)>& body) {
  return Sample().run(over_tensors(blocks, body)).error;
}

TEST(Atomics, SumsOfFloatsHaveNoOrder) {
  const Program p = over_tensors(2, [](auto X, auto, auto C, auto b) {
    for (auto i : T::Parallel(32)) T::atomic_add(C(i % 3), X(b * 32 + i));
  });
  const Sample run = Sample().run(p);
  EXPECT_EQ(run.error, "");
  double exact[3] = {};
  for (int i = 0; i < 64; ++i) exact[i % 32 % 3] += double(run.x[size_t(i)]);
  for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(run.c[k], exact[k], 1e-4);
}

TEST(Atomics, SumsOfNaNAndInfinityAgreeInBothOrders) {
  Sample run;
  run.x[3] = INFINITY, run.x[7] = -INFINITY, run.x[8] = INFINITY;
  run.run(over_tensors(1, [](auto X, auto, auto C, auto) {
    for (auto i : T::Parallel(64)) T::atomic_add(C(i % 2), X(i));
  }));
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(std::isnan(run.c[1]));
  EXPECT_EQ(run.c[0], INFINITY);
}

// The terms themselves must not depend on the order.
TEST(Atomics, TermsThatDependOnTheOrder) {
  const std::string error = error_of(1, [](auto X, auto, auto C, auto) {
    for (auto i : T::Parallel(8)) {
      X(i) = i * 100;
      T::atomic_add(C(0), X((i + 1) % 8));
    }
  });
  EXPECT_EQ(error.find("C[0] depends on the order of a parallel loop"), 0u) << error;
}

TEST(Atomics, PlainStoreInAnotherIteration) {
  EXPECT_EQ(error_of(1,
                     [](auto, auto N, auto, auto) {
                       for (auto i : T::Parallel(8)) {
                         T::if_(i == 5, [&] { N(3) = 0; }).else_([&] { T::atomic_add(N(3), 0); });
                       }
                     }),
            "N[3] is accessed by atomic_add in iteration (0) and by a plain store in iteration (5) of a parallel loop, "
            "in block (0)");
}

TEST(Atomics, PlainReadInAnotherIteration) {
  EXPECT_EQ(error_of(1,
                     [](auto, auto N, auto, auto) {
                       for (auto i : T::Parallel(2, 2)) {
                         N(10 + i[0] * 2 + i[1]) = N(0);
                         T::atomic_max(N(0), -5);
                       }
                     }),
            "N[0] is accessed by atomic_max in iteration (0, 0) and by a plain read in iteration (0, 1) of a parallel "
            "loop, in block (0)");
}

TEST(Atomics, TwoKindsOnOneElement) {
  EXPECT_EQ(error_of(1,
                     [](auto, auto N, auto, auto) {
                       for (auto i : T::Parallel(2)) {
                         T::if_(i == 0, [&] { T::atomic_add(N(1), 1); }).else_([&] { T::atomic_max(N(1), 1); });
                       }
                     }),
            "N[1] is accessed by atomic_add in iteration (0) and by atomic_max in iteration (1) of a parallel loop, in "
            "block (0)");
}

TEST(Atomics, OneIterationMayMixThem) {
  EXPECT_EQ(error_of(1,
                     [](auto, auto N, auto, auto) {
                       for (auto i : T::Parallel(8)) {
                         N(i) = 3;
                         T::atomic_add(N(i), 1);
                         T::atomic_max(N(i), i);
                         N(i) = N(i) * 2;
                       }
                     }),
            "");
}

TEST(Atomics, BlocksThatMixThem) {
  EXPECT_EQ(error_of(3, [](auto, auto N, auto,
                           auto b) { T::if_(b == 2, [&] { N(3) = 0; }).else_([&] { T::atomic_add(N(3), 1); }); }),
            "block (2) writes N[3], which block (0) updates by atomic_add: blocks run in any order");
  EXPECT_EQ(error_of(3, [](auto X, auto, auto,
                           auto b) { T::if_(b == 2, [&] { X(1) = X(3); }).else_([&] { T::atomic_max(X(3), 1); }); }),
            "block (2) reads X[3], which block (0) updates by atomic_max: blocks run in any order");
  EXPECT_EQ(error_of(3,
                     [](auto, auto N, auto, auto b) {
                       T::if_(b == 2, [&] { T::atomic_max(N(3), 0); }).else_([&] { T::atomic_add(N(3), 1); });
                     }),
            "block (2) updates N[3] by atomic_max, which block (0) updates by atomic_add: blocks run in any order");
  EXPECT_EQ(
      error_of(3,
               [](auto, auto N, auto, auto b) {
                 T::if_(b == 2, [&] { N(3) = 0; }).else_([&] { T::atomic_store(N(10 + b), T::atomic_load(N(3))); });
               }),
      "block (2) writes N[3], which block (0) reads by atomic_load: blocks run in any order");
  EXPECT_EQ(error_of(3, [](auto, auto N, auto,
                           auto b) { T::if_(b == 2, [&] { N(4) = 0; }).else_([&] { T::atomic_add(N(3), 1); }); }),
            "");
}

TEST(Atomics, PreviousValuesMayDependOnTheOrder) {
  const Program p = over_tensors(1, [](auto X, auto N, auto, auto) {
    N(0) = 0;
    for (auto i : T::Parallel(20)) {
      const T::Expr place = T::atomic_add(N(0), 1, {.return_prev = true});
      X(T::cast(place, T::i64)) = i;
    }
  });
  const Sample run = Sample().run(p);
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(run.n[0], 20);
  EXPECT_EQ(run.x[19], 19);
}

// Such a loop runs in one order, so accesses are compared instead.
TEST(Atomics, RaceBesidesPreviousValues) {
  EXPECT_EQ(error_of(1,
                     [](auto X, auto N, auto, auto) {
                       for (auto i : T::Parallel(4)) {
                         const T::Expr seen = T::atomic_load(N(0));
                         X(i) = X((i + 1) % 4) + seen;
                       }
                     }),
            "X[1] is accessed by a plain read in iteration (0) and by a plain store in iteration (1) of a parallel "
            "loop, in block (0)");
}

TEST(Atomics, PrivateTilesDoNotRace) {
  EXPECT_EQ(error_of(1,
                     [](auto X, auto N, auto, auto) {
                       auto v = T::alloc_var(T::i32);
                       for (auto i : T::Parallel(4)) {
                         v = i;
                         const T::Expr before = T::atomic_add(N(0), v, {.return_prev = true});
                         T::atomic_add(N(1), before * 0 + v);
                         X(i) = v;
                       }
                     }),
            "");
}

// The bound covers every order of the additions: 100 terms of magnitude 1 to 8.
TEST(Atomics, BoundsOfSums) {
  const Program p = over_tensors(4, [](auto X, auto, auto C, auto b) {
    for (auto i : T::Parallel(16)) T::atomic_add(C(0), X(b * 16 + i));
  });
  const Sample run = Sample().run(p, true);
  double magnitude = 0;
  for (float v : run.x) magnitude += std::abs(double(v));
  const double u = std::ldexp(1.0, -24);
  EXPECT_GE(run.bounds[2][0], 64 * u * magnitude);
  EXPECT_LE(run.bounds[2][0], 4 * 64 * u * magnitude);
  EXPECT_EQ(run.bounds[2][1], 0);
}

TEST(Atomics, BoundsOfMaximaAndIntegers) {
  const Program p = over_tensors(4, [](auto X, auto N, auto C, auto b) {
    for (auto i : T::Parallel(16)) {
      T::atomic_max(C(0), X(b * 16 + i));
      T::atomic_add(N(1), i);
    }
  });
  const Sample run = Sample().run(p, true);
  EXPECT_EQ(run.bounds[2][0], 0);
  EXPECT_EQ(run.bounds[1][1], 0);
  EXPECT_EQ(run.c[0], run.x[63]);
}

TEST(Atomics, PreviousValuesOfSeveralBlocksHaveNoBound) {
  const auto program = [](int64_t blocks) {
    return over_tensors(blocks,
                        [](auto, auto N, auto, auto b) { N(10 + b) = T::atomic_add(N(0), 1, {.return_prev = true}); });
  };
  EXPECT_TRUE(std::isinf(Sample().run(program(2), true).bounds[1][10]));
  EXPECT_EQ(Sample().run(program(1), true).bounds[1][10], 0);
}

// ---- views

TEST(Views, BitsOfExactValuesAreExact) {
  const Program p = over_tensors(1, [](auto X, auto N, auto, auto) {
    auto s = T::alloc_shared({4}, T::f32);
    auto bits = T::view(s, T::i32);
    s(0) = X(0);
    s(1) = X(0) * X(1) + X(2);
    s(2) = 0;
    bits(3) = 0x7fc00001;
    for (auto i : T::serial(4)) N(i) = bits(i);
    X(5) = s(1);
    X(6) = s(3);
  });
  const Sample run = Sample().run(p, true);
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.bounds[1][0], 0);
  EXPECT_TRUE(std::isinf(run.bounds[1][1])) << "bits of a rounded sum";
  EXPECT_TRUE(std::isinf(run.bounds[1][2])) << "the sign of a zero is free";
  EXPECT_EQ(run.bounds[1][3], 0);
  EXPECT_GT(run.bounds[0][5], 0);
  EXPECT_LT(run.bounds[0][5], 1e-5) << "read as it was written";
  EXPECT_TRUE(std::isnan(run.x[6]));
}

TEST(Views, PartsOfAnElementAreWrittenOneByOne) {
  const auto program = [](int64_t halves) {
    return over_tensors(1, [=](auto X, auto, auto, auto) {
      auto s = T::alloc_shared({4}, T::f32, "s");
      auto h = T::view(s, {8}, T::u16);
      for (auto i : T::serial(halves)) h(i) = 0x4000;
      X(0) = s(0);
    });
  };
  EXPECT_EQ(Sample().run(program(1)).error.find("s[0] of shared f32[4] is read before it is written, in block (0)"),
            0u);
  const Sample run = Sample().run(program(2));
  EXPECT_EQ(run.error, "");
  EXPECT_NEAR(run.x[0], 2.00389, 1e-4);  // 0x40004000
}

// One iteration writes through the view what another reads through the tile.
TEST(Views, RacesThroughTwoNames) {
  const std::string error = error_of(1, [](auto X, auto, auto, auto) {
    auto s = T::alloc_shared({16}, T::f32, "s");
    auto h = T::view(s, {32}, T::u16);
    T::fill(s, 1);
    for (auto i : T::Parallel(4)) {
      h(2 * i) = i + 1;
      X(i) = s((i + 1) % 4);
    }
  });
  EXPECT_EQ(error.find("X[0] depends on the order of a parallel loop"), 0u) << error;
}

TEST(Views, OutsideOfTheViewIsAnError) {
  EXPECT_EQ(error_of(1,
                     [](auto X, auto N, auto, auto) {
                       auto s = T::alloc_shared({16}, T::f32, "s");
                       T::fill(s, 1);
                       auto m = T::reshape(s, {4, 4});
                       X(0) = m(0, T::cast(N(1), T::i64));
                     }),
            "load of s_view_1[0, 7] is outside shared f32[4, 4], in block (0)");
}

}  // namespace
}  // namespace tilewright
