// Tiles with several stages have the stage as their first dimension.
#pragma once

#include "ir/kernel.h"

#include <map>

namespace tilewright::passes {

// `block` with an access to stage `slots[tile]` in place of one to each tile of `slots`.
ir::Block stage_tiles(const ir::Block& block, const std::map<ir::TileId, ir::Expr>& slots);

}  // namespace tilewright::passes
