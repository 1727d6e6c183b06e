// Building blocks of `expand`: element accesses through a region, with the guards that a region may need.
#pragma once

#include "ir/op.h"

#include <vector>

namespace tilewright::ops {

// Coordinates of element `offsets` of a region: begin + offset for each dimension in `dims`, begin for the others.
std::vector<ir::Expr> coordinates(const ir::TileRef& ref, const std::vector<int>& dims,
                                  const std::vector<ir::Expr>& offsets);

// True where the coordinates lie inside an on-chip tile; empty when that is certain or the tile is global (global
// accesses are safe by themselves: see ir/stmt.h).
ir::Expr inside(const ir::Tile& tile, const ir::TileRef& ref, const std::vector<ir::Expr>& at);

// The element, cast to `dtype`; zero outside an on-chip tile.
ir::Expr read(const ir::Kernel& kernel, const ir::TileRef& ref, const std::vector<ir::Expr>& at, DType dtype,
              const Loc& loc);

// The store of `value` (cast to the tile's dtype); nothing outside an on-chip tile.
ir::Stmt write(const ir::Kernel& kernel, const ir::TileRef& ref, const std::vector<ir::Expr>& at, ir::Expr value,
               const Loc& loc);

// A parallel nest over `extents`; returns the variables through `vars`. Without dimensions: just the body.
std::vector<ir::Expr> fresh_indices(ir::ExpandContext& context, size_t count);
ir::Block parallel(const std::vector<ir::Expr>& vars, const std::vector<ir::Expr>& extents, ir::Block body,
                   const Loc& loc);
// The nest of an op that writes `dst`: parallel, but serial for a local tile, which a parallel loop would make private
// to each iteration.
ir::Block nest(const ir::Kernel& kernel, const ir::TileRef& dst, const std::vector<ir::Expr>& vars,
               const std::vector<ir::Expr>& extents, ir::Block body, const Loc& loc);
ir::Stmt serial(const ir::Expr& index, const ir::Expr& extent, ir::Block body, const Loc& loc);

// A scalar operand evaluated once, before the op writes anything: a let in `out`, unless it is a constant or variable.
ir::Expr once(ir::ExpandContext& context, const ir::Expr& value, ir::Block& out, const Loc& loc);

// The dtype in which sums of elements of `dtype` are accumulated: at least f32 for floats.
DType accumulator_dtype(DType dtype);

// The identity of max: -inf, or the smallest integer.
ir::Expr lowest(DType dtype, const Loc& loc);

// Loads of rank-0 tiles.
ir::Expr load_scalar(const ir::Kernel& kernel, ir::TileId tile, const Loc& loc);

}  // namespace tilewright::ops
