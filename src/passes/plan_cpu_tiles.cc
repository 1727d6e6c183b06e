#include "ir/rewrite.h"
#include "layout/layout.h"
#include "passes/cpu_storage.h"
#include "passes/passes.h"

namespace tilewright::passes {

namespace {

// Elements between rows of `cols` elements: whole cache lines, an odd number of them, so that the rows of a column
// spread over the sets of a first-level cache.
int64_t leading_dimension(int64_t cols, DType storage) {
  if (cols <= 1) return cols;
  const int64_t lines = (cols * bytes_of(storage) + kLineBytes - 1) / kLineBytes;
  return (lines | 1) * kLineBytes / bytes_of(storage);
}

// A tile and its views name one storage by different extents, so that nothing may lie between its elements.
layout::Layout tile_layout(const ir::Tile& tile, bool has_views) {
  std::vector<int64_t> extents = tile.extents();
  std::vector<int64_t> strides(extents.size(), 1);
  int64_t step = has_views ? extents.back() : leading_dimension(extents.back(), cpu_storage(tile.dtype));
  for (size_t d = extents.size() - 1; d-- > 0;) {
    strides[d] = step;
    step *= extents[d];
  }
  return layout::strided(extents, strides);
}

void plan_kernel(ir::Kernel& kernel) {
  const size_t count = kernel.tiles.size();
  std::vector<bool> has_views(count, false), packed(count, false);  // of roots
  for (const ir::Tile& tile : kernel.tiles) {
    if (tile.view_of < 0 || !tile.on_chip()) continue;
    has_views[size_t(tile.view_of)] = true;
    // A view by another dtype reads bits, which are those of the element type itself.
    if (tile.dtype != kernel.tile(tile.view_of).dtype) packed[size_t(tile.view_of)] = true;
  }
  for (size_t id = 0; id < count; ++id) {
    ir::Tile& tile = kernel.tiles[id];
    const auto root = size_t(kernel.storage_of(ir::TileId(id)));
    tile.packed = packed[root];
    // The author's places are those of threads and memory banks.
    if (tile.annotated) tile.layout.reset(), tile.fragment.reset(), tile.annotated.reset(), tile.placed = {};
    if (tile.on_chip() && tile.rank() > 0 && !tile.layout) tile.layout = tile_layout(tile, has_views[root]);
  }
}

}  // namespace

ir::Program plan_cpu_tiles(ir::Program program) {
  for (ir::Kernel& kernel : program.kernels) plan_kernel(kernel);
  return program;
}

}  // namespace tilewright::passes
