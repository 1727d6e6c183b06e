// What an author's layout costs, counted: accesses of shared memory by the quickstart's product, whose operands lie as
// the author says.
#include "harness/machine.h"
#include "sim/tools.h"

#include <tilewright/check.h>
#include <tilewright/language.h>
#include <tilewright/plot.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

namespace tilewright::test {
namespace {

namespace T = tilewright::lang;

constexpr int64_t kSize = 256;

using Place = std::function<T::Layout(const T::Tile&)>;

// C = A B, the columns of A's tiles and the rows of B's 64 at a time.
Program product(const Place& place_a, const Place& place_b) {
  return T::prim_func("product", [&] {
    auto A = T::tensor("A", {kSize, kSize}, T::f16), B = T::tensor("B", {kSize, kSize}, T::f16);
    auto C = T::tensor("C", {kSize, kSize}, T::f16);
    auto [bx, by] = T::Kernel({2, 2}, {.threads = 128});
    auto a = T::alloc_shared({128, 64}, T::f16, "a"), b = T::alloc_shared({64, 128}, T::f16, "b");
    auto c = T::alloc_fragment({128, 128}, T::f32, "c");
    if (place_a) T::annotate_layout(a, place_a(a));
    if (place_b) T::annotate_layout(b, place_b(b));
    T::clear(c);
    for (auto ko : T::Pipelined(kSize / 64, {.num_stages = 2})) {
      T::copy(A(by * 128, ko * 64), a);
      T::copy(B(ko * 64, bx * 128), b);
      T::gemm(a, b, c);
    }
    T::copy(c, C(by * 128, bx * 128));
  });
}

struct Counted {
  Counters total;
  std::vector<uint16_t> result;
  std::vector<std::string> remarks;
};

// Small whole numbers as f16: what sums of them are does not depend on the order.
std::vector<uint16_t> numbers(uint32_t seed) {
  constexpr uint16_t kNumbers[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};  // -2 to 2
  std::vector<uint16_t> out(kSize * kSize);
  for (uint16_t& x : out) x = kNumbers[((seed = seed * 1664525 + 1013904223) >> 16) % 5];
  return out;
}

Counted counted(const Program& program) {
  std::vector<uint16_t> a = numbers(1), b = numbers(2);
  Counted out{.total = {}, .result = std::vector<uint16_t>(kSize * kSize), .remarks = {}};
  const auto view = [](std::vector<uint16_t>& v) { return TensorView{v.data(), DType::f16, {kSize, kSize}}; };
  const CheckResult result = check(program, {view(a), view(b), view(out.result)}, {.num_random = 0, .count = true});
  EXPECT_TRUE(result.ok()) << result.report();
  EXPECT_EQ(result.not_counted, "");
  out.total = result.total();
  const CompiledKernel kernel = compile(program, {.target = "sim:sm_80"});
  kernel(view(a), view(b), view(out.result));
  for (const Remark& remark : kernel.remarks()) out.remarks.push_back(remark.kind);
  return out;
}

class CountedLayout : public ::testing::Test {
 protected:
  void SetUp() override {
    TW_NEEDS(Tools::get().compiler.kind() == CompilerKind::gcc,
             "the host compiler is clang, which takes vectors apart before it reports accesses: nothing is counted");
  }
};

using Kinds = std::vector<std::string>;

TEST_F(CountedLayout, LinearOperandsConflictAndSwizzledOnesDoNot) {
  const Counted chosen = counted(product({}, {}));
  EXPECT_EQ(chosen.total.shared.excess(), 0);
  EXPECT_EQ(chosen.remarks, Kinds());

  const Place linear = [](const T::Tile& t) { return T::make_linear_layout(t); };
  const Place swizzled = [](const T::Tile& t) { return T::make_swizzled_layout(t); };
  const Counted in_rows = counted(product(linear, linear)), spread = counted(product(swizzled, swizzled));
  // Rows of 128 and 256 bytes: the eight rows of each matrix that ldmatrix reads begin in one bank.
  EXPECT_EQ(in_rows.total.shared.transactions - in_rows.total.shared.ideal, 7 * in_rows.total.shared.read_bytes / 128);
  EXPECT_EQ(in_rows.remarks, (Kinds{"bank_conflicts", "bank_conflicts"}));
  EXPECT_EQ(spread.total.shared.excess(), 0);
  EXPECT_EQ(spread.remarks, Kinds());
  EXPECT_EQ(in_rows.result, chosen.result);
  EXPECT_EQ(spread.result, chosen.result);
  EXPECT_EQ(in_rows.total.copied_bytes, chosen.total.copied_bytes);
}

// 16 bytes behind each row of 128 move the next one by four banks.
TEST_F(CountedLayout, PaddingSpreadsRows) {
  const Counted padded = counted(product([](const T::Tile& t) { return T::make_padded_layout(t, 8); },
                                         [](const T::Tile& t) { return T::make_padded_layout(t, 8); }));
  EXPECT_EQ(padded.total.shared.excess(), 0);
  EXPECT_EQ(padded.remarks, Kinds());
}

// Rows of 64 bytes and 16 behind: two rows are written at once, whose first and last pieces meet in one bank.
TEST_F(CountedLayout, WritesOfTwoRowsMeet) {
  const auto copied = [](const Place& place) {
    return T::prim_func("copied", [&] {
      auto A = T::tensor("A", {kSize, kSize}, T::f16), B = T::tensor("B", {kSize, kSize}, T::f16);
      auto C = T::tensor("C", {kSize, kSize}, T::f16);
      auto [bx] = T::Kernel({8}, {.threads = 128});
      auto s = T::alloc_shared({256, 32}, T::f16, "s");
      if (place) T::annotate_layout(s, place(s));
      T::copy(A(0, bx * 32), s);
      for (auto [i, j] : T::Parallel(256, 32)) C(i, bx * 32 + j) = s(i, j) + B(i, bx * 32 + j);
    });
  };
  const Counted rows = counted(copied({}));
  const Counted padded = counted(copied([](const T::Tile& t) { return T::make_padded_layout(t, 8); }));
  EXPECT_EQ(padded.result, rows.result);
  EXPECT_EQ(rows.remarks, Kinds());
  EXPECT_EQ(padded.remarks, (Kinds{"bank_conflicts"}));
  EXPECT_GT(padded.total.shared.excess(), rows.total.shared.excess());
}

// A narrower span leaves rows together that are four lines apart.
TEST_F(CountedLayout, HalfOfTheBanksIsTwoWays) {
  const Place half = [](const T::Tile&) {
    return T::Layout({128, 64}, [](int64_t i, int64_t j) { return 64 * i + (j ^ 8 * (i % 4)); });
  };
  const Counted r = counted(product(half, {}));
  EXPECT_EQ(r.remarks, (Kinds{"bank_conflicts"}));
  // Half of what is read is of A, at twice the time.
  EXPECT_EQ(r.total.shared.excess(), r.total.shared.read_bytes / 128 / 2);
}

TEST_F(CountedLayout, RowsThatAreNoPiecesAreSlowAndRight) {
  const Counted chosen = counted(product({}, {}));
  const Counted odd = counted(product([](const T::Tile& t) { return T::make_padded_layout(t, 1); }, {}));
  EXPECT_EQ(odd.result, chosen.result);
  EXPECT_EQ(odd.total.mma, 0);
  const auto has = [&](const char* kind) {
    return std::find(odd.remarks.begin(), odd.remarks.end(), kind) != odd.remarks.end();
  };
  EXPECT_TRUE(has("scalar_gemm"));
  EXPECT_TRUE(has("element_copy"));
  EXPECT_EQ(odd.total.copied_bytes.size(), 1u);  // B's, by 16 bytes
}

}  // namespace
}  // namespace tilewright::test
