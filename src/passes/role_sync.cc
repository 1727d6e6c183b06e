#include "passes/role_sync.h"

#include "ir/rewrite.h"
#include "passes/cuda_atoms.h"
#include "passes/schedule_ops.h"
#include "support/error.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::OpStmt;
using ir::Stmt;
using ir::TileId;

namespace {

Stmt branch(const Expr& condition, Block then, const Loc& loc) {
  return ir::make_stmt(ir::IfStmt{.condition = condition, .then = std::move(then), .otherwise = {}}, loc);
}

ir::TileRef whole(const Kernel& kernel, TileId id) {
  return {.tile = id, .region = whole_region(kernel.tile(id)), .slot = {}};
}

// The code of one role.
class RoleSync {
 public:
  RoleSync(const Kernel& kernel, const std::vector<Handover>& plans, const RoleWarps& warps)
      : kernel_(kernel), plans_(plans), warps_(warps) {}

  Block block(const Block& body) {
    Block out;
    for (const Stmt& stmt : body) this->stmt(stmt, out);
    flush(kernel_.loc, out);
    return out;
  }

 private:
  void stmt(const Stmt& stmt, Block& out);
  void loop(const ir::ForStmt& loop, const Loc& loc, Block& out);
  void op(const OpStmt& op, const Stmt& stmt, Block& out);
  bool step(const OpStmt& op, const Expr& condition, const Loc& loc, Block& out);
  void acquire(const OpStmt& op, const Handover& h, const ir::Channel& channel, const Loc& loc, Block& out) const;
  void wait_for_products(int64_t pending, const Loc& loc, Block& out);
  // Before a statement that uses registers of products under way.
  void settle(const Stmt& stmt, Block& out);

  ir::TileRef cell(TileId barriers, const Expr& iteration, const ir::Channel& channel) const {
    return {.tile = barriers,
            .region = {{.begin = ir::floormod(iteration, channel.stages), .extent = ir::int_imm(1)}},
            .slot = {}};
  }
  static Expr parity(const Expr& iteration, const ir::Channel& channel) {
    return ir::floormod(ir::floordiv(iteration, channel.stages), 2);
  }
  // By one lane of each warp.
  void arrive(const ir::TileRef& barrier, bool converge, const Loc& loc, Block& out) const {
    const Stmt arrival = make_call(mbarrier_arrive_op(), {barrier}, {}, {}, loc);
    if (warps_.elected) return out.push_back(arrival);
    if (converge) out.push_back(make_call(sync_warp_op(), {}, {}, {}, loc));
    const Expr first = ir::binary(ir::ExprKind::eq, ir::floormod(kernel_.thread_var, ir::kWarpThreads), ir::int_imm(0));
    out.push_back(ir::make_stmt(ir::LanesStmt{.exec = {}, .body = {branch(first, {arrival}, loc)}}, loc));
  }
  Stmt barrier(const Loc& loc) const {
    if (warps_.exec.num_warps == 0) return make_call(block_sync_op(), {}, {}, {}, loc);
    return make_call(
        sync_threads_op(), {}, {},
        {{"barrier", int64_t(warps_.barrier_id)}, {"threads", int64_t(warps_.exec.num_warps) * ir::kWarpThreads}}, loc);
  }
  // One barrier for all the waits in front of it.
  void flush(const Loc& loc, Block& out) {
    if (std::exchange(owes_barrier_, false)) out.push_back(barrier(loc));
  }

  const Kernel& kernel_;
  const std::vector<Handover>& plans_;
  RoleWarps warps_;
  bool owes_barrier_ = false;
  std::set<TileId> products_;  // registers that products under way write
};

void RoleSync::wait_for_products(int64_t pending, const Loc& loc, Block& out) {
  std::vector<ir::TileRef> free;
  if (pending == 0) {
    for (TileId id : products_) free.push_back(whole(kernel_, id));
    products_.clear();
  }
  out.push_back(make_call(wgmma_wait_op(), std::move(free), {}, {{"pending", pending}}, loc));
}

void RoleSync::settle(const Stmt& stmt, Block& out) {
  if (products_.empty()) return;
  const std::map<TileId, int> mentions = ir::tile_mentions({stmt});
  const bool meets = std::any_of(products_.begin(), products_.end(), [&](TileId id) { return mentions.contains(id); });
  if (meets) wait_for_products(0, stmt->loc, out);
}

void RoleSync::acquire(const OpStmt& op, const Handover& h, const ir::Channel& channel, const Loc& loc,
                       Block& out) const {
  const Expr& iteration = op.scalars[0];
  if (h.own) {
    if (!ir::bool_attr(op.attrs, "separated", false)) out.push_back(barrier(loc));
    return;
  }
  // On a fresh barrier the phase before the first one counts as over.
  out.push_back(make_call(mbarrier_wait_op(), {cell(h.empty, iteration, channel)},
                          {ir::int_imm(1) - parity(iteration, channel)}, {}, loc));
  if (!h.fills_bulk) return;
  out.push_back(
      make_call(mbarrier_arrive_expect_op(), {cell(h.full, iteration, channel)}, {ir::int_imm(h.bytes)}, {}, loc));
}

// A step of a protocol; `condition` may be empty. What counts groups stands outside of conditions.
bool RoleSync::step(const OpStmt& op, const Expr& condition, const Loc& loc, Block& out) {
  const bool is_wait = op.def == &wait_op(), is_commit = op.def == &commit_op(), is_release = op.def == &release_op();
  if (!is_wait && !is_commit && !is_release && op.def != &acquire_op()) return false;
  const auto c = size_t(ir::int_attr(op.attrs, "channel", 0));
  const Handover& h = plans_[c];
  const ir::Channel& channel = kernel_.channels[c];
  const Expr& iteration = op.scalars[0];
  const int64_t later = ir::int_attr(op.attrs, "later", 0);
  if (!is_wait) flush(loc, out);
  Block conditional;
  if (is_commit && h.own) {
    if (h.fills_copies) out.push_back(make_call(cp_async_commit_op(), {}, {}, {}, loc));
  } else if (is_commit && h.fills_copies) {
    conditional.push_back(
        make_call(mbarrier_arrive_after_copies_op(), {cell(h.full, iteration, channel)}, {}, {}, loc));
  } else if (is_commit && h.fills_stores) {
    if (h.needs_fence()) conditional.push_back(make_call(fence_async_shared_op(), {}, {}, {}, loc));
    arrive(cell(h.full, iteration, channel), true, loc, conditional);
  } else if (is_wait && h.own) {
    if (h.fills_copies) out.push_back(make_call(cp_async_wait_op(), {}, {}, {{"pending", later}}, loc));
    if (h.needs_fence()) out.push_back(make_call(fence_async_shared_op(), {}, {}, {}, loc));
    owes_barrier_ = true;
  } else if (is_wait) {
    conditional.push_back(
        make_call(mbarrier_wait_op(), {cell(h.full, iteration, channel)}, {parity(iteration, channel)}, {}, loc));
  } else if (is_release) {
    if (h.reads_products) wait_for_products(later, loc, out);
    if (!h.own) arrive(cell(h.empty, iteration, channel), h.reads_loads, loc, conditional);
  } else if (!is_commit) {
    acquire(op, h, channel, loc, conditional);
  }
  if (conditional.empty()) return true;
  if (condition) conditional = {branch(condition, std::move(conditional), loc)};
  out.insert(out.end(), conditional.begin(), conditional.end());
  return true;
}

void RoleSync::op(const OpStmt& op, const Stmt& stmt, Block& out) {
  const Loc& loc = stmt->loc;
  if (step(op, {}, loc, out)) return;
  flush(loc, out);
  if (op.def == &warpgroup_gemm_op()) {
    out.push_back(make_call(wgmma_fence_op(), {}, {}, {}, loc));
    out.push_back(stmt);
    out.push_back(make_call(wgmma_commit_op(), {}, {}, {}, loc));
    products_.insert(op.tiles[2].tile);
    return;
  }
  settle(stmt, out);
  if (op.def != &bulk_copy_op()) return out.push_back(stmt);
  for (size_t c = 0; c < plans_.size(); ++c) {
    const std::vector<TileId>& tiles = kernel_.channels[c].tiles;
    if (std::find(tiles.begin(), tiles.end(), op.tiles[1].tile) == tiles.end()) continue;
    OpStmt counted = op;
    counted.tiles.push_back({.tile = plans_[c].full, .region = {op.tiles[1].region[0]}, .slot = {}});
    return out.push_back(ir::make_stmt(std::move(counted), loc));
  }
  throw unsupported(loc, "a bulk copy to {}, which no channel has", kernel_.tile(op.tiles[1].tile).name)
      .hint("a channel's barrier counts the bytes of its copies");
}

// The first pass over the body finds the products that the end of an iteration leaves under way; the second sees them.
void RoleSync::loop(const ir::ForStmt& loop, const Loc& loc, Block& out) {
  const std::set<TileId> before = products_;
  block(loop.body);
  std::set<TileId> again = before;
  again.insert(products_.begin(), products_.end());
  products_ = again;
  ir::ForStmt copy = loop;
  copy.body = block(loop.body);
  // What the registers held before is one value for the compiler, else it moves them about where there may be no
  // iteration, between a product and its wait.
  if (before.empty() && !again.empty()) {
    std::vector<ir::TileRef> registers;
    for (TileId id : again) registers.push_back(whole(kernel_, id));
    out.push_back(make_call(wgmma_registers_op(), std::move(registers), {}, {}, loc));
  }
  // Where there may be no iteration.
  if (loop.dims[0].extent.as_int().value_or(0) < 1) products_.insert(before.begin(), before.end());
  out.push_back(ir::make_stmt(std::move(copy), loc));
}

void RoleSync::stmt(const Stmt& stmt, Block& out) {
  if (const auto* op = ir::get_if<OpStmt>(stmt)) return this->op(*op, stmt, out);
  const auto* branch = ir::get_if<ir::IfStmt>(stmt);
  if (branch && branch->then.size() == 1 && branch->otherwise.empty()) {
    const auto* op = ir::get_if<OpStmt>(branch->then[0]);
    if (op && step(*op, branch->condition, stmt->loc, out)) return;
  }
  flush(stmt->loc, out);
  if (const auto* for_loop = ir::get_if<ir::ForStmt>(stmt); for_loop && for_loop->kind != ir::LoopKind::parallel) {
    return loop(*for_loop, stmt->loc, out);
  }
  if (branch) {
    const std::set<TileId> before = products_;
    ir::IfStmt copy{.condition = branch->condition, .then = block(branch->then), .otherwise = {}};
    const std::set<TileId> then = std::exchange(products_, before);
    copy.otherwise = block(branch->otherwise);
    products_.insert(then.begin(), then.end());
    return out.push_back(ir::make_stmt(std::move(copy), stmt->loc));
  }
  if (const auto* role = ir::get_if<ir::RoleStmt>(stmt)) {
    ir::RoleStmt copy = *role;
    copy.body = RoleSync(kernel_, plans_, {role->exec, warps_.barrier_id, role->elected}).block(role->body);
    return out.push_back(ir::make_stmt(std::move(copy), stmt->loc));
  }
  if (async_work({stmt}).any()) {
    throw unsupported(stmt->loc, "products or bulk copies inside of this statement")
        .hint("put them into for loops and branches");
  }
  settle(stmt, out);
  out.push_back(stmt);
}

}  // namespace

Block synchronise_role(const Kernel& kernel, const std::vector<Handover>& plans, const RoleWarps& warps,
                       const Block& body) {
  return RoleSync(kernel, plans, warps).block(body);
}

Stmt make_call(const ir::OpDef& def, std::vector<ir::TileRef> tiles, std::vector<Expr> scalars, ir::Attrs attrs,
               const Loc& loc) {
  return ir::make_stmt(
      OpStmt{.def = &def, .tiles = std::move(tiles), .scalars = std::move(scalars), .attrs = std::move(attrs)}, loc);
}

}  // namespace tilewright::passes
