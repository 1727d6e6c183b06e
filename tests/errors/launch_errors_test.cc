// Launches that cannot be: one rule each, with its message.
#include "refusal.h"

#include <tilewright/compile.h>

#include <vector>

namespace errors {

using namespace tilewright;

TEST(LaunchErrors, GridTooLarge) {
  const Program program = T::prim_func("wide", [] {
    auto A = T::tensor("A", {4}, T::f32);
    auto n = T::scalar("n", T::i64);
    auto [bx, by] = T::Kernel({n, n});
    A(bx) = 1;
  });
  std::vector<float> a(4);
  const TensorView view{.data = a.data(), .dtype = DType::f32, .shape = {4}};
  const CompiledKernel kernel = compile(program, {.target = "cpu", .optimize = 0});
  EXPECT_NO_THROW(kernel.bind(view, int64_t(0)));
  EXPECT_NO_THROW(kernel.bind(view, int64_t(-5)));
  const Refusal r = refusal_of([&] { kernel.bind(view, int64_t(1) << 40); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_argument);
  EXPECT_EQ(r.message, "the grid of wide has 1099511627776 x 1099511627776 blocks, more than 2^63");
  EXPECT_FALSE(r.hint.empty());
}

TEST(LaunchErrors, TilesLargerThanMemory) {
  const Program program = T::prim_func("vast", [] {
    auto A = T::tensor("A", {4}, T::f32);
    auto [bx] = T::Kernel({T::Expr(1)});
    auto s = T::alloc_shared({1 << 25, 1 << 25}, T::f32, "s");
    T::clear(s);
    A(0) = s(1, 1);
  });
  std::vector<float> a(4);
  const TensorView view{.data = a.data(), .dtype = DType::f32, .shape = {4}};
  const Refusal r = refusal_of([&] { compile(program, {.target = "cpu", .optimize = 0}).bind(view); });
  EXPECT_EQ(r.kind, ErrorKind::invalid_kernel);
  EXPECT_EQ(r.message.find(
                "the on-chip tiles of vast need 4503601774854080 bytes for each of 1 threads, but this machine has "),
            0u)
      << r.report;
  EXPECT_FALSE(r.hint.empty());
}

}  // namespace errors
