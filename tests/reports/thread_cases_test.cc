// Any number of whole warps runs any kernel: a product, a reduction and loops, at extents that fit none of them.
#include "reports/cases.h"

#include <algorithm>

namespace tilewright::tests {
namespace {

constexpr int64_t kM = 67, kN = 101, kK = 72;

// C = max(A B, 0) and the sums of its rows.
Program product(int threads) {
  return T::prim_func("threads", [&] {
    auto A = T::tensor("A", {kM, kK}, T::f16);
    auto B = T::tensor("B", {kK, kN}, T::f16);
    auto C = T::tensor("C", {kM, kN}, T::f32);
    auto R = T::tensor("R", {kM, 2}, T::f32);
    auto [bx, by] = T::Kernel({T::ceildiv(kN, 64), T::ceildiv(kM, 64)}, {.threads = threads});
    auto a = T::alloc_shared({64, 32}, T::f16), b = T::alloc_shared({32, 64}, T::f16);
    auto c = T::alloc_fragment({64, 64}, T::f32);
    auto sum = T::alloc_fragment({64}, T::f32);
    T::clear(c);
    for (auto k : T::Pipelined(T::ceildiv(kK, 32), {.num_stages = 3})) {
      T::copy(A(by * 64, k * 32), a);
      T::copy(B(k * 32, bx * 64), b);
      T::gemm(a, b, c);
    }
    for (auto [i, j] : T::Parallel(64, 64)) c(i, j) = T::max(c(i, j), 0);
    T::reduce_sum(c, sum, {.dim = 1});
    T::copy(c, C(by * 64, bx * 64));
    for (auto i : T::Parallel(64)) R(by * 64 + i, bx) = sum(i);
  });
}

TEST(ThreadCases, EveryNumberOfWarps) {
  HostArray a(T::f16, {kM, kK}), b(T::f16, {kK, kN});
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, Real(i * 7 % 11 - 5));
  for (int64_t i = 0; i < b.size(); ++i) b.set(i, Real(i * 5 % 7 - 3));
  const Args args = {a, b, HostArray(T::f32, {kM, kN}), HostArray(T::f32, {kM, 2})};
  Expected c = exactly(array(args, 2)), r = exactly(array(args, 3));  // small whole numbers
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      Real sum = 0;
      for (int64_t k = 0; k < kK; ++k) sum += a.get(i * kK + k) * b.get(k * kN + j);
      sum = std::max(sum, Real(0));
      c.value[size_t(i * kN + j)] = sum;
      r.value[size_t(i * 2 + j / 64)] += sum;
    }
  }
  for (int threads = 32; threads <= 1024; threads += 32) {
    std::vector<std::string> targets = testing::with_gpu({});
    for (const int simulated : {32, 96, 352, 992, 1024}) {
      if (threads == simulated) targets.push_back(kSimulatedGpus[0]);
    }
    for (const std::string& target : targets) {
      const Args after = run_on(target, product(threads), args);
      EXPECT_EQ(difference(array(after, 2), c), "") << threads << " threads on " << target;
      EXPECT_EQ(difference(array(after, 3), r), "") << threads << " threads on " << target;
    }
  }
}

}  // namespace
}  // namespace tilewright::tests
