// use_swizzle: the order in which blocks of a grid are visited, for reuse of operands in caches.
#pragma once

#include "ir/op.h"

#include <functional>
#include <optional>

namespace tilewright::ops {

enum class RasterOrder : uint8_t { row, col };

struct Raster {
  int64_t panel_size = 1;
  RasterOrder order = RasterOrder::row;
};

// No tiles; attrs: panel_size >= 1, order "row" | "col". At most one, at the top level of a kernel. No effect on
// results: a permutation of the grid's first two dimensions; a third one is left as it is, and a grid of one dimension
// has nothing to permute. Row order: `panel_size` grid rows form a panel (the last may have fewer), walked column by
// column, every other panel from the last column to the first. Column order: the same with rows and columns exchanged.
const ir::OpDef& use_swizzle_op();
ir::Stmt make_use_swizzle(const Raster& raster, const ir::Kernel& kernel, const Loc& loc);

// The raster that `kernel` asks for at the top level of its body.
std::optional<Raster> raster_of(const ir::Kernel& kernel);

// The block (x, y) that is visited as number `linear` of a grid_x by grid_y grid; the host form of the permutation.
struct BlockIndex {
  int64_t x = 0, y = 0;
  friend bool operator==(const BlockIndex&, const BlockIndex&) = default;
};
BlockIndex raster_block(const Raster& raster, int64_t grid_x, int64_t grid_y, int64_t linear);

// The same as statements that bind `x` and `y`; `fresh` makes the variables in between.
using FreshVar = std::function<ir::Expr(const char* name)>;
ir::Block raster_lets(const Raster& raster, const ir::Expr& grid_x, const ir::Expr& grid_y, const ir::Expr& linear,
                      const ir::Expr& x, const ir::Expr& y, const FreshVar& fresh, const Loc& loc);

}  // namespace tilewright::ops
