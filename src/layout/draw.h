// Layouts and fragments as pictures: a table with a cell for each element, rows the last dimension but one (one row for
// a single dimension), columns the last one.
#pragma once

#include "layout/fragment.h"
#include "layout/layout.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewright::layout {

// [begin, end) of one dimension.
struct DrawRange {
  int64_t begin = 0, end = 0;
};
// What is drawn, a range for each dimension; empty: all. At most the last two ranges have more than one element.
using DrawRegion = std::span<const DrawRange>;

// All functions throw Error{invalid_kernel} for a region that does not fit, and for more than 2^16 cells.

// Cells are offsets in elements.
std::string draw_text(const Layout& layout, DrawRegion region = {});
// As SVG; cells are coloured by the memory bank of their 4-byte word, for elements of `elem_bytes`. What lies under the
// pointer is explained: coordinates, offset, bank. `title` stands above the table; it may be any text.
std::string draw_svg(const Layout& layout, int elem_bytes, std::string_view title = {}, DrawRegion region = {});

// The same cells as PNG, without title and explanations; at most 2^24 pixels.
std::string draw_png(const Layout& layout, int elem_bytes, DrawRegion region = {});

// Cells are "t<thread>.<register>" of the owner with replica 0; "*" marks elements that other threads hold as well, "-"
// those that nobody holds.
std::string draw_text(const Fragment& fragment, DrawRegion region = {});
// As SVG; cells are coloured by thread, a warp has one shade. What lies under the pointer is explained: coordinates,
// and each owner with its warp, lane and register.
std::string draw_svg(const Fragment& fragment, std::string_view title = {}, DrawRegion region = {});
std::string draw_png(const Fragment& fragment, DrawRegion region = {});

}  // namespace tilewright::layout
