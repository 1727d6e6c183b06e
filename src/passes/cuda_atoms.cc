#include "passes/cuda_atoms.h"

#include "passes/lower_mma.h"

#include <array>

namespace tilewright::passes {

namespace {

std::vector<ir::Access> no_accesses(const ir::OpStmt&, const ir::Kernel&) { return {}; }

// The first operand is written, the others are read.
std::vector<ir::Access> writes_first(const ir::OpStmt& op, const ir::Kernel&) {
  std::vector<ir::Access> out;
  for (size_t i = 0; i < op.tiles.size(); ++i) {
    out.push_back({.ref = op.tiles[i], .mode = i == 0 ? ir::Mode::write : ir::Mode::read});
  }
  return out;
}

std::vector<ir::Access> updates_first(const ir::OpStmt& op, const ir::Kernel& kernel) {
  std::vector<ir::Access> out = writes_first(op, kernel);
  out[0].mode = ir::Mode::update;
  return out;
}

constexpr ir::OpDef atom(std::string_view name, int num_tiles, int num_scalars,
                         std::vector<ir::Access> (*effects)(const ir::OpStmt&, const ir::Kernel&)) {
  return {.name = name,
          .num_tiles = num_tiles,
          .num_scalars = num_scalars,
          .verify = nullptr,
          .effects = effects,
          .expand = nullptr};
}

}  // namespace

const ir::OpDef& block_sync_op() {
  static constexpr ir::OpDef kOp = atom("block_sync", 0, 0, no_accesses);
  return kOp;
}

const ir::OpDef& cp_async_op() {
  static constexpr ir::OpDef kOp = atom("cp_async", 2, 1, writes_first);
  return kOp;
}

const ir::OpDef& cp_async_commit_op() {
  static constexpr ir::OpDef kOp = atom("cp_async_commit", 0, 0, no_accesses);
  return kOp;
}

const ir::OpDef& cp_async_wait_op() {
  static constexpr ir::OpDef kOp = atom("cp_async_wait", 0, 0, no_accesses);
  return kOp;
}

const ir::OpDef& ldmatrix_op() {
  static constexpr ir::OpDef kOp = atom("ldmatrix", 2, 0, writes_first);
  return kOp;
}

const ir::OpDef& mma_op() {
  static constexpr ir::OpDef kOp = atom("mma_m16n8k16", 3, 0, updates_first);
  return kOp;
}

const ir::OpDef& shuffle_xor_op() {
  static constexpr ir::OpDef kOp = atom("shuffle_xor", 2, 0, writes_first);
  return kOp;
}

const ir::OpDef& load_vector_op() {
  static constexpr ir::OpDef kOp = atom("load_vector", 2, 0, writes_first);
  return kOp;
}

const ir::OpDef& store_vector_op() {
  static constexpr ir::OpDef kOp = atom("store_vector", 2, 0, writes_first);
  return kOp;
}

std::span<const ir::OpDef* const> cuda_atoms() {
  static const std::array<const ir::OpDef*, 11> kAtoms = {
      &mma_load_op(),      &mma_multiply_op(), &shuffle_xor_op(), &load_vector_op(),
      &store_vector_op(),  &block_sync_op(),   &cp_async_op(),    &cp_async_commit_op(),
      &cp_async_wait_op(), &ldmatrix_op(),     &mma_op()};
  return kAtoms;
}

}  // namespace tilewright::passes
