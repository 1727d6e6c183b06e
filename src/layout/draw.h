// Layouts as pictures.
#pragma once

#include "layout/layout.h"

#include <string>
#include <string_view>

namespace tilewright::layout {

// A table of offsets: rows are the first dimension, columns the second (one row for a single dimension).
std::string draw_text(const Layout& layout);
// The same as SVG; cells are coloured by the memory bank of their 4-byte word, for elements of `elem_bytes`.
// `title` stands above the table; it may be any text.
std::string draw_svg(const Layout& layout, int elem_bytes, std::string_view title = {});

}  // namespace tilewright::layout
