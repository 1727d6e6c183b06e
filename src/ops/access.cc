#include "ops/access.h"

#include "target/dtype.h"

#include <array>
#include <limits>

namespace tilewright::ops {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::Stmt;
using ir::Tile;
using ir::TileRef;

std::vector<Expr> coordinates(const TileRef& ref, const std::vector<int>& dims, const std::vector<Expr>& offsets) {
  std::vector<Expr> at;
  for (const ir::RegionDim& dim : ref.region) at.push_back(dim.begin);
  for (size_t k = 0; k < dims.size(); ++k) {
    Expr& e = at[size_t(dims[k])];
    e = e + offsets[k];
  }
  return at;
}

Expr inside(const Tile& tile, const TileRef& ref, const std::vector<Expr>& at) {
  Expr condition;
  const auto require = [&](const Expr& c) { condition = condition ? ir::logical_and(condition, c) : c; };
  if (!tile.on_chip()) return condition;
  for (size_t d = 0; d < at.size(); ++d) {
    const std::optional<int64_t> begin = ref.region[d].begin.as_int();
    const std::optional<int64_t> extent = ref.region[d].extent.as_int();
    const int64_t size = *tile.shape[d].as_int();
    const bool certain = begin && extent && *begin >= 0 && *begin <= size && *extent <= size - *begin;
    if (certain) continue;
    require(ir::le(ir::int_imm(0), at[d]));
    require(ir::lt(at[d], tile.shape[d]));
  }
  return condition;
}

Expr read(const Kernel& kernel, const TileRef& ref, const std::vector<Expr>& at, DType dtype, const Loc& loc) {
  const Tile& tile = kernel.tile(ref.tile);
  Expr value = ir::cast(ir::load(ref.tile, tile.name, tile.dtype, at, loc), dtype, loc);
  const Expr condition = inside(tile, ref, at);
  return condition ? ir::select(condition, value, ir::imm(0, dtype, loc), loc) : value;
}

Stmt write(const Kernel& kernel, const TileRef& ref, const std::vector<Expr>& at, Expr value, const Loc& loc) {
  const Tile& tile = kernel.tile(ref.tile);
  Stmt store = ir::make_stmt(
      ir::StoreStmt{.tile = ref.tile, .indices = at, .value = ir::cast(std::move(value), tile.dtype, loc)}, loc);
  const Expr condition = inside(tile, ref, at);
  if (!condition) return store;
  return ir::make_stmt(ir::IfStmt{.condition = condition, .then = {store}, .otherwise = {}}, loc);
}

std::vector<Expr> fresh_indices(ir::ExpandContext& context, size_t count) {
  constexpr std::array<const char*, 4> kNames = {"i", "j", "k", "l"};
  std::vector<Expr> vars;
  for (size_t d = 0; d < count; ++d) vars.push_back(context.fresh_var(d < kNames.size() ? kNames[d] : "i"));
  return vars;
}

Block parallel(const std::vector<Expr>& vars, const std::vector<Expr>& extents, Block body, const Loc& loc) {
  if (vars.empty()) return body;
  ir::ForStmt loop{.kind = ir::LoopKind::parallel, .dims = {}, .attrs = {}, .body = std::move(body)};
  for (size_t d = 0; d < vars.size(); ++d) {
    loop.dims.push_back({.var = vars[d], .begin = ir::int_imm(0), .extent = extents[d]});
  }
  return {ir::make_stmt(std::move(loop), loc)};
}

Stmt serial(const Expr& index, const Expr& extent, Block body, const Loc& loc) {
  ir::ForStmt loop{.kind = ir::LoopKind::serial, .dims = {}, .attrs = {}, .body = std::move(body)};
  loop.dims.push_back({.var = index, .begin = ir::int_imm(0), .extent = extent});
  return ir::make_stmt(std::move(loop), loc);
}

Block nest(const Kernel& kernel, const TileRef& dst, const std::vector<Expr>& vars, const std::vector<Expr>& extents,
           Block body, const Loc& loc) {
  if (kernel.tile(dst.tile).space != ir::Space::local) return parallel(vars, extents, std::move(body), loc);
  for (size_t d = vars.size(); d-- > 0;) body = {serial(vars[d], extents[d], std::move(body), loc)};
  return body;
}

Expr once(ir::ExpandContext& context, const Expr& value, Block& out, const Loc& loc) {
  if (value.args().empty() && !value.is(ir::ExprKind::load)) return value;
  const Expr v = context.fresh_var("value", value.dtype());
  out.push_back(ir::make_stmt(ir::LetStmt{.var = v, .value = value}, loc));
  return v;
}

DType accumulator_dtype(DType dtype) { return is_narrow_float(dtype) ? DType::f32 : dtype; }

Expr lowest(DType dtype, const Loc& loc) {
  if (is_float(dtype)) return ir::float_imm(-std::numeric_limits<double>::infinity(), dtype, loc);
  return ir::int_imm(min_value(dtype), dtype, loc);
}

Expr load_scalar(const Kernel& kernel, ir::TileId tile, const Loc& loc) {
  return ir::load(tile, kernel.tile(tile).name, kernel.tile(tile).dtype, {}, loc);
}

}  // namespace tilewright::ops
