// What has no meaning is refused at its line, instead of writing past an end or running nothing.
#include "errors/refusal.h"
#include "reports/cases.h"

namespace tilewright::tests {
namespace {

void expect_refusal(const std::function<void()>& code, const std::string& message) {
  const errors::Refusal r = errors::refusal_of(code);
  errors::expect_refused(r, message);
  EXPECT_FALSE(r.hint.empty()) << r.report;
}

TEST(RefusedCases, FillPastTheEndOfATile) {
  const auto fill = [] {
    T::prim_func("filled", [] {
      auto [bx] = T::Kernel({T::Expr(1)});
      auto s = T::alloc_shared({8}, T::f32, "s");
      AT(T::fill(s(T::slice(6, 12)), 1));
    });
  };
  expect_refusal(fill, "fill: the range 6:+6 of dimension 0 of s is outside its extent 8");
}

// The same where only the launch knows the begin: what lies outside is not written.
TEST(RefusedCases, FillAcrossTheEndAtRunTime) {
  const Program p = T::prim_func("filled", [] {
    auto C = T::tensor("C", {2, 8}, T::f32);
    auto n = T::scalar("n", T::i64);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_shared({8}, T::f32, "s");
    auto after = T::alloc_shared({8}, T::f32, "after");
    T::fill(after, 2);
    T::clear(s);
    T::fill(s(T::slice(n, n + 6)), 1);
    T::copy(s, C(0, T::all));
    T::copy(after, C(1, T::all));
  });
  for (const int64_t n : {6, -2, 20}) {
    const Args args = {HostArray(T::f32, {2, 8}), n};
    Expected want = exactly(array(args, 0));
    for (int64_t i = 0; i < 8; ++i) {
      want.set(i, i >= n && i < n + 6 ? 1 : 0);
      want.set(8 + i, 2);
    }
    expect_result(p, args, 0, want);
  }
}

// Shapes and placements that do not fit each other are refused with both shapes.
TEST(RefusedCases, CopyOfAnotherShape) {
  const auto build = [] {
    T::prim_func("copied", [] {
      auto [bx] = T::Kernel({T::Expr(1)});
      auto s = T::alloc_shared({16, 24}, T::f32, "s");
      auto f = T::alloc_fragment({24, 16}, T::f32, "f");
      AT(T::copy(s, f));
    });
  };
  expect_refusal(build, "copy: [16, 24] elements of s do not fit [24, 16] elements of f");
}

TEST(RefusedCases, NegativeNumberOfThreads) {
  const auto build = [] {
    T::prim_func("threads", [] {
      errors::broken_line = __LINE__ + 1;
      auto [bx] = T::Kernel({T::Expr(1)}, {.threads = -1});
    });
  };
  expect_refusal(build, "a block has -1 threads, but 1 to 1024 are possible");
}

TEST(RefusedCases, OneSliceOfAMatrix) {
  const auto build = [] {
    T::prim_func("sliced", [] {
      auto A = T::tensor("A", {16, 16}, T::f32);
      auto [bx] = T::Kernel({T::Expr(1)});
      auto s = T::alloc_shared({8}, T::f32, "s");
      AT(T::copy(A(T::slice(0, 8)), s));
    });
  };
  expect_refusal(build, "copy: A has 2 dimensions but 1 subscripts are given");
}

}  // namespace
}  // namespace tilewright::tests
