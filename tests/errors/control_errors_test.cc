// Wrong options of loops, kernels and rasters, bodies that C++ left, loops without end: one rule each.
#include "refusal.h"

#include <stdexcept>

namespace errors {

// Runs `loop` in a kernel; the broken line is that of `LOOP_LINE`.
#define LOOP_LINE broken_line = __LINE__ + 1

TEST(ControlErrors, UnrollExplicitWithFactor) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto C) {
      LOOP_LINE;
      for (auto k : T::unroll(4, {.explicit_ = true, .factor = 2})) C(0, k) = 1;
    });
  });
  expect_refused(r, "an explicit unroll has the factor 2");
  EXPECT_EQ(r.hint, "explicit expands all iterations; give one of the two");
}

TEST(ControlErrors, UnrollFactor) {
  for (int factor : {0, -3}) {
    expect_refused(refusal_of([&] {
                     in_kernel([&](auto, auto, auto C) {
                       LOOP_LINE;
                       for (auto k : T::unroll(4, {.factor = factor})) C(0, k) = 1;
                     });
                   }),
                   "the unroll factor is " + std::to_string(factor) + ", but must be at least 1");
  }
}

TEST(ControlErrors, StepTooLarge) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     LOOP_LINE;
                     for (auto k : T::serial(0, 4, std::numeric_limits<int64_t>::min())) C(0, k) = 1;
                   });
                 }),
                 "a loop with step -9223372036854775808, but steps are at most 2147483648 in magnitude");
}

TEST(ControlErrors, CoalescedWidth) {
  for (int width : {0, -1}) {
    expect_refused(refusal_of([&] {
                     in_kernel([&](auto, auto, auto C) {
                       LOOP_LINE;
                       for (auto [i, j] : T::Parallel({4, 6}, {.coalesced_width = width})) C(i, j) = 1;
                     });
                   }),
                   "coalesced_width is " + std::to_string(width) + ", but must be at least 1");
  }
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto C) {
      LOOP_LINE;
      for (auto [i, j] : T::Parallel({4, 6}, {.coalesced_width = 4})) C(i, j) = 1;
    });
  });
  expect_refused(r, "coalesced_width is 4, but the innermost extent 6 is no multiple of it");
  EXPECT_EQ(r.hint, "the nearest is 3");
}

// A pipelined loop of two statements with the given options.
Refusal pipelined(const T::PipelineOptions& options) {
  return refusal_of([&] {
    in_kernel([&](auto, auto, auto C) {
      LOOP_LINE;
      for (auto k : T::Pipelined(4, options)) {
        C(0, k) = 1;
        C(1, k) = 2;
      }
    });
  });
}

TEST(ControlErrors, PipelinedSchedules) {
  expect_refused(pipelined({.num_stages = -1}), "num_stages is -1, but must be 0 or more");
  expect_refused(pipelined({.order = {0, 1}}), "order is given without stage");
  expect_refused(pipelined({.stage = {0, 1}}), "stage is given without order");
  expect_refused(pipelined({.order = {0, 1}, .stage = {0, 0, 0}}), "order has 2 entries but stage has 3");
  expect_refused(pipelined({.order = {1, 1}, .stage = {0, 0}}), "order has 1 twice, but is a permutation of 0 to 1");
  expect_refused(pipelined({.order = {0, 2}, .stage = {0, 0}}),
                 "order has 2 as a position, but is a permutation of 0 to 1");
  expect_refused(pipelined({.order = {1, 0}, .stage = {0, -1}}), "stage has -1, but stages are 0 or more");
  expect_refused(pipelined({.order = {0}, .stage = {0}}),
                 "order has 1 entries, but the body of this loop has 2 statements");
  expect_refused(pipelined({.order = {0, 1}, .stage = {0, 1}, .sync = {{0}, {2}}}),
                 "sync names statement 2, which is no statement of the body");
  expect_refused(pipelined({.order = {0, 1}, .stage = {0, 1}, .group = {{0, 1}, {1}}}),
                 "group names statement 1 twice");
  expect_refused(pipelined({.group = {{-1}}}), "group names statement -1, which is no statement of the body");
  EXPECT_FALSE(pipelined({.num_stages = 2, .order = {1, 0}, .stage = {1, 0}, .sync = {{0, 1}}}).refused);
}

TEST(ControlErrors, Persistent) {
  const auto persistent = [](int64_t m, int64_t n, int64_t wave, int64_t index, int group) {
    return refusal_of([&] {
      in_kernel([&](auto, auto, auto C) {
        LOOP_LINE;
        for (auto [i, j] : T::Persistent({m, n}, wave, index, {.group_size = group})) C(i, j) = 1;
      });
    });
  };
  expect_refused(persistent(4, -2, 4, 0, 8), "Persistent: the domain has extent -2");
  expect_refused(persistent(4, 4, 0, 0, 8), "Persistent: wave_size is 0, but must be at least 1");
  expect_refused(persistent(4, 4, 4, 4, 8), "Persistent: index is 4, but lies from 0 to wave_size - 1 = 3");
  expect_refused(persistent(4, 4, 4, -1, 8), "Persistent: index is -1, but lies from 0 to wave_size - 1 = 3");
  expect_refused(persistent(4, 4, 4, 0, 0), "Persistent: group_size is 0, but must be at least 1");
  EXPECT_FALSE(persistent(4, 4, 4, 3, 100).refused);
}

TEST(ControlErrors, SerialNestsInParallelOnly) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     for (auto i : T::Parallel(4)) {
                       for (auto [j, k] : T::grid(2, 2)) C(i, j) += k;
                       LOOP_LINE;
                       for (auto j : T::Pipelined(2)) C(i, j) = 1;
                     }
                   });
                 }),
                 "a pipelined loop inside a parallel loop");
}

TEST(ControlErrors, ContinueInParallel) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     for (auto i : T::Parallel(4)) {
                       C(0, i) = 1;
                       T::if_(i == 1, [] { AT(T::loop_continue()); });
                     }
                   });
                 }),
                 "continue inside a parallel loop");
}

// ---- bodies that C++ left --------------------------------------------------------------------------------------

void returns_early(const T::Tile& C) {
  LOOP_LINE;
  for (auto [i, j] : T::grid(4, 4)) {
    C(i, j) = 1;
    return;
  }
}

TEST(ControlErrors, ReturnOutOfLoop) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto C) { returns_early(C); }); }),
                 "the body of this loop was left by a C++ break or return");
}

TEST(ControlErrors, BreakOutOfEveryKindOfLoop) {
  const auto left = [](auto make) {
    expect_refused(refusal_of([&] {
                     in_kernel([&](auto, auto, auto C) {
                       for (auto i : make()) {
                         C(0, 0) = 1;
                         (void)i;
                         break;
                       }
                     });
                   }),
                   "the body of this loop was left by a C++ break or return");
  };
  left([] { return AT(T::unroll(4)); });
  left([] { return AT(T::vectorized(4)); });
  left([] { return AT(T::Pipelined(4)); });
  left([] { return AT(T::Parallel(4)); });
  left([] { return AT(T::Persistent({4}, 2, 1)); });
}

TEST(ControlErrors, ExceptionOutOfLoopThatIsCaught) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     try {
                       LOOP_LINE;
                       for (auto i : T::serial(4)) {
                         C(0, i) = 1;
                         throw std::runtime_error("");
                       }
                     } catch (const std::runtime_error&) {
                     }
                     C(1, 1) = 1;
                   });
                 }),
                 "the body of this loop was left by a C++ exception");
}

TEST(ControlErrors, ExceptionOutOfBranchesThatIsCaught) {
  const auto caught = [](auto open, const std::string& word) {
    expect_refused(refusal_of([&] {
                     in_kernel([&](auto, auto, auto C) {
                       try {
                         open(C);
                       } catch (const std::runtime_error&) {
                       }
                       C(1, 1) = 1;
                     });
                   }),
                   "the body of this " + word + " was left by a C++ exception");
  };
  const auto fail = [] { throw std::runtime_error(""); };
  caught([&](auto C) { AT(T::if_(C(0, 0) > 0, fail)); }, "if_");
  caught([&](auto C) { AT(T::if_(C(0, 0) > 0, [] {}).else_(fail)); }, "if_");
  caught([&](auto C) { AT(T::while_(C(0, 0) > 0, fail)); }, "while_");
}

TEST(ControlErrors, ExceptionsPassThrough) {
  EXPECT_THROW(in_kernel([](auto, auto, auto C) {
                 for (auto i : T::serial(4)) {
                   C(0, i) = 1;
                   throw std::runtime_error("mine");
                 }
               }),
               std::runtime_error);
}

TEST(ControlErrors, WhileWithoutEnd) {
  const Refusal r =
      refusal_of([] { in_kernel([](auto, auto, auto C) { AT(T::while_(true, [&] { C(0, 0) += 1; })); }); });
  expect_refused(r, "this loop never ends: its condition is always true and nothing breaks out of it");
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     AT(T::while_(true, [&] {
                       for (auto i : T::serial(4)) {
                         C(0, i) = 1;
                         T::loop_break();
                       }
                     }));
                   });
                 }),
                 "this loop never ends: its condition is always true and nothing breaks out of it");
}

// ---- kernels and tiles -----------------------------------------------------------------------------------------

Refusal kernel_with(const T::Threads& threads) {
  return refusal_of([&] {
    T::prim_func("p", [&] {
      LOOP_LINE;
      auto [bx] = T::Kernel({T::Expr(1)}, {.threads = threads});
    });
  });
}

TEST(ControlErrors, ThreadExtents) {
  const Refusal r = kernel_with({64, 17});
  expect_refused(r, "a block has 64 x 17 threads, but 1 to 1024 are possible");
  EXPECT_EQ(r.hint, "extents of at least 1, whose product is at most 1024");
  expect_refused(kernel_with({32, 0}), "a block has 32 x 0 threads, but 1 to 1024 are possible");
  expect_refused(kernel_with({-4, -4, 2}), "a block has -4 x -4 x 2 threads, but 1 to 1024 are possible");
  expect_refused(kernel_with({2147483647, 2147483647, 4}),
                 "a block has 2147483647 x 2147483647 x 4 threads, but 1 to 1024 are possible");
  expect_refused(kernel_with({2, 2, 2, 2}), "the 16 threads of a block are arranged as (2, 2, 2, 2)");
  EXPECT_FALSE(kernel_with({2, 512, 1}).refused);
}

TEST(ControlErrors, Queries) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::get_block_binding(1)); }); }),
                 "dimension 1 of the grid is asked for, but it has 1");
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::get_block_extent(-1)); }); }),
                 "dimension -1 of the grid is asked for, but it has 1");
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT((void)T::get_thread_extent(3)); }); }),
                 "dimension 3 of the threads is asked for");
}

TEST(ControlErrors, RasterInsideALoop) {
  expect_refused(refusal_of([] {
                   in_kernel([](auto, auto, auto C) {
                     for (auto i : T::serial(2)) {
                       C(0, i) = 1;
                       AT(T::use_swizzle(4));
                     }
                   });
                 }),
                 "use_swizzle stands inside a loop or branch");
}

TEST(ControlErrors, TwoRasters) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto) {
      T::use_swizzle(4);
      AT(T::use_swizzle(4));
    });
  });
  expect_refused(r, "use_swizzle stands twice in kernel wrong");
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(r.notes[0].loc.line, broken_line - 1);
}

TEST(ControlErrors, RasterThatIsSwitchedOffIsChecked) {
  expect_refused(refusal_of([] { in_kernel([](auto, auto, auto) { AT(T::use_swizzle(0, {.enable = false})); }); }),
                 "use_swizzle: panel_size is 0, but must be at least 1");
}

TEST(ControlErrors, TileOwnedByWarps) {
  const Refusal r = refusal_of([] {
    in_kernel([](auto, auto, auto) { AT(T::alloc_fragment({4}, T::f32, {.name = "f", .owner = T::per_warp})); });
  });
  EXPECT_EQ(r.kind, tilewright::ErrorKind::unsupported);
  EXPECT_EQ(r.message, "a fragment tile owned by each warp needs code at the level of threads, which is not built");
  EXPECT_EQ(r.hint, "docs/status.md lists what is not built yet");
  EXPECT_EQ(r.line, broken_line);
}

TEST(ControlErrors, TextPrograms) {
  const auto parsed = [](const std::string& body) {
    return refusal_of([&] {
      tilewright::parse_program(
          "program p() vars 3 {\n  kernel k(bx@0 < 4) threads 8 (4, 2) {\n    tile v: local i64[]\n" + body +
              "\n  }\n}\n",
          "p.tw");
    });
  };
  EXPECT_EQ(parsed("for i@1 in unrolled(0:4) {factor = 0} { v[] = i }").message,
            "the unroll factor is 0, but must be at least 1");
  EXPECT_EQ(parsed("for i@1 in unrolled(0:4) {factor = \"a\"} { v[] = i }").message, "factor is not an integer");
  EXPECT_EQ(parsed("for i@1 in pipelined(0:4) {order = \"0;\", stage = \"0\"} { v[] = i }").message,
            "order is \"0;\", which is no list of integers");
  EXPECT_EQ(parsed("for i@1 in serial(0:4 step 4294967296) { v[] = i }").message,
            "a loop with step 4294967296, but steps are at most 2147483648 in magnitude");
  EXPECT_EQ(parsed("for i@1 in serial(0:4) { use_swizzle() {panel_size = 2, order = \"row\"} }").message,
            "use_swizzle stands inside a loop or branch");
  EXPECT_EQ(parsed("use_swizzle() {panel_size = 2, order = \"mlx\"}").message,
            "use_swizzle: order is neither row nor col");
  EXPECT_FALSE(parsed("for i@1 in vectorized(0:4) { v[] = i }").refused);
}

}  // namespace errors
