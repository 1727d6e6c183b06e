#include "passes/register_tiles.h"

#include "ir/rewrite.h"

#include <algorithm>

namespace tilewright::passes {

using ir::Expr;
using ir::Kernel;
using ir::Stmt;
using layout::Fragment;
using layout::FragmentMode;

namespace {

class UseFinder : public ir::Visitor {
 public:
  UseFinder(const Kernel& kernel, const ir::ForStmt& loop) : kernel_(kernel), loop_(loop) {}
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (e.is(ir::ExprKind::load)) note(e.tile_id(), e.args());
    if (e) visit_args(e);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) note(store->tile, store->indices);
    visit_parts(stmt);
  }
  std::map<ir::TileId, std::optional<DimMap>> tiles;

 private:
  void note(ir::TileId id, std::span<const Expr> at) {
    // Tiles that an expansion has added meanwhile are none of the kernel's fragments.
    if (size_t(id) >= kernel_.tiles.size() || kernel_.tile(id).space != ir::Space::fragment) return;
    std::optional<DimMap> map = dim_map(kernel_.tile(id), at);
    const auto [it, is_first] = tiles.emplace(id, map);
    if (!is_first && it->second != map) it->second = std::nullopt;
  }
  std::optional<DimMap> dim_map(const ir::Tile& tile, std::span<const Expr> at) const {
    DimMap map;
    for (size_t d = 0; d < at.size(); ++d) {
      const int dim = at[d].is(ir::ExprKind::var) ? loop_dim(at[d].var_id()) : -1;
      const bool is_only_element = tile.shape[d].is_int(1) && at[d].is_int(0);
      if (dim < 0 && !is_only_element) return std::nullopt;
      if (dim >= 0 && std::find(map.begin(), map.end(), dim) != map.end()) return std::nullopt;
      // The loop covers the tile's dimension from end to end.
      if (dim >= 0 && !ir::equal(loop_.dims[size_t(dim)].extent, tile.shape[d])) return std::nullopt;
      map.push_back(dim);
    }
    return map;
  }
  int loop_dim(ir::VarId var) const {
    for (size_t d = 0; d < loop_.dims.size(); ++d) {
      if (loop_.dims[d].var.var_id() == var) return int(d);
    }
    return -1;
  }

  const Kernel& kernel_;
  const ir::ForStmt& loop_;
};

}  // namespace

FragmentUses fragment_uses(const Kernel& kernel, const ir::ForStmt& loop) {
  UseFinder finder(kernel, loop);
  finder.visit(loop.body);
  FragmentUses uses{.extents = {}, .tiles = std::move(finder.tiles)};
  for (const ir::LoopDim& dim : loop.dims) {
    if (!dim.extent.as_int() || !dim.begin.is_int(0) || dim.step != 1) return {.extents = {}, .tiles = uses.tiles};
    uses.extents.push_back(*dim.extent.as_int());
  }
  return uses;
}

std::optional<Fragment> loop_fragment(const Fragment& tile, const DimMap& map, const std::vector<int64_t>& extents) {
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] != 1 && std::find(map.begin(), map.end(), int(d)) == map.end()) return std::nullopt;
  }
  const auto moved = [&](std::vector<FragmentMode> modes) {
    for (FragmentMode& m : modes) {
      if (m.dim >= 0) m.dim = map[size_t(m.dim)];
      if (m.dim < 0) m.stride = 0;
    }
    return modes;
  };
  return Fragment(extents, moved(tile.thread_modes()), moved(tile.reg_modes()));
}

Fragment tile_fragment(const Fragment& loop, const DimMap& map, const std::vector<int64_t>& shape) {
  const auto dim_of = [&](int loop_dim) {
    const auto it = std::find(map.begin(), map.end(), loop_dim);
    return it == map.end() ? -1 : int(it - map.begin());
  };
  std::vector<FragmentMode> threads, regs;
  for (FragmentMode m : loop.thread_modes()) {
    m.dim = m.dim < 0 ? -1 : dim_of(m.dim);
    if (m.dim < 0) m.stride = 0;
    threads.push_back(m);
  }
  for (FragmentMode m : loop.reg_modes()) {
    m.dim = dim_of(m.dim);
    if (m.dim >= 0) regs.push_back(m);
  }
  return Fragment(shape, std::move(threads), std::move(regs));
}

}  // namespace tilewright::passes
