#include "passes/stage_tiles.h"

#include "ir/rewrite.h"

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Stmt;

namespace {

class Staging : public ir::Rewriter {
 public:
  explicit Staging(const std::map<ir::TileId, Expr>& slots) : slots_(slots) {}
  using Rewriter::rewrite;
  Expr rewrite(const Expr& e) override {
    const Expr out = rewrite_args(e);
    if (!e.is(ir::ExprKind::load) || !slots_.contains(e.tile_id())) return out;
    std::vector<Expr> at = {slots_.at(e.tile_id())};
    at.insert(at.end(), out.args().begin(), out.args().end());
    return ir::load(e.tile_id(), e->name, e.dtype(), std::move(at), e.loc());
  }
  ir::TileRef rewrite(const ir::TileRef& ref) override {
    ir::TileRef out = Rewriter::rewrite(ref);
    const auto slot = slots_.find(ref.tile);
    if (slot != slots_.end()) {
      out.region.insert(out.region.begin(), {.begin = slot->second, .extent = ir::int_imm(1)});
    }
    return out;
  }
  void rewrite(const Stmt& stmt, Block& out) override {
    Block parts;
    Rewriter::rewrite(stmt, parts);
    const auto* store = ir::get_if<ir::StoreStmt>(parts[0]);
    if (store && slots_.contains(store->tile)) {
      ir::StoreStmt staged = *store;
      staged.indices.insert(staged.indices.begin(), slots_.at(store->tile));
      parts = {ir::make_stmt(std::move(staged), stmt->loc)};
    }
    out.insert(out.end(), parts.begin(), parts.end());
  }

 private:
  const std::map<ir::TileId, Expr>& slots_;
};

}  // namespace

Block stage_tiles(const Block& block, const std::map<ir::TileId, Expr>& slots) { return Staging(slots).rewrite(block); }

}  // namespace tilewright::passes
