#include "ir/rewrite.h"
#include "layout/layout.h"
#include "passes/passes.h"

namespace tilewright::passes {

namespace {

constexpr int64_t kLineBytes = 64;

// Elements between rows of `cols` elements: whole cache lines, an odd number of them, so that the rows of a column
// spread over the sets of a first-level cache.
int64_t leading_dimension(int64_t cols, DType storage) {
  if (cols <= 1) return cols;
  const int64_t lines = (cols * bytes_of(storage) + kLineBytes - 1) / kLineBytes;
  return (lines | 1) * kLineBytes / bytes_of(storage);
}

layout::Layout tile_layout(const ir::Tile& tile) {
  std::vector<int64_t> extents = tile.extents();
  std::vector<int64_t> strides(extents.size(), 1);
  int64_t step = leading_dimension(extents.back(), cpu_storage(tile.dtype));
  for (size_t d = extents.size() - 1; d-- > 0;) {
    strides[d] = step;
    step *= extents[d];
  }
  return layout::strided(extents, strides);
}

}  // namespace

ir::Program plan_cpu_tiles(ir::Program program) {
  for (ir::Kernel& kernel : program.kernels) {
    for (ir::Tile& tile : kernel.tiles) {
      if (tile.on_chip() && tile.rank() > 0 && !tile.layout) tile.layout = tile_layout(tile);
    }
  }
  return program;
}

}  // namespace tilewright::passes
