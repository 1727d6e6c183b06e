// Wrong reductions and scans: one rule each, with its message and position.
#include "refusal.h"

#include <tilewright/program.h>

namespace errors {

namespace {

// A kernel with an f32 fragment a [64, 64] and a result r [64], both written.
template <class F>
Refusal with_tiles(tilewright::DType r_dtype, F body) {
  return refusal_of([&] {
    in_kernel([&](auto A, auto, auto) {
      auto a = T::alloc_fragment({64, 64}, T::f32, "a");
      auto r = T::alloc_fragment({64}, r_dtype, "r");
      T::copy(A, a);
      T::clear(r);
      body(A, a, r);
    });
  });
}

// The same for a statement of a printed program; `line` 7 is the statement's.
Refusal of_text(const std::string& statement) {
  Refusal r = refusal_of([&] {
    const std::string text =
        "program p() vars 1 {\n"
        "  kernel k(bx@0 < 1) threads 1 {\n"
        "    tile a: shared f32[4, 8]\n"
        "    tile r: shared f32[4]\n"
        "    fill(a[0:4, 0:8]; 0.0)\n"
        "    fill(r[0:4]; 0.0)\n"
        "    " +
        statement + "\n  }\n}\n";
    tilewright::parse_program(text, "wrong.tw");
  });
  broken_line = 7;
  return r;
}

}  // namespace

TEST(ReductionErrors, NegativeDimOutOfRange) {
  const Refusal r = with_tiles(T::f32, [](auto, auto a, auto out) { AT(T::reduce_max(a, out, {.dim = -3})); });
  expect_refused(r, "reduce_max: dim is -3 but a has 2 dimensions");
  EXPECT_EQ(r.hint, "dim counts from 0 to 1, or from -1 backwards");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].text, "a  fragment f32[64, 64]");
}

TEST(ReductionErrors, Batch) {
  expect_refused(with_tiles(T::f32, [](auto, auto a, auto r) { AT(T::reduce_sum(a, r, {.batch = 0})); }),
                 "reduce_sum: batch is 0, but must be at least 1");
}

TEST(ReductionErrors, NanPropagateOfSum) {
  const Refusal r =
      with_tiles(T::f32, [](auto, auto a, auto out) { AT(T::reduce_abssum(a, out, {.nan_propagate = true})); });
  expect_refused(r, "reduce_abssum: nan_propagate is an option of minima and maxima");
  EXPECT_EQ(r.hint, "leave it out: a sum with a NaN element is NaN, and bits have none");
}

TEST(ReductionErrors, AccumulateOfAnotherFamily) {
  const Refusal r =
      with_tiles(T::f32, [](auto, auto a, auto out) { AT(T::reduce_sum(a, out, {.accumulate = T::i32})); });
  expect_refused(r, "reduce_sum: accumulate is i32 but r holds f32");
  EXPECT_EQ(r.hint, "accumulate in f16, bf16, f32 or f64");
}

TEST(ReductionErrors, AccumulateOfTruths) {
  expect_refused(with_tiles(T::boolean, [](auto, auto a, auto r) { AT(T::reduce_any(a, r, {.accumulate = T::u8})); }),
                 "reduce_any: accumulate is u8 but r holds bool");
}

TEST(ReductionErrors, BitsOfFloats) {
  const Refusal r = with_tiles(T::i32, [](auto, auto a, auto out) { AT(T::reduce_bitand(a, out)); });
  expect_refused(r, "reduce_bitand: f32 elements cannot be combined into i32");
  EXPECT_EQ(r.hint, "bits are combined of integers into integers, or of booleans into booleans");
  ASSERT_EQ(r.notes.size(), 2u);
  EXPECT_EQ(r.notes[1].text, "r  fragment i32[64]");
}

TEST(ReductionErrors, TruthsIntoIntegers) {
  const Refusal r = with_tiles(T::i32, [](auto, auto a, auto out) { AT(T::reduce_all(a, out)); });
  expect_refused(r, "reduce_all: f32 elements cannot be combined into i32");
  EXPECT_EQ(r.hint, "the result is a boolean tile; elements of any dtype count as true when they are not 0");
}

TEST(ReductionErrors, NumbersIntoBooleans) {
  expect_refused(with_tiles(T::boolean, [](auto, auto a, auto r) { AT(T::reduce_min(a, r)); }),
                 "reduce_min: f32 elements cannot be combined into bool");
}

TEST(ReductionErrors, SourceAtItsHead) {
  const Refusal r = with_tiles(T::f32, [](auto A, auto, auto out) { AT(T::reduce_absmax(A(0, 0), out)); });
  expect_refused(r, "reduce_absmax: the extents of A do not follow from its head address");
  EXPECT_EQ(r.hint, "give a slice: T::slice(begin, end) or T::all where it is reduced");
}

TEST(ReductionErrors, ResultAtAnUnclearHead) {
  const Refusal r = with_tiles(T::f32, [](auto A, auto a, auto) { AT(T::reduce_sum(a, A(0, 0))); });
  expect_refused(r, "reduce_sum: the part of A is not clear from its head address");
  EXPECT_EQ(r.hint, "give a slice: dimension 1 of a may be dropped or stay with extent 1");
}

TEST(ReductionErrors, ResultAtATooShortHead) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({4, 5, 6}, T::f32, "a");
                     auto r = T::alloc_shared({4}, T::f32, "r");
                     T::clear(a);
                     AT(T::reduce_sum(a, r(0)));
                   });
                 }),
                 "reduce_sum: r has 1 dimensions, too few for the 2 of a");
}

TEST(ReductionErrors, ResultReadBeforeItIsWritten) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto A, auto, auto) {
                     auto r = T::alloc_fragment({64}, T::f32, "r");
                     AT(T::reduce_sum(A, r, {.clear = false}));
                   });
                 }),
                 "r is read here but nothing wrote it before");
}

TEST(ReductionErrors, ReduceATileWithoutDimensions) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto) {
      auto v = T::alloc_var(T::f32, 0);
      auto w = T::alloc_var(T::f32, 0);
      AT(T::reduce_sum(v, w));
    });
  });
  expect_refused(r, "reduce_sum: dim is -1 but local_0 has 0 dimensions");
  EXPECT_EQ(r.hint, "a tile without dimensions has one element; use it as it is");
}

TEST(ReductionErrors, InsideParallel) {
  expect_refused(with_tiles(T::f32,
                            [](auto, auto a, auto r) {
                              for ([[maybe_unused]] auto i : T::Parallel(4)) AT(T::reduce_sum(a, r));
                            }),
                 "reduce_sum inside a parallel loop");
}

TEST(ReductionErrors, ScanDimOutOfRange) {
  expect_refused(with_tiles(T::f32, [](auto, auto a, auto) { AT(T::cumsum(a, {.dim = 2})); }),
                 "cumsum: dim is 2 but a has 2 dimensions");
}

TEST(ReductionErrors, ScanShapesDisagree) {
  const Refusal r = with_tiles(T::f32, [](auto, auto a, auto out) { AT(T::cummax(a, out)); });
  expect_refused(r, "cummax: r does not have the extents of a");
  EXPECT_EQ(r.hint, "the result has one element for each element of the source; slice the larger side");
}

TEST(ReductionErrors, ScanIntoAnotherFamily) {
  expect_refused(with_tiles(T::i32, [](auto, auto a, auto r) { AT(T::cumsum(a(0, T::all), r)); }),
                 "cumsum: f32 elements cannot be combined into i32");
}

TEST(ReductionErrors, ScanIntoAnotherPart) {
  const Refusal r =
      with_tiles(T::f32, [](auto, auto, auto out) { AT(T::cumsum(out(T::slice(0, 32)), out(T::slice(16, 48)))); });
  expect_refused(r, "cumsum: source and result are different parts of r");
  EXPECT_EQ(r.hint, "scan a part in place, or into another tile");
}

TEST(ReductionErrors, NanPropagateOfCumsum) {
  expect_refused(with_tiles(T::f32, [](auto, auto a, auto) { AT(T::cumsum(a, {.nan_propagate = true})); }),
                 "cumsum: nan_propagate is an option of minima and maxima");
}

TEST(ReductionErrors, ScanOfUnwrittenTile) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto a = T::alloc_shared({8}, T::f32, "a");
                     AT(T::cumsum(a));
                   });
                 }),
                 "a is read here but nothing wrote it before");
}

TEST(ReductionErrors, UnknownAttribute) {
  const Refusal r = of_text("reduce_sum(a[0:4, 0:8], r[0:4]) {dim = 1, axis = 1}");
  expect_refused(r, "reduce_sum has no attribute axis");
  EXPECT_EQ(r.hint, "its attributes are dim, clear, batch, nan_propagate, accumulate");
}

TEST(ReductionErrors, AttributeOfAnotherType) {
  const Refusal r = of_text("reduce_max(a[0:4, 0:8], r[0:4]) {dim = 1, accumulate = \"float\"}");
  expect_refused(r, "reduce_max: attribute accumulate has a value of another type");
  EXPECT_EQ(r.hint, "accumulate is the name of a dtype");
  expect_refused(of_text("cumsum(a[0:4, 0:8], a[0:4, 0:8]) {dim = 1, reverse = 1}"),
                 "cumsum: attribute reverse has a value of another type");
}

TEST(ReductionErrors, DimOfTextCountsFromZero) {
  expect_refused(of_text("reduce_sum(a[0:4, 0:8], r[0:4]) {dim = -1}"), "reduce_sum: dim is -1 but a has 2 dimensions");
}

}  // namespace errors
