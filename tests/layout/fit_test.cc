// From functions to layouts and fragments: whatever is made of modes is found again, whatever is not is refused.
#include "layout/algebra.h"
#include "layout/fit.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tilewright::layout {
namespace {

std::optional<Layout> refitted(const Layout& l) {
  return fit_layout(l.shape(), [&](std::span<const int64_t> at) { return l(at); });
}

// Equal on every element; the modes may be others.
void expect_found(const Layout& l) {
  const std::optional<Layout> found = refitted(l);
  ASSERT_TRUE(found) << to_string(l);
  EXPECT_EQ(found->shape(), l.shape()) << to_string(l);
  EXPECT_TRUE(same_function(*found, l)) << to_string(l) << " as " << to_string(*found);
}

TEST(FitLayout, SmallLayoutsOfAllKinds) {
  const int64_t extents[] = {0, 1, 2, 3, 5, 6}, strides[] = {0, 1, 2, 3, 7, 12};
  for (const int64_t e0 : extents) {
    for (const int64_t e1 : extents) {
      for (const int64_t s0 : strides) {
        for (const int64_t s1 : strides) {
          expect_found(Layout({{{e0, s0}}, {{e1, s1}}}));
          expect_found(Layout({{{e0, s0}, {e1, s1}}, {{2, 31}}}));
        }
      }
    }
  }
}

TEST(FitLayout, Swizzles) {
  for (int bits = 1; bits <= 3; ++bits) {
    for (int base = 0; base <= 3; ++base) {
      for (int shift = bits; shift <= 4; ++shift) {
        const Swizzle swizzle{.bits = bits, .base = base, .shift = shift};
        expect_found(Layout({{{16, 32}}, {{32, 1}}}, swizzle));
        expect_found(Layout({{{12, 64}}, {{64, 1}, {2, 768}}}, swizzle));
        expect_found(Layout({{{7, 8}}, {{4, 1}, {2, 56}}}, swizzle));
      }
    }
  }
  EXPECT_EQ(to_string(*refitted(parse("(128,32):(32,1)^(2,3,3)"))), "(128,32):(32,1)^(2,3,3)");
}

TEST(FitLayout, OthersAreNotFound) {
  const auto found = [](std::vector<int64_t> extents, const OffsetFunction& f) {
    return fit_layout(extents, f).has_value();
  };
  EXPECT_FALSE(found({4}, [](auto at) { return at[0] + 1; }));
  EXPECT_FALSE(found({4}, [](auto at) { return at[0] * at[0]; }));
  EXPECT_FALSE(found({4, 4}, [](auto at) { return at[0] * at[1]; }));
  EXPECT_FALSE(found({5}, [](auto at) { return at[0] < 4 ? at[0] : 9; }));
  // Rotation by the row is no exchange of bits.
  EXPECT_FALSE(found({8, 8}, [](auto at) { return 8 * at[0] + (at[0] + at[1]) % 8; }));
  EXPECT_TRUE(found({8, 8}, [](auto at) { return 8 * at[0] + (at[0] ^ at[1]); }));
}

std::optional<Fragment> refitted(const Fragment& f, int64_t num_threads) {
  std::map<std::vector<int64_t>, std::vector<Owner>> owners;
  for (int64_t t = 0; t < f.num_threads(); ++t) {
    for (int64_t r = 0; r < f.num_regs(); ++r) {
      if (const auto at = f.coordinates(t, r)) owners[*at].push_back({t, r});
    }
  }
  const auto replicas = int64_t(owners.begin()->second.size());
  return fit_fragment(f.shape(), replicas, num_threads, [&](std::span<const int64_t> at, int64_t replica) {
    return owners.at({at.begin(), at.end()})[size_t(replica)];
  });
}

TEST(FitFragment, FindsWhatTheCompilerMakes) {
  std::vector<Fragment> all = {mma_accumulator(64, 48, 2, 2), wgmma_accumulator(128, 40, 2, 1),
                               row_aligned(12, 40, 64, 8, 1), row_aligned(16, 64, 128, 16, 4)};
  for (const auto& shape : {std::vector<int64_t>{32, 64}, {13, 19}, {3, 5, 7}, {160}, {96}}) {
    all.push_back(flat(shape, 128, 1));
    all.push_back(flat(shape, 96, 1));
  }
  all.push_back(reduced(mma_accumulator(64, 48, 2, 2), 1));
  all.push_back(reduced(row_aligned(16, 64, 128, 16, 4), 0, true));
  for (const Fragment& f : all) {
    if (!is_unique(f)) continue;
    const std::optional<Fragment> found = refitted(f, f.num_threads());
    ASSERT_TRUE(found) << to_string(f);
    ASSERT_EQ(found->num_threads(), f.num_threads());
    for (int64_t t = 0; t < f.num_threads(); ++t) {
      for (int64_t r = 0; r < std::max(f.num_regs(), found->num_regs()); ++r) {
        const auto held = [&](const Fragment& of) { return r < of.num_regs() ? of.coordinates(t, r) : std::nullopt; };
        EXPECT_EQ(held(*found), held(f)) << to_string(f) << " as " << to_string(*found);
      }
    }
  }
}

TEST(FitFragment, OthersAreNotFound) {
  const auto found = [](const OwnerFunction& f) { return fit_fragment({4, 4}, 1, 0, f).has_value(); };
  EXPECT_TRUE(found([](auto at, int64_t) { return Owner{at[0], at[1]}; }));
  EXPECT_FALSE(found([](auto at, int64_t) { return Owner{3 - at[0], at[1]}; }));
  EXPECT_FALSE(found([](auto at, int64_t) { return Owner{(at[0] + at[1]) % 4, at[1]}; }));
  EXPECT_FALSE(found([](auto at, int64_t) { return Owner{at[0] == 3 ? 7 : at[0], at[1]}; }));
}

TEST(Fragments, CoalescedIsTheSameFunctionInOneForm) {
  const Fragment joined = parse_fragment("[64,64] threads(32:d1*2,4:d0*16) regs(2:d1*1,16:d0*1)");
  const Fragment split = parse_fragment("[64,64] threads(4:d1*2,8:d1*8,4:d0*16) regs(2:d1*1,1:d0*7,4:d0*1,4:d0*4)");
  EXPECT_NE(joined, split);
  EXPECT_EQ(coalesced(split), joined);
  EXPECT_EQ(coalesced(joined), joined);
  // The order of registers is part of the function, and so are replicas.
  const Fragment other = parse_fragment("[64,64] threads(32:d1*2,4:d0*16) regs(16:d0*1,2:d1*1)");
  EXPECT_NE(coalesced(other), joined);
  EXPECT_EQ(coalesced(parse_fragment("[4] threads(2:-,3:-,4:d0*1) regs(1:d0*5)")),
            parse_fragment("[4] threads(6:-,4:d0*1) regs()"));
}

// The address of byte 16 p of row r of a panel, as the manual has it for a swizzle over `span` bytes (PTX ISA 5.5.7):
// bits of the address from bit 7 on are XORed onto those from bit 4 on.
TEST(SwizzledPanels, AreTheHardwares) {
  for (const int64_t elem_bytes : {1, 2, 4}) {
    for (const int64_t span : {32, 64, 128}) {
      const int64_t width = span / elem_bytes, rows = 24;
      const Layout l = swizzled_panels(std::vector<int64_t>{rows, 3 * width}, elem_bytes, span);
      EXPECT_TRUE(is_compact(l)) << to_string(l);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < 3 * width; ++j) {
          const int64_t linear = (j / width * rows + i) * span + j % width * elem_bytes;
          const int64_t want = linear ^ (linear >> 7 & (span / 16 - 1)) << 4;
          ASSERT_EQ(l({i, j}) * elem_bytes, want) << to_string(l);
        }
      }
    }
  }
  EXPECT_EQ(widest_span_bytes(std::vector<int64_t>{8, 96}, 2), 64);
  EXPECT_EQ(widest_span_bytes(std::vector<int64_t>{8, 20}, 2), 0);
  EXPECT_EQ(widest_span_bytes(std::vector<int64_t>{64}, 2), 0);
}

// All stages look alike, and none reaches into the next.
TEST(Staged, StagesAreAlignedCopies) {
  for (const char* text :
       {"(64,32):(32,1)^(2,3,3)", "(5,7):(7,1)", "(5,7):(1,5)", "(3,4):(9,2)^(1,0,4)", "(0,4):(4,1)"}) {
    const Layout one = parse(text);
    for (const int64_t elem_bytes : {1, 2, 8}) {
      const Layout all = staged(one, 3, elem_bytes);
      const int64_t stride = all.dims()[0][0].stride;
      EXPECT_EQ(stride * elem_bytes % 128, 0) << text;
      EXPECT_GE(stride, one.cosize()) << text;
      for (int64_t s = 0; s < 3; ++s) {
        for (int64_t i = 0; i < one.size(); ++i) {
          const std::vector<int64_t> at = one.coordinates(i);
          ASSERT_EQ(all({s, at[0], at[1]}), s * stride + one(at)) << text;
        }
      }
    }
  }
}

// PTX ISA 9.7.16.5, D of wgmma m64nN: lane and register hold row 16 w + g + 8 ((i / 2) % 2), column 8 (i / 4) + 2 c + i
// % 2.
TEST(Fragments, AccumulatorOfWgmma) {
  for (const int64_t n : {8, 24, 256}) {
    const Fragment d = wgmma_accumulator(64, n, 1, 1);
    ASSERT_EQ(d.num_threads(), 128);
    ASSERT_EQ(d.num_regs(), n / 2);
    for (int64_t t = 0; t < 128; ++t) {
      for (int64_t i = 0; i < n / 2; ++i) {
        const int64_t w = t >> 5, g = (t & 31) >> 2, c = t & 3;
        ASSERT_EQ(d.coordinates(t, i),
                  (std::vector<int64_t>{16 * w + g + 8 * ((i >> 1) & 1), 8 * (i >> 2) + 2 * c + (i & 1)}));
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::layout
