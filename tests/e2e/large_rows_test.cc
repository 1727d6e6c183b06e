// Outputs that are larger than the caches, which kernels write past them, row by row: every element, and nothing
// around.
#include "runtime/cpu_features.h"

#include <tilewright/compile.h>
#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tilewright::tests {
namespace {

namespace T = tilewright::lang;

// Of f32: above three quarters of the last cache of most processors.
constexpr int64_t kElems = 9'000'000;
constexpr size_t kGuard = 64;

int32_t input(int64_t i) { return int32_t(i * 7919 % 1021) - 510; }

// Y = 2 X + 1 in blocks of block_cols columns, which are exact for these inputs in f32 and f16.
Program scaled(int64_t rows, int64_t width, int64_t block_cols, DType out) {
  constexpr int64_t kBlockRows = 23;
  return T::prim_func("scaled", [&] {
    auto X = T::tensor("X", {rows, width}, T::f32);
    auto Y = T::tensor("Y", {rows, width}, out);
    auto [bx, by] = T::Kernel({T::ceildiv(width, block_cols), T::ceildiv(rows, kBlockRows)});
    auto x = T::alloc_fragment({kBlockRows, block_cols}, T::f32);
    auto y = T::alloc_fragment({kBlockRows, block_cols}, out);
    T::copy(X(by * kBlockRows, bx * block_cols), x);
    for (auto [i, j] : T::Parallel(kBlockRows, block_cols)) y(i, j) = T::cast(x(i, j) * 2 + 1, out);
    T::copy(y, Y(by * kBlockRows, bx * block_cols));
  });
}

// The bits of a whole number below 2048 in magnitude, and odd.
uint32_t bits_of(int32_t number, DType dtype) {
  uint32_t bits = 0;
  const auto value = float(number);
  std::memcpy(&bits, &value, sizeof(bits));
  if (dtype == T::f32) return bits;
  return (bits >> 16 & 0x8000u) | (((bits >> 23 & 0xffu) - 112u) << 10) | (bits >> 13 & 0x3ffu);
}

template <class Element>
void check(int64_t width, int64_t block_cols, DType out, const std::string& target) {
  const int64_t rows = kElems * 4 / int64_t(sizeof(Element)) / width, count = rows * width;
  std::vector<float> x(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) x[size_t(i)] = float(input(i));
  // Where a vector begins is not where a line does.
  std::vector<Element> y(size_t(count) + 2 * kGuard, Element(0x5a));
  const TensorView in{.data = x.data(), .dtype = T::f32, .shape = {rows, width}};
  const TensorView result{.data = y.data() + kGuard, .dtype = out, .shape = {rows, width}};
  const std::vector<Argument> arguments = {in, result};
  compile(scaled(rows, width, block_cols, out), {.target = target, .num_threads = 2}).run(arguments);
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; ++i) wrong += y[size_t(i) + kGuard] != Element(bits_of(2 * input(i) + 1, out));
  for (size_t i = 0; i < kGuard; ++i) wrong += (y[i] != Element(0x5a)) + (y[y.size() - 1 - i] != Element(0x5a));
  EXPECT_EQ(wrong, 0) << width << " in " << block_cols << " " << target;
}

TEST(LargeRows, EveryElementIsWritten) {
  const CpuLevel best = probe_cpu().level;
  for (const std::string target : {"cpu", "cpu:avx2", "cpu:x86-64"}) {
    if (target != "cpu" && (best == CpuLevel::generic || cpu_level_from_string(target.substr(4)).value() > best))
      continue;
    check<uint32_t>(96, 96, T::f32, target);
    check<uint32_t>(211, 211, T::f32, target);
    check<uint32_t>(1000, 300, T::f32, target);  // rows apart, a last block that is narrower
    check<uint16_t>(134, 134, T::f16, target);
  }
}

TEST(LargeRows, RowsOfAnOddNumberOfHalves) { check<uint16_t>(207, 207, T::f16, "cpu"); }

}  // namespace
}  // namespace tilewright::tests
