// Tiles: named arrays. A kernel holds a table of them; statements refer to rows by TileId.
#pragma once

#include "ir/expr.h"
#include "layout/fragment.h"
#include "layout/layout.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::ir {

enum class Space : uint8_t {
  global,    // a tensor of the program (parameter or workspace)
  shared,    // one copy per block
  fragment,  // registers, distributed over the block's threads by inference
  local,     // private scalar or array of the sequential program (alloc_var: rank 0)
};
std::string_view to_string(Space space);

// What gave a tile its layout or fragment, for reports: no part of the program, like a position.
struct Placement {
  std::string why;  // "gemm", "the author", ...
  Loc loc = {};     // of the statement, where it is one
};
std::string to_string(const Placement& placement);  // "gemm at a.cc:12"; empty where nothing did

struct Tile {
  std::string name;
  Space space = Space::shared;
  DType dtype = DType::f32;
  std::vector<Expr> shape;                        // on chip: non-negative constants
  int tensor = -1;                                // global: row of Program::tensors
  double safe_value = 0;                          // what an out-of-bounds read of a global tile yields
  std::optional<layout::Layout> layout;           // on chip; filled by passes (elements, not bytes)
  std::optional<layout::Fragment> fragment = {};  // fragment tiles; filled by inference
  // Where the author says that the layout or the fragment is his: passes keep it, or drop it with a remark.
  std::optional<Loc> annotated = {};
  Placement placed = {};
  int stages = 1;
  TileId view_of = -1;     // the row whose storage this one names by another shape or dtype; -1: storage of its own
  bool packed = false;     // on chip: elements lie as in global memory, for views; set by passes
  bool unchecked = false;  // every access through this row is proved to be in bounds
  std::string origin;      // the op that made this tile; empty for the author's own
  Loc loc;

  int rank() const { return int(shape.size()); }
  bool on_chip() const { return space != Space::global; }
  // Extents of an on-chip tile.
  std::vector<int64_t> extents() const;
  int64_t num_elems() const;  // on chip
};

// One dimension of a region: [begin, begin + extent).
struct RegionDim {
  Expr begin;
  Expr extent;
};
using Region = std::vector<RegionDim>;

// An operand: a rectangular part of a tile. `slot` chooses the stage of a staged tile; empty means stage 0.
struct TileRef {
  TileId tile = -1;
  Region region;
  Expr slot;
};
bool equal(const TileRef& a, const TileRef& b);

// "shared f16[128, 32]" for messages.
std::string describe(const Tile& tile);

}  // namespace tilewright::ir
