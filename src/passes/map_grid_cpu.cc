#include "ops/raster.h"
#include "passes/passes.h"

namespace tilewright::passes {

using ir::Expr;

namespace {

void apply_raster(ir::Program& program, ir::Kernel& kernel, const ops::Raster& raster) {
  const Expr x = kernel.block_vars[0], y = kernel.block_vars[1];
  const Expr launch_x = program.fresh_var("launch_x", ir::kIndex, kernel.loc);
  const Expr launch_y = program.fresh_var("launch_y", ir::kIndex, kernel.loc);
  const Expr linear = launch_x + launch_y * kernel.grid[0];
  kernel.block_vars[0] = launch_x;
  kernel.block_vars[1] = launch_y;
  const auto fresh = [&](const char* name) { return program.fresh_var(name, ir::kIndex, kernel.loc); };
  ir::Block body = ops::raster_lets(raster, kernel.grid[0], kernel.grid[1], linear, x, y, fresh, kernel.loc);
  body.insert(body.end(), kernel.body.begin(), kernel.body.end());
  kernel.body = std::move(body);
}

}  // namespace

ir::Program map_grid_cpu(const ir::Program& program, const ir::Program& original) {
  ir::Program out = program;
  for (size_t k = 0; k < out.kernels.size(); ++k) {
    const std::optional<ops::Raster> raster = ops::raster_of(original.kernels[k]);
    if (raster && out.kernels[k].grid.size() >= 2) apply_raster(out, out.kernels[k], *raster);
  }
  return out;
}

}  // namespace tilewright::passes
