#include "ops/raster.h"

#include "support/error.h"

#include <algorithm>
#include <array>

namespace tilewright::ops {

using ir::Expr;
using ir::Kernel;
using ir::OpStmt;

namespace {

constexpr std::array<std::string_view, 2> kOrderNames = {"row", "col"};

Raster from_attrs(const ir::Attrs& attrs) {
  const ir::AttrValue* order = ir::find_attr(attrs, "order");
  const std::string* name = order ? std::get_if<std::string>(order) : nullptr;
  return {.panel_size = ir::int_attr(attrs, "panel_size", 1),
          .order = name && *name == kOrderNames[1] ? RasterOrder::col : RasterOrder::row};
}

// Where the kernel's body is complete, the op must be the only one of its kind at the top level.
void check_place(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const OpStmt* first = nullptr;
  Loc first_loc;
  for (const ir::Stmt& stmt : kernel.body) {
    const auto* other = ir::get_if<OpStmt>(stmt);
    if (other == nullptr || other->def != &use_swizzle_op()) continue;
    if (first == nullptr) {
      first = other;
      first_loc = stmt->loc;
    }
    if (other != &op) continue;
    if (other == first) return;
    throw invalid_kernel(loc, "use_swizzle stands twice in kernel {}", kernel.name)
        .note("the first one", first_loc)
        .hint("blocks have one order; keep one of the two");
  }
  throw invalid_kernel(loc, "use_swizzle stands inside a loop or branch")
      .note("the kernel", kernel.loc)
      .hint("it orders the blocks of the whole kernel; write it at the top level");
}

void verify_use_swizzle(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const Raster raster = from_attrs(op.attrs);
  if (raster.panel_size < 1) {
    throw invalid_kernel(loc, "use_swizzle: panel_size is {}, but must be at least 1", raster.panel_size)
        .hint("1 keeps the rows apart; 4 to 16 are usual");
  }
  const ir::AttrValue* order = ir::find_attr(op.attrs, "order");
  const std::string* name = order ? std::get_if<std::string>(order) : nullptr;
  if (order && (name == nullptr || std::find(kOrderNames.begin(), kOrderNames.end(), *name) == kOrderNames.end())) {
    throw invalid_kernel(loc, "use_swizzle: order is neither row nor col").hint("\"row\" or \"col\"");
  }
  if (!kernel.body.empty()) check_place(op, kernel, loc);
}

std::vector<ir::Access> no_effects(const OpStmt&, const Kernel&) { return {}; }
ir::Block expand_to_nothing(const OpStmt&, ir::ExpandContext&, const Loc&) { return {}; }

}  // namespace

const ir::OpDef& use_swizzle_op() {
  static constexpr ir::OpDef kOp{.name = "use_swizzle",
                                 .num_tiles = 0,
                                 .num_scalars = 0,
                                 .verify = verify_use_swizzle,
                                 .effects = no_effects,
                                 .expand = expand_to_nothing};
  return kOp;
}

ir::Stmt make_use_swizzle(const Raster& raster, const Kernel& kernel, const Loc& loc) {
  OpStmt op{.def = &use_swizzle_op(), .tiles = {}, .scalars = {}, .attrs = {}};
  op.attrs.emplace_back("panel_size", raster.panel_size);
  op.attrs.emplace_back("order", std::string(kOrderNames[size_t(raster.order)]));
  verify_use_swizzle(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

std::optional<Raster> raster_of(const Kernel& kernel) {
  for (const ir::Stmt& stmt : kernel.body) {
    const auto* op = ir::get_if<OpStmt>(stmt);
    if (op && op->def == &use_swizzle_op()) return from_attrs(op->attrs);
  }
  return std::nullopt;
}

BlockIndex raster_block(const Raster& raster, int64_t grid_x, int64_t grid_y, int64_t linear) {
  if (raster.order == RasterOrder::col) {
    const BlockIndex t = raster_block({.panel_size = raster.panel_size}, grid_y, grid_x, linear);
    return {.x = t.y, .y = t.x};
  }
  const int64_t panel = linear / (raster.panel_size * grid_x);
  const int64_t within = linear - panel * raster.panel_size * grid_x;
  const int64_t rows = std::min(raster.panel_size, grid_y - panel * raster.panel_size);
  const int64_t column = within / rows;
  return {.x = panel % 2 == 0 ? column : grid_x - 1 - column, .y = panel * raster.panel_size + within % rows};
}

ir::Block raster_lets(const Raster& raster, const Expr& grid_x, const Expr& grid_y, const Expr& linear, const Expr& x,
                      const Expr& y, const FreshVar& fresh, const Loc& loc) {
  if (raster.order == RasterOrder::col) {
    return raster_lets({.panel_size = raster.panel_size}, grid_y, grid_x, linear, y, x, fresh, loc);
  }
  ir::Block out;
  const auto let = [&](const Expr& v, const Expr& value) {
    out.push_back(ir::make_stmt(ir::LetStmt{.var = v, .value = value}, loc));
    return v;
  };
  const Expr size = ir::int_imm(raster.panel_size);
  const Expr position = let(fresh("position"), linear);
  const Expr panel = let(fresh("panel"), ir::floordiv(position, size * grid_x));
  const Expr within = let(fresh("within"), position - panel * size * grid_x);
  const Expr rows = let(fresh("rows"), ir::binary(ir::ExprKind::min, size, grid_y - panel * size));
  const Expr column = let(fresh("column"), ir::floordiv(within, rows));
  const Expr even = ir::binary(ir::ExprKind::eq, ir::floormod(panel, 2), ir::int_imm(0));
  let(x, ir::select(even, column, grid_x - 1 - column));
  let(y, panel * size + ir::floormod(within, rows));
  return out;
}

}  // namespace tilewright::ops
