// The laws of layout/layout.h, by brute force over small layouts.
#include "layout/algebra.h"
#include "layout/layout.h"

#include <tilewright/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace tilewright::layout {

namespace {

// Every layout of `rank` one-mode dimensions with these extents and strides.
std::vector<Layout> layouts(int rank, const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) {
  std::vector<Layout> out = {Layout()};
  for (int d = 0; d < rank; ++d) {
    std::vector<Layout> longer;
    for (const Layout& base : out) {
      for (int64_t e : extents) {
        for (int64_t s : strides) longer.push_back(concat(base, Layout({{{.extent = e, .stride = s}}})));
      }
    }
    out = std::move(longer);
  }
  return out;
}

std::vector<Layout> small_layouts() {
  std::vector<Layout> out;
  for (int rank : {1, 2}) {
    for (const Layout& l : layouts(rank, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 6, 8})) out.push_back(l);
  }
  for (const Layout& l : layouts(3, {1, 2, 3}, {1, 2, 3, 4, 6})) out.push_back(l);
  // Dimensions of two modes.
  for (const Layout& l : layouts(3, {1, 2, 3, 4}, {0, 1, 2, 3, 6}))
    out.push_back(Layout({{l.dim(0)[0], l.dim(1)[0]}, l.dim(2)}));
  out.push_back(column_panels(3, 8, 2));
  out.push_back(Layout({{{.extent = 2, .stride = 4}, {.extent = 3, .stride = 1}}, {{.extent = 5, .stride = 8}}}));
  return out;
}

template <class F>
void for_each_index(const Layout& l, F f) {
  for (int64_t i = 0; i < l.size(); ++i) f(i);
}

// Whether modes give this sequence of offsets from 0, by trying every ordered factorisation of its length: the strides
// then follow from the sequence.
bool is_dim(const std::vector<int64_t>& sequence, size_t step = 1) {
  if (step == sequence.size()) return true;
  for (size_t e = 2; step * e <= sequence.size(); ++e) {
    if (sequence.size() % (step * e) != 0) continue;
    bool fits = sequence[step] >= 0;
    for (size_t i = 0; i < step * e; ++i)
      fits = fits && sequence[i] == sequence[i % step] + int64_t(i / step) * sequence[step];
    if (fits && is_dim(sequence, step * e)) return true;
  }
  return false;
}

// Whether some layout with the dimensions of B is i -> A(B(i)).
bool has_composition(const Layout& a, const Layout& b) {
  std::vector<std::vector<int64_t>> along(size_t(b.rank()));
  for (int d = 0; d < b.rank(); ++d) {
    std::vector<int64_t> c(size_t(b.rank()), 0);
    for (int64_t& moving = c[size_t(d)]; moving < b.extent(d); ++moving) along[size_t(d)].push_back(a.at(b(c)));
    if (!is_dim(along[size_t(d)])) return false;
  }
  for (int64_t i = 0; i < b.size(); ++i) {
    int64_t sum = 0;
    for (int d = 0; d < b.rank(); ++d) sum += along[size_t(d)][size_t(b.coordinates(i)[size_t(d)])];
    if (sum != a.at(b.at(i))) return false;
  }
  return true;
}

bool is_refused(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_kernel);
    return true;
  }
  return false;
}

}  // namespace

TEST(LayoutLaws, L1Size) {
  for (const Layout& l : small_layouts()) {
    int64_t product = 1;
    for (int64_t e : l.shape()) product *= e;
    EXPECT_EQ(l.size(), product) << to_string(l);
    int64_t last = -1;
    for_each_index(l, [&](int64_t i) { last = std::max(last, l.at(i)); });
    ASSERT_EQ(l.cosize(), last + 1) << to_string(l);
    const Layout swizzled = l.with_swizzle({.bits = 2, .base = 1, .shift = 2});
    EXPECT_EQ(swizzled.cosize(), (last + 8) / 8 * 8);
    for_each_index(l, [&](int64_t i) { EXPECT_LT(swizzled.at(i), swizzled.cosize()); });
  }
}

TEST(LayoutLaws, L2Linear) {
  for (const Layout& l : small_layouts()) {
    for_each_index(l, [&](int64_t i) {
      // The coordinates written out by hand: first dimension fastest.
      int64_t rest = i, offset = 0;
      for (int d = 0; d < l.rank(); ++d) {
        int64_t c = rest % l.extent(d);
        rest /= l.extent(d);
        for (const Mode& m : l.dims()[size_t(d)]) {
          offset += c % m.extent * m.stride;
          c /= m.extent;
        }
      }
      EXPECT_EQ(l.at(i), offset) << to_string(l);
    });
  }
}

TEST(LayoutLaws, L3Coalesce) {
  for (const Layout& l : small_layouts()) {
    const Layout c = coalesce(l);
    ASSERT_TRUE(same_function(l, c)) << to_string(l) << " " << to_string(c);
    const std::vector<Mode> modes = c.modes();
    for (size_t k = 0; k + 1 < modes.size(); ++k) EXPECT_NE(modes[k + 1].stride, modes[k].stride * modes[k].extent);
  }
}

TEST(LayoutLaws, L4Compose) {
  int composed = 0;
  const std::vector<Layout> outer = layouts(2, {1, 2, 3, 4, 6}, {0, 1, 2, 3, 6});
  std::vector<Layout> inner = layouts(2, {0, 1, 2, 3}, {0, 1, 2, 3, 4});
  for (const Layout& b : layouts(1, {4, 5, 6}, {0, 1, 2, 3})) inner.push_back(b);
  for (const Layout& a : outer) {
    for (const Layout& b : inner) {
      Layout c;
      if (is_refused([&] { c = compose(a, b); })) {
        ASSERT_TRUE(b.cosize() > a.size() || !has_composition(a, b)) << to_string(a) << " o " << to_string(b);
        continue;
      }
      ++composed;
      ASSERT_EQ(c.shape(), b.shape());
      ASSERT_EQ(c.size(), b.size());
      for_each_index(b, [&](int64_t i) { ASSERT_EQ(c.at(i), a.at(b.at(i))) << to_string(a) << " o " << to_string(b); });
    }
    const Layout identity({{{.extent = a.size(), .stride = 1}}});
    EXPECT_TRUE(same_function(compose(a, identity), a)) << to_string(a);
  }
  EXPECT_GT(composed, 5000);
}

TEST(LayoutLaws, L4ComposeIsAssociative) {
  int both = 0;
  for (const Layout& a : layouts(2, {2, 3, 4}, {1, 2, 5})) {
    for (const Layout& b : layouts(2, {1, 2, 3}, {1, 2, 3})) {
      for (const Layout& c : layouts(1, {2, 3}, {1, 2})) {
        Layout left, right;
        if (is_refused([&] { left = compose(compose(a, b), c); })) continue;
        if (is_refused([&] { right = compose(a, compose(b, c)); })) continue;
        ++both;
        ASSERT_TRUE(same_function(left, right)) << to_string(a) << to_string(b) << to_string(c);
      }
    }
  }
  EXPECT_GT(both, 1000);
}

// Whether each stride is a multiple of what the smaller modes cover.
bool nests(const Layout& a) {
  std::vector<std::pair<int64_t, int64_t>> modes;
  for (const Mode& m : a.modes()) {
    if (m.extent > 1) modes.emplace_back(m.stride, m.extent);
  }
  std::sort(modes.begin(), modes.end());
  int64_t covered = 1;
  for (auto [stride, extent] : modes) {
    if (stride == 0 || stride % covered != 0) return false;
    covered = stride * extent;
  }
  return a.size() > 0;
}

TEST(LayoutLaws, L5Complement) {
  int found = 0;
  for (const Layout& a : small_layouts()) {
    for (int64_t n : {int64_t(0), int64_t(1), a.cosize(), 2 * a.cosize(), int64_t(48), int64_t(53)}) {
      Layout c;
      const bool refused = is_refused([&] { c = complement(a, n); });
      ASSERT_EQ(refused, !nests(a)) << to_string(a);
      if (refused) continue;
      ++found;
      std::vector<int64_t> sums, expected;
      for_each_index(a, [&](int64_t i) { for_each_index(c, [&](int64_t j) { sums.push_back(a.at(i) + c.at(j)); }); });
      std::sort(sums.begin(), sums.end());
      for (int64_t i = 0; i < a.size() * c.size(); ++i) expected.push_back(i);
      ASSERT_EQ(sums, expected) << to_string(a) << " " << to_string(c);
      ASSERT_GE(a.size() * c.size(), n);
      const std::vector<Mode> modes = c.modes();
      for (size_t k = 0; k + 1 < modes.size(); ++k) EXPECT_LT(modes[k].stride, modes[k + 1].stride);
    }
  }
  EXPECT_GT(found, 500);
}

std::vector<int64_t> sorted_offsets(const Layout& l) {
  std::vector<int64_t> out;
  for_each_index(l, [&](int64_t i) { out.push_back(l.at(i)); });
  std::sort(out.begin(), out.end());
  return out;
}

TEST(LayoutLaws, L6Divide) {
  int found = 0;
  for (const Layout& a : layouts(2, {0, 2, 3, 4, 6}, {0, 1, 2, 4, 6, 24})) {
    for (const Layout& b : layouts(1, {1, 2, 3, 4}, {1, 2, 3, 4})) {
      Layout d;
      if (is_refused([&] { d = divide(a, b); })) continue;
      ++found;
      ASSERT_EQ(d.rank(), 2);
      ASSERT_EQ(d.extent(0), b.size());
      ASSERT_EQ(sorted_offsets(a), sorted_offsets(d)) << to_string(a) << " / " << to_string(b);
      if (a.size() == 0) continue;
      for_each_index(b, [&](int64_t i) {
        ASSERT_EQ(d({i, 0}), a.at(b.at(i))) << to_string(a) << " / " << to_string(b);
      });
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(LayoutLaws, L6DivideEach) {
  for (const Layout& a : layouts(2, {0, 2, 3, 4, 6}, {0, 1, 7})) {
    for (int64_t t0 : {1, 2, 3}) {
      for (int64_t t1 : {1, 2, 4}) {
        const std::vector<int64_t> tile = {t0, t1};
        const bool divides = a.extent(0) % t0 == 0 && a.extent(1) % t1 == 0;
        Layout d;
        ASSERT_EQ(is_refused([&] { d = divide_each(a, tile); }), !divides);
        if (!divides) continue;
        ASSERT_EQ(d.shape(), (std::vector<int64_t>{t0, t1, a.extent(0) / t0, a.extent(1) / t1}));
        for_each_index(d, [&](int64_t i) {
          const std::vector<int64_t> c = d.coordinates(i);
          ASSERT_EQ(d(c), a({c[0] + t0 * c[2], c[1] + t1 * c[3]})) << to_string(a);
        });
      }
    }
  }
}

TEST(LayoutLaws, L7Product) {
  int found = 0;
  for (const Layout& a : layouts(2, {1, 2, 3}, {1, 2, 3, 4, 6})) {
    for (const Layout& b : layouts(1, {0, 1, 2, 3, 5}, {0, 1, 2, 3})) {
      Layout p;
      if (is_refused([&] { p = product(a, b); })) continue;
      ++found;
      ASSERT_EQ(p.size(), a.size() * b.size());
      std::set<int64_t> offsets, of_b;
      for_each_index(b, [&](int64_t j) { of_b.insert(b.at(j)); });
      for_each_index(a, [&](int64_t i) {
        ASSERT_EQ(p({i, 0}), a.at(i));
        for_each_index(b, [&](int64_t j) { offsets.insert(p({i, j})); });
      });
      ASSERT_EQ(int64_t(offsets.size()), a.size() * int64_t(of_b.size())) << to_string(a) << " x " << to_string(b);
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(LayoutLaws, L7Tiled) {
  int found = 0;
  for (const Layout& a : layouts(2, {1, 2, 3}, {1, 2, 3})) {
    for (const Layout& b : layouts(2, {0, 1, 2, 3}, {1, 2, 3})) {
      Layout t;
      if (is_refused([&] { t = tiled(a, b); })) continue;
      ++found;
      const Layout p = product(a, b);
      for_each_index(a, [&](int64_t i) {
        for_each_index(b, [&](int64_t j) {
          const std::vector<int64_t> x = a.coordinates(i), y = b.coordinates(j);
          ASSERT_EQ(t({x[0] + a.extent(0) * y[0], x[1] + a.extent(1) * y[1]}), p({i, j}))
              << to_string(a) << " x " << to_string(b);
        });
      });
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(LayoutLaws, L8Inverse) {
  for (const Layout& a : small_layouts()) {
    if (a.size() == 0) continue;
    const Layout r = right_inverse(a);
    for_each_index(r, [&](int64_t k) { ASSERT_EQ(a.at(r.at(k)), k) << to_string(a) << " " << to_string(r); });
    if (is_injective(a)) {
      const std::vector<int64_t> offsets = sorted_offsets(a);
      int64_t consecutive = 0;
      while (consecutive < a.size() && offsets[size_t(consecutive)] == consecutive) ++consecutive;
      EXPECT_EQ(r.size(), consecutive) << to_string(a);
    }
    Layout l;
    if (!is_injective(a) || is_refused([&] { l = left_inverse(a); })) continue;
    for_each_index(a, [&](int64_t i) { ASSERT_EQ(l.at(a.at(i)), i) << to_string(a) << " " << to_string(l); });
  }
}

TEST(LayoutLaws, L9Permute) {
  for (const Layout& l : layouts(2, {1, 2, 3}, {1, 2, 5})) {
    const int order[] = {1, 0};
    const Layout p = permute(l, order);
    for (int64_t i = 0; i < l.extent(0); ++i) {
      for (int64_t j = 0; j < l.extent(1); ++j) EXPECT_EQ(p({j, i}), l({i, j}));
    }
    const Layout both = concat(l, Layout({{{.extent = 3, .stride = 7}}}));
    for (int64_t at = 0; at < 3; ++at) {
      const auto [rest, offset] = slice(both, 2, at);
      EXPECT_EQ(rest, l);
      EXPECT_EQ(offset, 7 * at);
    }
  }
}

TEST(LayoutLaws, L10Swizzle) {
  for (int bits : {1, 2, 3}) {
    for (int base : {0, 1, 3}) {
      for (int shift : {bits, bits + 1}) {
        const Swizzle s{.bits = bits, .base = base, .shift = shift};
        const int64_t block = int64_t(1) << (base + shift + bits);
        for (int64_t first : {int64_t(0), block, 5 * block}) {
          std::set<int64_t> seen;
          for (int64_t i = first; i < first + block; ++i) {
            EXPECT_EQ(s(s(i)), i);
            seen.insert(s(i));
          }
          EXPECT_EQ(int64_t(seen.size()), block);
          EXPECT_EQ(*seen.begin(), first);
          EXPECT_EQ(*seen.rbegin(), first + block - 1);
        }
      }
    }
  }
}

TEST(LayoutLaws, L10SwizzleComposition) {
  std::vector<Swizzle> swizzles = {{}};
  for (int bits : {1, 2, 3}) {
    for (int base : {0, 1, 2}) {
      for (int shift : {bits, bits + 1, 4}) {
        if (shift >= bits) swizzles.push_back({.bits = bits, .base = base, .shift = shift});
      }
    }
  }
  int found = 0;
  for (const Swizzle& s : swizzles) {
    EXPECT_EQ(compose(s, s), Swizzle());
    for (const Swizzle& t : swizzles) {
      Swizzle both;
      if (is_refused([&] { both = compose(s, t); })) continue;
      ++found;
      for (int64_t x = 0; x < 1024; ++x) ASSERT_EQ(both(x), s(t(x)));
    }
  }
  EXPECT_GT(found, 100);
}

TEST(LayoutLaws, L11Text) {
  for (const Layout& l : small_layouts()) EXPECT_EQ(parse(to_string(l)), l);
  const Layout swizzled = row_major(std::vector<int64_t>{8, 64}).with_swizzle({.bits = 3, .base = 3, .shift = 3});
  EXPECT_EQ(to_string(swizzled), "(8,64):(64,1)^(3,3,3)");
  EXPECT_EQ(parse(to_string(swizzled)), swizzled);
  for (const char* wrong : {"", "(", "(4", "(4):", "(4):(1", "(4):(1,2)", "(4,(2,2)):(1,2)", "(4):(x)", "(4):(1))",
                            "(99999999999999999999):(1)", "(4):(1)^(1)", "(9223372036854775807,2):(1,1)"}) {
    EXPECT_TRUE(is_refused([&] { parse(wrong); })) << wrong;
  }
}

// Whether `count` elements along `dim` from `c` are adjacent and aligned.
bool is_vector(const Layout& l, int dim, std::vector<int64_t> c, int64_t count) {
  const int64_t start = l(c);
  for (int64_t k = 0; k < count; ++k, ++c[size_t(dim)]) {
    if (l(c) != start + k) return false;
  }
  return start % count == 0;
}

bool runs(const Layout& l, int dim, int64_t group) {
  if (l.extent(dim) % group != 0) return false;
  for (int64_t i = 0; i < l.size(); ++i) {
    const std::vector<int64_t> c = l.coordinates(i);
    if (c[size_t(dim)] % group == 0 && !is_vector(l, dim, c, group)) return false;
  }
  return true;
}

TEST(LayoutLaws, L12Run) {
  for (const Layout& l : small_layouts()) {
    if (l.size() == 0) continue;
    const Layout swizzled = l.with_swizzle({.bits = 1, .base = 1, .shift = 1});
    for (int d = 0; d < l.rank(); ++d) {
      const int64_t run = contiguous_run(l, d);
      ASSERT_TRUE(runs(l, d, run)) << to_string(l) << " dim " << d << " run " << run;
      ASSERT_FALSE(runs(l, d, 2 * run)) << to_string(l) << " dim " << d << " run " << run;
      ASSERT_TRUE(runs(swizzled, d, contiguous_run(swizzled, d))) << to_string(swizzled) << " dim " << d;
    }
  }
}

TEST(LayoutLaws, L13Width) {
  for (const Layout& plain : small_layouts()) {
    for (const Layout& l : {plain, plain.with_swizzle({.bits = 1, .base = 1, .shift = 1})}) {
      for_each_index(l, [&](int64_t i) {
        const std::vector<int64_t> c = l.coordinates(i);
        for (int d = 0; d < l.rank(); ++d) {
          const int64_t width = vector_width(l, d, c, 4), left = l.extent(d) - c[size_t(d)];
          ASSERT_TRUE(width <= left && is_vector(l, d, c, width)) << to_string(l);
          ASSERT_TRUE(width == 4 || 2 * width > left || !is_vector(l, d, c, 2 * width)) << to_string(l);
        }
      });
    }
  }
}

TEST(LayoutLaws, L14Banks) {
  for (int access_bytes : {1, 2, 4, 8, 16}) {
    for (int64_t step = 0; step <= 40; ++step) {
      std::vector<int64_t> bytes;
      for (int64_t lane = 0; lane < 8; ++lane) bytes.push_back(lane * step * access_bytes);
      const int ways = bank_conflict_ways(bytes, access_bytes);
      EXPECT_GE(ways, 1);
      EXPECT_LE(ways, 8);
      std::vector<int64_t> reversed(bytes.rbegin(), bytes.rend());
      for (int64_t& b : reversed) b += 3 * 128;
      EXPECT_EQ(bank_conflict_ways(reversed, access_bytes), ways);
    }
  }
}

}  // namespace tilewright::layout
