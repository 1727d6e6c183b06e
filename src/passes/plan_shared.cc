#include "layout/layout.h"
#include "passes/cuda_passes.h"
#include "passes/schedule_passes.h"
#include "support/error.h"

namespace tilewright::passes {

namespace {

constexpr int64_t kAlignment = 1024;  // whole swizzle blocks

std::string tiles_text(const ir::Kernel& kernel) {
  std::string out;
  for (const ir::Tile& tile : kernel.tiles) {
    if (tile.space != ir::Space::shared || tile.unchecked || tile.view_of >= 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", tile.name, ir::describe(tile));
  }
  return out;
}

}  // namespace

SharedPlan shared_plan(const ir::Kernel& kernel) {
  SharedPlan plan;
  for (const ir::Tile& tile : kernel.tiles) {
    if (tile.space != ir::Space::shared || tile.unchecked || tile.view_of >= 0) {
      plan.offsets.push_back(-1);
      continue;
    }
    plan.offsets.push_back(plan.bytes);
    const int64_t bytes = tile.layout->cosize() * bytes_of(tile.dtype);
    // Barriers are the last rows.
    plan.bytes += is_barrier_tile(tile) ? bytes : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return plan;
}

ir::Program plan_shared(ir::Program program, const CudaTarget& target) {
  for (ir::Kernel& kernel : program.kernels) {
    for (ir::Tile& tile : kernel.tiles) {
      if (tile.on_chip() && !tile.layout && tile.rank() > 0) tile.layout = layout::row_major(tile.extents());
      if (tile.on_chip() && !tile.layout) tile.layout = layout::Layout(std::vector<layout::Dim>{});
    }
    const int64_t bytes = shared_plan(kernel).bytes;
    if (bytes <= target.max_shared_bytes()) continue;
    throw invalid_kernel(kernel.loc, "{} needs {} bytes of shared memory, but a block of {} has {}", kernel.name, bytes,
                         target.arch(), target.max_shared_bytes())
        .note(tiles_text(kernel), kernel.loc)
        .hint("make the tiles or the number of stages smaller");
  }
  return program;
}

}  // namespace tilewright::passes
