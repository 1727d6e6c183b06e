#include "passes/cpu_atoms.h"

namespace tilewright::passes {

namespace {

void nothing_to_verify(const ir::OpStmt&, const ir::Kernel&, const Loc&) {}

std::vector<ir::Access> last_is_written(const ir::OpStmt& op, const ir::Kernel&) {
  std::vector<ir::Access> out;
  // The others combine with what the last tile holds.
  const bool overwrites = op.def == &cpu_copy_in() || op.def == &cpu_copy_out();
  const ir::Mode last = overwrites ? ir::Mode::write : ir::Mode::update;
  for (size_t i = 0; i < op.tiles.size(); ++i) {
    out.push_back({.ref = op.tiles[i], .mode = i + 1 < op.tiles.size() ? ir::Mode::read : last});
  }
  return out;
}

std::vector<ir::Access> none(const ir::OpStmt&, const ir::Kernel&) { return {}; }

using Effects = std::vector<ir::Access> (*)(const ir::OpStmt&, const ir::Kernel&);
constexpr ir::OpDef atom(std::string_view name, int num_tiles, int num_scalars, Effects effects = last_is_written) {
  return {.name = name,
          .num_tiles = num_tiles,
          .num_scalars = num_scalars,
          .verify = nothing_to_verify,
          .effects = effects,
          .expand = nullptr};
}

}  // namespace

const ir::OpDef& cpu_copy_in() {
  static constexpr ir::OpDef kOp = atom("cpu.copy_in", 2, 4);
  return kOp;
}
const ir::OpDef& cpu_copy_out() {
  static constexpr ir::OpDef kOp = atom("cpu.copy_out", 2, 5);
  return kOp;
}
const ir::OpDef& cpu_row_tile() {
  static constexpr ir::OpDef kOp = atom("cpu.row_tile", 1, 0, none);
  return kOp;
}
const ir::OpDef& cpu_prefetch() {
  static constexpr ir::OpDef kOp = atom("cpu.prefetch", 1, 1, none);
  return kOp;
}
const ir::OpDef& cpu_gemm() {
  static constexpr ir::OpDef kOp = atom("cpu.gemm", 3, 0);
  return kOp;
}
const ir::OpDef& cpu_reduce_row() {
  static constexpr ir::OpDef kOp = atom("cpu.reduce_row", 2, 0);
  return kOp;
}
const ir::OpDef& cpu_begin_accumulate() {
  static constexpr ir::OpDef kOp = atom("cpu.begin_accumulate", 2, 0);
  return kOp;
}
const ir::OpDef& cpu_accumulate() {
  static constexpr ir::OpDef kOp = atom("cpu.accumulate", 1, 0);
  return kOp;
}
const ir::OpDef& cpu_end_accumulate() {
  static constexpr ir::OpDef kOp = atom("cpu.end_accumulate", 2, 0);
  return kOp;
}
const ir::OpDef& cpu_reduce_columns() {
  static constexpr ir::OpDef kOp = atom("cpu.reduce_columns", 2, 0);
  return kOp;
}

}  // namespace tilewright::passes
