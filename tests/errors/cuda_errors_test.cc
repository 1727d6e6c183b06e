// What CUDA code does in another way, and says so.
#include <tilewright/compile.h>

#include "refusal.h"

namespace errors {

namespace {

template <class F>
tilewright::Program program_of(F body) {
  return T::prim_func("wrong", [&] {
    auto A = T::tensor("A", {64, 64}, T::f32);
    auto B = T::tensor("B", {64}, T::i32);
    auto [bx] = T::Kernel({T::Expr(4)});
    body(A, B);
  });
}

}  // namespace

TEST(CudaErrors, AssumptionsAreChecked) {
  const tilewright::Program program = program_of([](auto A, auto B) {
    T::assume(B(0) < 64);
    A(T::cast(B(0), T::i64), 0) = 1;
  });
  const std::string source = tilewright::compile(program, {.target = "cuda:sm_80"}).get_kernel_source();
  EXPECT_NE(source.find("return tw::fail(failure, 1);"), std::string::npos) << source;
}

// The text of views: other names for the memory of the tile, which takes its place once.
TEST(CudaErrors, ViewsAreNotRefused) {
  const tilewright::Program program = program_of([](auto A, auto B) {
    auto s = T::alloc_shared({64}, T::f32, "s");
    auto f = T::alloc_fragment({64}, T::f32, "f");
    auto bits = T::view(s, T::i32);
    auto square = T::reshape(f, {8, 8});
    T::copy(A(0, 0), s);
    T::copy(s, f);
    for (auto i : T::Parallel(64)) B(i) = bits(i) + T::cast(square(i / 8, i % 8), T::i32);
  });
  const tilewright::CompiledKernel kernel = tilewright::compile(program, {.target = "cuda:sm_80"});
  const std::string source = kernel.get_kernel_source();
  EXPECT_NE(source.find("tw::i32* const s_view_2 = reinterpret_cast<tw::i32*>(s);"), std::string::npos) << source;
  EXPECT_NE(source.find("float* const f_view_3 = reinterpret_cast<float*>(f);"), std::string::npos) << source;
  bool told = false;
  for (const tilewright::Remark& remark : kernel.remarks()) told |= remark.kind == "fragment_in_shared";
  EXPECT_TRUE(told);
}

}  // namespace errors
