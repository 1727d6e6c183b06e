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
  kernel.tiles.push_back({.name = fmt::format("reported_{}", kernel.tiles.size()),
                          .space = ir::Space::shared,
                          .dtype = dtype,
                          .shape = {ir::int_imm(count)},
                          .layout = {},
                          .origin = "report",
                          .loc = loc});
  return TileId(kernel.tiles.size()) - 1;
}

Expr staged(const ir::Kernel& kernel, TileId staging, int64_t k, const Loc& loc) {
  const ir::Tile& tile = kernel.tile(staging);
  return ir::load(staging, tile.name, tile.dtype, {ir::int_imm(k)}, loc);
}

// for each element of the fragment: if it is one of [begin, begin + extent) and number k < count of them,
// staging[k] = element.
ir::Stmt put_down(ir::ExpandContext& context, TileId fragment, std::span<const ir::RegionDim> region, TileId staging,
                  int64_t count, const Loc& loc) {
  const ir::Tile& tile = context.kernel.tile(fragment);
  ir::ForStmt loop{.kind = ir::LoopKind::parallel, .dims = {}, .attrs = {}, .body = {}};
  std::vector<Expr> at;
  Expr number = ir::int_imm(0), inside;
  for (size_t d = 0; d < region.size(); ++d) {
    const Expr i = context.fresh_var("i");
    loop.dims.push_back({.var = i, .begin = ir::int_imm(0), .extent = tile.shape[d]});
    at.push_back(i);
    const Expr step = i - region[d].begin;
    const Expr in_range = ir::logical_and(ir::le(region[d].begin, i), ir::lt(step, region[d].extent));
    inside = inside ? ir::logical_and(inside, in_range) : in_range;
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
    for (const Expr& at : e.args()) region.push_back({.begin = rewrite(at), .extent = ir::int_imm(1)});
    const TileId staging = add_staging(context_, e.tile_id(), 1);
    out_.push_back(put_down(context_, e.tile_id(), region, staging, 1, loc_));
    known_.emplace_back(e, staged(context_.kernel, staging, 0, e.loc()));
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
  OpStmt report =
      ops::report_of_print(print, context.kernel, [&](int64_t k) { return staged(context.kernel, staging, k, loc); });
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
