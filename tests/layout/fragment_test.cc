// The laws of layout/fragment.h, each by brute force over small fragments, and the lane maps of tensor-core results.
#include "layout/fragment.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace tilewright::layout {
namespace {

using Element = std::vector<int64_t>;

// By the definition in the header: digits in mixed radix, the first mode fastest.
std::optional<Element> reference(const Fragment& f, int64_t thread, int64_t reg) {
  Element at(f.shape().size(), 0);
  const auto move = [&](const std::vector<FragmentMode>& modes, int64_t number) {
    int64_t weight = 1;
    for (const FragmentMode& m : modes) {
      if (m.dim >= 0) at[size_t(m.dim)] += number / weight % m.extent * m.stride;
      weight *= m.extent;
    }
  };
  move(f.thread_modes(), thread);
  move(f.reg_modes(), reg);
  for (size_t d = 0; d < at.size(); ++d) {
    if (at[d] >= f.shape()[d]) return std::nullopt;
  }
  return at;
}

int64_t count(const std::vector<FragmentMode>& modes) {
  int64_t out = 1;
  for (const FragmentMode& m : modes) out *= m.extent;
  return out;
}

// Every pair that holds an element, by the element.
std::map<Element, std::vector<Owner>> held(const Fragment& f) {
  std::map<Element, std::vector<Owner>> out;
  for (int64_t t = 0; t < count(f.thread_modes()); ++t) {
    for (int64_t r = 0; r < count(f.reg_modes()); ++r) {
      if (const auto at = reference(f, t, r)) out[*at].push_back({.thread = t, .reg = r});
    }
  }
  return out;
}

std::vector<Element> elements(const std::vector<int64_t>& shape) {
  std::vector<Element> out = {{}};
  for (int64_t extent : shape) {
    std::vector<Element> next;
    for (const Element& e : out) {
      for (int64_t i = 0; i < extent; ++i) {
        next.push_back(e);
        next.back().push_back(i);
      }
    }
    out = std::move(next);
  }
  return out;
}

class RandomFragments {
 public:
  explicit RandomFragments(uint32_t seed) : random_(seed) {}
  Fragment next() {
    std::vector<int64_t> shape;
    for (int64_t i = below(4); i > 0; --i) shape.push_back(1 + below(6));
    return with_shape(shape);
  }
  Fragment with_shape(const std::vector<int64_t>& shape) {
    const auto modes = [&](bool replicas) {
      std::vector<FragmentMode> out;
      if (shape.empty() && !replicas) return out;
      for (int64_t i = below(4); i > 0; --i) {
        const int first = replicas ? -1 : 0;
        const int dim = first + int(below(int64_t(shape.size()) - first));
        out.push_back({.extent = 1 + below(4), .dim = dim, .stride = dim < 0 ? 0 : below(4)});
      }
      return out;
    };
    std::vector<FragmentMode> threads = modes(true);
    return Fragment(shape, std::move(threads), modes(false));
  }
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }

 private:
  std::mt19937 random_;
};

template <class F>
void for_each_fragment(F check) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    RandomFragments random(seed);
    const Fragment f = random.next();
    SCOPED_TRACE(to_string(f));
    check(f, random);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(FragmentLaws, F1Owners) {
  for_each_fragment([](const Fragment& f, RandomFragments&) {
    EXPECT_EQ(f.num_threads(), count(f.thread_modes()));
    EXPECT_EQ(f.num_regs(), count(f.reg_modes()));
    const auto all = held(f);
    for (const Element& e : elements(f.shape())) {
      const auto it = all.find(e);
      EXPECT_EQ(owners(f, e), it == all.end() ? std::vector<Owner>() : it->second);
    }
    bool voids = false;
    for (int64_t t = 0; t < f.num_threads(); ++t) {
      for (int64_t r = 0; r < f.num_regs(); ++r) {
        EXPECT_EQ(f.coordinates(t, r), reference(f, t, r));
        voids |= !reference(f, t, r);
      }
    }
    EXPECT_EQ(f.has_voids(), voids);
  });
}

TEST(FragmentLaws, F2Complete) {
  int complete = 0;
  for_each_fragment([&](const Fragment& f, RandomFragments&) {
    const bool all = held(f).size() == elements(f.shape()).size();
    complete += all;
    EXPECT_EQ(is_complete(f), all);
  });
  EXPECT_GT(complete, 20);
  EXPECT_LT(complete, 380);
}

TEST(FragmentLaws, F3Unique) {
  int unique = 0;
  for_each_fragment([&](const Fragment& f, RandomFragments&) {
    bool once = true;
    for (const auto& [at, pairs] : held(f)) {
      std::set<int64_t> threads;
      int storing = 0;
      for (const Owner& o : pairs) {
        once &= threads.insert(o.thread).second;
        storing += f.replica(o.thread) == 0;
      }
      once &= storing <= 1;
    }
    unique += once;
    EXPECT_EQ(is_unique(f), once);
  });
  EXPECT_GT(unique, 20);
  EXPECT_LT(unique, 380);
}

// Threads that differ in replica digits alone hold the same elements, and each has a number of its own.
TEST(FragmentLaws, ReplicasHoldTheSame) {
  for_each_fragment([](const Fragment& f, RandomFragments&) {
    std::map<std::vector<std::optional<Element>>, std::set<int64_t>> numbers;
    std::map<std::vector<std::optional<Element>>, int64_t> threads;
    for (int64_t t = 0; t < f.num_threads(); ++t) {
      std::vector<std::optional<Element>> all;
      for (int64_t r = 0; r < f.num_regs(); ++r) all.push_back(reference(f, t, r));
      numbers[all].insert(f.replica(t));
      ++threads[all];
    }
    int64_t replicas = 1;
    for (const FragmentMode& m : f.thread_modes()) replicas *= m.dim < 0 || m.stride == 0 ? m.extent : 1;
    EXPECT_EQ(f.has_replicas(), replicas > 1);
    for (const auto& [all, n] : numbers) {
      EXPECT_TRUE(n.contains(0));
      EXPECT_EQ(int64_t(n.size()), replicas);
    }
  });
}

TEST(FragmentLaws, F4Reduced) {
  for_each_fragment([](const Fragment& f, RandomFragments&) {
    for (int d = 0; d < f.rank(); ++d) {
      const Fragment without = reduced(f, d), kept = reduced(f, d, true);
      EXPECT_EQ(without.num_threads(), f.num_threads());
      for (int64_t t = 0; t < f.num_threads(); ++t) {
        for (int64_t whole = 0; whole < f.num_regs(); ++whole) {
          // The register of the result: the digits of the modes that do not move d.
          int64_t reg = 0, weight = 1, rest = whole;
          for (const FragmentMode& m : f.reg_modes()) {
            if (m.dim != d) {
              reg += rest % m.extent * weight;
              weight *= m.extent;
            }
            rest /= m.extent;
          }
          auto at = reference(f, t, whole);
          if (!at) continue;
          Element zeroed = *at;
          zeroed[size_t(d)] = 0;
          EXPECT_EQ(kept.coordinates(t, reg), zeroed);
          at->erase(at->begin() + d);
          EXPECT_EQ(without.coordinates(t, reg), *at);
        }
      }
    }
  });
}

TEST(FragmentLaws, F5Contains) {
  int contained = 0;
  for_each_fragment([&](const Fragment& f, RandomFragments& random) {
    const Fragment other = random.below(4) == 0 ? f : random.with_shape(f.shape());
    auto threads = [](const std::vector<Owner>& pairs) {
      std::set<int64_t> out;
      for (const Owner& o : pairs) out.insert(o.thread);
      return out;
    };
    auto mine = held(f);
    bool all = true;
    for (const auto& [at, pairs] : held(other)) {
      const std::set<int64_t> have = threads(mine[at]), need = threads(pairs);
      all &= std::includes(have.begin(), have.end(), need.begin(), need.end());
    }
    contained += all;
    EXPECT_EQ(contains(f, other), all) << to_string(other);
  });
  EXPECT_GT(contained, 60);
  EXPECT_LT(contained, 340);
}

TEST(FragmentLaws, F6Text) {
  for_each_fragment([](const Fragment& f, RandomFragments&) { EXPECT_EQ(parse_fragment(to_string(f)), f); });
  EXPECT_EQ(to_string(mma_accumulator(16, 8, 1, 1)), "[16,8] threads(4:d1*2,8:d0*1) regs(2:d1*1,2:d0*8)");
  for (const char* wrong : {"", "[16", "[16] threads(4:d0*1)", "[16] threads(4:x) regs()", "[16] threads() regs() ",
                            "[16] threads(0:d0*1) regs()", "[16] threads() regs(2:-)", "[16] threads() regs(2:d1*1)"}) {
    EXPECT_THROW(parse_fragment(wrong), Error) << wrong;
  }
}

// ---- fragments that are made ----

// PTX ISA, "Matrix fragments for mma.m16n8k16": c_i of lane l is at row l / 4 (i < 2) or l / 4 + 8, column
// (l % 4) * 2 + (i & 1).
TEST(Fragments, AccumulatorOfMma) {
  const struct {
    int64_t m, n, warps_m, warps_n;
  } cases[] = {{16, 8, 1, 1}, {128, 128, 2, 2}, {64, 24, 4, 1}, {48, 40, 2, 2}, {16, 64, 1, 4}, {80, 8, 3, 1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.m << " x " << c.n << " by " << c.warps_m << " x " << c.warps_n);
    const Fragment f = mma_accumulator(c.m, c.n, c.warps_m, c.warps_n);
    // Instructions of one warp, which lie side by side.
    const int64_t down = (c.m + c.warps_m * 16 - 1) / (c.warps_m * 16);
    const int64_t across = (c.n + c.warps_n * 8 - 1) / (c.warps_n * 8);
    ASSERT_EQ(f.num_threads(), c.warps_m * c.warps_n * 32);
    ASSERT_EQ(f.num_regs(), down * across * 4);
    for (int64_t t = 0; t < f.num_threads(); ++t) {
      const int64_t lane = t % 32, warp = t / 32;
      for (int64_t r = 0; r < f.num_regs(); ++r) {
        const int64_t i = r % 4, tile_n = r / 4 % across, tile_m = r / 4 / across;
        const int64_t row = (warp % c.warps_m * down + tile_m) * 16 + lane / 4 + (i < 2 ? 0 : 8);
        const int64_t col = (warp / c.warps_m * across + tile_n) * 8 + lane % 4 * 2 + (i & 1);
        const std::optional<Element> want =
            row < c.m && col < c.n ? std::optional(Element{row, col}) : std::optional<Element>();
        ASSERT_EQ(f.coordinates(t, r), want) << t << " " << r;
      }
    }
    EXPECT_TRUE(is_complete(f));
    EXPECT_TRUE(is_unique(f));
  }
}

// PTX ISA, "Matrix fragments for wgmma.mma_async.m64nNk16": d_i of warp w of the group and lane l is at row
// 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + (l % 4) * 2 + i % 2.
TEST(Fragments, AccumulatorOfWgmma) {
  const struct {
    int64_t m, n, groups_m, groups_n;
  } cases[] = {{64, 8, 1, 1}, {64, 256, 1, 1}, {128, 128, 2, 1}, {128, 64, 1, 2}, {128, 24, 1, 1}, {192, 16, 2, 1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.m << " x " << c.n << " by " << c.groups_m << " x " << c.groups_n);
    const Fragment f = wgmma_accumulator(c.m, c.n, c.groups_m, c.groups_n);
    const int64_t down = (c.m + c.groups_m * 64 - 1) / (c.groups_m * 64);
    const int64_t columns = (c.n + c.groups_n * 8 - 1) / (c.groups_n * 8) * 8;
    ASSERT_EQ(f.num_threads(), c.groups_m * c.groups_n * 128);
    ASSERT_EQ(f.num_regs(), down * columns / 2);
    for (int64_t t = 0; t < f.num_threads(); ++t) {
      const int64_t lane = t % 32, warp = t / 32 % 4, group = t / 128;
      for (int64_t r = 0; r < f.num_regs(); ++r) {
        const int64_t i = r % (columns / 2), instruction = r / (columns / 2);
        const int64_t row = (group % c.groups_m * down + instruction) * 64 + 16 * warp + lane / 4 + 8 * (i / 2 % 2);
        const int64_t col = group / c.groups_m * columns + 8 * (i / 4) + lane % 4 * 2 + i % 2;
        const std::optional<Element> want =
            row < c.m && col < c.n ? std::optional(Element{row, col}) : std::optional<Element>();
        ASSERT_EQ(f.coordinates(t, r), want) << t << " " << r;
      }
    }
    EXPECT_TRUE(is_complete(f));
    EXPECT_TRUE(is_unique(f));
  }
}

TEST(Fragments, FlatDealsOutInOrder) {
  const std::vector<int64_t> shape = {8, 64};
  for (const int64_t threads : {32, 64, 128}) {
    for (const int64_t vector : {1, 2, 4}) {
      const Fragment f = flat(shape, threads, vector);
      ASSERT_EQ(f.num_threads(), threads);
      for (const Element& e : elements(shape)) {
        const int64_t position = e[0] * 64 + e[1];
        const std::vector<Owner> all = owners(f, e);
        ASSERT_EQ(all.size(), 1u);
        EXPECT_EQ(all[0].thread, position / vector % threads) << position;
        if (vector > 1) {
          EXPECT_EQ(all[0].reg % vector, position % vector);
        }
      }
    }
  }
}

TEST(Fragments, FlatHoldsEveryElementOfAnyShape) {
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {}, {1}, {7}, {31, 3}, {2, 3, 5}, {128, 1}, {1, 128}, {13, 19}, {33}, {5, 1, 7}}) {
    for (const int64_t threads : {1, 6, 32, 96, 128}) {
      const Fragment f = flat(shape, threads, 1);
      SCOPED_TRACE(to_string(f));
      EXPECT_EQ(f.num_threads(), threads);
      EXPECT_TRUE(is_complete(f));
      EXPECT_TRUE(is_unique(f));
    }
  }
}

TEST(Fragments, IllegalModesAreRefused) {
  const auto make = [](FragmentMode thread, FragmentMode reg) { return Fragment({4}, {thread}, {reg}); };
  const FragmentMode good{.extent = 2, .dim = 0, .stride = 1};
  EXPECT_NO_THROW(make(good, good));
  EXPECT_NO_THROW(make({.extent = 2}, good));
  EXPECT_THROW(make({.extent = 0, .dim = 0, .stride = 1}, good), Error);
  EXPECT_THROW(make({.extent = 2, .dim = 1, .stride = 1}, good), Error);
  EXPECT_THROW(make({.extent = 2, .dim = 0, .stride = -1}, good), Error);
  EXPECT_THROW(make(good, {.extent = 2}), Error);
}

}  // namespace
}  // namespace tilewright::layout
