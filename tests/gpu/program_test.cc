// Programs of the language on the machine's GPU, launched as an application launches them.
#include "gpu/gpu_test.h"
#include "gpu/graph_calls.h"
#include "gpu/number_formats.h"

#include <tilewright/compile.h>
#include <tilewright/error.h>
#include <tilewright/language.h>

#include <cmath>
#include <random>

namespace tilewright::test {
namespace {

namespace T = tilewright::lang;

// x [n] = 2 x + 3, by 4 blocks.
Program doubled(int64_t n) {
  return T::prim_func("doubled", [&] {
    auto x = T::tensor("x", {n}, T::i32);
    auto [bx] = T::Kernel({T::Expr(4)}, {.threads = 64});
    for (auto i : T::Parallel(n / 4)) x(bx * (n / 4) + i) = x(bx * (n / 4) + i) * 2 + 3;
  });
}

TensorView on_gpu(cuda::DeviceAddress address, DType dtype, std::vector<int64_t> shape) {
  return {.data = reinterpret_cast<void*>(uintptr_t(address)),
          .dtype = dtype,
          .shape = std::move(shape),
          .device = DeviceKind::cuda};
}

class ProgramTest : public GpuTest {
 protected:
  static constexpr int64_t kCount = 1024;

  void SetUp() override {
    GpuTest::SetUp();
    if (!machine().device) GTEST_SKIP() << machine().why_not;
  }
};

// A kernel that waits for its turn in the stream: what is in front of it there takes a while and makes its input.
TEST_F(ProgramTest, WorkGoesToTheCallersStream) {
  const auto loaded = module(R"(
extern "C" __global__ void fill(int* x, long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  x[threadIdx.x] = threadIdx.x;
})");
  TW_SKIP_WITHOUT(loaded);
  const cuda::Kernel fill = loaded->kernel("fill");
  const CompiledKernel kernel = compile(doubled(kCount), {.target = "cuda"});
  const cuda::OwnedStream stream(machine().device);  // does not wait for the default stream, nor that for it
  const auto x = array(std::vector<int>(kCount, -1));
  const Launch bound = kernel.bind(on_gpu(x.address(), DType::i32, {kCount}));
  launch(fill, {.block = {kCount, 1, 1}, .stream = stream.get()}, x, (long long)(20'000'000));
  bound({.stream = stream.get()});
  bound({.stream = stream.get()});
  stream.synchronize();
  const std::vector<int> got = x.read();
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(got[size_t(i)], (i * 2 + 3) * 2 + 3) << i;
}

TEST_F(ProgramTest, WorkIsCapturedIntoAGraph) {
  const GraphCalls graphs(*machine().driver);
  const CompiledKernel kernel = compile(doubled(kCount), {.target = "cuda"});
  const cuda::CurrentContext current(*machine().device);
  const cuda::OwnedStream stream(machine().device);
  std::vector<int> host(kCount, 1);
  const auto x = array(host);
  const Launch bound = kernel.bind(on_gpu(x.address(), DType::i32, {kCount}));
  const Launch copied = kernel.bind(TensorView{.data = host.data(), .dtype = DType::i32, .shape = {kCount}});

  ASSERT_EQ(graphs.begin_capture(stream.get(), 0 /* global */), 0);
  bound({.stream = stream.get()});
  bound({.stream = stream.get()});
  try {
    copied({.stream = stream.get()});
    ADD_FAILURE() << "a graph took the copy of a host tensor";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "1 tensors of a launch lie in host memory, but its stream is being captured");
  }
  void *graph = nullptr, *executable = nullptr;
  ASSERT_EQ(graphs.end_capture(stream.get(), &graph), 0);
  EXPECT_EQ(x.read()[0], 1) << "captured, not run";
  ASSERT_EQ(graphs.instantiate(&executable, graph, 0), 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(graphs.launch(executable, stream.get()), 0);
  stream.synchronize();
  int want = 1;
  for (int i = 0; i < 6; ++i) want = want * 2 + 3;
  EXPECT_EQ(x.read(), std::vector<int>(kCount, want));

  copied({.stream = stream.get()});  // outside a capture the result is there when the call returns
  EXPECT_EQ(host, std::vector<int>(kCount, 5));
}

// C [m, 96] f32 = A [m, 72] f16 B [72, 96] f16, where the launch gives m.
Program product_of_any_height() {
  return T::prim_func("product", [] {
    auto m = T::dynamic("m");
    auto A = T::tensor("A", {m, 72}, T::f16);
    auto B = T::tensor("B", {72, 96}, T::f16);
    auto C = T::tensor("C", {m, 96}, T::f32);
    auto [bx, by] = T::Kernel({T::ceildiv(96, 64), T::ceildiv(m, 64)}, {.threads = 128});
    auto a = T::alloc_shared({64, 32}, T::f16);
    auto b = T::alloc_shared({32, 64}, T::f16);
    auto c = T::alloc_fragment({64, 64}, T::f32);
    T::clear(c);
    for (auto ko : T::Pipelined(T::ceildiv(72, 32), {.num_stages = 3})) {
      T::copy(A(by * 64, ko * 32), a);
      T::copy(B(ko * 32, bx * 64), b);
      T::gemm(a, b, c);
    }
    T::copy(c, C(by * 64, bx * 64));
  });
}

std::vector<uint16_t> random_halves(int64_t n, std::mt19937& engine) {
  std::vector<uint16_t> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(uint16_t((engine() & 0x83ff) | ((12 + engine() % 4) << 10)));
  return out;
}
std::vector<double> values_of(const std::vector<uint16_t>& bits) {
  std::vector<double> out;
  for (const uint16_t b : bits) out.push_back(decode(kF16, b));
  return out;
}

// Extents 0, 1, one below two blocks, one beyond 64 blocks, by one compilation.
TEST_F(ProgramTest, OneKernelForAnyHeight) {
  constexpr int64_t n = 96, k = 72;
  const CompiledKernel kernel = compile(product_of_any_height(), {.target = "cuda"});
  std::mt19937 engine(7);
  for (const int64_t m : {0, 1, 127, 4097}) {
    const std::vector<uint16_t> a = random_halves(m * k, engine), b = random_halves(k * n, engine);
    const std::vector<double> x = values_of(a), y = values_of(b);
    const auto A = array(a), B = array(b);
    const auto C = array(std::vector<float>(size_t((m + 1) * n), -7));
    kernel(on_gpu(A.address(), DType::f16, {m, k}), on_gpu(B.address(), DType::f16, {k, n}),
           on_gpu(C.address(), DType::f32, {m, n}));
    const std::vector<float> got = C.read();
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitudes = 0;
        for (int64_t l = 0; l < k; ++l) {
          const double product = x[size_t(i * k + l)] * y[size_t(l * n + j)];
          sum += product, magnitudes += std::fabs(product);
        }
        const double bound = (k + 2) * std::ldexp(1, -23) * magnitudes + std::ldexp(1, -24) * std::fabs(sum);
        ASSERT_NEAR(got[size_t(i * n + j)], sum, bound) << "m " << m << " at " << i << ", " << j;
      }
    }
    for (int64_t j = 0; j < n; ++j) ASSERT_EQ(got[size_t(m * n + j)], -7) << "behind the last row of " << m;
  }
}

}  // namespace
}  // namespace tilewright::test
