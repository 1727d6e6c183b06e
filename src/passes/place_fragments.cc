#include "passes/cuda_passes.h"

#include <fmt/format.h>

namespace tilewright::passes {

ir::Program place_fragments(ir::Program program, std::vector<Remark>& remarks) {
  for (ir::Kernel& kernel : program.kernels) {
    for (ir::Tile& tile : kernel.tiles) {
      if (tile.space != ir::Space::fragment || tile.fragment) continue;
      tile.space = ir::Space::shared;
      if (!tile.origin.empty()) continue;
      remarks.push_back({.kind = "fragment_in_shared",
                         .text = fmt::format("{} is kept in shared memory: no layout over registers serves all of its "
                                             "uses, so each access goes through memory, several times slower",
                                             tile.name),
                         .loc = tile.loc});
    }
  }
  return program;
}

}  // namespace tilewright::passes
