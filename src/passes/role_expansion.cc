#include "passes/role_expansion.h"

#include "ir/rewrite.h"
#include "passes/schedule_ops.h"
#include "passes/schedule_steps.h"
#include "passes/stage_tiles.h"
#include "support/error.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright::passes {

using ir::Block;
using ir::ExecSet;
using ir::Expr;
using ir::Kernel;
using ir::Schedule;
using ir::Slot;
using ir::Stmt;
using ir::TileId;

namespace {

bool has_schedule(const Stmt& stmt) {
  return ir::any_stmt({stmt}, [](const Stmt& part) {
    const auto* loop = ir::get_if<ir::ForStmt>(part);
    return loop && loop->schedule;
  });
}

// Some access of the statement to one of the tiles (any, if there are none) is over with a queue.
bool has_queue(const Stmt& stmt, const Kernel& kernel, ir::Queue queue, bool writes, const std::vector<TileId>& tiles) {
  const auto* op = ir::get_if<ir::OpStmt>(stmt);
  if (op == nullptr) return false;
  for (const ir::Access& a : op->def->effects(*op, kernel)) {
    const bool named = tiles.empty() || std::find(tiles.begin(), tiles.end(), a.ref.tile) != tiles.end();
    if (named && a.until == queue && (a.mode != ir::Mode::read) == writes) return true;
  }
  return false;
}

bool mentions_any(const Stmt& stmt, const std::vector<TileId>& tiles) {
  const std::map<TileId, int> mentions = ir::tile_mentions({stmt});
  return std::any_of(tiles.begin(), tiles.end(), [&](TileId id) { return mentions.contains(id); });
}

// The code of one role, or of all warps where a kernel has no roles.
class RoleExpansion {
 public:
  RoleExpansion(Kernel& kernel, ir::VarId& next_var, const ChannelRows& first_channel, ir::Role role, bool is_default)
      : kernel_(kernel),
        next_var_(next_var),
        first_channel_(first_channel),
        role_(std::move(role)),
        is_default_(is_default) {}

  Block expand(const Block& body) {
    const Block code = block(body);
    Block out = std::move(initial_);
    out.insert(out.end(), code.begin(), code.end());
    return out;
  }

 private:
  Block block(const Block& body) {
    Block out;
    for (const Stmt& stmt : body) this->stmt(stmt, out);
    return out;
  }
  void stmt(const Stmt& stmt, Block& out);
  void loop(const ir::ForStmt& loop, const Loc& loc, Block& out);
  bool runs(const ExecSet& exec) const { return contains(role_.exec, exec); }
  StepQuestions questions(const ir::ForStmt& loop) const;
  Block section(const Section& section, const ir::ForStmt& loop, const Expr& base, const Loc& loc);
  Block site(const Site& site, const ir::ForStmt& loop, const Expr& iteration, const Expr& base, const Loc& loc);
  Expr fresh(const char* name) { return ir::var(next_var_++, name); }
  // Groups of products inside of a statement are not counted, so that no release may rest on their number.
  void check_products(const std::vector<Slot>& slots, const ir::ForStmt& loop) const;
  Block in_exec(const ExecSet& exec, const std::vector<Slot>& slots, const ir::ForStmt& loop, Block body,
                const Loc& loc) const;

  Kernel& kernel_;
  ir::VarId& next_var_;
  const ChannelRows& first_channel_;
  ir::Role role_;
  bool is_default_;
  int depth_ = 0;
  Block initial_;  // counts of rounds
};

void RoleExpansion::stmt(const Stmt& stmt, Block& out) {
  const auto* for_loop = ir::get_if<ir::ForStmt>(stmt);
  if (for_loop && for_loop->schedule) return loop(*for_loop, stmt->loc, out);
  if (!has_schedule(stmt)) {
    const auto* op = ir::get_if<ir::OpStmt>(stmt);
    const bool named = op && op->exec.num_warps > 0;
    // Values are for everyone.
    if (ir::get_if<ir::LetStmt>(stmt) || (named ? runs(op->exec) : is_default_)) out.push_back(stmt);
    return;
  }
  if (for_loop) {
    ir::ForStmt copy = *for_loop;
    ++depth_;
    copy.body = block(for_loop->body);
    --depth_;
    return out.push_back(ir::make_stmt(std::move(copy), stmt->loc));
  }
  if (const auto* branch = ir::get_if<ir::IfStmt>(stmt)) {
    return out.push_back(ir::make_stmt(
        ir::IfStmt{.condition = branch->condition, .then = block(branch->then), .otherwise = block(branch->otherwise)},
        stmt->loc));
  }
  throw unsupported(stmt->loc, "a scheduled loop inside of this statement").hint("put it into for loops and branches");
}

StepQuestions RoleExpansion::questions(const ir::ForStmt& loop) const {
  const Schedule& schedule = *loop.schedule;
  const auto tiles = [&schedule](int c) -> const std::vector<TileId>& { return schedule.channels[size_t(c)].tiles; };
  const auto is_own = [this, &schedule](int c) {
    const ir::Channel& channel = schedule.channels[size_t(c)];
    return runs(channel.producer) && filled_where_read(channel);
  };
  return {.closes_copies =
              [this, &loop, is_own, tiles](const Slot& slot) {
                return is_own(slot.index) && std::any_of(loop.body.begin(), loop.body.end(), [&](const Stmt& s) {
                         return has_queue(s, kernel_, ir::Queue::cp_async, true, tiles(slot.index));
                       });
              },
          .closes_products =
              [this, &loop](const Slot& slot) {
                return has_queue(loop.body[size_t(slot.index)], kernel_, ir::Queue::wgmma, false, {});
              },
          .reads = [&loop, tiles](const Slot& slot,
                                  int c) { return mentions_any(loop.body[size_t(slot.index)], tiles(c)); },
          .is_own = is_own};
}

// What one slot is for one iteration. `base`: iterations of earlier rounds.
Block RoleExpansion::site(const Site& site, const ir::ForStmt& loop, const Expr& iteration, const Expr& base,
                          const Loc& loc) {
  const Schedule& schedule = *loop.schedule;
  const Expr count = base ? base + iteration : iteration;
  const int first = first_channel_.at(&schedule);
  if (site.slot.kind != Slot::Kind::op) {
    const ir::OpDef* const kSteps[] = {nullptr, &acquire_op(), &commit_op(), &wait_op(), &release_op()};
    ir::OpStmt step{.def = kSteps[size_t(site.slot.kind)], .tiles = {}, .scalars = {count}};
    step.attrs = {{"channel", int64_t(first + site.slot.index)}};
    const bool waits = site.slot.kind == Slot::Kind::wait || site.slot.kind == Slot::Kind::release;
    if (waits) step.attrs.emplace_back("later", site.later);
    if (site.slot.kind == Slot::Kind::acquire) step.attrs.emplace_back("separated", site.separated);
    return {ir::make_stmt(std::move(step), loc)};
  }
  std::map<TileId, Expr> slots;
  for (const ir::Channel& channel : schedule.channels) {
    for (TileId id : channel.tiles) slots.emplace(id, ir::floormod(count, channel.stages));
  }
  const ir::LoopDim& dim = loop.dims[0];
  const Block body = ir::substitute({loop.body[size_t(site.slot.index)]}, std::vector{dim.var},
                                    std::vector{dim.begin + iteration * dim.step});
  return ir::with_fresh_vars(stage_tiles(body, slots), next_var_);
}

// Statements that one thread starts stand in code of one thread.
Block RoleExpansion::in_exec(const ExecSet& exec, const std::vector<Slot>& slots, const ir::ForStmt& loop, Block body,
                             const Loc& loc) const {
  bool all = true, any = false;
  for (const Slot& slot : slots) {
    if (slot.kind != Slot::Kind::op) continue;
    const Stmt& stmt = loop.body[size_t(slot.index)];
    const auto* op = ir::get_if<ir::OpStmt>(stmt);
    const bool elected = op && op->def->elected;
    all = all && elected;
    any = any || elected || async_work({stmt}).bulk_copies;
  }
  if (any && (!all || exec.num_warps != 1)) {
    throw unsupported(loc, "role {} mixes copies that one thread starts with other statements", role_.name)
        .hint("give them a warp of their own");
  }
  if (exec == role_.exec && !any) return body;
  return {ir::make_stmt(
      ir::RoleStmt{.name = role_.name, .exec = exec, .max_regs = 0, .elected = any, .body = std::move(body)}, loc)};
}

Block RoleExpansion::section(const Section& section, const ir::ForStmt& loop, const Expr& base, const Loc& loc) {
  const Expr n = loop.dims[0].extent;
  const bool steady = section.kind == Section::Kind::steady, behind = section.kind == Section::Kind::epilogue;
  const Expr u = fresh(steady ? "it" : behind ? "behind" : "ahead");
  Block body, guarded;
  Expr guard;
  const auto flush = [&] {
    if (guarded.empty()) return;
    body.push_back(
        ir::make_stmt(ir::IfStmt{.condition = guard, .then = std::exchange(guarded, {}), .otherwise = {}}, loc));
  };
  for (const Site& site : section.sites) {
    // `ahead` and `behind` count from 0.
    const Expr iteration = steady   ? u + site.lead
                           : behind ? n + u + (section.begin + site.lead)
                                    : u + (section.begin + site.lead);
    const bool ends = site.lead > 0, begins = site.lead < 0;
    Expr condition;
    if (ends) condition = ir::lt(iteration, n);
    if (begins) condition = ir::le(ir::int_imm(0), iteration);
    const Block part = this->site(site, loop, iteration, base, loc);
    // A step that waits or hands over stands alone, so that what must not depend on the condition is taken out of it.
    const bool alone = site.slot.kind != Slot::Kind::op && site.slot.kind != Slot::Kind::acquire;
    if (!condition || !guard || !ir::equal(condition, guard) || alone) flush();
    guard = condition;
    Block& to = condition ? guarded : body;
    to.insert(to.end(), part.begin(), part.end());
    if (alone) flush();
  }
  flush();
  ir::ForStmt out{.kind = steady ? ir::LoopKind::serial : ir::LoopKind::unrolled, .dims = {}, .attrs = {}, .body = {}};
  out.dims = {{.var = u, .begin = ir::int_imm(0), .extent = steady ? n : ir::int_imm(section.end - section.begin)}};
  out.body = std::move(body);
  return {ir::make_stmt(std::move(out), loc)};
}

void RoleExpansion::check_products(const std::vector<Slot>& slots, const ir::ForStmt& loop) const {
  int num = 0;
  const Stmt* around = nullptr;
  for (const Slot& slot : slots) {
    if (slot.kind != Slot::Kind::op) continue;
    const Stmt& stmt = loop.body[size_t(slot.index)];
    if (!async_work({stmt}).products) continue;
    ++num;
    if (!ir::get_if<ir::OpStmt>(stmt)) around = &stmt;
  }
  if (around == nullptr || num == 1) return;
  throw unsupported((*around)->loc, "products inside of a statement of a scheduled loop, beside others")
      .hint("let all products of the loop be statements of its body");
}

void RoleExpansion::loop(const ir::ForStmt& loop, const Loc& loc, Block& out) {
  std::vector<Slot> slots;
  std::set<std::pair<int, int>> execs;
  for (const Slot& slot : loop.schedule->slots) {
    if (!kernel_.roles.empty() && !runs(slot.exec)) continue;
    slots.push_back(slot);
    execs.insert({slot.exec.first_warp, slot.exec.num_warps});
  }
  if (slots.empty()) return;
  if (execs.size() != 1) {
    throw unsupported(loc, "slots of role {} run on several sets of warps", role_.name)
        .hint("give them one set, or roles of their own");
  }
  check_products(slots, loop);
  const Expr n = loop.dims[0].extent;
  Expr base;
  if (depth_ > 0) {
    const auto id = TileId(kernel_.tiles.size());
    kernel_.tiles.push_back({.name = fmt::format("rounds_{}", id),
                             .space = ir::Space::local,
                             .dtype = ir::kIndex,
                             .shape = {},
                             .layout = std::nullopt,
                             .origin = "schedule",
                             .loc = loc});
    initial_.push_back(ir::make_stmt(ir::StoreStmt{.tile = id, .indices = {}, .value = ir::int_imm(0)}, loc));
    base = ir::load(id, kernel_.tiles.back().name, ir::kIndex, {}, loc);
  }
  Block body;
  for (const Section& s : schedule_sections(*loop.schedule, slots, depth_ > 0, questions(loop))) {
    const Block part = section(s, loop, base, loc);
    body.insert(body.end(), part.begin(), part.end());
  }
  if (base) {
    const Expr ran = ir::binary(ir::ExprKind::max, ir::int_imm(0), n);
    body.push_back(ir::make_stmt(ir::StoreStmt{.tile = base.tile_id(), .indices = {}, .value = base + ran}, loc));
  }
  for (const Stmt& stmt : in_exec(slots[0].exec, slots, loop, std::move(body), loc)) out.push_back(stmt);
}

}  // namespace

Block expand_role(Kernel& kernel, ir::VarId& next_var, const ChannelRows& rows, const ir::Role& role, bool is_default,
                  const Block& body) {
  return RoleExpansion(kernel, next_var, rows, role, is_default).expand(body);
}

}  // namespace tilewright::passes
