#include "layout/algebra.h"

#include "layout/checked.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tilewright::layout {

namespace {

using Modes = std::vector<Mode>;

// Neighbours that continue each other become one; modes of extent 1 disappear. At least one mode remains.
Modes coalesced(const Modes& modes) {
  Modes out;
  for (const Mode& m : modes) {
    if (m.extent == 0) return {{.extent = 0, .stride = 0}};
    if (m.extent == 1) continue;
    if (!out.empty() && m.stride / out.back().extent == out.back().stride && m.stride % out.back().extent == 0) {
      out.back().extent = checked_mul(out.back().extent, m.extent);
    } else {
      out.push_back(m);
    }
  }
  if (out.empty()) out.push_back({.extent = 1, .stride = 0});
  return out;
}

void refuse_swizzle(const Layout& layout, const char* what) {
  if (layout.swizzle().bits == 0) return;
  throw invalid_kernel({}, "{} of the swizzled layout {}", what, to_string(layout)).hint("apply the swizzle last");
}

// A o (extent : stride): every stride-th element of A's sequence, `extent` of them; nothing where extents and steps do
// not divide each other.
std::optional<Dim> compose_mode(const Modes& a, const Mode& b) {
  if (b.extent == 0) return Dim{{.extent = 0, .stride = 0}};
  if (b.extent == 1 || b.stride == 0) return Dim{{.extent = b.extent, .stride = 0}};
  Dim out;
  int64_t skip = b.stride, left = b.extent;
  for (size_t k = 0; k + 1 < a.size() && left > 1; ++k) {
    if (skip >= a[k].extent) {
      if (skip % a[k].extent != 0) return std::nullopt;
      skip /= a[k].extent;
      continue;
    }
    if (a[k].extent % skip != 0) return std::nullopt;
    const int64_t here = a[k].extent / skip;
    const int64_t taken = std::min(here, left);
    if (left % taken != 0) return std::nullopt;
    out.push_back({.extent = taken, .stride = checked_mul(a[k].stride, skip)});
    left /= taken;
    skip = 1;
  }
  // What is left lies in the last mode: compose has checked that B stays inside A.
  if (left > 1) out.push_back({.extent = left, .stride = checked_mul(a.back().stride, skip)});
  return out;
}

// Whether sums of B's modes carry nowhere in A, so that A(x + y) = A(x) + A(y) for them: each mode starts where the
// smaller ones end. (With the divisions that compose_mode asks for, that is enough; one mode alone cannot carry.)
bool nests(const Layout& b) {
  Modes modes;
  for (const Mode& m : b.modes()) {
    if (m.extent > 1 && m.stride > 0) modes.push_back(m);
  }
  std::sort(modes.begin(), modes.end(), [](const Mode& x, const Mode& y) { return x.stride < y.stride; });
  for (size_t k = 0; k + 1 < modes.size(); ++k) {
    if (modes[k + 1].stride % checked_mul(modes[k].stride, modes[k].extent) != 0) return false;
  }
  return true;
}

std::optional<std::vector<Dim>> compose_by_modes(const Modes& a, const Layout& b) {
  if (a.size() > 1 && !nests(b)) return std::nullopt;
  std::vector<Dim> dims;
  for (const Dim& dim : b.dims()) {
    Dim out;
    for (const Mode& m : dim) {
      const std::optional<Dim> part = compose_mode(a, m);
      if (!part) return std::nullopt;
      out.insert(out.end(), part->begin(), part->end());
    }
    dims.push_back(std::move(out));
  }
  return dims;
}

// The modes of a sequence of offsets that starts at 0; nothing where no modes give it. A first mode of another extent
// than the first run of equal steps would either break a step or be continued by the second mode.
std::optional<Dim> fit(std::vector<int64_t> sequence) {
  if (sequence.empty()) return Dim{{.extent = 0, .stride = 0}};
  Dim out;
  while (sequence.size() > 1) {
    const int64_t stride = sequence[1] - sequence[0];
    size_t run = 2;
    while (run < sequence.size() && sequence[run] - sequence[run - 1] == stride) ++run;
    if (stride < 0 || sequence.size() % run != 0) return std::nullopt;
    std::vector<int64_t> heads;
    for (size_t i = 0; i < sequence.size(); ++i) {
      if (i % run == 0) heads.push_back(sequence[i]);
      if (sequence[i] - heads.back() != int64_t(i % run) * stride) return std::nullopt;
    }
    out.push_back({.extent = int64_t(run), .stride = stride});
    sequence = std::move(heads);
  }
  if (out.empty()) out.push_back({.extent = 1, .stride = 0});
  return out;
}

// For what divides nowhere and is a layout all the same, such as every third element of (4,2):(1,100), two of them.
std::optional<std::vector<Dim>> compose_by_enumeration(const Layout& a, const Layout& b) {
  std::vector<Dim> dims;
  for (int d = 0; d < b.rank(); ++d) {
    std::vector<int64_t> coordinates(size_t(b.rank()), 0), sequence;
    for (int64_t& c = coordinates[size_t(d)]; c < b.extent(d); ++c) sequence.push_back(a.at(b(coordinates)));
    std::optional<Dim> dim = fit(std::move(sequence));
    if (!dim) return std::nullopt;
    dims.push_back(*std::move(dim));
  }
  const Layout result(dims);
  for (int64_t i = 0; i < b.size(); ++i) {
    if (result.at(i) != a.at(b.at(i))) return std::nullopt;
  }
  return dims;
}

}  // namespace

Layout coalesce(const Layout& layout) { return Layout({coalesced(layout.modes())}, layout.swizzle()); }

Layout compose(const Layout& a, const Layout& b) {
  constexpr int64_t kMaxEnumerated = int64_t(1) << 16;
  refuse_swizzle(b, "composition with an inner");
  if (b.cosize() > a.size()) {
    throw invalid_kernel({}, "{} reaches element {} of {}, which has {}", to_string(b), b.cosize() - 1, to_string(a),
                         a.size());
  }
  std::optional<std::vector<Dim>> dims = compose_by_modes(coalesced(a.modes()), b);
  if (!dims && b.size() <= kMaxEnumerated) dims = compose_by_enumeration(Layout(a.dims()), b);
  if (dims) return Layout(*std::move(dims), a.swizzle());
  throw invalid_kernel({}, "{} after {} is no layout", to_string(a), to_string(b))
      .hint("extents and steps must divide each other, and the inner modes must not carry within an outer one");
}

Layout compose(const Swizzle& swizzle, const Layout& layout) {
  return layout.with_swizzle(compose(swizzle, layout.swizzle()));
}

Layout complement(const Layout& a, int64_t cosize) {
  refuse_swizzle(a, "complement");
  if (cosize < 0) throw invalid_kernel({}, "complement in {} elements", cosize).hint("0 or more");
  Modes modes;
  for (const Mode& m : a.modes()) {
    if (m.extent == 0) throw invalid_kernel({}, "complement of the empty layout {}", to_string(a));
    if (m.extent > 1) modes.push_back(m);
  }
  std::sort(modes.begin(), modes.end(), [](const Mode& x, const Mode& y) { return x.stride < y.stride; });
  Dim out;
  int64_t covered = 1;
  for (const Mode& m : modes) {
    if (m.stride == 0 || m.stride % covered != 0) {
      throw invalid_kernel({}, "the layout {} has no complement", to_string(a))
          .hint("its modes must nest: each stride a multiple of what the smaller modes cover");
    }
    out.push_back({.extent = m.stride / covered, .stride = covered});
    covered = checked_mul(m.stride, m.extent);
  }
  out.push_back({.extent = cosize / covered + (cosize % covered != 0), .stride = covered});
  return Layout({coalesced(out)});
}

Layout divide(const Layout& a, const Layout& b) {
  refuse_swizzle(b, "division by");
  const Layout tile({b.modes()});
  return compose(a, concat(tile, complement(tile, a.size())));
}

Layout divide_each(const Layout& a, std::span<const int64_t> tile) {
  if (int(tile.size()) != a.rank()) {
    throw invalid_kernel({}, "a tile of {} dimensions for {}", tile.size(), to_string(a));
  }
  std::vector<Dim> inner, outer;
  for (int d = 0; d < a.rank(); ++d) {
    const int64_t t = tile[size_t(d)], extent = a.extent(d);
    if (t < 1 || extent % t != 0) {
      throw invalid_kernel({}, "extent {} of {} does not divide into tiles of {}", extent, to_string(a), t);
    }
    const Layout split = divide(Layout({a.dim(d)}), Layout({{{.extent = t, .stride = 1}}}));
    inner.push_back(split.dim(0));
    outer.push_back(split.dim(1));
  }
  inner.insert(inner.end(), outer.begin(), outer.end());
  return Layout(std::move(inner), a.swizzle());
}

namespace {

// The offsets of the copies of `a`, with the dimensions of `b`.
Layout copies(const Layout& a, const Layout& b) {
  refuse_swizzle(b, "product with");
  return compose(complement(Layout({a.modes()}), checked_mul(a.size(), b.cosize())), b);
}

}  // namespace

Layout product(const Layout& a, const Layout& b) {
  return Layout({a.modes(), copies(a, Layout({b.modes()}, b.swizzle())).modes()}, a.swizzle());
}

Layout tiled(const Layout& block, const Layout& grid) {
  if (block.rank() != grid.rank()) {
    throw invalid_kernel({}, "the block {} and the grid {} differ in rank", to_string(block), to_string(grid));
  }
  const Layout outer = copies(block, grid);
  std::vector<Dim> dims = block.dims();
  for (int d = 0; d < grid.rank(); ++d) {
    dims[size_t(d)].insert(dims[size_t(d)].end(), outer.dim(d).begin(), outer.dim(d).end());
  }
  return Layout(std::move(dims), block.swizzle());
}

Layout right_inverse(const Layout& a) {
  refuse_swizzle(a, "inverse");
  // Each mode with what it covers of the linear index; in the order of strides, as long as they continue.
  struct Placed {
    Mode mode;
    int64_t step;
  };
  std::vector<Placed> placed;
  int64_t step = 1;
  for (const Mode& m : coalesced(a.modes())) {
    placed.push_back({.mode = m, .step = step});
    step = checked_mul(step, std::max<int64_t>(m.extent, 1));
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const Placed& x, const Placed& y) { return x.mode.stride < y.mode.stride; });
  Dim out;
  int64_t covered = 1;
  for (const Placed& p : placed) {
    if (p.mode.extent == 0) return Layout({Dim{{.extent = 0, .stride = 0}}});
    if (p.mode.extent == 1 || p.mode.stride != covered) continue;
    out.push_back({.extent = p.mode.extent, .stride = p.step});
    covered = checked_mul(covered, p.mode.extent);
  }
  return Layout({coalesced(out)});
}

Layout left_inverse(const Layout& a) {
  if (a.size() == 0) return Layout({Dim{{.extent = 0, .stride = 0}}});
  const Layout rest = complement(a, a.cosize());
  // A's elements are the low part of the index; the gaps count above it.
  return right_inverse(Layout({a.modes(), rest.modes()}));
}

Layout permute(const Layout& layout, std::span<const int> order) {
  std::vector<int> sorted(order.begin(), order.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> all(size_t(layout.rank()));
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all)
    throw invalid_kernel({}, "[{}] is no order of the {} dimensions of {}", fmt::join(order, ", "), layout.rank(),
                         to_string(layout));
  std::vector<Dim> dims;
  for (int d : order) dims.push_back(layout.dims()[size_t(d)]);
  return Layout(std::move(dims), layout.swizzle());
}

Layout concat(const Layout& a, const Layout& b) {
  if (a.swizzle() != b.swizzle()) {
    throw invalid_kernel({}, "{} and {} have different swizzles", to_string(a), to_string(b));
  }
  std::vector<Dim> dims = a.dims();
  dims.insert(dims.end(), b.dims().begin(), b.dims().end());
  return Layout(std::move(dims), a.swizzle());
}

std::pair<Layout, int64_t> slice(const Layout& layout, int dim, int64_t at) {
  refuse_swizzle(layout, "slice");
  if (dim < 0 || dim >= layout.rank() || at < 0 || at >= layout.extent(dim)) {
    throw invalid_kernel({}, "slice {} of dimension {} of {}", at, dim, to_string(layout));
  }
  std::vector<int64_t> coordinates(size_t(layout.rank()), 0);
  coordinates[size_t(dim)] = at;
  std::vector<Dim> dims = layout.dims();
  dims.erase(dims.begin() + dim);
  return {Layout(std::move(dims)), layout(coordinates)};
}

}  // namespace tilewright::layout
