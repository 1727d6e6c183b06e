// Layouts and fragments that authors give: each element has one place, and threads are those of the block.
#include "ir/verify_parts.h"
#include "layout/algebra.h"
#include "support/error.h"

#include <algorithm>
#include <numeric>

namespace tilewright::ir {

namespace {

// Elements or registers beyond this are not listed one by one.
constexpr int64_t kMaxListed = int64_t(1) << 22;

std::string at_text(std::span<const int64_t> at) { return fmt::format("[{}]", fmt::join(at, ", ")); }

// Of a tile, its extents known.
class AnnotationChecker {
 public:
  AnnotationChecker(const Kernel& kernel, const Tile& tile) : kernel_(kernel), tile_(tile) {}

  void check() const {
    if (tile_.space != Space::shared && tile_.space != Space::fragment) {
      fail(fmt::format("{} is {}", tile_.name, to_string(tile_.space)),
           "shared tiles have layouts, fragment tiles fragments");
    }
    if (tile_.view_of >= 0) {
      const Tile& root = kernel_.tile(tile_.view_of);
      fail(fmt::format("{} is a view of {}", tile_.name, root.name),
           fmt::format("its elements lie where those of {} do; annotate that tile", root.name));
    }
    if (tile_.layout) check_layout(*tile_.layout);
    if (tile_.fragment) check_fragment(*tile_.fragment);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const {
    throw invalid_kernel(*tile_.annotated, "annotate_layout: {}", what)
        .note(fmt::format("{}  {}", tile_.name, describe(tile_)), tile_.loc)
        .hint(hint);
  }
  void check_shape(const std::vector<int64_t>& shape, const char* what) const {
    if (shape == tile_.extents()) return;
    fail(fmt::format("{} has the extents {}, but its {} those of {}", tile_.name, at_text(tile_.extents()), what,
                     at_text(shape)),
         fmt::format("a {} has the extents of its tile", what));
  }
  void check_layout(const layout::Layout& l) const;
  void check_fragment(const layout::Fragment& f) const;
  std::vector<int64_t> coordinates_of(int64_t element) const;

  const Kernel& kernel_;
  const Tile& tile_;
};

// Each stride is beyond all that the smaller ones reach, so that offsets are numbers in a mixed radix.
bool has_nested_strides(const layout::Layout& l) {
  std::vector<layout::Mode> modes = l.modes();
  std::erase_if(modes, [](const layout::Mode& m) { return m.extent <= 1; });
  std::sort(modes.begin(), modes.end(), [](const auto& a, const auto& b) { return a.stride < b.stride; });
  int64_t reach = 0;
  for (const layout::Mode& m : modes) {
    if (m.stride <= reach) return false;
    reach += (m.extent - 1) * m.stride;
  }
  return true;
}

void AnnotationChecker::check_layout(const layout::Layout& l) const {
  if (tile_.space == Space::fragment) {
    fail(fmt::format("{} is a fragment, which has no layout", tile_.name),
         "say by a T::Fragment which thread holds which element");
  }
  check_shape(l.shape(), "layout");
  int64_t bytes = 0;
  if (__builtin_mul_overflow(l.cosize(), int64_t(bytes_of(tile_.dtype)), &bytes)) {
    fail(fmt::format("the layout of {} takes more bytes than 64 bits can count", tile_.name),
         "make its strides smaller");
  }
  if (l.size() == 0 || has_nested_strides(l)) return;
  if (l.size() > kMaxListed) {
    throw unsupported(*tile_.annotated,
                      "annotate_layout: {} has {} elements, too many to check that no two share a place", tile_.name,
                      l.size())
        .hint("let each stride be beyond what the smaller ones reach");
  }
  std::vector<std::pair<int64_t, int64_t>> places;  // offset, element
  for (int64_t i = 0; i < l.size(); ++i) places.emplace_back(l.at(i), i);
  std::sort(places.begin(), places.end());
  const auto same =
      std::adjacent_find(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same == places.end()) return;
  fail(fmt::format("elements {} and {} of {} both lie at offset {}", at_text(l.coordinates(same->second)),
                   at_text(l.coordinates((same + 1)->second)), tile_.name, same->first),
       "each element needs an offset of its own");
}

std::vector<int64_t> AnnotationChecker::coordinates_of(int64_t element) const {
  std::vector<int64_t> at = tile_.extents();
  for (size_t d = at.size(); d-- > 0;) {
    const int64_t extent = at[d];
    at[d] = element % extent;
    element /= extent;
  }
  return at;
}

void AnnotationChecker::check_fragment(const layout::Fragment& f) const {
  if (tile_.space == Space::shared) {
    fail(fmt::format("{} is shared, which no thread holds", tile_.name), "say by a T::Layout where its elements lie");
  }
  check_shape(f.shape(), "fragment");
  const int64_t threads = f.num_threads(), regs = f.num_regs();
  if (threads != kernel_.threads) {
    fail(fmt::format("the fragment of {} is of {} threads, but the block has {}", tile_.name, threads, kernel_.threads),
         threads > 0 && kernel_.threads % threads == 0
             ? fmt::format(".replicate({}) gives each element to {} threads", kernel_.threads / threads,
                           kernel_.threads / threads)
             : fmt::format("deal it out to {} threads", kernel_.threads));
  }
  int64_t elems = 1;
  bool too_many = regs > kMaxListed / threads;
  for (const int64_t extent : f.shape()) too_many |= __builtin_mul_overflow(elems, extent, &elems);
  if (too_many || elems > kMaxListed) {
    throw unsupported(*tile_.annotated, "annotate_layout: {} has too many elements or registers to check them",
                      tile_.name)
        .hint("make the tile smaller, or leave its fragment to the compiler");
  }
  // The thread that holds each element last, and the one among those with replica 0.
  std::vector<int64_t> holder(size_t(elems), -1), storer = holder;
  for (int64_t t = 0; t < threads; ++t) {
    for (int64_t r = 0; r < regs; ++r) {
      const auto at = f.coordinates(t, r);
      if (!at) continue;
      int64_t element = 0;
      for (size_t d = 0; d < at->size(); ++d) element = element * f.shape()[d] + (*at)[d];
      int64_t& last = holder[size_t(element)];
      if (last == t) {
        fail(fmt::format("thread {} holds element {} of {} in two registers", t, at_text(*at), tile_.name),
             "a thread holds an element once");
      }
      last = t;
      if (f.replica(t) != 0) continue;
      if (storer[size_t(element)] >= 0) {
        fail(fmt::format("threads {} and {} both hold element {} of {}, but are no replicas of each other",
                         storer[size_t(element)], t, at_text(*at), tile_.name),
             "threads that hold one element of a tile hold the same elements of it");
      }
      storer[size_t(element)] = t;
    }
  }
  const auto missing = std::find(storer.begin(), storer.end(), -1);
  if (missing == storer.end()) return;
  fail(fmt::format("no thread holds element {} of {}", at_text(coordinates_of(missing - storer.begin())), tile_.name),
       "each element needs an owner");
}

}  // namespace

void verify_annotated(const Kernel& kernel) {
  for (const Tile& tile : kernel.tiles) {
    if (tile.annotated) AnnotationChecker(kernel, tile).check();
  }
}

}  // namespace tilewright::ir
