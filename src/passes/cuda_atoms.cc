#include "passes/cuda_atoms.h"

#include <array>

namespace tilewright::passes {

namespace {

std::vector<ir::Access> no_accesses(const ir::OpStmt&, const ir::Kernel&) { return {}; }

}  // namespace

const ir::OpDef& block_sync_op() {
  static constexpr ir::OpDef kOp{.name = "block_sync", .verify = nullptr, .effects = no_accesses, .expand = nullptr};
  return kOp;
}

std::span<const ir::OpDef* const> cuda_atoms() {
  static const std::array<const ir::OpDef*, 1> kAtoms = {&block_sync_op()};
  return kAtoms;
}

}  // namespace tilewright::passes
