#include "passes/channel_handover.h"

#include "ir/rewrite.h"
#include "support/error.h"

#include <algorithm>
#include <set>

namespace tilewright::passes {

using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::TileId;

namespace {

// The accesses to the tiles of each channel.
class ChannelAccesses : public ir::Visitor {
 public:
  ChannelAccesses(const Kernel& kernel, std::vector<Handover>& plans) : kernel_(kernel), plans_(plans) {}
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (e.is(ir::ExprKind::load)) each(e.tile_id(), [](Handover& h) { h.reads_loads = true; });
    if (e) visit_args(e);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
      each(store->tile, [](Handover& h) { h.fills_stores = true; });
    }
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) {
      each(atomic->tile, [](Handover& h) { h.fills_stores = h.reads_loads = true; });
    }
    if (const auto* op = ir::get_if<OpStmt>(stmt)) {
      for (const ir::Access& a : op->def->effects(*op, kernel_)) {
        each(a.ref.tile, [&](Handover& h) { note(a, h); });
        if (a.until == ir::Queue::mbarrier && a.mode == ir::Mode::write) note_bulk(a.ref, stmt->loc);
      }
    }
    visit_parts(stmt);
  }

 private:
  void each(TileId id, auto f) {
    for (size_t c = 0; c < plans_.size(); ++c) {
      const std::vector<TileId>& tiles = kernel_.channels[c].tiles;
      if (std::find(tiles.begin(), tiles.end(), id) != tiles.end()) f(plans_[c]);
    }
  }
  static void note(const ir::Access& a, Handover& h) {
    if (a.mode != ir::Mode::write) {
      (a.until == ir::Queue::wgmma ? h.reads_products : h.reads_loads) = true;
      h.reads_async = h.reads_async || a.proxy == ir::Proxy::async;
    }
    if (a.mode == ir::Mode::read) return;
    (a.until == ir::Queue::mbarrier   ? h.fills_bulk
     : a.until == ir::Queue::cp_async ? h.fills_copies
                                      : h.fills_stores) = true;
  }
  // One buffer of the tile is brought by a bulk copy.
  void note_bulk(const ir::TileRef& ref, const Loc& loc) {
    check_whole(ref, loc);
    if (!bulk_tiles_.insert(ref.tile).second) return;
    const ir::Tile& tile = kernel_.tile(ref.tile);
    each(ref.tile, [&](Handover& h) { h.bytes += tile.num_elems() / tile.stages * bytes_of(tile.dtype); });
  }
  // The bytes that a barrier expects are those of whole buffers.
  void check_whole(const ir::TileRef& ref, const Loc& loc) const {
    const ir::Tile& tile = kernel_.tile(ref.tile);
    for (size_t d = 1; d < ref.region.size(); ++d) {
      if (ref.region[d].begin.is_int(0) && ir::equal(ref.region[d].extent, tile.shape[d])) continue;
      throw unsupported(loc, "a bulk copy to a part of {}", tile.name).hint("copy the whole tile");
    }
  }

  const Kernel& kernel_;
  std::vector<Handover>& plans_;
  std::set<TileId> bulk_tiles_;
};

void check(const Handover& h, const ir::Channel& channel, const Kernel& kernel) {
  const int ways = h.fills_bulk + h.fills_copies + h.fills_stores;
  const auto refuse = [&](const char* what) {
    throw unsupported(kernel.loc, "channel {}: {}", channel.name, what)
        .hint("give tiles that are filled in another way a channel of their own");
  };
  if (ways > 1) refuse("its tiles are filled in several ways");
  if (h.own && h.fills_bulk) refuse("bulk copies by the warps that read them");
  if (!h.own && h.fills_copies && h.reads_products) refuse("cp.async by other warps than those of the products");
}

}  // namespace

std::vector<Handover> channel_handovers(const Kernel& kernel) {
  std::vector<Handover> out(kernel.channels.size());
  ChannelAccesses accesses(kernel, out);
  accesses.visit(kernel.body);
  for (size_t c = 0; c < out.size(); ++c) {
    const ir::Channel& channel = kernel.channels[c];
    out[c].own = filled_where_read(channel);
    check(out[c], channel, kernel);
  }
  return out;
}

}  // namespace tilewright::passes
