// Layouts and fragments of random tiles, which change no result.
#include "fuzz/kernel_generator.h"
#include "layout/fragment.h"
#include "layout/layout.h"

#include <algorithm>
#include <numeric>

namespace tilewright::fuzz {

namespace {

// Dimensions in any order of strides, gaps behind some.
layout::Layout some_strides(const std::vector<int64_t>& shape, Random& random) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t(0));
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[size_t(random.between(0, int64_t(i) - 1))]);
  std::vector<int64_t> strides(shape.size());
  int64_t step = random.chance(20) ? random.between(2, 3) : 1;
  for (const size_t d : order) {
    strides[d] = step;
    step = step * std::max<int64_t>(shape[d], 1) + (random.chance(30) ? random.between(1, 9) : 0);
  }
  return layout::strided(shape, strides);
}

layout::Layout some_layout(const std::vector<int64_t>& shape, Random& random) {
  const layout::Layout plain = random.chance(40) ? layout::row_major(shape) : some_strides(shape, random);
  if (random.chance(50)) return plain;
  const int bits = int(random.between(1, 3));
  return plain.with_swizzle({.bits = bits, .base = int(random.between(0, 3)), .shift = int(random.between(bits, 4))});
}

// Of the dimensions in reverse.
layout::Fragment reversed(const layout::Fragment& f) {
  const auto turned = [&](std::vector<layout::FragmentMode> modes) {
    for (layout::FragmentMode& m : modes) m.dim = m.dim < 0 ? -1 : f.rank() - 1 - m.dim;
    return modes;
  };
  std::vector<int64_t> shape(f.shape().rbegin(), f.shape().rend());
  return layout::Fragment(std::move(shape), turned(f.thread_modes()), turned(f.reg_modes()));
}

layout::Fragment some_fragment(std::vector<int64_t> shape, int64_t threads, Random& random) {
  const bool turn = random.chance(40);
  if (turn) std::reverse(shape.begin(), shape.end());
  // Some share the work, the others repeat what those have.
  int64_t sharing = threads;
  if (random.chance(40)) {
    sharing = random.between(1, threads);
    while (threads % sharing != 0) --sharing;
  }
  layout::Fragment f =
      layout::flat(shape, sharing, !shape.empty() && shape.back() % 2 == 0 && random.chance(30) ? 2 : 1);
  if (turn) f = reversed(f);
  std::vector<layout::FragmentMode> modes = f.thread_modes();
  if (sharing < threads) modes.insert(random.chance(50) ? modes.begin() : modes.end(), {.extent = threads / sharing});
  return layout::Fragment(f.shape(), std::move(modes), f.reg_modes());
}

}  // namespace

void KernelGenerator::place(const TileInfo& tile, bool is_fragment) {
  if (!is_fragment && tile.rank() > 0) {
    return T::annotate_layout(tile.tile, T::Layout(layout::to_string(some_layout(tile.shape, random_))));
  }
  if (!is_fragment || tile.empty()) return;
  const int64_t threads = int64_t(T::get_thread_extent(0)) * T::get_thread_extent(1) * T::get_thread_extent(2);
  const layout::Fragment f = some_fragment(tile.shape, threads, random_);
  if (!layout::is_complete(f) || !layout::is_unique(f) || f.num_threads() != threads) return;
  T::annotate_layout(tile.tile, T::Fragment(layout::to_string(f)));
}

}  // namespace tilewright::fuzz
