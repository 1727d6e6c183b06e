#include "ops/atomic.h"

#include "ir/verify_parts.h"
#include "ops/access.h"
#include "support/error.h"

#include <array>

namespace tilewright::ops {

using ir::Access;
using ir::AtomicKind;
using ir::Block;
using ir::ExpandContext;
using ir::Expr;
using ir::Kernel;
using ir::MemoryOrder;
using ir::Mode;
using ir::OpDef;
using ir::OpStmt;
using ir::Stmt;
using ir::TileRef;

namespace {

MemoryOrder order_of(const OpStmt& op, const Loc& loc) {
  const std::string name = ir::text_attr(op.attrs, "memory_order");
  return name.empty() ? MemoryOrder::relaxed : memory_order(name, op.def->name, loc);
}

template <AtomicKind kKind>
void verify_atomic(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  ir::check_atomic(kKind, order_of(op, loc), kernel.tile(dst.tile), loc);
  check_distinct(op.def->name, src, dst, kernel, loc);
  check_same_extents(op.def->name, src, dst, kernel, loc);
}

std::vector<Access> atomic_effects(const OpStmt& op, const Kernel&) {
  return {{.ref = op.tiles[0], .mode = Mode::read}, {.ref = op.tiles[1], .mode = Mode::update}};
}

// One element; nothing outside of an on-chip tile.
Stmt update(AtomicKind kind, const TileRef& dst, std::vector<Expr> at, Expr value, MemoryOrder order,
            const Kernel& kernel, const Loc& loc) {
  const Expr condition = inside(kernel.tile(dst.tile), dst, at);
  Stmt stmt = ir::make_stmt(ir::AtomicStmt{.kind = kind,
                                           .tile = dst.tile,
                                           .indices = std::move(at),
                                           .value = std::move(value),
                                           .prev = {},
                                           .order = order},
                            loc);
  if (!condition) return stmt;
  return ir::make_stmt(ir::IfStmt{.condition = condition, .then = {stmt}, .otherwise = {}}, loc);
}

template <AtomicKind kKind>
Block expand_atomic(const OpStmt& op, ExpandContext& context, const Loc& loc) {
  const TileRef &src = op.tiles[0], &dst = op.tiles[1];
  const std::vector<int> dims = wide_dims(dst);
  const std::vector<Expr> vars = fresh_indices(context, dims.size());
  const DType dtype = context.kernel.tile(dst.tile).dtype;
  const Expr value = read(context.kernel, src, coordinates(src, wide_dims(src), vars), dtype, loc);
  const Stmt stmt = update(kKind, dst, coordinates(dst, dims, vars), value, order_of(op, loc), context.kernel, loc);
  return parallel(vars, extents_of(dst, dims), {stmt}, loc);
}

template <AtomicKind kKind>
constexpr OpDef definition(std::string_view name) {
  return {.name = name,
          .num_tiles = 2,
          .num_scalars = 0,
          .verify = verify_atomic<kKind>,
          .effects = atomic_effects,
          .expand = expand_atomic<kKind>};
}

}  // namespace

const OpDef& atomic_op(AtomicKind kind) {
  static constexpr std::array<OpDef, 6> kOps = {
      definition<AtomicKind::add>("atomic_add"),   definition<AtomicKind::max>("atomic_max"),
      definition<AtomicKind::min>("atomic_min"),   definition<AtomicKind::bit_and>("atomic_and"),
      definition<AtomicKind::bit_or>("atomic_or"), definition<AtomicKind::bit_xor>("atomic_xor")};
  return kOps[size_t(kind)];
}

Stmt make_atomic(AtomicKind kind, const Operand& src, const Operand& dst, MemoryOrder order, const Kernel& kernel,
                 const Loc& loc) {
  const OpDef& def = atomic_op(kind);
  Pair pair = resolve_pair(src, dst, kernel, def.name);
  OpStmt op{.def = &def, .tiles = {std::move(pair.first), std::move(pair.second)}, .scalars = {}, .attrs = {}};
  if (order != MemoryOrder::relaxed) op.attrs.emplace_back("memory_order", std::string(to_string(order)));
  def.verify(op, kernel, loc);
  return ir::make_stmt(std::move(op), loc);
}

Block atomic_loop(AtomicKind kind, const TileRef& dst, const Expr& value, MemoryOrder order,
                  const std::vector<Expr>& vars, const Kernel& kernel, const Loc& loc) {
  const std::vector<int> dims = wide_dims(dst);
  return parallel(vars, extents_of(dst, dims),
                  {update(kind, dst, coordinates(dst, dims, vars), value, order, kernel, loc)}, loc);
}

MemoryOrder memory_order(const std::string& name, std::string_view word, const Loc& loc) {
  for (int i = 0; i < ir::kNumMemoryOrders; ++i) {
    if (to_string(MemoryOrder(i)) == name) return MemoryOrder(i);
  }
  throw invalid_kernel(loc, "{}: there is no memory order \"{}\"", word, name)
      .hint("the orders are relaxed, consume, acquire, release, acq_rel and seq_cst");
}

}  // namespace tilewright::ops
