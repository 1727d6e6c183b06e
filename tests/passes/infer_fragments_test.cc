// Who holds what: products fix their accumulators, loops pass fragments on, and what cannot be shared moves to shared
// memory, which a remark says.
#include "ir/print.h"
#include "passes/cuda_passes.h"

#include <tilewright/language.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace tilewright::passes {
namespace {

namespace T = tilewright::lang;

struct Inferred {
  ir::Program program;
  std::vector<Remark> remarks;

  const ir::Tile& tile(std::string_view name) const {
    for (const ir::Tile& t : program.kernels[0].tiles) {
      if (t.name == name) return t;
    }
    ADD_FAILURE() << "no tile " << name;
    return program.kernels[0].tiles[0];
  }
};

Inferred inferred(const std::function<void()>& body, const CudaTarget& target = {.sm = 80}, int threads = 128) {
  const Program program = T::prim_func("p", [&] {
    auto blocks = T::Kernel({1}, {.threads = threads});
    body();
  });
  Inferred out;
  out.program = infer_fragments(expand_unselected(program.ir(), target, out.remarks), target, out.remarks);
  return out;
}

void product(const T::Tile& c) {
  auto a = T::alloc_shared({64, 32}, T::f16, "a"), b = T::alloc_shared({32, 64}, T::f16, "b");
  T::clear(a);
  T::clear(b);
  T::gemm(a, b, c);
}

TEST(InferFragments, AProductFixesItsAccumulator) {
  const Inferred r = inferred([] {
    auto c = T::alloc_fragment({64, 64}, T::f32, "c");
    T::clear(c);
    product(c);
  });
  EXPECT_EQ(r.tile("c").fragment, layout::mma_accumulator(64, 64, 2, 2));
  EXPECT_TRUE(r.remarks.empty());
}

TEST(InferFragments, LoopsPassFragmentsOn) {
  const Inferred r = inferred([] {
    auto c = T::alloc_fragment({64, 64}, T::f32, "c"), d = T::alloc_fragment({64, 64}, T::f16, "d");
    auto row = T::alloc_fragment({64}, T::f32, "row"), turned = T::alloc_fragment({64, 64}, T::f32, "turned");
    T::clear(c);
    product(c);
    T::clear(row);
    for (auto [i, j] : T::Parallel(64, 64)) d(i, j) = T::cast(c(i, j) + row(i), T::f16);
    for (auto [i, j] : T::Parallel(64, 64)) turned(j, i) = c(i, j);
  });
  const layout::Fragment c = layout::mma_accumulator(64, 64, 2, 2);
  EXPECT_EQ(r.tile("d").fragment, c);
  // Each thread holds the rows of its elements: the same element without its column.
  const layout::Fragment &row = *r.tile("row").fragment, &turned = *r.tile("turned").fragment;
  EXPECT_TRUE(layout::is_complete(row));
  for (int64_t t = 0; t < 128; ++t) {
    std::set<int64_t> rows, have;
    for (int64_t reg = 0; reg < c.num_regs(); ++reg) {
      const std::vector<int64_t> at = *c.coordinates(t, reg);
      rows.insert(at[0]);
      EXPECT_EQ(turned.coordinates(t, reg), (std::vector<int64_t>{at[1], at[0]}));
    }
    for (int64_t reg = 0; reg < row.num_regs(); ++reg) have.insert((*row.coordinates(t, reg))[0]);
    EXPECT_EQ(have, rows) << t;
  }
  EXPECT_TRUE(r.remarks.empty());
}

TEST(InferFragments, WhatNothingReachesIsDealtOutInVectors) {
  const Inferred r = inferred([] {
    auto x = T::alloc_fragment({32, 64}, T::f16, "x"), y = T::alloc_fragment({13, 19}, T::f32, "y");
    T::clear(x);
    T::clear(y);
  });
  const std::vector<int64_t> whole = {32, 64}, odd = {13, 19};
  EXPECT_EQ(r.tile("x").fragment, layout::flat(whole, 128, 8));  // 16 bytes
  EXPECT_EQ(r.tile("y").fragment, layout::flat(odd, 128, 1));
}

void expect_moved(const Inferred& r, std::string_view tile, std::string_view why) {
  EXPECT_EQ(r.tile(tile).space, ir::Space::shared);
  ASSERT_EQ(r.remarks.size(), 1u);
  EXPECT_EQ(r.remarks[0].kind, "fragment_in_shared");
  EXPECT_TRUE(r.remarks[0].text.starts_with(std::string(tile) + " is kept in shared memory")) << r.remarks[0].text;
  EXPECT_NE(r.remarks[0].text.find(why), std::string::npos) << r.remarks[0].text;
  EXPECT_TRUE(r.remarks[0].loc.known());
}

TEST(InferFragments, SingleElementsAreInSharedMemory) {
  expect_moved(inferred([] {
                 auto c = T::alloc_fragment({64, 64}, T::f32, "c");
                 T::clear(c);
                 c(3, 4) = 1;
               }),
               "c", "one element at a time");
}

TEST(InferFragments, PartsAndOffsetsAreInSharedMemory) {
  expect_moved(inferred([] {
                 auto c = T::alloc_fragment({64}, T::f32, "c");
                 T::clear(c);
                 for (auto i : T::Parallel(32)) c(i + 1) = 1;
               }),
               "c", "does not index it by its own variables");
}

TEST(InferFragments, TwoUsesInDifferentThreads) {
  const Inferred r = inferred([] {
    auto c = T::alloc_fragment({64, 64}, T::f32, "c"), turned = T::alloc_fragment({64, 64}, T::f32, "turned");
    T::clear(c);
    product(c);
    for (auto [i, j] : T::Parallel(64, 64)) turned(j, i) = c(i, j);
    for (auto [i, j] : T::Parallel(64, 64)) turned(i, j) = turned(i, j) + c(i, j);
  });
  ASSERT_EQ(r.remarks.size(), 1u);
  EXPECT_NE(r.remarks[0].text.find("different threads"), std::string::npos) << r.remarks[0].text;
}

TEST(InferFragments, OperandsOfAProductComeFromSharedMemory) {
  const Inferred r = inferred([] {
    auto a = T::alloc_fragment({64, 32}, T::f16, "a");
    auto b = T::alloc_shared({32, 64}, T::f16, "b");
    auto c = T::alloc_fragment({64, 64}, T::f32, "c");
    T::clear(a);
    T::clear(b);
    T::clear(c);
    T::gemm(a, b, c);
  });
  expect_moved(r, "a", "reads it from memory");
  EXPECT_EQ(r.tile("c").fragment, layout::mma_accumulator(64, 64, 2, 2));
}

TEST(InferFragments, TheLargestLeavesWhenRegistersEnd) {
  const Inferred r = inferred([] {
    auto big = T::alloc_fragment({128, 128}, T::f32, "big"), small = T::alloc_fragment({64, 128}, T::f64, "small");
    T::clear(big);
    T::clear(small);
  });
  expect_moved(r, "big", "256 registers");
  EXPECT_TRUE(r.tile("small").fragment.has_value());
}

TEST(InferFragments, WithoutTensorCoresEveryTileIsDealtOutOrShared) {
  const Inferred r = inferred(
      [] {
        auto c = T::alloc_fragment({64, 64}, T::f32, "c");
        T::clear(c);
        product(c);
      },
      {.sm = 75});
  const ir::Tile& c = r.tile("c");
  EXPECT_TRUE(c.space == ir::Space::shared || c.fragment.has_value());
  EXPECT_EQ(ir::print(r.program).find("gemm("), std::string::npos);  // its expansion
}

}  // namespace
}  // namespace tilewright::passes
