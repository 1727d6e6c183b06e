// How parallel loops use fragment tiles: which dimensions of a loop stand in which dimensions of a tile.
#pragma once

#include "ir/kernel.h"

#include <map>
#include <optional>
#include <vector>

namespace tilewright::passes {

// For each dimension of a tile the loop's dimension that indexes it, -1 for the constant 0 of an extent 1.
using DimMap = std::vector<int>;

// The fragment tiles of one parallel loop; nullopt for a tile that is indexed otherwise, or in two ways.
struct FragmentUses {
  std::vector<int64_t> extents;  // of the loop's dimensions; empty when one is not a constant or begins elsewhere
  std::map<ir::TileId, std::optional<DimMap>> tiles;
};
FragmentUses fragment_uses(const ir::Kernel& kernel, const ir::ForStmt& loop);

// The loop's fragment from that of a tile that uses all of its dimensions (of extent other than 1), and back: what a
// tile holds in a loop that is dealt out by `loop`.
std::optional<layout::Fragment> loop_fragment(const layout::Fragment& tile, const DimMap& map,
                                              const std::vector<int64_t>& extents);
layout::Fragment tile_fragment(const layout::Fragment& loop, const DimMap& map, const std::vector<int64_t>& shape);

}  // namespace tilewright::passes
