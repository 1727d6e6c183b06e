#include "ops/raster.h"
#include "passes/passes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::passes {

void remark_grids(const ir::Program& program, std::vector<Remark>& remarks) {
  for (const ir::Kernel& kernel : program.kernels) {
    const bool is_empty =
        std::any_of(kernel.grid.begin(), kernel.grid.end(), [](const ir::Expr& e) { return e.is_int(0); });
    if (is_empty) {
      remarks.push_back({.kind = "empty_grid",
                         .text = fmt::format("the grid of {} has an extent of 0, so that no block runs", kernel.name),
                         .loc = kernel.loc});
    }
    if (kernel.grid.size() == 1 && ops::raster_of(kernel)) {
      remarks.push_back(
          {.kind = "raster",
           .text = fmt::format("use_swizzle changes nothing in {}: its grid has one dimension", kernel.name),
           .loc = kernel.loc});
    }
  }
}

}  // namespace tilewright::passes
