// Wrong declarations, control flow and expressions: one rule each, with its message and position.
#include "refusal.h"

namespace errors {

TEST(LanguageErrors, WordOutsideProgram) {
  expect_refused(refusal_of([] { AT(T::alloc_shared({4}, T::f32)); }),
                 "a word of the language is used outside T::prim_func");
}

TEST(LanguageErrors, TileOutsideKernel) {
  expect_refused(refusal_of([] { T::prim_func("p", [] { AT(T::alloc_shared({4}, T::f32)); }); }),
                 "a shared tile is allocated outside a kernel");
}

TEST(LanguageErrors, TensorInsideKernel) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::tensor("D", {4}, T::f32)); }); }),
                 "a tensor is declared inside a kernel");
}

TEST(LanguageErrors, KernelInsideKernel) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     broken_line = __LINE__ + 1;
                     auto [x] = T::Kernel({T::Expr(2)});
                   });
                 }),
                 "a kernel inside a kernel");
}

TEST(LanguageErrors, ProgramWithoutKernel) {
  expect_refused(refusal_of([] { AT(T::prim_func("empty", [] {})); }), "empty has no kernel");
}

TEST(LanguageErrors, ProgramInsideProgram) {
  expect_refused(refusal_of([] { T::prim_func("p", [] { AT(T::prim_func("q", [] {})); }); }),
                 "T::prim_func inside T::prim_func");
}

TEST(LanguageErrors, ThreadsOutOfRange) {
  for (int threads : {0, -32, 1025}) {
    expect_refused(refusal_of([&] {
                     T::prim_func("p", [&] {
                       broken_line = __LINE__ + 1;
                       auto [bx] = T::Kernel({T::Expr(1)}, {.threads = threads});
                     });
                   }),
                   "a block has " + std::to_string(threads) + " threads, but 1 to 1024 are possible");
  }
}

TEST(LanguageErrors, NegativeTileExtent) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) {
                                   AT(T::alloc_shared({4, -1}, T::f32, "a"));
                                 }); }),
                 "tile a has extent -1");
}

TEST(LanguageErrors, DynamicTileExtent) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     auto n = T::dynamic("n");
                     T::tensor("A", {n}, T::f32);
                     auto [bx] = T::Kernel({T::Expr(1)});
                     AT(T::alloc_shared({n}, T::f32, "a"));
                   });
                 }),
                 "tile a has an extent that is not a constant");
}

TEST(LanguageErrors, StrideCount) {
  expect_refused(refusal_of([] { T::prim_func("p", [] {
                                   AT(T::tensor("A", {4, 4}, T::f32, {.strides = {1}}));
                                 }); }),
                 "tensor A has 2 dimensions but 1 strides");
}

TEST(LanguageErrors, BreakOutOfTileLoop) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     broken_line = __LINE__ + 1;
                     for (auto k : T::serial(4)) {
                       C(0, k) = 1;
                       break;
                     }
                   });
                 }),
                 "the body of this loop was left by a C++ break or return");
}

TEST(LanguageErrors, ElseWithoutIf) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     auto scope = T::if_(C(0, 0) > 0, [&] { C(0, 0) = 1; });
                     C(0, 1) = 2;
                     AT(std::move(scope).else_([&] { C(0, 0) = 3; }));
                   });
                 }),
                 "else_ does not follow its if_");
}

TEST(LanguageErrors, LoopBreakOutsideLoop) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::loop_break()); }); }), "break outside a loop");
}

TEST(LanguageErrors, LoopBreakInParallel) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     for (auto i : T::Parallel(64)) {
                       C(0, i) = 1;
                       AT(T::loop_break());
                     }
                   });
                 }),
                 "break inside a parallel loop");
}

TEST(LanguageErrors, ZeroStep) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     broken_line = __LINE__ + 1;
                     for (auto k : T::serial(0, 4, 0)) C(0, k) = 1;
                   });
                 }),
                 "a loop with step 0");
}

TEST(LanguageErrors, NestedParallel) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     for (auto i : T::Parallel(4)) {
                       broken_line = __LINE__ + 1;
                       for (auto j : T::Parallel(4)) C(i, j) = 1;
                     }
                   });
                 }),
                 "a parallel loop inside a parallel loop");
}

TEST(LanguageErrors, IndexCount) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto C) { AT(C(0) = 1); }); }),
                 "C has 2 dimensions but 1 indices are given");
}

TEST(LanguageErrors, SliceAsElement) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto C) { AT(C(0, T::slice(0, 2)) = 1); }); }),
                 "a slice is used as an element");
}

TEST(LanguageErrors, FloatIndex) {
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto C) { AT(C(0, A(0, 0)) = 1); }); }),
                 "an index has dtype f32");
}

TEST(LanguageErrors, ConditionThatIsNoCondition) {
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto) { AT(T::if_(A(0, 0), [] {})); }); }),
                 "a condition has dtype f32");
}

TEST(LanguageErrors, LiteralTooLarge) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto v = T::alloc_var(T::u8, 0);
                     AT(T::alloc_var(T::u8, 300));
                     v = 1;
                   });
                 }),
                 "300 does not fit u8");
}

TEST(LanguageErrors, FloatFunctionOfInteger) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::exp(T::let(3))); }); }),
                 "exp is not defined on i64");
}

TEST(LanguageErrors, ShiftOfFloat) {
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto) { AT(A(0, 0) << 2); }); }),
                 "shl is not defined on f32");
}

TEST(LanguageErrors, ConstantIndexPastTheEnd) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({8, 8}, T::f32, "a");
                     AT(a(0, 8) = 1);
                   });
                 }),
                 "index 8 of dimension 1 of a is outside its extent 8");
}

TEST(LanguageErrors, TileOfAnotherKernel) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     auto A = T::tensor("A", {4}, T::f32);
                     int id = 0;
                     {
                       auto [bx] = T::Kernel({T::Expr(1)});
                       auto a = T::alloc_shared({4}, T::f32, "a");
                       T::copy(A, a);
                       id = a.id();
                     }
                     auto [bx] = T::Kernel({T::Expr(1)});
                     AT(T::copy(T::Tile(id), A));
                   });
                 }),
                 "a tile of another kernel is used here");
}

TEST(LanguageErrors, NameThatIsNoIdentifier) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     broken_line = __LINE__ + 1;
                     auto A = T::tensor("A; system(\"true\")", {4}, T::f32);
                     auto [bx] = T::Kernel({T::Expr(1)});
                     A(0) = 1;
                   });
                 }),
                 "'A; system(\"true\")' is not an identifier");
}

TEST(LanguageErrors, DuplicateTensorName) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     auto A = T::tensor("A", {4}, T::f32);
                     broken_line = __LINE__ + 1;
                     T::tensor("A", {4}, T::f32);
                     auto [bx] = T::Kernel({T::Expr(1)});
                     A(0) = 1;
                   });
                 }),
                 "the name A is used twice");
}

TEST(LanguageErrors, NegativeTensorExtent) {
  expect_refused(refusal_of([] {
                   T::prim_func("p", [] {
                     broken_line = __LINE__ + 1;
                     auto A = T::tensor("A", {-4}, T::f32);
                     auto [bx] = T::Kernel({T::Expr(1)});
                     A(0) = 1;
                   });
                 }),
                 "tensor A has extent -4");
}

TEST(LanguageErrors, InfinityOfDTypesWithoutOne) {
  const Refusal r = refusal_of([] { T::infinity(T::f8e4m3); });
  EXPECT_EQ(r.message, "f8e4m3 has no infinity");
  EXPECT_EQ(r.hint, "T::max_value is its largest number");
  EXPECT_EQ(refusal_of([] { T::infinity(T::i8); }).message, "infinity is not defined on i8");
}

TEST(LanguageErrors, OperandsOfFunctions) {
  const auto in_element = [](auto build) {
    return refusal_of([=] {
      in_kernel([=](auto A, auto, auto C) {
        broken_line = __LINE__ + 1;
        auto x = A(0, 0);
        C(0, 0) = build(x);
      });
    });
  };
  const auto wrong = [&](auto build, const std::string& message) { expect_refused(in_element(build), message); };
  wrong([](auto& x) { return T::popcount(x); }, "popcount is not defined on f32");
  wrong([](auto& x) { return T::truncdiv(x, 2); }, "truncdiv is not defined on f32");
  wrong([](auto& x) { return T::ldexp(x, x); }, "the exponent of ldexp has dtype f32");
  wrong([](auto& x) { return T::reinterpret(x, T::i64); }, "reinterpret of f32 as i64: 32 and 64 bits");
  wrong([](auto& x) { return T::ieee_frsqrt(T::cast(x, T::f64)); }, "ieee_frsqrt is not defined on f64");
  wrong([](auto& x) { return T::isnan(T::cast(x, T::i32)); }, "isnan is not defined on i32");
  wrong([](auto& x) { return T::select(x, 1, 2); }, "a condition has dtype f32");
  wrong([](auto& x) { return T::all_of(x > 0, x); }, "a condition has dtype f32");
  wrong([](auto& x) { return T::likely(x); }, "a condition has dtype f32");
  wrong([](auto& x) { return T::ieee_add(x, x, "up"); }, "there is no rounding \"up\"");
  const Refusal other = in_element([](auto& x) { return T::ieee_add(x, x, "rz"); });
  EXPECT_EQ(other.kind, tilewright::ErrorKind::unsupported);
  EXPECT_EQ(other.message, "rounding \"rz\" is not built yet; \"rn\" is to nearest even");
  EXPECT_EQ(other.hint, "docs/status.md lists what is not built yet");
}

TEST(LanguageErrors, Assumptions) {
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto) { AT(T::assume(A(0, 0))); }); }),
                 "a condition has dtype f32");
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     for (auto i : T::Parallel(4)) {
                       AT(T::assume(i < 4));
                       A(0, i) = 1;
                     }
                   });
                 }),
                 "assume inside a parallel loop");
}

TEST(LanguageErrors, VariableOutsideItsLoop) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     T::Expr escaped = 0;
                     for (auto k : T::serial(4)) {
                       C(0, k) = 1;
                       escaped = k;
                     }
                     AT(C(0, escaped) = 2);
                   });
                 }),
                 "k is used outside the loop that defines it");
}

TEST(LanguageErrors, ReadBeforeAnyWrite) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     auto a = T::alloc_shared({64, 64}, T::f32, "a");
                     AT(T::copy(a, C));
                   });
                 }),
                 "a is read here but nothing wrote it before");
}

}  // namespace errors
