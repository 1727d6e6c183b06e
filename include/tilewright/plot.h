// Where the elements of a kernel's tiles lie, as pictures.
#pragma once

#include <tilewright/program.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct PlottedTile {
  std::string kernel;
  std::string name;
  std::string description;     // "shared f16[128, 32]", before stages were added
  std::vector<int64_t> shape;  // as it is drawn: a tile of a pipeline has its stages as first dimension
  std::string place;           // its layout (src/layout/layout.h) or, of a fragment, its owners (fragment.h), as text
  bool is_fragment = false;    // elements are held by threads, in registers
  std::string why = {};        // "gemm at a.cc:12", "the author at a.cc:9", ...; empty: rows as they follow
};

// The tiles that plot() can draw, as `target` makes them of the program. Throws what compile() throws up to the
// generated source.
std::vector<PlottedTile> plotted_tiles(const Program& program, const std::string& target = "auto");

enum class PlotFormat : uint8_t { text, svg, png };

struct PlotOptions {
  std::string target = "auto";
  std::string kernel = {};  // of the program; empty: the first one that has such a tile
  PlotFormat format = PlotFormat::svg;
  // [begin, end) of each dimension; empty: all of the last two dimensions, at index 0 of the others.
  std::vector<std::pair<int64_t, int64_t>> region = {};
};

// One tile. Cells of a fragment are "t<thread>.<register>", cells of other tiles offsets in elements; in an SVG what
// lies under the pointer is explained: owners with warp and lane, or the memory bank. A PNG is the cells alone. At most
// 2^16 cells, of a PNG 2^24 pixels. Throws Error{invalid_argument} for a tile that is not there, and
// Error{invalid_kernel} for a region that does not fit.
std::string plot(const Program& program, const std::string& tile, const PlotOptions& options = {});

}  // namespace tilewright
