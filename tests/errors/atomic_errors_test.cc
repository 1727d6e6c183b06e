// Wrong atomics, transpositions, gathers, views, prints and assertions: one rule each, with its message and position.
#include "refusal.h"

namespace errors {

TEST(AtomicErrors, OfRegisters) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto) {
      auto c = T::alloc_fragment({64}, T::f32, "c");
      T::clear(c);
      for (auto i : T::Parallel(64)) AT(T::atomic_add(c(i), 1));
    });
  });
  expect_refused(r, "atomic_add: c is a fragment tile, which no two threads share");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].text, "c  fragment f32[64]");
  EXPECT_NE(r.hint.find("global and shared"), std::string::npos);
}

TEST(AtomicErrors, DType) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto s = T::alloc_shared({64}, T::i8, "s");
                     T::clear(s);
                     AT(T::atomic_max(s(0), 1));
                   });
                 }),
                 "atomic_max: s holds i8");
}

TEST(AtomicErrors, BitsOfFloats) {
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto) { AT(T::atomic_or(A(0, 0), 1)); }); }),
                 "atomic_or: A holds f32, but bits are those of integers");
}

TEST(AtomicErrors, MemoryOrderName) {
  const Refusal r = refusal_of(
      [] { in_kernel([](auto A, auto, auto) { AT(T::atomic_add(A(0, 0), 1, {.memory_order = "strong"})); }); });
  expect_refused(r, "atomic_add: there is no memory order \"strong\"");
  EXPECT_NE(r.hint.find("seq_cst"), std::string::npos);
}

TEST(AtomicErrors, OrderOfLoad) {
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto) { AT(T::atomic_load(A(0, 0), "release")); }); }),
                 "atomic_load: the memory order is release");
}

TEST(AtomicErrors, OrderOfStore) {
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto) { AT(T::atomic_store(A(0, 0), 1, "acquire")); }); }),
                 "atomic_store: the memory order is acquire");
}

TEST(AtomicErrors, PreviousOfMany) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto s = T::alloc_shared({64, 64}, T::f32, "s");
                     T::clear(s);
                     AT(T::atomic_add(A, s, {.return_prev = true}));
                   });
                 }),
                 "atomic_add: return_prev is asked for more than one element");
}

TEST(AtomicErrors, PreviousNotAskedFor) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto A, auto B, auto) {
      const T::Previous before = T::atomic_add(A(0, 0), 1);
      B(0, 0) = before;
    });
  });
  ASSERT_TRUE(r.refused);
  EXPECT_EQ(r.message, "the previous value of an atomic is used but was not asked for");
  EXPECT_EQ(r.hint, "pass {.return_prev = true}");
}

TEST(AtomicErrors, Extents) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto s = T::alloc_shared({32}, T::f32, "s");
                     T::clear(s);
                     AT(T::atomic_min(A(T::slice(0, 2), T::all), s));
                   });
                 }),
                 "atomic_min: [32] elements of s do not fit [2, 64] elements of A");
}

TEST(AtomicErrors, OntoItself) {
  expect_refused(
      refusal_of([] { in_kernel([](auto A, auto, auto) { AT(T::atomic_add(A(0, T::all), A(1, T::all))); }); }),
      "atomic_add: source and destination are both A");
}

TEST(AtomicErrors, BeforeAnyWrite) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto s = T::alloc_shared({64}, T::i32, "s");
                     AT(T::atomic_add(s(0), 1));
                   });
                 }),
                 "s is read here but nothing wrote it before");
}

TEST(AtomicErrors, ConstantIndexOutside) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto s = T::alloc_shared({64}, T::i32, "s");
                     T::clear(s);
                     AT(T::atomic_add(s(64), 1));
                   });
                 }),
                 "index 64 of dimension 0 of s is outside its extent 64");
}

TEST(AtomicErrors, NumberThatDoesNotFit) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto s = T::alloc_shared({64}, T::u32, "s");
                     T::clear(s);
                     AT(T::atomic_add(s(0), -1));
                   });
                 }),
                 "-1 does not fit u32");
}

TEST(AtomicErrors, NeighboursOfOtherDTypes) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto s = T::alloc_shared({64}, T::i32, "s");
                     T::clear(s);
                     AT(T::atomic_addx2(s(0), A(0, 0)));
                   });
                 }),
                 "atomic_addx2: elements of i32 are not updated 2 at a time");
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto s = T::alloc_shared({64}, T::f16, "s");
                     T::clear(s);
                     AT(T::atomic_addx4(s(0), A(0, 0)));
                   });
                 }),
                 "atomic_addx4: elements of f16 are not updated 4 at a time");
}

TEST(AtomicErrors, PreviousOfNeighbours) {
  expect_refused(
      refusal_of([] {
        in_kernel([](auto A, auto B, auto) { AT(T::atomic_addx4(A(0, 0), B(0, 0), {.return_prev = true})); });
      }),
      "atomic_addx4: return_prev is asked for more than one element");
}

// ---- transpose and gather

TEST(TransposeErrors, Rank) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto s = T::alloc_shared({64}, T::f32, "s");
                     AT(T::transpose(A(0, T::all), s));
                   });
                 }),
                 "transpose: s has 1 dimensions");
}

TEST(TransposeErrors, Extents) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto s = T::alloc_shared({2, 64, 32}, T::f32, "s");
                     AT(T::transpose(A(T::slice(0, 32), T::all), s));
                   });
                 }),
                 "transpose: A transposed is [64, 32] but s is [2, 64, 32]");
}

TEST(TransposeErrors, OntoItself) {
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto) { AT(T::transpose(A, A)); }); }),
                 "transpose: source and destination are both A");
}

template <class F>
void gathering(tilewright::DType index, F body) {
  in_kernel([&](auto A, auto B, auto) {
    auto rows = T::alloc_shared({8}, index, "rows");
    T::clear(rows);
    body(A, B, rows);
  });
}

TEST(GatherErrors, IndexDType) {
  expect_refused(
      refusal_of([] { gathering(T::f32, [](auto A, auto B, auto rows) { AT(T::gather(A, rows, B(0, 0))); }); }),
      "gather: the indices rows are f32");
}

TEST(GatherErrors, IndexIsNoVector) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto B, auto) {
                     auto rows = T::alloc_shared({4, 2}, T::i32, "rows");
                     T::clear(rows);
                     AT(T::gather(A, rows, B(0, 0)));
                   });
                 }),
                 "gather: the indices rows are no vector");
}

TEST(GatherErrors, Extents) {
  expect_refused(refusal_of([] {
                   gathering(T::i32,
                             [](auto A, auto B, auto rows) { AT(T::gather(A, rows, B(T::slice(0, 9), T::all))); });
                 }),
                 "gather: dimension 0 of B is 9 but must be 8");
}

TEST(GatherErrors, Ranks) {
  expect_refused(refusal_of([] {
                   gathering(T::i32, [](auto A, auto, auto rows) {
                     auto s = T::alloc_shared({8}, T::f32, "s");
                     AT(T::gather(A, rows, s));
                   });
                 }),
                 "gather: A has 2 dimensions but s has 1");
}

TEST(GatherErrors, PartOfTheFirstDimension) {
  expect_refused(
      refusal_of([] {
        gathering(T::i32, [](auto A, auto B, auto rows) { AT(T::gather(A(T::slice(1, 9), T::all), rows, B(0, 0))); });
      }),
      "gather: a part of the first dimension of A is given");
}

TEST(GatherErrors, OntoItself) {
  expect_refused(refusal_of([] {
                   gathering(T::i32,
                             [](auto A, auto, auto rows) { AT(T::gather(A, rows, A(T::slice(0, 8), T::all))); });
                 }),
                 "gather: source and destination are both A");
}

// ---- views

TEST(ViewErrors, ReshapeToOtherBits) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto) {
      auto s = T::alloc_shared({8, 16}, T::f16, "s");
      AT(T::reshape(s, {100}));
    });
  });
  expect_refused(r, "reshape: s has 2048 bits but f16[100] has 1600");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].text, "s  shared f16[8, 16]");
}

TEST(ViewErrors, ViewToOtherBits) {
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto) {
                                   AT(T::view(A, {64, 64}, T::f16));
                                 }); }),
                 "view: A has 131072 bits but f16[64, 64] has 65536");
  expect_refused(refusal_of([] { in_kernel([](auto A, auto, auto) { AT(T::view(A, T::u8)); }); }),
                 "view: A has 131072 bits but u8[64, 64] has 32768");
}

// 3 * 128 * 107 * 28059810762433 is 128 + 2^60, which is 128 again where 64 bits hold the bits of 16-bit elements.
TEST(ViewErrors, BitsThatOnlyWrappedAgree) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto s = T::alloc_shared({8, 16}, T::f16, "s");
                     AT(T::reshape(s, {3 * 128 * 107, 28059810762433}));
                   });
                 }),
                 "reshape: s has 2048 bits but f16[41088, 28059810762433] has more than 2^63");
}

TEST(ViewErrors, DynamicExtentsThatNeverFit) {
  expect_refused(refusal_of([] {
                   T::prim_func("wrong", [&] {
                     auto m = T::dynamic("m");
                     auto A = T::tensor("A", {m, 6}, T::f32);
                     AT(T::reshape(A, {m * 6 + 1}));
                   });
                 }),
                 "reshape: A has m * 192 bits but f32[m * 6 + 1] has m * 192 + 32");
}

TEST(ViewErrors, TensorWithStrides) {
  expect_refused(refusal_of([] {
                   T::prim_func("wrong", [&] {
                     auto A = T::tensor("A", {64, 64}, T::f32, {.strides = {80, 1}});
                     AT(T::reshape(A, {4096}));
                   });
                 }),
                 "reshape: A has strides");
}

TEST(ViewErrors, ExtentThatIsNoConstant) {
  expect_refused(refusal_of([] {
                   T::prim_func("wrong", [&] {
                     auto m = T::dynamic("m");
                     auto A = T::tensor("A", {m}, T::f32);
                     auto [b] = T::Kernel({m});
                     auto s = T::alloc_shared({64}, T::f32, "s");
                     A(b) = 0;
                     AT(T::reshape(s, {m}));
                   });
                 }),
                 "reshape: an extent is not a constant");
}

TEST(ViewErrors, CopyBetweenTwoViews) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto s = T::alloc_shared({4, 16}, T::f32, "s");
                     T::clear(s);
                     auto v = T::reshape(s, {64});
                     AT(T::copy(v(T::slice(0, 16)), s(1, T::all)));
                   });
                 }),
                 "copy: source s_view_1 and destination s are one tile");
}

TEST(ViewErrors, AccumulatorThatIsAView) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({16, 16}, T::f32, "a"), b = T::alloc_shared({16, 16}, T::f32, "b");
                     T::clear(a);
                     T::clear(b);
                     AT(T::gemm(a, b, T::reshape(b, {16, 16})));
                   });
                 }),
                 "gemm: the accumulator b_view_2 is also an operand");
}

TEST(ViewErrors, ReadBeforeTheTileIsWritten) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto s = T::alloc_shared({8}, T::f32, "s");
                     auto v = T::reshape(s, {2, 4});
                     AT(A(0, 0) = v(0, 0));
                   });
                 }),
                 "s_view_1 is read here but nothing wrote it before");
}

// ---- print and device_assert

TEST(ReportErrors, TilePrintedInParallel) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto s = T::alloc_shared({8}, T::f32, "s");
                     T::clear(s);
                     for ([[maybe_unused]] auto i : T::Parallel(8)) AT(T::print(s));
                   });
                 }),
                 "print inside a parallel loop");
}

TEST(ReportErrors, PrintBeforeAnyWrite) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto s = T::alloc_shared({8}, T::f32, "s");
                     AT(T::print(s));
                   });
                 }),
                 "s is read here but nothing wrote it before");
}

TEST(ReportErrors, AssertionOfANumber) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::device_assert(T::Expr(1), "no")); }); }),
                 "a condition has dtype i64");
}

TEST(ReportErrors, OutsideAKernel) {
  expect_refused(refusal_of([] { T::prim_func("wrong", [] { AT(T::print("nowhere")); }); }),
                 "a tile is used outside a kernel");
}

}  // namespace errors
