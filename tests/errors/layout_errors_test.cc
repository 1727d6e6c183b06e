// Wrong layouts and fragments: one rule each, with its message, position and hint.
#include "refusal.h"

#include <tilewright/compile.h>

namespace errors {

namespace {

// Of statements over a shared tile `a` and a fragment tile `c`, both 16 x 32.
Refusal refused(const std::function<void(const T::Tile& a, const T::Tile& c)>& code) {
  return refusal_of([&] {
    in_kernel([&](auto, auto, auto) {
      auto a = T::alloc_shared({16, 32}, T::f32, "a");
      auto c = T::alloc_fragment({16, 32}, T::f32, "c");
      code(a, c);
    });
  });
}

void expect_hint(const Refusal& r, const std::string& hint) { EXPECT_EQ(r.hint, hint) << r.report; }
void expect_unsupported(const Refusal& r, const std::string& message) {
  EXPECT_EQ(r.kind, tilewright::ErrorKind::unsupported) << r.report;
  EXPECT_EQ(r.message, message);
  EXPECT_EQ(r.line, broken_line);
}

}  // namespace

TEST(LayoutErrors, ShapeOfTheTile) {
  const Refusal layout = refused([](auto& a, auto&) { AT(T::annotate_layout(a, T::Layout("(32,16):(16,1)"))); });
  expect_refused(layout, "annotate_layout: a has the extents [16, 32], but its layout those of [32, 16]");
  expect_hint(layout, "a layout has the extents of its tile");
  ASSERT_EQ(layout.notes.size(), 1u);
  EXPECT_EQ(layout.notes[0].text, "a  shared f32[16, 32]");
  expect_refused(refused([](auto& a, auto&) { AT(T::annotate_layout(a, T::Layout("(512):(1)"))); }),
                 "annotate_layout: a has the extents [16, 32], but its layout those of [512]");
  expect_refused(refused([](auto&, auto& c) {
                   AT(T::annotate_layout(c, T::Fragment("[16,16] threads(16:d1*1,8:d0*1) regs(2:d0*8)")));
                 }),
                 "annotate_layout: c has the extents [16, 32], but its fragment those of [16, 16]");
}

TEST(LayoutErrors, TwoElementsInOnePlace) {
  const Refusal r = refused([](auto& a, auto&) { AT(T::annotate_layout(a, T::Layout("(16,32):(31,1)"))); });
  expect_refused(r, "annotate_layout: elements [1, 0] and [0, 31] of a both lie at offset 31");
  expect_hint(r, "each element needs an offset of its own");
  expect_refused(refused([](auto& a, auto&) { AT(T::annotate_layout(a, T::Layout("(16,32):(32,0)"))); }),
                 "annotate_layout: elements [0, 0] and [0, 1] of a both lie at offset 0");
}

TEST(LayoutErrors, LayoutsAreOfMemoryAndFragmentsOfThreads) {
  const Refusal layout = refused([](auto&, auto& c) { AT(T::annotate_layout(c, T::make_linear_layout(c))); });
  expect_refused(layout, "annotate_layout: c is a fragment, which has no layout");
  expect_hint(layout, "say by a T::Fragment which thread holds which element");
  const Refusal fragment =
      refused([](auto& a, auto&) { AT(T::annotate_layout(a, T::make_fully_replicated_layout_fragment(a))); });
  expect_refused(fragment, "annotate_layout: a is shared, which no thread holds");
  expect_hint(fragment, "say by a T::Layout where its elements lie");
  expect_refused(
      refusal_of([] { in_kernel([](auto A, auto, auto) { AT(T::annotate_layout(A, T::make_linear_layout(A))); }); }),
      "annotate_layout: A is global");
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto) {
                     auto l = T::alloc_local({4}, T::f32, "l");
                     AT(T::annotate_layout(l, T::make_linear_layout(l)));
                   });
                 }),
                 "annotate_layout: l is local");
}

TEST(LayoutErrors, OnceForATile) {
  int first = 0;
  const Refusal r = refused([&](auto& a, auto&) {
    first = __LINE__ + 1;
    T::annotate_layout(a, T::make_linear_layout(a));
    AT(T::annotate_layout(a, T::make_swizzled_layout(a)));
  });
  expect_refused(r, "annotate_layout: a has a layout already");
  expect_hint(r, "annotate a tile once");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].loc.line, first);
}

TEST(LayoutErrors, ViewsLieWhereTheirTileDoes) {
  const Refusal r = refused([](auto& a, auto&) {
    auto v = T::reshape(a, {32, 16});
    AT(T::annotate_layout(v, T::make_linear_layout(v)));
  });
  expect_refused(r, "annotate_layout: a_view_2 is a view of a");
  expect_hint(r, "its elements lie where those of a do; annotate that tile");
}

TEST(LayoutErrors, ThreadsOfTheBlock) {
  const auto held_by = [](const char* notation) {
    return refused([&](auto&, auto& c) { AT(T::annotate_layout(c, T::Fragment(notation))); });
  };
  const Refusal few = held_by("[16,32] threads(32:d1*1) regs(16:d0*1)");
  expect_refused(few, "annotate_layout: the fragment of c is of 32 threads, but the block has 128");
  expect_hint(few, ".replicate(4) gives each element to 4 threads");
  const Refusal odd = held_by("[16,32] threads(48:d1*1) regs(16:d0*1)");
  expect_refused(odd, "annotate_layout: the fragment of c is of 48 threads, but the block has 128");
  expect_hint(odd, "deal it out to 128 threads");
  const Refusal many = held_by("[16,32] threads(32:d1*1,8:d0*1) regs(2:d0*8)");
  expect_refused(many, "annotate_layout: the fragment of c is of 256 threads, but the block has 128");
}

TEST(LayoutErrors, OwnersOfElements) {
  const auto held_by = [](const char* notation) {
    return refused([&](auto&, auto& c) { AT(T::annotate_layout(c, T::Fragment(notation))); });
  };
  const Refusal hole = held_by("[16,32] threads(32:d1*1,4:d0*1) regs(3:d0*4)");
  expect_refused(hole, "annotate_layout: no thread holds element [12, 0] of c");
  expect_hint(hole, "each element needs an owner");
  const Refusal twice = held_by("[16,32] threads(32:d1*1,4:d0*1) regs(4:d0*4,2:d0*4)");
  expect_refused(twice, "annotate_layout: thread 0 holds element [4, 0] of c in two registers");
  const Refusal shared = held_by("[16,32] threads(32:d1*1,4:d0*2) regs(16:d0*1)");
  expect_refused(shared,
                 "annotate_layout: threads 0 and 32 both hold element [2, 0] of c, but are no replicas of each "
                 "other");
  expect_hint(shared, "threads that hold one element of a tile hold the same elements of it");
}

TEST(LayoutErrors, MoreElementsThanAreLookedAt) {
  const int64_t huge = int64_t(1) << 40;
  const auto of = [&](bool shared) {
    return refusal_of([&] {
      in_kernel([&](auto, auto, auto) {
        if (shared) {
          auto s = T::alloc_shared({4096, 4096}, T::f32, "s");
          AT(T::annotate_layout(s, T::Layout("(4096,4096):(4096,3)")));
        } else {
          auto f = T::alloc_fragment({huge, huge}, T::f32, "f");
          AT(T::annotate_layout(f, T::make_fully_replicated_layout_fragment(f)));
        }
      });
    });
  };
  expect_unsupported(of(true), "annotate_layout: s has 16777216 elements, too many to check that no two share a place");
  const Refusal fragment = of(false);
  EXPECT_TRUE(fragment.refused);
  EXPECT_NE(fragment.kind, tilewright::ErrorKind::internal) << fragment.report;
  EXPECT_EQ(fragment.line, broken_line);
}

TEST(LayoutErrors, Notation) {
  expect_refused(refused([](auto&, auto&) { AT(T::Layout("(4,4:(4,1)")); }),
                 "layout '(4,4:(4,1)': , is expected at column 5");
  expect_refused(refused([](auto&, auto&) { AT(T::Fragment("[4] threads(4:d0)")); }),
                 "fragment '[4] threads(4:d0)': * is expected at column 17");
  expect_refused(refused([](auto&, auto&) { AT(T::Fragment("[4] threads(4:d1*1) regs()")); }),
                 "a fragment's mode moves dimension 1 of a tile of rank 1");
}

TEST(LayoutErrors, FunctionsThatAreNoLayouts) {
  const Refusal begins = refused([](auto&, auto&) {
    AT(T::Layout({4, 4}, [](int64_t i, int64_t j) { return 4 * i + j + 1; }));
  });
  expect_unsupported(begins, "the layout of [4, 4] is not made of strides and a swizzle");
  expect_unsupported(refused([](auto&, auto&) {
                       AT(T::Layout({5, 5}, [](int64_t i, int64_t j) { return 5 * i + (j + i) % 5; }));
                     }),
                     "the layout of [5, 5] is not made of strides and a swizzle");
  const Refusal negative = refused([](auto&, auto&) { AT(T::Layout({4}, [](int64_t i) { return 2 - i; })); });
  expect_refused(negative, "the layout puts element [3] at offset -1");
  expect_hint(negative, "offsets are 0 to 1099511627776");
  expect_refused(refused([](auto&, auto&) { AT(T::Layout({3}, [](int64_t i) { return i * (int64_t(1) << 61); })); }),
                 "the layout puts element [1] at offset 2305843009213693952");
  expect_unsupported(refused([](auto&, auto&) {
                       AT(T::Layout({2048, 1024}, [](int64_t i, int64_t j) { return i + j; }));
                     }),
                     "a function of 2097152 elements is too large to look at each; at most 1048576 are possible");
}

TEST(LayoutErrors, FunctionsThatAreNoFragments) {
  const Refusal same = refused([](auto&, auto&) {
    AT(T::Fragment({4, 4}, [](int64_t i, int64_t j) { return T::Held{i, j / 2}; }));
  });
  expect_refused(same, "elements [0, 0] and [0, 1] are both in register 0 of thread 0");
  expect_hint(same, "a register holds one element");
  const Refusal outside = refused([](auto&, auto&) {
    AT(T::Fragment({4}, [](int64_t i) { return T::Held{i, 0}; }, {.num_threads = 3}));
  });
  expect_refused(outside, "the fragment puts element [3] into register 0 of thread 3");
  expect_hint(outside, "threads are 0 to 2, registers are numbered from 0");
  expect_refused(refused([](auto&, auto&) { AT(T::Fragment({4}, [](int64_t i) {
                                              return T::Held{i, -1};
                                            })); }),
                 "the fragment puts element [0] into register -1 of thread 0");
  expect_refused(refused([](auto&, auto&) {
                   AT(T::Fragment({4}, [](int64_t i) { return T::Held{i, 0}; }, {.replicas = 0}));
                 }),
                 "a fragment of 0 threads with 0 replicas");
  expect_unsupported(refused([](auto&, auto&) {
                       AT(T::Fragment({4, 4}, [](int64_t i, int64_t j) { return T::Held{(i + j) % 4, j}; }));
                     }),
                     "the fragment of [4, 4] is not made of digits of threads and registers");
  expect_refused(refused([](auto&, auto&) {
                   T::Fragment f({4}, [](int64_t i) { return T::Held{i, 0}; });
                   AT(f.replicate(0));
                 }),
                 "a fragment's mode has extent 0 and stride 0");
}

TEST(LayoutErrors, RowsThatASpanDoesNotDivide) {
  const auto of = [](std::vector<T::Expr> shape, tilewright::DType dtype,
                     const std::function<void(const T::Tile&)>& code) {
    return refusal_of(
        [&] { in_kernel([&](auto, auto, auto) { code(T::alloc_shared(T::Shape(shape), dtype, "t")); }); });
  };
  const Refusal wide = of({16, 32}, T::f16, [](auto& t) { AT(T::make_full_bank_swizzled_layout(t)); });
  expect_refused(wide, "make_full_bank_swizzled_layout: rows of 64 bytes do not divide into 128 bytes");
  expect_hint(wide, "64 bytes do");
  const Refusal none = of({16, 20}, T::f16, [](auto& t) { AT(T::make_half_bank_swizzled_layout(t)); });
  expect_refused(none, "make_half_bank_swizzled_layout: rows of 40 bytes do not divide into 64 bytes");
  expect_hint(none, "32 columns would");
  const Refusal any = of({16, 20}, T::f16, [](auto& t) { AT(T::make_swizzled_layout(t)); });
  expect_refused(any, "make_swizzled_layout: the rows of [16, 20] do not divide into 32 bytes");
  expect_hint(any, "rows of a multiple of 16 elements do; T::make_padded_layout takes any");
  expect_refused(
      of({32}, T::f16, [](auto& t) { AT(T::make_quarter_bank_swizzled_layout(t)); }),
      "make_quarter_bank_swizzled_layout: a swizzle over 32 bytes of a shape with 1 dimensions, elements of 2 "
      "bytes");
  expect_refused(of({16, 32}, T::f16, [](auto& t) { AT(T::make_swizzled_layout(t, 48)); }),
                 "make_swizzled_layout: a swizzle over 48 bytes of a shape with 2 dimensions, elements of 2 bytes");
  expect_refused(of({16, 32}, T::f16, [](auto& t) { AT(T::make_padded_layout(t, -1)); }),
                 "make_padded_layout: -1 elements behind the rows of a tile with 2 dimensions");
  expect_refused(of({16, 32}, T::f16, [](auto& t) { AT(T::make_padded_layout(t, INT64_MAX)); }),
                 "make_padded_layout: 9223372036854775807 elements behind the rows of a tile with 2 dimensions");
  expect_refused(of({16, 32}, T::f32, [](auto& t) { AT(T::make_mma_accumulator_fragment(t, 2, 3)); }),
                 "make_mma_accumulator_fragment: 2 x 3 warps of a block of 128 threads, for a tile with 2 dimensions");
}

TEST(LayoutErrors, SafeValues) {
  expect_refused(refused([](auto& a, auto&) { AT(T::annotate_safe_value(a, 1)); }), "annotate_safe_value: a is shared");
  const Refusal r = refusal_of([] {
    T::prim_func("p", [] {
      auto A = T::tensor("A", {4}, T::i8);
      auto blocks = T::Kernel({1});
      AT(T::annotate_safe_value(A, 129));
    });
  });
  expect_refused(r, "the safe value 129.0 of A is not a value of i8");
  expect_hint(r, "the nearest is 127.0");
}

// As text, where the position is that of the tile.
TEST(LayoutErrors, InPrintedPrograms) {
  const auto of = [](const std::string& attrs) {
    return refusal_of([&] {
      tilewright::parse_program(
          "program p() vars 1 {\n  kernel p(bx@0 < 1) threads 32 {\n    tile a: shared f16[8, 8] {" + attrs +
              "}\n  }\n}\n",
          "text");
    });
  };
  const Refusal neither = of("annotated = true");
  EXPECT_EQ(neither.message, "tile a is annotated, but has neither a layout nor a fragment");
  EXPECT_EQ(neither.line, 3);
  EXPECT_EQ(of("layout = \"(8,8):(4,1)\", annotated = true").message,
            "annotate_layout: elements [1, 0] and [0, 4] of a both lie at offset 4");
  EXPECT_EQ(of("layout = \"(8,8):(8,1)\", annotated = false").message,
            "tile a has a layout, which only the compiler gives");
  EXPECT_FALSE(of("layout = \"(8,8):(8,1)\", annotated = true").refused);
}

// What a block's shared memory does not hold is refused with both numbers, as for tiles without a layout.
TEST(LayoutErrors, MoreThanSharedMemory) {
  const auto program = T::prim_func("large", [] {
    auto A = T::tensor("A", {64, 64}, T::f32);
    auto blocks = T::Kernel({1});
    auto a = T::alloc_shared({64, 64}, T::f32, "a");
    T::annotate_layout(a, T::make_padded_layout(a, 1000));
    T::copy(A, a);
    T::copy(a, A);
  });
  const Refusal r = refusal_of([&] { tilewright::compile(program, {.target = "sim:sm_80"}); });
  EXPECT_EQ(r.message, "large needs 269312 bytes of shared memory, but a block of sm_80 has 166912") << r.report;
}

}  // namespace errors
