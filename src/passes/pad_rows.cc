#include "ir/rewrite.h"
#include "layout/layout.h"
#include "passes/cpu_storage.h"
#include "passes/passes.h"

#include <algorithm>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::Stmt;
using ir::Tile;
using ir::TileId;

namespace {

bool mentions(const Expr& e, const Expr& v) {
  if (e.is(ExprKind::var)) return e.var_id() == v.var_id();
  return std::any_of(e.args().begin(), e.args().end(), [&](const Expr& a) { return mentions(a, v); });
}

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Whether the iterations of `dim` may go on to a whole number of vectors.
class Padding : public ir::Visitor {
 public:
  Padding(const Kernel& kernel, const CpuTarget& target, const ir::LoopDim& dim)
      : kernel_(kernel), target_(target), v_(dim.var), extent_(*dim.extent.as_int()) {}
  using Visitor::visit;

  // The padded extent; the plain one where it must stay.
  int64_t extent(const Block& body) {
    visit(body);
    if (!allowed_ || rows_.empty()) return extent_;
    int64_t narrowest = target_.vector_bytes();
    for (TileId id : rows_) narrowest = std::min<int64_t>(narrowest, bytes_of(cpu_storage(kernel_.tile(id).dtype)));
    const int64_t padded = round_up(extent_, target_.vector_bytes() / narrowest);
    const bool room = std::all_of(rows_.begin(), rows_.end(), [&](TileId id) { return padded <= row_elems(id); });
    return room ? padded : extent_;
  }

  void visit(const Stmt& stmt) override {
    // Other statements might not end with what they find in the padding.
    allowed_ &= ir::get_if<ir::StoreStmt>(stmt) || ir::get_if<ir::LetStmt>(stmt) || ir::get_if<ir::IfStmt>(stmt);
    if (!allowed_) return;
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
      // A local tile is private to the iteration; any other has rows of its own that end where the loop does.
      const Tile& tile = kernel_.tile(store->tile);
      const bool own = tile.space == ir::Space::local || (varies(store->indices) && tile.shape.back().is_int(extent_));
      allowed_ = own && access(store->tile, store->indices);
    }
    visit_parts(stmt);
  }

  void visit(const Expr& e) override {
    if (!e || !allowed_) return;
    if (e.is(ExprKind::load)) allowed_ = access(e.tile_id(), e.args());
    visit_args(e);
  }

 private:
  bool varies(std::span<const Expr> at) const {
    return std::any_of(at.begin(), at.end(), [&](const Expr& e) { return mentions(e, v_); });
  }

  // An access that is not checked and that either stays where it is or runs along a row of a tile.
  bool access(TileId id, std::span<const Expr> at) {
    const Tile& tile = kernel_.tile(id);
    if (!tile.unchecked && !(tile.on_chip() && tile.rank() == 0)) return false;
    if (!varies(at)) return true;
    const bool along_row = at.back().is(ExprKind::var) && !varies(at.first(at.size() - 1));
    if (!along_row || !tile.on_chip() || tile.space == ir::Space::local) return false;
    rows_.push_back(id);
    return layout::stride_of(*tile.layout, at.size() - 1) == 1;
  }

  // Elements of a row's storage, up to the next row or to the end of the last line.
  int64_t row_elems(TileId id) const {
    const Tile& tile = kernel_.tile(id);
    const int64_t bytes = bytes_of(cpu_storage(tile.dtype)), rank = tile.rank();
    if (rank == 1) return round_up(*tile.shape[0].as_int() * bytes, kLineBytes) / bytes;
    const int64_t stride = layout::stride_of(*tile.layout, size_t(rank - 2));
    // The last row has no next one: its storage ends with its last line.
    const int64_t last = round_up(*tile.shape.back().as_int() * bytes, kLineBytes) / bytes;
    if (stride * bytes % kLineBytes != 0) return 0;
    return stride > 0 ? std::min(stride, last) : last;
  }

  const Kernel& kernel_;
  const CpuTarget& target_;
  const Expr& v_;
  const int64_t extent_;
  std::vector<TileId> rows_;
  bool allowed_ = true;
};

class RowPadding : public ir::Rewriter {
 public:
  RowPadding(const Kernel& kernel, const CpuTarget& target) : kernel_(kernel), target_(target) {}
  using Rewriter::rewrite;

  void rewrite(const Stmt& stmt, Block& out) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    const bool candidate = loop && loop->kind == ir::LoopKind::parallel && loop->dims.back().begin.is_int(0) &&
                           loop->dims.back().step == 1 && loop->dims.back().extent.as_int().value_or(0) > 0;
    if (!candidate) return Rewriter::rewrite(stmt, out);
    ir::ForStmt padded = *loop;
    ir::LoopDim& last = padded.dims.back();
    last.extent = ir::int_imm(Padding(kernel_, target_, loop->dims.back()).extent(loop->body));
    out.push_back(ir::make_stmt(std::move(padded), stmt->loc));
  }

 private:
  const Kernel& kernel_;
  const CpuTarget& target_;
};

}  // namespace

ir::Program pad_rows(const ir::Program& program, const CpuTarget& target) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Block body = kernel.body;
    kernel.body = RowPadding(kernel, target).rewrite(body);
  }
  return out;
}

}  // namespace tilewright::passes
