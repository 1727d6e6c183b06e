#include "layout/draw.h"

#include "layout/checked.h"
#include "layout/png.h"

#include <algorithm>
#include <functional>
#include <map>

namespace tilewright::layout {

namespace {

constexpr int64_t kMaxCells = 1 << 16;
constexpr int kWarp = 32;

// The cells of a picture and what they show.
struct Table {
  std::vector<DrawRange> region;  // of all dimensions

  int64_t rows() const { return region.size() < 2 ? 1 : extent(region.size() - 2); }
  int64_t cols() const { return extent(region.size() - 1); }
  int64_t extent(size_t d) const { return region[d].end - region[d].begin; }
  std::vector<int64_t> at(int64_t row, int64_t col) const {
    std::vector<int64_t> out;
    for (const DrawRange& range : region) out.push_back(range.begin);
    if (out.size() > 1) out[out.size() - 2] += row;
    out.back() += col;
    return out;
  }
};

Table table_of(std::span<const int64_t> shape, DrawRegion region) {
  if (shape.empty()) throw invalid_kernel({}, "what has no dimensions cannot be drawn");
  if (!region.empty() && region.size() != shape.size()) {
    throw invalid_kernel({}, "{} ranges for a shape of {} dimensions", region.size(), shape.size())
        .hint("one for each dimension");
  }
  Table t{.region = {region.begin(), region.end()}};
  if (region.empty()) {
    for (const int64_t extent : shape) t.region.push_back({0, extent});
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto& [begin, end] = t.region[d];
    if (begin < 0 || end < begin || end > shape[d]) {
      throw invalid_kernel({}, "[{}, {}) is no part of dimension {}, whose extent is {}", begin, end, d, shape[d]);
    }
    if (d + 2 < shape.size() && t.extent(d) != 1) {
      throw invalid_kernel({}, "{} indices of dimension {} cannot be drawn in one picture", t.extent(d), d)
          .hint("only the last two dimensions may have more than one");
    }
  }
  const int64_t rows = t.rows(), cols = t.cols();
  if (rows > kMaxCells || cols > kMaxCells || rows * cols > kMaxCells) {
    throw invalid_kernel({}, "{} x {} cells are too many to draw", rows, cols)
        .hint(fmt::format("choose a region of {} cells at most", kMaxCells));
  }
  return t;
}

std::string text_of(const Table& t, const std::function<std::string(int64_t row, int64_t col)>& label) {
  std::vector<std::string> labels;
  size_t width = 0;
  for (int64_t i = 0; i < t.rows(); ++i) {
    for (int64_t j = 0; j < t.cols(); ++j) width = std::max(width, labels.emplace_back(label(i, j)).size());
  }
  std::string out;
  for (int64_t i = 0; i < t.rows(); ++i) {
    for (int64_t j = 0; j < t.cols(); ++j)
      out += fmt::format("{}{:>{}}", j ? " " : "", labels[size_t(i * t.cols() + j)], width);
    out += "\n";
  }
  return t.cols() == 0 ? "" : out;
}

// ---- SVG ----

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

struct Cell {
  std::string label, explanation;
  int64_t hue = 0, lightness = 82;  // of degrees and of per cent
};

constexpr int kCellHeight = 34, kTitleHeight = 20;

std::string cell_svg(const Cell& cell, int64_t row, int64_t col, int64_t width) {
  const int64_t x = col * width, y = row * kCellHeight + kTitleHeight;
  return fmt::format(
             "<g><title>{}</title>"
             "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"hsl({},70%,{}%)\" stroke=\"#666\"/>",
             escaped(cell.explanation), x, y, width, kCellHeight, cell.hue, cell.lightness) +
         fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>\n", x + width / 2,
                     y + kCellHeight / 2 + 4, cell.label);
}

std::string svg_of(const Table& t, std::string_view title, int64_t width,
                   const std::function<Cell(int64_t row, int64_t col)>& cell) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"monospace\" "
      "font-size=\"11\">\n<text x=\"2\" y=\"14\">{}</text>\n",
      t.cols() * width + 1, t.rows() * kCellHeight + kTitleHeight + 1, escaped(title));
  for (int64_t i = 0; i < t.rows(); ++i) {
    for (int64_t j = 0; j < t.cols(); ++j) out += cell_svg(cell(i, j), i, j, width);
  }
  return out + "</svg>\n";
}

// ---- PNG ----

constexpr int64_t kMaxPixels = int64_t(1) << 24;

// Without a title and explanations: a raster shows cells alone.
std::string png_of(const Table& t, const std::function<Cell(int64_t row, int64_t col)>& cell) {
  std::vector<Cell> cells;
  size_t longest = 1;
  for (int64_t i = 0; i < t.rows(); ++i) {
    for (int64_t j = 0; j < t.cols(); ++j) longest = std::max(longest, cells.emplace_back(cell(i, j)).label.size());
  }
  constexpr int64_t kMargin = 4;
  const int64_t width = int64_t(longest) * Raster::kGlyphStep - 1 + 2 * kMargin;
  const int64_t height = Raster::kGlyphHeight + 2 * kMargin;
  if (cells.empty() || int64_t(cells.size()) > kMaxPixels / (width * height)) {
    throw invalid_kernel({}, "{} cells of {} x {} pixels are no picture of 1 to {} pixels", cells.size(), width, height,
                         kMaxPixels)
        .hint("choose a region, or SVG, which is smaller");
  }
  Raster raster(t.cols() * width + 1, t.rows() * height + 1);
  raster.color({0x66, 0x66, 0x66});  // colour 0, which the raster is made of, and which stays between the cells
  const uint8_t ink = raster.color({0, 0, 0});
  for (size_t i = 0; i < cells.size(); ++i) {
    const int64_t x = int64_t(i) % t.cols() * width + 1, y = int64_t(i) / t.cols() * height + 1;
    raster.fill(x, y, width - 1, height - 1, raster.color(hsl(cells[i].hue, 70, cells[i].lightness)));
    const int64_t gap = (int64_t(longest) - int64_t(cells[i].label.size())) * Raster::kGlyphStep / 2;
    raster.text(x + kMargin + gap - 1, y + kMargin - 1, cells[i].label, ink);
  }
  return raster.png();
}

std::string coordinates_text(std::span<const int64_t> at) { return fmt::format("({})", fmt::join(at, ", ")); }

// ---- Fragments ----

// The owners of each element of a table, replica 0 first.
class Owners {
 public:
  Owners(const Fragment& fragment, const Table& table) : table_(table) {
    checked_mul(fragment.num_threads(), fragment.num_regs());
    if (fragment.num_threads() * fragment.num_regs() > kMaxCells * 64) {
      throw invalid_kernel({}, "{} threads with {} registers are too many to draw", fragment.num_threads(),
                           fragment.num_regs());
    }
    for (int64_t t = 0; t < fragment.num_threads(); ++t) {
      for (int64_t r = 0; r < fragment.num_regs(); ++r) {
        const auto at = fragment.coordinates(t, r);
        if (!at || !inside(*at)) continue;
        std::vector<Owner>& owners = owners_[*at];
        owners.insert(fragment.replica(t) == 0 ? owners.begin() : owners.end(), Owner{t, r});
      }
    }
  }

  std::span<const Owner> of(const std::vector<int64_t>& at) const {
    const auto found = owners_.find(at);
    return found == owners_.end() ? std::span<const Owner>() : found->second;
  }

 private:
  bool inside(std::span<const int64_t> at) const {
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d] < table_.region[d].begin || at[d] >= table_.region[d].end) return false;
    }
    return true;
  }

  const Table& table_;
  std::map<std::vector<int64_t>, std::vector<Owner>> owners_;
};

std::string owner_label(std::span<const Owner> owners) {
  if (owners.empty()) return "-";
  return fmt::format("t{}.{}{}", owners[0].thread, owners[0].reg, owners.size() > 1 ? "*" : "");
}

Cell owner_cell(std::span<const Owner> owners, std::span<const int64_t> at) {
  Cell cell{.label = owner_label(owners), .explanation = coordinates_text(at)};
  if (owners.empty()) return {.label = "-", .explanation = cell.explanation + " is held by no thread", .lightness = 95};
  for (const Owner& owner : owners) {
    cell.explanation += fmt::format("; thread {} (warp {}, lane {}), register {}", owner.thread, owner.thread / kWarp,
                                    owner.thread % kWarp, owner.reg);
  }
  cell.hue = owners[0].thread % kWarp * 360 / kWarp;
  cell.lightness = 86 - owners[0].thread / kWarp % 4 * 8;
  return cell;
}

}  // namespace

std::string draw_text(const Layout& layout, DrawRegion region) {
  const Table t = table_of(layout.shape(), region);
  return text_of(t, [&](int64_t row, int64_t col) { return std::to_string(layout(t.at(row, col))); });
}

namespace {

std::function<Cell(int64_t, int64_t)> offset_cells(const Layout& layout, int elem_bytes, const Table& t) {
  if (elem_bytes < 1) throw invalid_kernel({}, "elements of {} bytes cannot be drawn", elem_bytes).hint("at least 1");
  constexpr int kBanks = 32, kWordBytes = 4;
  checked_mul(layout.cosize(), elem_bytes);
  return [&layout, elem_bytes, &t](int64_t row, int64_t col) {
    const std::vector<int64_t> at = t.at(row, col);
    const int64_t offset = layout(at), bank = offset * elem_bytes / kWordBytes % kBanks;
    return Cell{.label = std::to_string(offset),
                .explanation = fmt::format("{} offset {} bank {}", coordinates_text(at), offset, bank),
                .hue = bank * 360 / kBanks};
  };
}

std::function<Cell(int64_t, int64_t)> owner_cells(const Owners& owners, const Table& t) {
  return [&owners, &t](int64_t row, int64_t col) {
    const std::vector<int64_t> at = t.at(row, col);
    return owner_cell(owners.of(at), at);
  };
}

}  // namespace

std::string draw_svg(const Layout& layout, int elem_bytes, std::string_view title, DrawRegion region) {
  constexpr int kCellWidth = 34;
  const Table t = table_of(layout.shape(), region);
  return svg_of(t, title.empty() ? to_string(layout) : title, kCellWidth, offset_cells(layout, elem_bytes, t));
}

std::string draw_png(const Layout& layout, int elem_bytes, DrawRegion region) {
  const Table t = table_of(layout.shape(), region);
  return png_of(t, offset_cells(layout, elem_bytes, t));
}

std::string draw_text(const Fragment& fragment, DrawRegion region) {
  const Table t = table_of(fragment.shape(), region);
  const Owners owners(fragment, t);
  return text_of(t, [&](int64_t row, int64_t col) { return owner_label(owners.of(t.at(row, col))); });
}

std::string draw_svg(const Fragment& fragment, std::string_view title, DrawRegion region) {
  constexpr int kCellWidth = 62;
  const Table t = table_of(fragment.shape(), region);
  const Owners owners(fragment, t);
  return svg_of(t, title.empty() ? to_string(fragment) : title, kCellWidth, owner_cells(owners, t));
}

std::string draw_png(const Fragment& fragment, DrawRegion region) {
  const Table t = table_of(fragment.shape(), region);
  const Owners owners(fragment, t);
  return png_of(t, owner_cells(owners, t));
}

}  // namespace tilewright::layout
