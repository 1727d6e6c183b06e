// Accesses are checked where they may be outside, and nowhere else.
#include "harness/text.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ops/ops.h"
#include "passes/passes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace tilewright::passes {
namespace {

// Tensors of m x n elements, of whose tiles of 8 x 8 each block has one.
std::string guarded(const std::string& body) {
  const ir::Program program = ir::parse(fmt::format(R"tw(program p(A, B) vars 20 {{
  extent m@0
  extent n@1
  tensor A: f32[m, n]
  tensor B: f32[m, n]
  kernel k(bx@2 < (n + 7) // 8, by@3 < (m + 7) // 8) threads 64 {{
    tile A: global f32[m, n] of A
    tile B: global f32[m, n] of B
    {}
  }}
}}
)tw",
                                                    body),
                                        "test.tw", ops::all_ops());
  return ir::print(guard_accesses(program));
}

// The statements of the branch whose accesses may be outside.
std::string checked_branch(const std::string& text) {
  const size_t at = text.find("} else {");
  EXPECT_NE(at, std::string::npos) << text;
  return text.substr(at);
}

TEST(GuardAccesses, AValueIsAskedForOnlyWhereItIsStored) {
  const std::string text = guarded(
      "for i@4, j@5 in parallel(0:8, 0:8) { A[by * 8 + i, bx * 8 + j] = B[by * 8 + i, bx * 8 + j] + B[i + 1, 0] }");
  // Where A has the element, so has B; B[i + 1, 0] may be outside of a short tensor.
  const std::string stored = checked_branch(text);
  EXPECT_EQ(testing::occurrences(stored, "A@0["), 1) << text;
  EXPECT_EQ(testing::occurrences(stored, "B@1["), 1) << text;
  EXPECT_NE(stored.find("B@1[i + 1, 0]"), std::string::npos) << text;
}

TEST(GuardAccesses, LetsOfANestAreSeenThrough) {
  const std::string text = guarded(
      "for i@4, j@5 in parallel(0:8, 0:8) {\n let x@6 = by * 8 + i let y@7 = bx * 8 + j let z@8 = x "
      "A[z, y] = B[x, y] }");
  EXPECT_NE(text.find("by * 8 + 7 < m"), std::string::npos) << text;
  EXPECT_NE(text.find("bx * 8 + 7 < n"), std::string::npos) << text;
}

}  // namespace
}  // namespace tilewright::passes
