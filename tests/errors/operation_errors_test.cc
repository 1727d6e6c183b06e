// Wrong operands of tile operations: one rule each, with its message and position.
#include "refusal.h"

namespace errors {

TEST(OperationErrors, GemmKDisagrees) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto) {
      auto a = T::alloc_shared({32, 64}, T::f16, "a");
      auto b = T::alloc_shared({32, 16}, T::f16, "b");
      auto c = T::alloc_fragment({32, 16}, T::f32, "c");
      T::clear(a), T::clear(b), T::clear(c);
      AT(T::gemm(a, b, c));
    });
  });
  expect_refused(r, "gemm: K of a is 64 but K of b is 32");
  ASSERT_EQ(r.notes.size(), 2u);
  EXPECT_EQ(r.notes[0].text, "a  shared f16[32, 64]");
  EXPECT_EQ(r.notes[1].text, "b  shared f16[32, 16]");
  EXPECT_NE(r.hint.find("transpose_B"), std::string::npos);
}

TEST(OperationErrors, GemmMDisagrees) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({32, 64}, T::f32, "a");
                     auto b = T::alloc_shared({64, 16}, T::f32, "b");
                     auto c = T::alloc_fragment({48, 16}, T::f32, "c");
                     AT(T::gemm(a, b, c));
                   });
                 }),
                 "gemm: M of a is 32 but M of c is 48");
}

TEST(OperationErrors, GemmNDisagrees) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({32, 64}, T::f32, "a");
                     auto b = T::alloc_shared({16, 64}, T::f32, "b");
                     auto c = T::alloc_fragment({32, 64}, T::f32, "c");
                     AT(T::gemm(a, b, c, {.transpose_B = true}));
                   });
                 }),
                 "gemm: N of b is 16 but N of c is 64");
}

TEST(OperationErrors, GemmOperandDtypesDiffer) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({32, 32}, T::f16, "a");
                     auto b = T::alloc_shared({32, 32}, T::bf16, "b");
                     auto c = T::alloc_fragment({32, 32}, T::f32, "c");
                     AT(T::gemm(a, b, c));
                   });
                 }),
                 "gemm: a is f16 but b is bf16");
}

TEST(OperationErrors, GemmMixesEightBitFloatsAndIntegersOfOneWidthOnly) {
  const auto mix = [](tilewright::DType left, tilewright::DType right, tilewright::DType sum) {
    return refusal_of([=] {
      in_kernel([=](auto, auto, auto) {
        auto a = T::alloc_shared({32, 32}, left, "a");
        auto b = T::alloc_shared({32, 32}, right, "b");
        auto c = T::alloc_fragment({32, 32}, sum, "c");
        T::clear(a);
        T::clear(b);
        T::clear(c);
        AT(T::gemm(a, b, c));
      });
    });
  };
  EXPECT_FALSE(mix(T::f8e4m3, T::f8e5m2, T::f32).refused);
  EXPECT_FALSE(mix(T::u8, T::i8, T::i32).refused);
  expect_refused(mix(T::tf32, T::f32, T::f32), "gemm: a is tf32 but b is f32");
  expect_refused(mix(T::f8e4m3, T::i8, T::f32), "gemm: a is f8e4m3 but b is i8");
  expect_refused(mix(T::i8, T::i16, T::i32), "gemm: a is i8 but b is i16");
}

TEST(OperationErrors, GemmAccumulatorOfAnotherFamily) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({32, 32}, T::f16, "a");
                     auto c = T::alloc_fragment({32, 32}, T::i32, "c");
                     AT(T::gemm(a, a, c));
                   });
                 }),
                 "gemm: an accumulator of i32 cannot take products of f16");
}

TEST(OperationErrors, GemmOfGlobalTensor) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto c = T::alloc_fragment({64, 64}, T::f32, "c");
                     AT(T::gemm(A, A, c));
                   });
                 }),
                 "gemm: A is in global memory");
}

TEST(OperationErrors, GemmOfVector) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({32}, T::f32, "a");
                     auto c = T::alloc_fragment({32, 32}, T::f32, "c");
                     AT(T::gemm(a, c, c));
                   });
                 }),
                 "gemm: operand A (a) is not a matrix with constant extents");
}

TEST(OperationErrors, GemmAccumulatorIsOperand) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({32, 32}, T::f32, "a");
                     auto c = T::alloc_fragment({32, 32}, T::f32, "c");
                     AT(T::gemm(a, c, c));
                   });
                 }),
                 "gemm: the accumulator c is also an operand");
}

TEST(OperationErrors, GemmKPack) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({32, 32}, T::f32, "a");
                     auto c = T::alloc_fragment({32, 32}, T::f32, "c");
                     AT(T::gemm(a, a, c, {.k_pack = 3}));
                   });
                 }),
                 "gemm: k_pack is 3, but must be 1 or 2");
}

TEST(OperationErrors, GemmBeforeClear) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto a = T::alloc_shared({64, 64}, T::f32, "a");
                     auto c = T::alloc_fragment({64, 64}, T::f32, "c");
                     T::copy(A, a);
                     AT(T::gemm(a, a, c));
                   });
                 }),
                 "c is read here but nothing wrote it before");
}

TEST(OperationErrors, CopyShapesDisagree) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto a = T::alloc_shared({32, 64}, T::f32, "a");
                     AT(T::copy(A, a));
                   });
                 }),
                 "copy: [64, 64] elements of A do not fit [32, 64] elements of a");
}

TEST(OperationErrors, CopyRankDisagrees) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto a = T::alloc_shared({4, 4, 4}, T::f32, "a");
                     AT(T::copy(A(0, 0), a));
                   });
                 }),
                 "copy: A has 2 dimensions, too few for the 3 of a");
}

TEST(OperationErrors, CopyOntoItself) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({64}, T::f32, "a");
                     T::clear(a);
                     AT(T::copy(a(T::slice(0, 32)), a(T::slice(32, 64))));
                   });
                 }),
                 "copy: source and destination are both a");
}

TEST(OperationErrors, OperandRank) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto a = T::alloc_shared({64}, T::f32, "a");
                     AT(T::copy(A(0), a));
                   });
                 }),
                 "copy: A has 2 dimensions but 1 subscripts are given");
}

TEST(OperationErrors, ReduceDimOutOfRange) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto a = T::alloc_fragment({64, 64}, T::f32, "a");
                     auto r = T::alloc_fragment({64}, T::f32, "r");
                     T::copy(A, a);
                     AT(T::reduce_sum(a, r, {.dim = 2}));
                   });
                 }),
                 "reduce_sum: dim is 2 but a has 2 dimensions");
}

TEST(OperationErrors, ReduceShapeDisagrees) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto a = T::alloc_fragment({64, 64}, T::f32, "a");
                     auto r = T::alloc_fragment({32}, T::f32, "r");
                     T::copy(A, a);
                     AT(T::reduce_max(a, r));
                   });
                 }),
                 "reduce_max: r does not have the extents of a without dimension 1");
}

TEST(OperationErrors, ReduceIntoAnotherFamily) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto a = T::alloc_fragment({64, 64}, T::f32, "a");
                     auto r = T::alloc_fragment({64}, T::i32, "r");
                     T::copy(A, a);
                     AT(T::reduce_sum(a, r));
                   });
                 }),
                 "reduce_sum: f32 elements cannot be combined into i32");
}

TEST(OperationErrors, ReduceOntoItself) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_fragment({1, 1}, T::f32, "a");
                     T::clear(a);
                     AT(T::reduce_sum(a, a));
                   });
                 }),
                 "reduce_sum: a is both source and result");
}

TEST(OperationErrors, SwizzlePanelSize) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::use_swizzle(0)); }); }),
                 "use_swizzle: panel_size is 0, but must be at least 1");
}

TEST(OperationErrors, TileOperationInsideParallel) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({64}, T::f32, "a");
                     for ([[maybe_unused]] auto i : T::Parallel(64)) AT(T::clear(a));
                   });
                 }),
                 "fill inside a parallel loop");
}

}  // namespace errors
