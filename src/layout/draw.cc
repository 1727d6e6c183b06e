#include "layout/draw.h"

#include "layout/checked.h"

#include <algorithm>

namespace tilewright::layout {

namespace {

struct Table {
  int64_t rows = 1, cols = 1;
};

Table table_of(const Layout& layout) {
  if (layout.rank() < 1 || layout.rank() > 2) {
    throw invalid_kernel({}, "a layout of {} dimensions cannot be drawn", layout.rank()).hint("slice it to one or two");
  }
  const Table t = layout.rank() == 1 ? Table{1, layout.extent(0)} : Table{layout.extent(0), layout.extent(1)};
  constexpr int64_t kMaxCells = 1 << 16;
  if (t.rows > kMaxCells || t.cols > kMaxCells || t.rows * t.cols > kMaxCells)
    throw invalid_kernel({}, "{} x {} cells are too many to draw", t.rows, t.cols);
  return t;
}

int64_t offset_at(const Layout& layout, int64_t row, int64_t col) {
  return layout.rank() == 1 ? layout({col}) : layout({row, col});
}

}  // namespace

std::string draw_text(const Layout& layout) {
  const Table t = table_of(layout);
  const auto width = int(fmt::format("{}", std::max<int64_t>(layout.cosize() - 1, 0)).size());
  std::string out;
  for (int64_t i = 0; i < t.rows; ++i) {
    for (int64_t j = 0; j < t.cols; ++j) out += fmt::format("{}{:>{}}", j ? " " : "", offset_at(layout, i, j), width);
    out += "\n";
  }
  return out;
}

namespace {

constexpr int kCell = 34, kTitle = 20;

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      // Other control characters are no XML, not even as references.
      default: out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

std::string cell_svg(int64_t row, int64_t col, int64_t offset, int elem_bytes) {
  constexpr int kBanks = 32, kWordBytes = 4;
  const int64_t x = col * kCell, y = row * kCell + kTitle, bank = offset * elem_bytes / kWordBytes % kBanks;
  return fmt::format(
             "<g><title>({}, {}) offset {} bank {}</title>"
             "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"hsl({},70%,82%)\" stroke=\"#666\"/>",
             row, col, offset, bank, x, y, kCell, kCell, bank * 360 / kBanks) +
         fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>\n", x + kCell / 2, y + kCell / 2 + 4,
                     offset);
}

}  // namespace

std::string draw_svg(const Layout& layout, int elem_bytes, std::string_view title) {
  if (elem_bytes < 1) throw invalid_kernel({}, "elements of {} bytes cannot be drawn", elem_bytes).hint("at least 1");
  const Table t = table_of(layout);
  checked_mul(layout.cosize(), elem_bytes);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"monospace\" "
      "font-size=\"11\">\n<text x=\"2\" y=\"14\">{}</text>\n",
      t.cols * kCell + 1, t.rows * kCell + kTitle + 1, escaped(title.empty() ? to_string(layout) : title));
  for (int64_t i = 0; i < t.rows; ++i) {
    for (int64_t j = 0; j < t.cols; ++j) out += cell_svg(i, j, offset_at(layout, i, j), elem_bytes);
  }
  return out + "</svg>\n";
}

}  // namespace tilewright::layout
