// <tilewright/language/layouts.h>: layouts and fragments are handed on in their notation.
#include "lang/open_builder.h"
#include "layout/fit.h"
#include "support/error.h"
#include "target/dtype.h"

#include <tilewright/language.h>

namespace tilewright::lang {

namespace {

// f(), its errors at the author's line.
template <class F>
auto at_line(const Loc& loc, F f) {
  try {
    return f();
  } catch (const Error& e) {
    throw e.with_loc(loc);
  }
}

std::vector<int64_t> extents_of(const Tile& tile, const char* word, SourcePos pos) {
  const Loc loc = to_loc(pos);
  std::vector<int64_t> out;
  for (const ir::Expr& e : builder(pos).shape_of(tile.id(), loc)) {
    if (!e.as_int()) {
      throw invalid_kernel(loc, "{} of a tensor, whose extents are known at launch only", word)
          .hint("tiles on chip have layouts");
    }
    out.push_back(*e.as_int());
  }
  return out;
}

Layout from(const layout::Layout& l, SourcePos pos) { return Layout(layout::to_string(l), pos); }
Fragment from(const layout::Fragment& f, SourcePos pos) { return Fragment(layout::to_string(f), pos); }

Layout swizzled(const Tile& tile, const char* word, int64_t span_bytes, SourcePos pos) {
  const Loc loc = to_loc(pos);
  const std::vector<int64_t> extents = extents_of(tile, word, pos);
  const int64_t elem_bytes = bytes_of(builder(pos).dtype_of(tile.id(), loc));
  if (span_bytes == 0) span_bytes = layout::widest_span_bytes(extents, elem_bytes);
  if (span_bytes == 0) {
    throw invalid_kernel(loc, "{}: the rows of [{}] do not divide into 32 bytes", word, fmt::join(extents, ", "))
        .hint(fmt::format("rows of a multiple of {} elements do; T::make_padded_layout takes any", 32 / elem_bytes));
  }
  try {
    return from(layout::swizzled_panels(extents, elem_bytes, span_bytes), pos);
  } catch (const Error& e) {
    throw invalid_kernel(loc, "{}: {}", word, e.message()).hint(e.hint());
  }
}

}  // namespace

Layout::Layout(std::string text, SourcePos pos) : notation_(std::move(text)) {
  at_line(to_loc(pos), [&] { return layout::parse(notation_); });
}

Layout::Layout(std::vector<int64_t> shape, const std::function<int64_t(detail::Coordinates)>& offset, SourcePos pos) {
  const auto fitted = at_line(to_loc(pos), [&] { return layout::fit_layout(shape, offset); });
  if (!fitted) {
    throw unsupported(to_loc(pos), "the layout of [{}] is not made of strides and a swizzle", fmt::join(shape, ", "))
        .hint(
            "the first element lies at offset 0; a coordinate adds digit * stride for each digit of it; bits of the "
            "sum "
            "may be XORed onto lower ones");
  }
  notation_ = layout::to_string(*fitted);
}

int64_t Layout::operator()(std::initializer_list<int64_t> at) const { return layout::parse(notation_)(at); }

Fragment::Fragment(std::string text, SourcePos pos) : notation_(std::move(text)) {
  at_line(to_loc(pos), [&] { return layout::parse_fragment(notation_); });
}

Fragment::Fragment(std::vector<int64_t> shape, const FragmentOptions& options,
                   const std::function<Held(detail::Coordinates, int64_t)>& held, SourcePos pos) {
  const auto fitted = at_line(to_loc(pos), [&] {
    return layout::fit_fragment(shape, options.replicas, options.num_threads,
                                [&](detail::Coordinates at, int64_t replica) {
                                  const Held owner = held(at, replica);
                                  return layout::Owner{.thread = owner.thread, .reg = owner.reg};
                                });
  });
  if (!fitted) {
    throw unsupported(to_loc(pos), "the fragment of [{}] is not made of digits of threads and registers",
                      fmt::join(shape, ", "))
        .hint(
            "thread 0 holds the first element in register 0; each digit of the number of a thread or a register moves "
            "along one dimension");
  }
  notation_ = layout::to_string(*fitted);
}

Fragment Fragment::replicate(int64_t count, SourcePos pos) const {
  const layout::Fragment f = layout::parse_fragment(notation_);
  std::vector<layout::FragmentMode> threads = f.thread_modes();
  threads.push_back({.extent = count});
  return from(at_line(to_loc(pos), [&] { return layout::Fragment(f.shape(), std::move(threads), f.reg_modes()); }),
              pos);
}

Layout make_linear_layout(const Tile& tile, SourcePos pos) {
  const std::vector<int64_t> extents = extents_of(tile, "make_linear_layout", pos);
  return from(at_line(to_loc(pos), [&] { return layout::row_major(extents); }), pos);
}

Layout make_padded_layout(const Tile& tile, int64_t padding, SourcePos pos) {
  const std::vector<int64_t> extents = extents_of(tile, "make_padded_layout", pos);
  constexpr int64_t kMaxPadding = int64_t(1) << 40;
  if (padding < 0 || padding > kMaxPadding || extents.size() < 2) {
    throw invalid_kernel(to_loc(pos), "make_padded_layout: {} elements behind the rows of a tile with {} dimensions",
                         padding, extents.size())
        .hint(fmt::format("0 to {} elements, of a tile with 2 dimensions or more", kMaxPadding));
  }
  return from(at_line(to_loc(pos), [&] { return layout::padded_row_major(extents, extents.back() + padding); }), pos);
}

Layout make_swizzled_layout(const Tile& tile, int64_t span_bytes, SourcePos pos) {
  return swizzled(tile, "make_swizzled_layout", span_bytes, pos);
}
Layout make_full_bank_swizzled_layout(const Tile& tile, SourcePos pos) {
  return swizzled(tile, "make_full_bank_swizzled_layout", 128, pos);
}
Layout make_half_bank_swizzled_layout(const Tile& tile, SourcePos pos) {
  return swizzled(tile, "make_half_bank_swizzled_layout", 64, pos);
}
Layout make_quarter_bank_swizzled_layout(const Tile& tile, SourcePos pos) {
  return swizzled(tile, "make_quarter_bank_swizzled_layout", 32, pos);
}

Fragment make_fully_replicated_layout_fragment(const Tile& tile, SourcePos pos) {
  const std::vector<int64_t> extents = extents_of(tile, "make_fully_replicated_layout_fragment", pos);
  std::vector<layout::FragmentMode> regs;
  for (size_t d = extents.size(); d-- > 0;) {
    if (extents[d] > 1) regs.push_back({.extent = extents[d], .dim = int(d), .stride = 1});
  }
  const int64_t threads = builder(pos).kernel(to_loc(pos)).threads;
  return from(at_line(to_loc(pos), [&] { return layout::Fragment(extents, {{.extent = threads}}, std::move(regs)); }),
              pos);
}

Fragment make_mma_accumulator_fragment(const Tile& tile, int64_t warps_m, int64_t warps_n, SourcePos pos) {
  const std::vector<int64_t> extents = extents_of(tile, "make_mma_accumulator_fragment", pos);
  const int threads = builder(pos).kernel(to_loc(pos)).threads;
  const bool possible = warps_m >= 1 && warps_n >= 1 && warps_m <= threads && warps_n <= threads;
  if (extents.size() != 2 || !possible || warps_m * warps_n * 32 != threads) {
    throw invalid_kernel(to_loc(pos),
                         "make_mma_accumulator_fragment: {} x {} warps of a block of {} threads, for a tile with {} "
                         "dimensions",
                         warps_m, warps_n, threads, extents.size())
        .hint("a tile has 2 dimensions, and all warps of 32 threads take part");
  }
  return from(at_line(to_loc(pos), [&] { return layout::mma_accumulator(extents[0], extents[1], warps_m, warps_n); }),
              pos);
}

void annotate_layout(const Tile& tile, const Layout& layout, SourcePos pos) {
  builder(pos).annotate(tile.id(), layout::parse(layout.notation()), std::nullopt, to_loc(pos));
}

void annotate_layout(const Tile& tile, const Fragment& fragment, SourcePos pos) {
  builder(pos).annotate(tile.id(), std::nullopt, layout::parse_fragment(fragment.notation()), to_loc(pos));
}

void annotate_safe_value(const Tile& tensor, double value, SourcePos pos) {
  builder(pos).annotate_safe_value(tensor.id(), value, to_loc(pos));
}

}  // namespace tilewright::lang
