#include "ir/rewrite.h"
#include "ops/copy.h"
#include "passes/cuda_passes.h"
#include "passes/cuda_select.h"
#include "passes/lower_mma.h"

#include <fmt/format.h>

#include <set>

namespace tilewright::passes {

namespace {

using ir::OpStmt;
using ir::Tile;
using ir::TileId;

constexpr int kMatrixRows = 8, kPieceBytes = 16;

// The clocks of the slowest read of eight rows of 16 bytes, as ldmatrix does for each of its matrices.
int worst_read(const layout::Layout& l, int64_t elem_bytes) {
  const int64_t rows = l.extent(l.rank() - 2), cols = l.extent(l.rank() - 1), piece = kPieceBytes / elem_bytes;
  int worst = 1;
  for (int64_t row = 0; row + kMatrixRows <= rows; row += kMatrixRows) {
    for (int64_t col = 0; col + piece <= cols; col += piece) {
      std::vector<std::vector<int64_t>> lanes;
      for (int64_t lane = 0; lane < kMatrixRows; ++lane) {
        std::vector<int64_t> at(size_t(l.rank()), 0);
        at[at.size() - 2] = row + lane;
        at[at.size() - 1] = col;
        lanes.push_back(std::move(at));
      }
      worst = std::max(worst, layout::bank_conflict_ways(l, lanes, int(elem_bytes), kPieceBytes));
    }
  }
  return worst;
}

// The clocks of the slowest write of eight pieces that follow each other in the rows of a whole tile, as 16-byte copies
// are dealt out to the lanes.
int worst_write(const layout::Layout& l, int64_t elem_bytes) {
  const int64_t piece = kPieceBytes / elem_bytes;
  std::vector<int64_t> extents = l.shape();
  extents.back() /= piece;
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  int worst = 1;
  std::vector<std::vector<int64_t>> lanes;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> at(extents.size());
    int64_t rest = i;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d]) at[d] = rest % extents[d];
    at.back() *= piece;
    lanes.push_back(std::move(at));
    if (int64_t(lanes.size()) < kMatrixRows && i + 1 < count) continue;
    worst = std::max(worst, layout::bank_conflict_ways(l, lanes, int(elem_bytes), kPieceBytes));
    lanes.clear();
  }
  return worst;
}

class Operands : public ir::Visitor {
 public:
  Operands(ir::Kernel& kernel, const CudaTarget& target, std::vector<Remark>& remarks)
      : kernel_(kernel), target_(target), remarks_(remarks) {}
  using Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    const auto* op = ir::get_if<OpStmt>(stmt);
    if (op && (is_mma(*op, kernel_, target_) || is_mma_part(*op))) {
      for (size_t i = 0; i < 2; ++i) place(op->tiles[i].tile, stmt->loc);
    }
    if (op && op->def == &ops::copy_op()) remark_copy(*op, stmt->loc);
    visit_parts(stmt);
  }

 private:
  void place(TileId id, const Loc& loc) {
    Tile& tile = kernel_.tiles[size_t(id)];
    if (!tile.annotated) {
      tile.layout = swizzled_panels(tile.extents(), bytes_of(tile.dtype));
      tile.placed = {.why = "gemm", .loc = loc};
      return;
    }
    const int ways = worst_read(*tile.layout, bytes_of(tile.dtype));
    if (ways == 1 || !seen_.insert(id).second) return;
    remarks_.push_back(
        {.kind = "bank_conflicts",
         .text = fmt::format("reads of {} take up to {} times as long as they could: that many rows of a matrix "
                             "that a gemm reads at once begin in the same memory banks; "
                             "T::make_swizzled_layout spreads them",
                             tile.name, ways),
         .loc = *tile.annotated});
  }
  // Of copies that the author's layout makes slow.
  void remark_copy(const OpStmt& op, const Loc& loc) {
    const Tile &from = kernel_.tile(op.tiles[0].tile), &to = kernel_.tile(op.tiles[1].tile);
    if (from.space != ir::Space::global || to.space != ir::Space::shared || !to.annotated) return;
    if (!target_.has_cp_async() || !seen_copies_.insert(op.tiles[1].tile).second) return;
    if (has_pieces(to)) {
      const int ways = worst_write(*to.layout, bytes_of(to.dtype));
      if (ways == 1) return;
      remarks_.push_back(
          {.kind = "bank_conflicts",
           .text = fmt::format("copies to {} take up to {} times as long as they could: that many pieces "
                               "of 16 bytes that are written at once lie in the same memory banks",
                               to.name, ways),
           .loc = *to.annotated});
      return;
    }
    remarks_.push_back({.kind = "element_copy",
                        .text = fmt::format("the copy to {} goes element by element: in its layout the rows are no "
                                            "aligned pieces of {} bytes",
                                            to.name, kPieceBytes),
                        .loc = loc});
  }

  ir::Kernel& kernel_;
  const CudaTarget& target_;
  std::vector<Remark>& remarks_;
  std::set<TileId> seen_, seen_copies_;
};

}  // namespace

ir::Program plan_operands(ir::Program program, const CudaTarget& target, std::vector<Remark>& remarks) {
  for (ir::Kernel& kernel : program.kernels) {
    const ir::Block body = kernel.body;
    Operands(kernel, target, remarks).visit(body);
  }
  return program;
}

}  // namespace tilewright::passes
