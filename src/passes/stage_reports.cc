#include "passes/stage_reports.h"

#include "ir/rewrite.h"
#include "ops/report.h"

#include <fmt/format.h>

#include <vector>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::OpStmt;
using ir::TileId;

namespace {

TileId add_staging(ir::ExpandContext& context, TileId fragment, int64_t count) {
  ir::Kernel& kernel = context.kernel;
  const ir::Tile& tile = kernel.tile(fragment);
  const DType dtype = tile.dtype;
  const Loc loc = tile.loc;
  kernel.tiles.push_back({.name = kernel.fresh_tile_name(tile.name + "_reported"),
                          .space = ir::Space::shared,
                          .dtype = dtype,
                          .shape = {ir::int_imm(count)},
                          .layout = {},
                          .origin = "report",
                          .loc = loc});
  return TileId(kernel.tiles.size()) - 1;
}

Expr staged(const ir::Kernel& kernel, TileId staging, const Expr& k, const Loc& loc) {
  const ir::Tile& tile = kernel.tile(staging);
  return ir::load(staging, tile.name, tile.dtype, {k}, loc);
}

// Whether an element is one of the tile's.
Expr is_inside(const ir::Tile& tile, std::span<const Expr> at) {
  Expr inside = ir::bool_imm(true);
  for (size_t d = 0; d < at.size(); ++d) {
    inside = ir::logical_and(inside, ir::logical_and(ir::le(ir::int_imm(0), at[d]), ir::lt(at[d], tile.shape[d])));
  }
  return inside;
}

// for each element of the fragment: if it is one of [begin, begin + extent) and number k < count of them,
// staging[k] = element.
ir::Stmt put_down(ir::ExpandContext& context, TileId fragment, std::span<const ir::RegionDim> region, TileId staging,
                  int64_t count, const Loc& loc) {
  const ir::Tile& tile = context.kernel.tile(fragment);
  ir::ForStmt loop{.kind = ir::LoopKind::parallel, .dims = {}, .attrs = {}, .body = {}};
  std::vector<Expr> at;
  Expr number = ir::int_imm(0), inside = ir::bool_imm(true);
  for (size_t d = 0; d < region.size(); ++d) {
    const Expr i = context.fresh_var("i");
    loop.dims.push_back({.var = i, .begin = ir::int_imm(0), .extent = tile.shape[d]});
    at.push_back(i);
    const Expr step = i - region[d].begin;
    inside = ir::logical_and(inside, ir::logical_and(ir::le(region[d].begin, i), ir::lt(step, region[d].extent)));
    number = number * region[d].extent + step;
  }
  inside = ir::logical_and(inside, ir::lt(number, ir::int_imm(count)));
  const ir::StoreStmt store{
      .tile = staging, .indices = {number}, .value = ir::load(fragment, tile.name, tile.dtype, at, loc)};
  loop.body = {
      ir::make_stmt(ir::IfStmt{.condition = inside, .then = {ir::make_stmt(store, loc)}, .otherwise = {}}, loc)};
  return ir::make_stmt(std::move(loop), loc);
}

// Loads of fragments become loads of what `out` puts down.
class FragmentLoads : public ir::Rewriter {
 public:
  FragmentLoads(ir::ExpandContext& context, Block& out, const Loc& loc) : context_(context), out_(out), loc_(loc) {}
  using Rewriter::rewrite;
  Expr rewrite(const Expr& e) override {
    const bool is_fragment = e.is(ir::ExprKind::load) && context_.kernel.tile(e.tile_id()).space == ir::Space::fragment;
    if (!is_fragment) return rewrite_args(e);
    for (const auto& [known, value] : known_) {
      if (ir::equal(known, e)) return value;
    }
    std::vector<ir::RegionDim> region;
    std::vector<Expr> at;
    for (const Expr& index : e.args()) {
      at.push_back(rewrite(index));
      region.push_back({.begin = at.back(), .extent = ir::int_imm(1)});
    }
    const TileId staging = add_staging(context_, e.tile_id(), 1);
    out_.push_back(put_down(context_, e.tile_id(), region, staging, 1, loc_));
    // An element outside of the fragment is one outside of what stands for it: the check of the access fails.
    const Expr inside = is_inside(context_.kernel.tile(e.tile_id()), at);
    const Expr k = inside.is_int(1) ? ir::int_imm(0) : ir::select(inside, ir::int_imm(0), ir::int_imm(1), e.loc());
    known_.emplace_back(e, staged(context_.kernel, staging, k, e.loc()));
    return known_.back().second;
  }

 private:
  ir::ExpandContext& context_;
  Block& out_;
  const Loc& loc_;
  std::vector<std::pair<Expr, Expr>> known_;
};

}  // namespace

Block stage_print(const OpStmt& print, ir::ExpandContext& context, const Loc& loc) {
  const ir::TileRef& ref = print.tiles[0];
  const int64_t count = ops::num_printed(ref);
  if (count == 0) return print.def->expand(print, context, loc);
  const TileId staging = add_staging(context, ref.tile, count);
  Block out = {put_down(context, ref.tile, ref.region, staging, count, loc)};
  const ir::Kernel& kernel = context.kernel;
  const OpStmt report = ops::report_of_print(print, kernel, [&](int64_t k, const std::vector<Expr>& at) {
    const Expr element = staged(kernel, staging, ir::int_imm(k), loc), inside = is_inside(kernel.tile(ref.tile), at);
    return inside.is_int(1) ? element : ir::select(inside, element, ir::imm(0, element.dtype(), loc), loc);
  });
  for (ir::Stmt& part : stage_report(report, context, loc)) out.push_back(std::move(part));
  return out;
}

Block stage_report(const OpStmt& report, ir::ExpandContext& context, const Loc& loc) {
  Block out;
  FragmentLoads loads(context, out, loc);
  OpStmt staged = report;
  for (Expr& e : staged.scalars) e = loads.rewrite(e);
  out.push_back(ir::make_stmt(std::move(staged), loc));
  return out;
}

}  // namespace tilewright::passes
