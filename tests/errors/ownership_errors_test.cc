// Values that belong elsewhere: tiles, variables and elements of another program, kernel or loop; expressions that are
// no values; what C++ can do to scopes.
#include "refusal.h"

#include <optional>

namespace errors {

namespace {

// A tile, an element and a variable of a program that has ended.
struct Foreign {
  T::Tile tensor = T::Tile(-1), tile = T::Tile(-1);
  T::Expr element = 0, variable = 0;
  Foreign() {
    T::prim_func("foreign", [&] {
      auto A = T::tensor("A", {64, 64}, T::f32);
      auto n = T::scalar("n", T::i64);
      auto [bx] = T::Kernel({T::Expr(4)});
      auto s = T::alloc_shared({64, 64}, T::f32, "s");
      T::clear(s);
      tensor = A;
      tile = s;
      element = A(0, 0);
      variable = n;
    });
  }
};

TEST(OwnershipErrors, TileOfAnotherProgram) {
  const Foreign other;
  const Refusal r = refusal_of([&] { in_kernel([&](auto A, auto, auto) { AT(T::copy(A, other.tensor)); }); });
  expect_refused(r, "a tile of another program is used here");
  EXPECT_EQ(r.hint, "tiles and tensors belong to the T::prim_func that declares them");
  expect_refused(refusal_of([&] { in_kernel([&](auto, auto, auto) { AT(T::clear(other.tile)); }); }),
                 "a tile of another program is used here");
}

TEST(OwnershipErrors, TileThatNobodyMade) {
  for (int id : {-1, 1 << 30}) {
    expect_refused(refusal_of([&] { in_kernel([&](auto, auto, auto) { AT(T::clear(T::Tile(id))); }); }),
                   "a tile of another program is used here");
  }
}

TEST(OwnershipErrors, VariableOfAnotherProgram) {
  const Foreign other;
  const Refusal r = refusal_of([&] {
    in_kernel([&](auto, auto, auto C) {
      auto n = T::let(3);
      AT(C(0, n) = other.variable);
    });
  });
  expect_refused(r, "n is used here, but it belongs to another program");
  EXPECT_EQ(r.hint, "expressions belong to the T::prim_func that they are made in");
  expect_refused(refusal_of([&] {
                   in_kernel([&](auto, auto, auto C) {
                     broken_line = __LINE__ + 1;
                     for (auto k : T::serial(other.variable)) C(0, k) = 1;
                   });
                 }),
                 "n is used here, but it belongs to another program");
}

TEST(OwnershipErrors, ElementOfAnotherProgram) {
  const Foreign other;
  expect_refused(refusal_of([&] { in_kernel([&](auto A, auto, auto) { AT(A(0, 1) = other.element); }); }),
                 "A is used here, but it belongs to another program");
}

// Both kernels have a tile shared_0 of one dtype and shape.
TEST(OwnershipErrors, ElementReadInAnotherKernel) {
  const Refusal r = refusal_of([] {
    T::prim_func("p", [] {
      auto A = T::tensor("A", {4}, T::f32);
      T::Expr element = 0;
      {
        auto [bx] = T::Kernel({T::Expr(1)});
        auto s = T::alloc_shared({4}, T::f32);
        T::fill(s, 1);
        element = s(0);
        A(0) = element;
      }
      auto [bx] = T::Kernel({T::Expr(1)});
      auto s = T::alloc_shared({4}, T::f32);
      T::fill(s, 2);
      AT(A(1) = element);
    });
  });
  expect_refused(r, "an element of shared_0 that was read in another kernel is used here");
  EXPECT_EQ(r.hint, "read it here; on-chip tiles live in one kernel, T::alloc_global passes data on");
}

TEST(OwnershipErrors, ShapeOfATileOfAnotherKernel) {
  const auto after = [](auto ask) {
    return refusal_of([=] {
      T::prim_func("p", [=] {
        auto A = T::tensor("A", {4}, T::f32);
        std::optional<T::Tile> s;
        {
          auto [bx] = T::Kernel({T::Expr(1)});
          s = T::alloc_shared({4}, T::f32);
          T::copy(A, *s);
        }
        auto [bx] = T::Kernel({T::Expr(1)});
        A(bx) = 1;
        ask(*s);
      });
    });
  };
  const std::string message = "a tile of another kernel is used here";
  expect_refused(after([](const T::Tile& s) { AT(s.shape(0)); }), message);
  expect_refused(after([](const T::Tile& s) { AT((void)s.dtype()); }), message);
  expect_refused(after([](const T::Tile& s) { AT((void)s.rank()); }), message);
  expect_refused(after([](const T::Tile& s) { AT(T::view(s, T::i32)); }), message);
}

TEST(OwnershipErrors, ShapeOutOfRange) {
  for (int dim : {2, -3}) {
    const Refusal r = refusal_of([&] { in_kernel([&](auto A, auto, auto) { AT(A.shape(dim)); }); });
    expect_refused(r, "shape(" + std::to_string(dim) + ") of a tile with 2 dimensions");
    EXPECT_EQ(r.hint, "dimensions count from 0, or from -1 backwards");
  }
}

TEST(OwnershipErrors, GridOfElements) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     auto A = T::tensor("A", {4}, T::i64);
                     T::Expr element = 1;
                     {
                       auto [bx] = T::Kernel({T::Expr(1)});
                       element = A(0);
                       A(1) = element;
                     }
                     broken_line = __LINE__ + 1;
                     auto [bx] = T::Kernel({element});
                   });
                 }),
                 "an element of A that was read in another kernel is used here");
}

TEST(OwnershipErrors, ExtentOfABlock) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     T::Expr block = 0;
                     {
                       auto [bx] = T::Kernel({T::Expr(4)});
                       block = bx;
                     }
                     AT(T::tensor("A", {block}, T::f32));
                     auto [x] = T::Kernel({T::Expr(1)});
                   });
                 }),
                 "an extent of tensor A uses bx, which is not known at launch");
}

TEST(OwnershipErrors, MovedExpression) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto C) {
      T::Expr x = T::let(2);
      const T::Expr y = std::move(x);
      C(0, 0) = y;
      C(0, 1) = x;  // NOLINT(bugprone-use-after-move)
    });
  });
  EXPECT_EQ(r.kind, tilewright::ErrorKind::invalid_kernel);
  EXPECT_EQ(r.message, "an expression without a value is used");
  EXPECT_EQ(r.hint, "it was moved from; copy it instead");
}

TEST(OwnershipErrors, DeepExpression) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto A, auto, auto C) {
      broken_line = __LINE__ + 1;
      T::Expr sum = A(0, 0);
      for (int i = 0; i < 1'000'000; ++i) sum = sum * 2 + 1;
      C(0, 0) = sum;
    });
  });
  expect_refused(r, "an expression nested more than 1000 deep");
  EXPECT_EQ(r.hint, "bind parts of it with T::let");
}

// Sixty doublings are sixty nodes, but a text of 2^60 parts.
TEST(OwnershipErrors, LargeExpression) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto A, auto, auto C) {
      broken_line = __LINE__ + 1;
      T::Expr power = A(0, 0);
      for (int i = 0; i < 60; ++i) power = power * power;
      C(0, 0) = power;
    });
  });
  expect_refused(r, "an expression with more than 1048576 parts");
  EXPECT_EQ(r.hint, "bind parts that are used more than once with T::let");
}

void nest(int depth) {
  if (depth > 0) AT(T::if_(T::Expr(true), [&] { nest(depth - 1); }));
}

TEST(OwnershipErrors, DeepBranches) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { nest(1500); }); }),
                 "statements nested more than 1000 deep");
}

TEST(OwnershipErrors, VariableOfALoopThatEnded) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto C) {
      auto range = T::serial(4);
      auto turn = range.begin();
      C(0, *turn) = 1;
      ++turn;
      C(1, *turn) = 1;
    });
  });
  EXPECT_EQ(r.kind, tilewright::ErrorKind::invalid_kernel);
  EXPECT_EQ(r.message, "the variable of a loop that is not open is asked for");
  EXPECT_EQ(r.hint, "write loops as for (auto i : T::serial(n)) { ... }");
}

TEST(OwnershipErrors, LoopThatEndsAfterItsKernel) {
  const Refusal r = refusal_of([] {
    T::prim_func("p", [] {
      auto range = T::serial(4);
      std::optional<decltype(range.begin())> turn;
      {
        auto [bx] = T::Kernel({T::Expr(1)});
        turn = range.begin();
      }
      ++*turn;
    });
  });
  EXPECT_EQ(r.kind, tilewright::ErrorKind::invalid_kernel);
  EXPECT_EQ(r.message, "a loop ends after the kernel, or inside a loop or branch, that it does not stand in");
}

TEST(OwnershipErrors, LoopThatEndsAfterItsBranch) {
  for (const bool in_while : {false, true}) {
    const Refusal r = refusal_of([&] {
      in_kernel([&](auto, auto, auto) {
        auto range = T::serial(4);
        std::optional<decltype(range.begin())> turn;
        const auto body = [&] { turn = range.begin(); };
        const T::Expr condition = T::get_block_binding() < 2;
        if (in_while)
          T::while_(condition, body);
        else
          T::if_(condition, body);
      });
    });
    EXPECT_EQ(r.kind, tilewright::ErrorKind::invalid_kernel) << r.report;
    EXPECT_EQ(r.message, "a loop ends after the kernel, or inside a loop or branch, that it does not stand in");
  }
}

TEST(OwnershipErrors, StatementAfterTheKernel) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     auto A = T::tensor("A", {4}, T::f32);
                     {
                       auto [bx] = T::Kernel({T::Expr(1)});
                       A(bx) = 1;
                     }
                     AT(A(0) = 1);
                   });
                 }),
                 "a tile is used outside a kernel");
}

TEST(OwnershipErrors, LoopOutsideAKernel) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     broken_line = __LINE__ + 1;
                     for ([[maybe_unused]] auto i : T::serial(4)) {
                     }
                   });
                 }),
                 "a statement outside a kernel");
}

TEST(OwnershipErrors, ScalarInsideKernel) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::scalar("n", T::i32)); }); }),
                 "a scalar is declared inside a kernel");
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::alloc_global({4}, T::i32)); }); }),
                 "a tensor is declared inside a kernel");
}

TEST(OwnershipErrors, NameThatIsAKeyword) {
  const Refusal r = refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::alloc_shared({4}, T::f32, "double")); }); });
  expect_refused(r, "'double' is a keyword of C++");
  EXPECT_EQ(r.hint, "for instance double_ is possible");
}

TEST(OwnershipErrors, NameThatIsTooLong) {
  const std::string name(65, 'n');
  expect_refused(refusal_of([&] { in_kernel([&](auto, auto, auto) { AT(T::alloc_shared({4}, T::f32, name)); }); }),
                 "the name " + std::string(32, 'n') + "... has 65 characters, but at most 64 are possible");
}

TEST(OwnershipErrors, SafeValueThatTheDTypeLacks) {
  const Refusal r = refusal_of([] {
    T::prim_func("p", [] {
      broken_line = __LINE__ + 1;
      auto A = T::tensor("A", {4}, T::i8, {.safe_value = 300.5});
      auto [bx] = T::Kernel({T::Expr(1)});
      A(0) = A(1);
    });
  });
  expect_refused(r, "the safe value 300.5 of A is not a value of i8");
  EXPECT_EQ(r.hint, "the nearest is 127.0");
}

// ---- parts of tiles ----------------------------------------------------------------------------------------------

template <class F>
Refusal with_tile(F body) {
  return refusal_of([&] {
    in_kernel([&](auto A, auto, auto) {
      auto s = T::alloc_shared({8, 4}, T::f32, "s");
      T::clear(s);
      body(A, s);
    });
  });
}

TEST(RegionErrors, PastTheEnd) {
  const Refusal r = with_tile([](auto, auto s) { AT(T::fill(s(T::slice(6, 12), T::all), 1)); });
  expect_refused(r, "fill: the range 6:+6 of dimension 0 of s is outside its extent 8");
  EXPECT_EQ(r.hint, "ranges lie in 0:8");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].text, "s  shared f32[8, 4]");
}

TEST(RegionErrors, BeforeTheBegin) {
  expect_refused(with_tile([](auto A, auto s) { AT(T::copy(A(0, T::slice(0, 4)), s(-1, T::all))); }),
                 "copy: the range -1:+1 of dimension 0 of s is outside its extent 8");
}

TEST(RegionErrors, Backwards) {
  expect_refused(with_tile([](auto, auto s) { AT(T::fill(s(T::slice(5, 3), T::all), 1)); }),
                 "a slice from 5 to 3 ends before it begins");
}

TEST(RegionErrors, ExtentOfTheLaunch) {
  const Refusal r = refusal_of([] {
    T::prim_func("p", [] {
      auto n = T::scalar("n", T::i64);
      auto [bx] = T::Kernel({T::Expr(1)});
      auto s = T::alloc_shared({8}, T::f32, "s");
      AT(T::fill(s(T::slice(0, n)), 1));
    });
  });
  expect_refused(r, "fill: dimension 0 of the region of s has an extent that is not a constant");
  EXPECT_EQ(r.hint, "regions of on-chip tiles have constant extents; their begins may be variable");
}

TEST(RegionErrors, EndThatIsAFloat) {
  expect_refused(with_tile([](auto A, auto s) { AT(T::copy(A(T::slice(0, 1.5), T::all), s)); }),
                 "the end of a slice has dtype f64");
}

TEST(RegionErrors, NegativeParallelExtent) {
  expect_refused(with_tile([](auto, auto s) {
                   broken_line = __LINE__ + 1;
                   for (auto i : T::Parallel(-4)) s(i, 0) = 1;
                 }),
                 "a parallel loop has extent -4");
}

TEST(RegionErrors, FloatExtents) {
  expect_refused(with_tile([](auto, auto s) {
                   broken_line = __LINE__ + 1;
                   for (auto i : T::serial(2.5)) s(i, 0) = 1;
                 }),
                 "the end of a loop has dtype f64");
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::alloc_shared({2.5}, T::f32)); }); }),
                 "an extent has dtype f64");
}

}  // namespace
}  // namespace errors
