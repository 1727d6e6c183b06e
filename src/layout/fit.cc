#include "layout/fit.h"

#include "layout/checked.h"

#include <algorithm>

namespace tilewright::layout {

namespace {

// Calls f(coordinates) for each element, the last dimension fastest.
template <class F>
void for_each_element(const std::vector<int64_t>& extents, F f) {
  std::vector<int64_t> at(extents.size(), 0);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  for (;;) {
    f(at);
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

int64_t count_elements(const std::vector<int64_t>& extents, int64_t factor) {
  int64_t n = factor;
  for (const int64_t extent : extents) {
    if (extent < 0) throw invalid_kernel({}, "a layout has extent {}", extent).hint("extents are 0 or more");
    n = checked_mul(n, extent);
  }
  if (n <= kMaxFitted) return n;
  throw unsupported({}, "a function of {} elements is too large to look at each; at most {} are possible", n,
                    kMaxFitted)
      .hint("write the layout down in its notation");
}

// So that multiples of strides are numbers of 63 bits.
constexpr int64_t kMaxOffset = int64_t(1) << 40;

int64_t largest_divisor(int64_t n, int64_t at_most) {
  int64_t d = std::min(n, at_most);
  while (n % d != 0) --d;
  return d;
}

// Modes that are g on [0, extent), g(0) = 0.
std::optional<Dim> fit_dim(int64_t extent, const std::function<int64_t(int64_t)>& g) {
  Dim dim;
  int64_t scale = 1, left = extent;
  while (left > 1) {
    const int64_t stride = g(scale);
    if (stride < 0) return std::nullopt;
    int64_t run = 2;
    while (run < left && g(scale * run) == run * stride) ++run;
    const int64_t digit = largest_divisor(left, run);
    if (digit == 1) return std::nullopt;
    dim.push_back({.extent = digit, .stride = stride});
    scale *= digit;
    left /= digit;
  }
  if (dim.empty()) dim.push_back({.extent = extent, .stride = 0});
  return dim;
}

// The offsets of all elements, and of those along each axis.
struct Table {
  std::vector<int64_t> all;
  std::vector<std::vector<int64_t>> along;
};

std::optional<Layout> fit_with(const std::vector<int64_t>& extents, const Table& table, const Swizzle& swizzle) {
  std::vector<Dim> dims;
  for (size_t d = 0; d < extents.size(); ++d) {
    auto dim = fit_dim(extents[d], [&](int64_t x) { return swizzle(table.along[d][size_t(x)]); });
    if (!dim) return std::nullopt;
    dims.push_back(std::move(*dim));
  }
  Layout layout(std::move(dims), swizzle);
  size_t i = 0;
  bool same = true;
  for_each_element(extents, [&](const std::vector<int64_t>& at) { same = same && layout(at) == table.all[i++]; });
  return same ? std::optional(layout) : std::nullopt;
}

}  // namespace

std::optional<Layout> fit_layout(const std::vector<int64_t>& extents, const OffsetFunction& offset_of) {
  if (count_elements(extents, 1) == 0) return row_major(extents);
  Table table;
  int64_t largest = 0;
  for_each_element(extents, [&](const std::vector<int64_t>& at) {
    table.all.push_back(offset_of(at));
    if (table.all.back() < 0 || table.all.back() > kMaxOffset) {
      throw invalid_kernel({}, "the layout puts element [{}] at offset {}", fmt::join(at, ", "), table.all.back())
          .hint(fmt::format("offsets are 0 to {}", kMaxOffset));
    }
    largest = std::max(largest, table.all.back());
  });
  if (table.all.front() != 0) return std::nullopt;
  for (size_t d = 0; d < extents.size(); ++d) {
    std::vector<int64_t> at(extents.size(), 0);
    std::vector<int64_t>& along = table.along.emplace_back();
    for (at[d] = 0; at[d] < extents[d]; ++at[d]) along.push_back(offset_of(at));
  }
  if (auto plain = fit_with(extents, table, {})) return plain;
  constexpr int kMaxBits = 5;
  for (int bits = 1; bits <= kMaxBits; ++bits) {
    for (int base = 0; (int64_t(1) << base) <= largest; ++base) {
      // Row bits beyond all offsets change nothing.
      for (int shift = bits; (int64_t(1) << (base + shift)) <= largest; ++shift) {
        if (auto l = fit_with(extents, table, {.bits = bits, .base = base, .shift = shift})) return l;
      }
    }
  }
  return std::nullopt;
}

namespace {

using Coordinates = std::optional<std::vector<int64_t>>;  // nullopt: holds nothing

// Whether the coordinates are those, or lie outside.
bool matches(const Coordinates& at, std::vector<int64_t> want, const std::vector<int64_t>& extents) {
  for (size_t d = 0; d < want.size(); ++d) {
    if (want[d] >= extents[d]) return !at;
  }
  return at && *at == want;
}

// Modes that are g on [0, count), g(0) all zeros.
std::optional<std::vector<FragmentMode>> fit_modes(const std::vector<int64_t>& extents, int64_t count,
                                                   const std::function<Coordinates(int64_t)>& g) {
  std::vector<FragmentMode> modes;
  int64_t scale = 1, left = count;
  while (left > 1) {
    const Coordinates step = g(scale);
    if (!step) return std::nullopt;
    FragmentMode mode;
    for (size_t d = 0; d < step->size(); ++d) {
      if ((*step)[d] == 0) continue;
      if (mode.dim >= 0) return std::nullopt;  // along two dimensions at once
      mode = {.extent = 1, .dim = int(d), .stride = (*step)[d]};
    }
    const auto expected = [&](int64_t x) {
      std::vector<int64_t> at(extents.size(), 0);
      if (mode.dim >= 0) at[size_t(mode.dim)] = x * mode.stride;
      return at;
    };
    int64_t run = 2;
    while (run < left && matches(g(scale * run), expected(run), extents)) ++run;
    mode.extent = largest_divisor(left, run);
    if (mode.extent == 1) return std::nullopt;
    modes.push_back(mode);
    scale *= mode.extent;
    left /= mode.extent;
  }
  return modes;
}

struct Held {
  std::vector<std::pair<std::vector<int64_t>, Owner>> owners;
  int64_t num_threads = 0, num_regs = 0;
};

Held all_owners(const std::vector<int64_t>& extents, int64_t num_replicas, int64_t num_threads,
                const OwnerFunction& owner_of) {
  Held held{.owners = {}, .num_threads = std::max<int64_t>(num_threads, 1), .num_regs = 1};
  for_each_element(extents, [&](const std::vector<int64_t>& at) {
    for (int64_t replica = 0; replica < num_replicas; ++replica) {
      const Owner owner = owner_of(at, replica);
      const bool possible = owner.thread >= 0 && owner.reg >= 0 && owner.reg < kMaxFitted &&
                            owner.thread < kMaxFitted && (num_threads == 0 || owner.thread < num_threads);
      if (!possible) {
        throw invalid_kernel({}, "the fragment puts element [{}] into register {} of thread {}", fmt::join(at, ", "),
                             owner.reg, owner.thread)
            .hint(num_threads == 0
                      ? "threads and registers are numbered from 0"
                      : fmt::format("threads are 0 to {}, registers are numbered from 0", num_threads - 1));
      }
      held.num_threads = std::max(held.num_threads, owner.thread + 1);
      held.num_regs = std::max(held.num_regs, owner.reg + 1);
      held.owners.emplace_back(at, owner);
    }
  });
  return held;
}

}  // namespace

std::optional<Fragment> fit_fragment(const std::vector<int64_t>& extents, int64_t num_replicas, int64_t num_threads,
                                     const OwnerFunction& owner_of) {
  if (num_replicas < 1 || num_threads < 0) {
    throw invalid_kernel({}, "a fragment of {} threads with {} replicas", num_threads, num_replicas)
        .hint("both are 1 or more");
  }
  count_elements(extents, num_replicas);
  const Held held = all_owners(extents, num_replicas, num_threads, owner_of);
  const int64_t threads = held.num_threads, regs = held.num_regs;
  count_elements({threads, regs}, 1);
  std::vector<Coordinates> at(size_t(threads * regs));
  for (const auto& [element, owner] : held.owners) {
    Coordinates& place = at[size_t(owner.thread * regs + owner.reg)];
    if (place && *place != element) {
      throw invalid_kernel({}, "elements [{}] and [{}] are both in register {} of thread {}", fmt::join(*place, ", "),
                           fmt::join(element, ", "), owner.reg, owner.thread)
          .hint("a register holds one element");
    }
    place = element;
  }
  if (held.owners.empty() || !matches(at[0], std::vector<int64_t>(extents.size(), 0), extents)) return std::nullopt;
  auto thread_modes = fit_modes(extents, threads, [&](int64_t t) { return at[size_t(t * regs)]; });
  auto reg_modes = fit_modes(extents, regs, [&](int64_t r) { return at[size_t(r)]; });
  const auto repeats = [](const FragmentMode& m) { return m.dim < 0; };
  if (!thread_modes || !reg_modes || std::any_of(reg_modes->begin(), reg_modes->end(), repeats)) return std::nullopt;
  Fragment fragment(extents, std::move(*thread_modes), std::move(*reg_modes));
  for (int64_t t = 0; t < threads; ++t) {
    for (int64_t r = 0; r < regs; ++r) {
      if (fragment.coordinates(t, r) != at[size_t(t * regs + r)]) return std::nullopt;
    }
  }
  return fragment;
}

}  // namespace tilewright::layout
