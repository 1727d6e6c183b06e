// Barriers stand between accesses of different threads that conflict, in every order in which the code may run, and
// nowhere else.
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/simplify.h"
#include "ops/ops.h"
#include "passes/cuda_atoms.h"
#include "passes/cuda_passes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright::passes {
namespace {

std::vector<const ir::OpDef*> all_defs() {
  std::vector<const ir::OpDef*> out(ops::all_ops().begin(), ops::all_ops().end());
  out.insert(out.end(), cuda_atoms().begin(), cuda_atoms().end());
  return out;
}

// A kernel of one thread's code over shared tiles s and t, a staged one, a tensor seen twice, and private memory.
ir::Program kernel(const std::string& body) {
  return ir::parse(fmt::format(R"tw(program p(A) vars 9 {{
  tensor A: f32[64]
  kernel k(bx@0 < 4) threads 64 as tid@1 {{
    tile A: global f32[64] of A
    tile A: global f32[64] of A {{unchecked = true}}
    tile s: shared f32[64]
    tile t: shared f32[64]
    tile s: shared f32[64] {{unchecked = true}}
    tile staged: shared f32[2, 64] {{stages = 2}}
    tile r: local f32[4]
    tile n: shared i64[1]
    {}
  }}
}}
)tw",
                               body),
                   "test.tw", all_defs());
}

std::string body_of(const ir::Program& program) {
  std::string out;
  for (const ir::Stmt& stmt : program.kernels[0].body) out += ir::print(stmt, program.kernels[0]);
  return out;
}

// The body with `SYNC` for a barrier: expected to be what place_sync makes of the body without them.
void expect_placed(const std::string& with_barriers) {
  std::string without, with = with_barriers;
  for (size_t at = 0; (at = with.find("SYNC", at)) != std::string::npos;) with.replace(at, 4, "block_sync()");
  without = with_barriers;
  for (size_t at; (at = without.find("SYNC")) != std::string::npos;) without.erase(at, 4);
  EXPECT_EQ(body_of(place_sync(kernel(without))), body_of(kernel(with)));
}

TEST(PlaceSync, BetweenAWriteAndAReadOfOneTile) {
  expect_placed("lanes { @2[tid] = 1.0 } SYNC lanes { r[0] = @2[63 - tid] }");
  expect_placed("lanes { r[0] = @2[63 - tid] } SYNC lanes { @2[tid] = 1.0 }");
  expect_placed("lanes { @2[tid] = 1.0 } SYNC lanes { @2[63 - tid] = 2.0 }");
}

TEST(PlaceSync, NotWhereNothingConflicts) {
  expect_placed("lanes { @2[tid] = 1.0 } lanes { t[tid] = 1.0 }");
  expect_placed("lanes { r[0] = @2[tid] } lanes { r[1] = @2[63 - tid] }");
  expect_placed("lanes { r[0] = 1.0 } lanes { r[0] = r[0] + 1.0 }");  // memory of the thread itself
}

TEST(PlaceSync, OneBarrierServesAllThatWasPending) {
  expect_placed("lanes { @2[tid] = 1.0 } lanes { t[tid] = 2.0 } SYNC lanes { r[0] = @2[0] } lanes { r[1] = t[0] }");
}

TEST(PlaceSync, RowsOfOneMemoryAreOne) {
  expect_placed("lanes { @2[tid] = 1.0 } SYNC lanes { r[0] = @4[63 - tid] }");
  expect_placed("lanes { @0[tid] = 1.0 } SYNC lanes { r[0] = @1[63 - tid] }");
}

TEST(PlaceSync, StagedTilesAreTheirPipelines) {
  expect_placed("lanes { staged[0, tid] = 1.0 } lanes { r[0] = staged[0, 63 - tid] }");
}

TEST(PlaceSync, AcrossTheIterationsOfALoop) {
  // Written at the end of an iteration, read at the beginning of the next, and the other way round.
  expect_placed("for i@2 in serial(0:4) { SYNC lanes { r[0] = @2[63 - tid] } SYNC lanes { @2[tid] = r[0] } }");
  expect_placed("for i@2 in serial(0:4) { lanes { r[0] = @2[63 - tid] } lanes { r[1] = t[tid] + r[0] } }");
  // Only the code before the loop wrote it: the barrier stands in the loop, before the read.
  expect_placed("lanes { @2[tid] = 1.0 } for i@2 in serial(0:4) { SYNC lanes { r[0] = @2[63 - tid] } }");
}

TEST(PlaceSync, BeforeALoopWhoseExtentIsWritten) {
  expect_placed("lanes { n[0] = 3 } SYNC for i@2 in serial(0:+n[0]) { lanes { r[0] = 1.0 } }");
}

TEST(PlaceSync, BothSidesOfABranch) {
  expect_placed(
      "lanes { @2[tid] = 1.0 } if bx == 0 { SYNC lanes { r[0] = @2[0] } } else { lanes { t[tid] = 1.0 } } "
      "SYNC lanes { @2[tid] = t[0] }");
  // A condition on shared memory.
  expect_placed("lanes { n[0] = 3 } SYNC if n[0] == 3 { lanes { r[0] = 1.0 } } SYNC lanes { n[0] = 4 }");
}

TEST(PlaceSync, TheConditionOfAWhileIsReadAgain) { expect_placed("while n[0] < 3 { SYNC lanes { n[0] = 3 } SYNC }"); }

TEST(PlaceSync, ContinueGoesBackToTheCondition) {
  expect_placed("while n[0] < 3 { SYNC lanes { n[0] = 3 } if bx == 0 { SYNC continue } lanes { r[0] = @2[0] } SYNC }");
}

TEST(PlaceSync, BreakCarriesWhatIsPendingOut) {
  expect_placed(
      "for i@2 in serial(0:4) { SYNC lanes { @2[tid] = 1.0 } if bx == i { break } SYNC lanes { r[0] = @2[0] } } "
      "SYNC lanes { r[1] = @2[1] }");
}

// Such as that of a pipeline.
TEST(PlaceSync, ABarrierThatIsThereServes) {
  expect_placed("lanes { @2[tid] = 1.0 } block_sync() lanes { t[tid] = @2[3] }");
  expect_placed("for k@3 in serial(0:4) { block_sync() lanes { @2[tid] = t[3] } SYNC lanes { t[tid] = @2[3] } }");
  // Not for what comes behind it.
  expect_placed("block_sync() lanes { @2[tid] = 1.0 } SYNC lanes { t[tid] = @2[3] }");
}

// Barriers between parallel loops over two tiles of 100 x 3 and 100 elements, on 64 threads.
int barriers_between(const std::string& loops) {
  ir::Program program = ir::parse(fmt::format(R"tw(program p(A) vars 20 {{
  tensor A: f32[100]
  kernel k(bx@0 < 4) threads 64 {{
    tile A: global f32[100] of A
    tile s: shared f32[100, 3]
    tile t: shared f32[100]
    {}
  }}
}}
)tw",
                                              loops),
                                  "test.tw", all_defs());
  const std::string text = body_of(place_sync(ir::simplify(distribute_threads(program))));
  int out = 0;
  for (size_t at = 0; (at = text.find("block_sync()", at)) != std::string::npos; ++at) ++out;
  return out;
}

// Iterations are dealt out in turn, so that loops over the same extents give an element to the same thread.
TEST(PlaceSync, NoneWhereAnElementStaysWithItsThread) {
  const std::string fill_s = "for i@2, j@3 in parallel(0:100, 0:3) { s[i, j] = 1.0 } ";
  const std::string fill_t = "for i@4 in parallel(0:100) { t[i] = 1.0 } ";
  EXPECT_EQ(barriers_between(fill_s + "for i@5, j@6 in parallel(0:100, 0:3) { s[i, j] = s[i, j] + 2.0 }"), 0);
  EXPECT_EQ(barriers_between(fill_t + "for i@5 in parallel(0:100) { t[i] = t[i] + 2.0 }"), 0);
  // The first 50 of 100 are dealt out alike.
  EXPECT_EQ(barriers_between(fill_t + "for i@5 in parallel(0:50) { t[i] = t[i] + 2.0 }"), 0);
  EXPECT_EQ(barriers_between(fill_s + "for i@5, j@6 in parallel(0:20, 0:3) { s[i, j] = s[i, j] + 2.0 }"), 0);
}

TEST(PlaceSync, OneWhereAnElementComesToAnotherThread) {
  const std::string fill_s = "for i@2, j@3 in parallel(0:100, 0:3) { s[i, j] = 1.0 } ";
  const std::string fill_t = "for i@4 in parallel(0:100) { t[i] = 1.0 } ";
  for (const char* read : {"for i@5, j@6 in parallel(0:100, 0:2) { s[i, j] = s[i, j] + 2.0 }",
                           "for j@5, i@6 in parallel(0:3, 0:100) { s[i, j] = s[i, j] + 2.0 }",
                           "for i@5, j@6 in parallel(0:100, 0:3) { s[i, j] = s[99 - i, j] }",
                           "for i@5, j@6 in parallel(1:100, 0:3) { s[i, j] = 2.0 }",
                           "for i@5, j@6 in parallel(0:100, 0:2) { s[i, j + 1] = 2.0 }",
                           "for i@5 in parallel(0:100) { A[i] = s[i, 1] }", "A[1] = s[0, 0]"}) {
    EXPECT_GE(barriers_between(fill_s + read), 1) << read;
  }
  for (const char* read : {"for i@5 in parallel(0:99) { A[i] = t[i + 1] }", "for i@5 in parallel(1:100) { t[i] = 2.0 }",
                           "for i@5, j@6 in parallel(0:50, 0:2) { t[i * 2 + j] = 2.0 }",
                           "for i@5 in parallel(0:100) { t[i] = t[i] + t[5] }"}) {
    EXPECT_GE(barriers_between(fill_t + read), 1) << read;
  }
}

TEST(PlaceSync, TheFirstThreadWaitsForNobody) {
  EXPECT_EQ(barriers_between("t[3] = 1.0 t[3] = t[3] * 2.0 t[4] = t[3]"), 0);
  EXPECT_EQ(barriers_between("t[3] = 1.0 for i@5 in parallel(0:100) { A[i] = t[3] }"), 1);
  EXPECT_EQ(barriers_between("for i@5 in parallel(0:100) { t[i] = A[i] } t[3] = 1.0"), 1);
}

TEST(PlaceSync, AsynchronousCopiesAreWaitedFor) {
  const ir::Program before = kernel("lanes { cp_async(@2[0], @0[0]; 16) } lanes { r[0] = @2[1] }");
  const ir::Program want = kernel(
      "lanes { cp_async(@2[0], @0[0]; 16) } cp_async_commit() cp_async_wait() {pending = 0} block_sync() "
      "lanes { r[0] = @2[1] }");
  EXPECT_EQ(body_of(place_sync(before)), body_of(want));
}

}  // namespace
}  // namespace tilewright::passes
