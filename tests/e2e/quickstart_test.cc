// The quickstart kernel on ragged shapes, dtypes and tiles, and pairs of programs that must agree.
#include "../../examples/matmul_relu.h"
#include "ops/numbers.h"
#include "ops/op_table.h"
#include "harness/two_threads.h"

#include <tilewright/compile.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

namespace tilewright::tests {
namespace {

struct Problem {
  int64_t m, n, k;
};

struct Tiling {
  int block_m, block_n, block_k;
};

Args inputs(const Problem& p, DType dtype) {
  return {HostArray(dtype, {p.m, p.k}).fill_random(1, -1, 1), HostArray(dtype, {p.k, p.n}).fill_random(2, -1, 1),
          HostArray(dtype, {p.m, p.n}).fill_random(3, 5, 6)};
}

// relu(A B) with the bound of a product: (k + 2) u_f32 (|A||B|) + u_out |r| + half the smallest number.
Expected product_relu(const Args& args) {
  const HostArray &A = array(args, 0), &B = array(args, 1);
  const std::vector<Real> a = A.values(), b = B.values();
  const auto m = static_cast<size_t>(A.shape()[0]), k = static_cast<size_t>(A.shape()[1]),
             n = static_cast<size_t>(B.shape()[1]);
  const DType out = array(args, 2).dtype();
  Expected expected{.value = std::vector<Real>(m * n), .bound = std::vector<Real>(m * n)};
  // Elements have at most 24 significant bits, so a product is exact in double and the sums err by k 2^-53: 2^-29 of
  // the bound.
  std::vector<double> b_row(b.begin(), b.end()), sum(n), magnitude(n);
  for (size_t i = 0; i < m; ++i) {
    sum.assign(n, 0);
    magnitude.assign(n, 0);
    for (size_t p = 0; p < k; ++p) {
      const auto x = static_cast<double>(a[i * k + p]);
      for (size_t j = 0; j < n; ++j) {
        const double term = x * b_row[p * n + j];
        sum[j] += term;
        magnitude[j] += std::fabs(term);
      }
    }
    for (size_t j = 0; j < n; ++j) {
      const Real r = std::max(sum[j], 0.0), narrow = out == T::f32 ? Real(0) : unit_of(out) * r;
      expected.value[i * n + j] = r;
      expected.bound[i * n + j] =
          static_cast<Real>(k + 2) * unit_of(T::f32) * static_cast<Real>(magnitude[j]) + narrow + subnormal_of(out) / 2;
    }
  }
  return expected;
}

// Runs jobs on two threads and fails the test with what they return.
void run_all(const std::vector<std::function<std::string()>>& jobs) {
  std::mutex mutex;
  std::vector<std::string> failures;
  testing::for_each_on_two_threads(jobs.size(), [&](size_t i) {
    std::string text;
    try {
      text = jobs[i]();
    } catch (const std::exception& e) {
      text = e.what();
    }
    const std::lock_guard lock(mutex);
    if (!text.empty()) failures.push_back(fmt::format("job {}: {}", i, text));
  });
  for (const std::string& text : failures) ADD_FAILURE() << text;
}

// One job: the problem on every runner, against one reference.
void add_problem(std::vector<std::function<std::string()>>& jobs, Problem p, DType dtype, Tiling t) {
  jobs.push_back([=]() -> std::string {
    const Args args = inputs(p, dtype);
    const Expected expected = product_relu(args);
    const Program program = examples::matmul_relu(p.m, p.n, p.k, t.block_m, t.block_n, t.block_k, dtype);
    for (const std::string& runner : all_runners()) {
      // The interpreter would take minutes for a large product.
      if (runner == "interpreter" && p.m * p.n * p.k > 10'000'000) continue;
      const Args after = run_on(runner, program, args);
      std::string text = difference(array(after, 2), expected);
      if (!array(after, 2).surroundings_intact()) text += " wrote outside the tensor";
      if (text.empty()) continue;
      return fmt::format("[{}] {}x{}x{} {} tile {}x{}x{}: {}", runner, p.m, p.n, p.k, to_string(dtype), t.block_m,
                         t.block_n, t.block_k, text);
    }
    return {};
  });
}

TEST(Quickstart, Shapes) {
  std::vector<std::function<std::string()>> jobs;
  for (const DType dtype : {T::f32, T::f16, T::bf16}) {
    add_problem(jobs, {1000, 1000, 1000}, dtype, {128, 128, 32});
    for (const Problem p : {Problem{1, 37, 500}, {129, 65, 33}, {0, 5, 5}, {5, 0, 5}, {5, 5, 0}})
      add_problem(jobs, p, dtype, {128, 128, 32});
    add_problem(jobs, {129, 65, 33}, dtype, {48, 80, 24});
    add_problem(jobs, {1, 37, 500}, dtype, {48, 80, 24});
  }
  for (const Tiling t : {Tiling{1, 1, 1}, {7, 13, 5}, {33, 100, 17}, {64, 256, 64}})
    add_problem(jobs, {70, 61, 50}, T::f16, t);
  run_all(jobs);
}

// The quickstart kernel with everything that must not matter as a parameter.
struct Variant {
  Tiling tile = {32, 48, 16};
  int num_stages = 2;
  int threads = 128;
  int panel_size = 4;
  bool slices = false;  // copies name ranges instead of head addresses, gemm names slices
  int64_t padding = 0;  // elements between the rows of A and B
};

constexpr Problem kProblem = {65, 70, 53};

T::Program build(const Variant& v, DType dtype) {
  return T::prim_func("variant", [&] {
    const auto [m, n, k] = kProblem;
    const auto [bm, bn, bk] = v.tile;
    auto A = T::tensor("A", {m, k}, dtype, {.strides = {k + v.padding, 1}});
    auto B = T::tensor("B", {k, n}, dtype, {.strides = {n + v.padding, 1}});
    auto C = T::tensor("C", {m, n}, T::f32);
    auto [bx, by] = T::Kernel({T::ceildiv(n, bn), T::ceildiv(m, bm)}, {.threads = v.threads});
    auto a = T::alloc_shared({bm, bk}, dtype);
    auto b = T::alloc_shared({bk, bn}, dtype);
    auto c = T::alloc_fragment({bm, bn}, T::f32);
    T::use_swizzle(v.panel_size);
    T::clear(c);
    for (auto ko : T::Pipelined(T::ceildiv(k, bk), {.num_stages = v.num_stages})) {
      if (v.slices) {
        T::copy(A(T::slice(by * bm, by * bm + bm), T::slice(ko * bk, ko * bk + bk)), a(T::slice(0, bm), T::all));
        T::copy(B(T::slice(ko * bk, ko * bk + bk), T::slice(bx * bn, bx * bn + bn)), b(T::all, T::slice(0, bn)));
        T::gemm(a(T::slice(0, bm), T::all), b(T::all, T::slice(0, bn)), c(T::all, T::all));
      } else {
        T::copy(A(by * bm, ko * bk), a);
        T::copy(B(ko * bk, bx * bn), b);
        T::gemm(a, b, c);
      }
    }
    for (auto [i, j] : T::Parallel(bm, bn)) c(i, j) = T::max(c(i, j), 0);
    T::copy(c, C(by * bm, bx * bn));
  });
}

Args variant_inputs(const Variant& v, DType dtype) {
  const auto [m, n, k] = kProblem;
  return {HostArray(dtype, {m, k}, {k + v.padding, 1}).fill_random(1, -1, 1),
          HostArray(dtype, {k, n}, {n + v.padding, 1}).fill_random(2, -1, 1), HostArray(T::f32, {m, n})};
}

// `other` against the plain variant: within the bound, and the same bits where the order of additions is the same.
void add_pair(std::vector<std::function<std::string()>>& jobs, const std::string& name, Variant plain, Variant other,
              bool same_bits) {
  for (const std::string& runner : all_runners()) {
    jobs.push_back([=] {
      const DType dtype = T::f16;
      const Args first = run_on(runner, build(plain, dtype), variant_inputs(plain, dtype));
      const Args second = run_on(runner, build(other, dtype), variant_inputs(other, dtype));
      Expected expected = product_relu(variant_inputs(plain, dtype));
      std::string text = difference(array(first, 2), expected) + difference(array(second, 2), expected);
      if (same_bits) {
        expected = {.value = array(first, 2).values(), .bound = std::vector<Real>(expected.bound.size(), 0)};
        text += difference(array(second, 2), expected);
      }
      return text.empty() ? text : fmt::format("[{}] {}: {}", runner, name, text);
    });
  }
}

TEST(Quickstart, PairsAgree) {
  std::vector<std::function<std::string()>> jobs;
  const Variant plain{};
  for (const int stages : {0, 1, 3, 4}) {
    Variant v = plain;
    v.num_stages = stages;
    add_pair(jobs, fmt::format("num_stages {}", stages), plain, v, true);
  }
  for (const int threads : {32, 64, 96, 256, 512}) {
    Variant v = plain;
    v.threads = threads;
    add_pair(jobs, fmt::format("threads {}", threads), plain, v, false);
  }
  for (const Tiling tile : {Tiling{24, 48, 16}, {40, 48, 16}, {32, 40, 16}, {32, 56, 16}, {32, 48, 8}, {32, 48, 24}}) {
    Variant v = plain;
    v.tile = tile;
    add_pair(jobs, fmt::format("tile {}x{}x{}", tile.block_m, tile.block_n, tile.block_k), plain, v, false);
  }
  Variant panel = plain, sliced = plain, padded = plain;
  panel.panel_size = 1;
  sliced.slices = true;
  padded.padding = 11;
  add_pair(jobs, "panel", plain, panel, true);
  add_pair(jobs, "sliced", plain, sliced, true);
  add_pair(jobs, "padded", plain, padded, true);
  run_all(jobs);
}

TEST(Quickstart, SameResultForAnyNumberOfHostThreads) {
  const Program program = examples::matmul_relu(129, 65, 33, 48, 80, 24, T::f16);
  Args args = inputs({129, 65, 33}, T::f16);
  std::vector<Real> first;
  for (const int num_threads : {1, 2, 5}) {
    const CompiledKernel kernel = compile(program, {.target = "cpu", .num_threads = num_threads});
    std::vector<Argument> views;
    for (Arg& arg : args) views.emplace_back(std::get<HostArray>(arg).view());
    kernel.run(views);
    if (first.empty()) first = array(args, 2).values();
    EXPECT_EQ(first, array(args, 2).values()) << num_threads;
  }
}

}  // namespace
}  // namespace tilewright::tests
