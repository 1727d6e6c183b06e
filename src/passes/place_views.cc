#include "layout/algebra.h"
#include "passes/cuda_passes.h"

#include <fmt/format.h>

namespace tilewright::passes {

namespace {

using ir::Kernel;
using ir::Tile;
using ir::TileId;

// By row: whether others name its storage, and whether one of them has another dtype. Of roots.
struct Viewed {
  explicit Viewed(const Kernel& kernel) : by_any(kernel.tiles.size()), by_other_dtype(kernel.tiles.size()) {
    for (const Tile& tile : kernel.tiles) {
      if (tile.view_of < 0 || !tile.on_chip()) continue;
      by_any[size_t(tile.view_of)] = true;
      if (tile.dtype != kernel.tile(tile.view_of).dtype) by_other_dtype[size_t(tile.view_of)] = true;
    }
  }
  std::vector<bool> by_any, by_other_dtype;
};

void place(Kernel& kernel, std::vector<Remark>& remarks) {
  const Viewed viewed(kernel);
  for (size_t id = 0; id < kernel.tiles.size(); ++id) {
    const auto root = size_t(kernel.storage_of(TileId(id)));
    if (!viewed.by_any[root]) continue;
    Tile& tile = kernel.tiles[id];
    tile.packed = viewed.by_other_dtype[root];
    const bool was_linear =
        tile.layout && layout::coalesce(*tile.layout) == layout::coalesce(layout::row_major(tile.extents()));
    if (tile.annotated && !was_linear && tile.space == ir::Space::shared) {
      remarks.push_back(
          {.kind = "layout_ignored",
           .text = fmt::format("the elements of {} lie in rows, not as its layout says: it has views, which "
                               "name them in that order",
                               tile.name),
           .loc = *tile.annotated});
    }
    tile.annotated.reset();
    tile.fragment.reset();
    if (tile.rank() > 0) tile.layout = layout::row_major(tile.extents());
    tile.placed = {.why = "its views", .loc = tile.loc};
    if (tile.space != ir::Space::fragment) continue;
    tile.space = ir::Space::shared;
    if (root != id) continue;
    remarks.push_back({.kind = "fragment_in_shared",
                       .text = fmt::format("{} is kept in shared memory, where each access costs several times a "
                                           "register's: it has views, which need its elements in one place",
                                           tile.name),
                       .loc = tile.loc});
  }
}

}  // namespace

ir::Program place_views(ir::Program program, std::vector<Remark>& remarks) {
  for (Kernel& kernel : program.kernels) place(kernel, remarks);
  return program;
}

}  // namespace tilewright::passes
