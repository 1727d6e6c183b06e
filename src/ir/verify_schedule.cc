// What tables must keep so that every expansion of them is right. For one iteration, slots run in the order of (stage,
// order); in one role, a slot of iteration i runs `stage` steps after the start of iteration i. So
//   - every statement of the body has one slot, and no two slots of a role have one (stage, order);
//   - a slot of a channel runs on the channel's warps of that role, each once;
//   - acquire <= statements that fill the tiles < commit, and wait <= statements that read them < release;
//   - a role that fills and reads: what fills iteration i + stages comes after the release of iteration i;
//   - a role that reads: before it releases iteration i it waits for fewer than `stages` iterations.
// The last two say that nothing is overwritten in sight, and that nobody waits for what can only come later.
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/verify_parts.h"
#include "support/error.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

namespace tilewright::ir {

namespace {

constexpr int kGroupWarps = 4, kMaxStage = 64;
constexpr size_t kMaxRoles = 15;  // barriers of threads that a block has, less the one of all threads

int num_warps(const Kernel& kernel) { return (kernel.threads + kWarpThreads - 1) / kWarpThreads; }

void check_exec(const ExecSet& exec, std::string_view what, const Kernel& kernel, const Loc& loc) {
  const int warps = num_warps(kernel);
  const bool fits = exec.first_warp >= 0 && exec.num_warps >= 0 && exec.num_warps <= warps &&
                    exec.first_warp <= warps - std::max(exec.num_warps, 1);
  if (fits) return;
  throw invalid_kernel(loc, "{} is {}, but a block has {} warps", what, to_string(exec), warps)
      .hint(fmt::format("the warps of a block are 0 to {}", warps - 1));
}

// Which tiles a statement reads and writes.
class Uses : public Visitor {
 public:
  explicit Uses(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (e.is(ExprKind::load)) reads.insert(e.tile_id());
    if (e) visit_args(e);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* store = get_if<StoreStmt>(stmt)) writes.insert(store->tile);
    if (const auto* atomic = get_if<AtomicStmt>(stmt)) {
      if (atomic->kind != AtomicKind::store) reads.insert(atomic->tile);
      if (atomic->kind != AtomicKind::load) writes.insert(atomic->tile);
    }
    if (const auto* op = get_if<OpStmt>(stmt)) {
      for (const Access& a : op->def->effects(*op, kernel_)) {
        if (a.mode != Mode::write) reads.insert(a.ref.tile);
        if (a.mode != Mode::read) writes.insert(a.ref.tile);
      }
    }
    visit_parts(stmt);
  }
  std::set<TileId> reads, writes;

 private:
  const Kernel& kernel_;
};

class ScheduleChecker {
 public:
  ScheduleChecker(const ForStmt& loop, const Kernel& kernel, const Loc& loc)
      : loop_(loop), schedule_(*loop.schedule), kernel_(kernel), loc_(loc) {}
  void check();

 private:
  using Kind = Slot::Kind;
  void check_slot(const Slot& slot) const;
  void check_body() const;
  void check_channel(int index) const;
  void check_pair(int index, const Slot& first, const Slot& last, bool fills) const;
  void check_arrivals(const Channel& channel, const Slot& slot, std::span<const ExecSet> warps) const;
  // By warps that fill (read) its tiles.
  bool may_touch(int index, const ExecSet& exec, bool fills) const;
  // The slot of a kind of a channel whose role holds `exec`.
  const Slot& only(Kind kind, int index, const ExecSet& exec, std::string_view channel) const;
  // -1: the role of a kernel without roles.
  int role_of(const ExecSet& exec) const {
    for (size_t r = 0; r < kernel_.roles.size(); ++r) {
      if (contains(kernel_.roles[r].exec, exec)) return int(r);
    }
    return -1;
  }

  const ForStmt& loop_;
  const Schedule& schedule_;
  const Kernel& kernel_;
  const Loc& loc_;
};

void ScheduleChecker::check_slot(const Slot& slot) const {
  const std::string what = fmt::format("slot {}({})", to_string(slot.kind), slot.index);
  const size_t count = slot.kind == Kind::op ? loop_.body.size() : schedule_.channels.size();
  if (slot.index < 0 || size_t(slot.index) >= count) {
    throw invalid_kernel(loc_, "{} names one of {} {}", what, count, slot.kind == Kind::op ? "statements" : "channels")
        .hint("they are numbered from 0");
  }
  if (slot.stage < 0 || slot.stage > kMaxStage || slot.order < 0) {
    throw invalid_kernel(loc_, "{} has stage {} and order {}", what, slot.stage, slot.order)
        .hint(fmt::format("stages are 0 to {}, orders 0 or more", kMaxStage));
  }
  check_exec(slot.exec, what, kernel_, loc_);
  if (kernel_.roles.empty() || role_of(slot.exec) >= 0) return;
  throw invalid_kernel(loc_, "{} runs on {}, which are no role's", what, to_string(slot.exec))
      .hint("the warps of a slot are among those of one role");
}

void ScheduleChecker::check_body() const {
  std::vector<int> slots_of(loop_.body.size());
  std::set<std::tuple<int, int, int>> times;
  for (const Slot& slot : schedule_.slots) {
    check_slot(slot);
    if (slot.kind == Kind::op) ++slots_of[size_t(slot.index)];
    if (times.insert({role_of(slot.exec), slot.stage, slot.order}).second) continue;
    throw invalid_kernel(loc_, "two slots of one role have stage {} and order {}", slot.stage, slot.order)
        .hint("orders within a step of a role differ");
  }
  for (size_t i = 0; i < loop_.body.size(); ++i) {
    const Stmt& stmt = loop_.body[i];
    if (get_if<LetStmt>(stmt) || get_if<BreakStmt>(stmt) || get_if<ContinueStmt>(stmt)) {
      throw invalid_kernel(stmt->loc, "statement {} of a scheduled loop is a let, break or continue", i)
          .hint("write the value in its place; a loop that is left early has no schedule");
    }
    if (slots_of[i] == 1) continue;
    throw invalid_kernel(stmt->loc, "statement {} of the loop has {} slots", i, slots_of[i])
        .hint("each statement has one");
  }
}

const Slot& ScheduleChecker::only(Kind kind, int index, const ExecSet& exec, std::string_view channel) const {
  const Slot* found = nullptr;
  int count = 0;
  for (const Slot& slot : schedule_.slots) {
    if (slot.kind != kind || slot.index != index || role_of(slot.exec) != role_of(exec)) continue;
    found = &slot;
    ++count;
  }
  if (count == 1) return *found;
  throw invalid_kernel(loc_, "channel {} has {} slots {} in the role of {}", channel, count, to_string(kind),
                       to_string(exec))
      .hint("its producer has one acquire and one commit, each role of consumers one wait and one release");
}

// What counts arrivals counts the channel's warps, what arrives are those of the slot.
void ScheduleChecker::check_arrivals(const Channel& channel, const Slot& slot, std::span<const ExecSet> warps) const {
  const int all = num_warps(kernel_);
  const auto named = [all](const ExecSet& exec) { return exec.num_warps > 0 ? exec : ExecSet{0, all}; };
  const ExecSet there = named(slot.exec);
  int count = 0;
  bool apart = true;
  for (size_t i = 0; i < warps.size(); ++i) {
    const ExecSet exec = named(warps[i]);
    apart = apart && contains(there, exec);
    for (const ExecSet& other : warps.first(i)) apart = apart && disjoint(exec, named(other));
    count += exec.num_warps;
  }
  if (apart && count == there.num_warps) return;
  throw invalid_kernel(loc_, "slot {} of channel {} runs on {}, which are not the channel's warps",
                       to_string(slot.kind), channel.name, to_string(slot.exec))
      .hint("each warp of the channel runs it once, and no other");
}

bool ScheduleChecker::may_touch(int index, const ExecSet& exec, bool fills) const {
  if (fills) return contains(schedule_.channels[size_t(index)].producer, exec);
  return std::any_of(schedule_.slots.begin(), schedule_.slots.end(), [&](const Slot& slot) {
    return slot.kind == Kind::wait && slot.index == index && contains(slot.exec, exec);
  });
}

// Statements that fill (read) the channel's tiles stand between the two slots.
void ScheduleChecker::check_pair(int index, const Slot& first, const Slot& last, bool fills) const {
  const Channel& channel = schedule_.channels[size_t(index)];
  for (const Slot& slot : schedule_.slots) {
    if (slot.kind != Kind::op) continue;
    Uses uses(kernel_);
    uses.visit(loop_.body[size_t(slot.index)]);
    const std::set<TileId>& touched = fills ? uses.writes : uses.reads;
    const bool touches =
        std::any_of(channel.tiles.begin(), channel.tiles.end(), [&](TileId id) { return touched.contains(id); });
    if (!touches) continue;
    if (!may_touch(index, slot.exec, fills)) {
      throw invalid_kernel(loc_, "statement {} {} tiles of channel {} on {}", slot.index, fills ? "fills" : "reads",
                           channel.name, to_string(slot.exec))
          .hint("producers fill and consumers read");
    }
    if (role_of(slot.exec) != role_of(first.exec) || (first.time() < slot.time() && slot.time() < last.time())) {
      continue;
    }
    throw invalid_kernel(loc_, "statement {} does not run between {} and {} of channel {}", slot.index,
                         to_string(first.kind), to_string(last.kind), channel.name)
        .hint("compare (stage, order)");
  }
}

void ScheduleChecker::check_channel(int index) const {
  const Channel& channel = schedule_.channels[size_t(index)];
  const Slot& acquire = only(Kind::acquire, index, channel.producer, channel.name);
  const Slot& commit = only(Kind::commit, index, channel.producer, channel.name);
  if (acquire.stage != commit.stage || acquire.order > commit.order) {
    throw invalid_kernel(loc_, "channel {}: acquire and commit are not in one step, in this order", channel.name)
        .hint("give them one stage");
  }
  check_arrivals(channel, acquire, std::span(&channel.producer, 1));
  check_arrivals(channel, commit, std::span(&channel.producer, 1));
  check_pair(index, acquire, commit, true);
  for (const ExecSet& exec : channel.consumers) {
    const Slot& wait = only(Kind::wait, index, exec, channel.name);
    const Slot& release = only(Kind::release, index, exec, channel.name);
    if (release.time() <= wait.time()) {
      throw invalid_kernel(loc_, "channel {}: a release does not come after its wait", channel.name)
          .hint("compare (stage, order)");
    }
    std::vector<ExecSet> of_role;
    std::copy_if(channel.consumers.begin(), channel.consumers.end(), std::back_inserter(of_role),
                 [&](const ExecSet& other) { return role_of(other) == role_of(exec); });
    check_arrivals(channel, wait, of_role);
    check_arrivals(channel, release, of_role);
    check_pair(index, wait, release, false);
    const bool same_role = role_of(exec) == role_of(channel.producer);
    const Slot& ahead = same_role ? acquire : wait;
    const std::pair<int, int> next = {ahead.stage + channel.stages, ahead.order};
    if (same_role && wait.time() < commit.time()) {
      throw invalid_kernel(loc_, "channel {}: its role waits before it commits", channel.name)
          .hint("in one role commit comes before wait");
    }
    if (release.time() < next) continue;
    throw invalid_kernel(loc_, "channel {} has {} stages, but {} are in use before the first is released", channel.name,
                         channel.stages, release.stage - ahead.stage + (release.order > ahead.order))
        .hint("give it more stages, or release earlier");
  }
}

void ScheduleChecker::check() {
  if (loop_.dims.size() != 1 || loop_.kind == LoopKind::parallel) {
    throw invalid_kernel(loc_, "a schedule on a {} loop of {} dimensions", to_string(loop_.kind), loop_.dims.size())
        .hint("serial and pipelined loops have schedules");
  }
  check_body();
  const auto at_anchor = [&](const Slot& s) { return s.stage == schedule_.anchor; };
  if (!schedule_.slots.empty() && std::none_of(schedule_.slots.begin(), schedule_.slots.end(), at_anchor)) {
    throw invalid_kernel(loc_, "no slot has the anchor's stage {}", schedule_.anchor)
        .hint("the anchor is the stage of the slots that run in every step");
  }
  std::set<TileId> seen;
  for (const Channel& channel : schedule_.channels) {
    for (TileId id : channel.tiles) {
      if (seen.insert(id).second) continue;
      throw invalid_kernel(loc_, "a tile is in two channels, {} the second", channel.name).hint("give each its own");
    }
  }
  for (size_t c = 0; c < schedule_.channels.size(); ++c) check_channel(int(c));
}

void check_channel_row(const Channel& channel, const Kernel& kernel, const Loc& loc) {
  check_name(channel.name, loc);
  if (channel.stages < 1 || channel.consumers.empty()) {
    throw invalid_kernel(loc, "channel {} has {} stages and {} consumers", channel.name, channel.stages,
                         channel.consumers.size())
        .hint("it has at least one of each");
  }
  check_exec(channel.producer, fmt::format("the producer of channel {}", channel.name), kernel, loc);
  for (const ExecSet& exec : channel.consumers) {
    check_exec(exec, fmt::format("a consumer of channel {}", channel.name), kernel, loc);
  }
  for (TileId id : channel.tiles) {
    if (id < 0 || size_t(id) >= kernel.tiles.size() || kernel.tile(id).space != Space::shared) {
      throw invalid_kernel(loc, "channel {} has tile {}, which is no shared tile", channel.name, id)
          .hint("channels hand over shared tiles");
    }
    // Who fills and reads it is seen by its row alone.
    const bool is_viewed =
        std::any_of(kernel.tiles.begin(), kernel.tiles.end(), [&](const Tile& other) { return other.view_of == id; });
    if (kernel.tile(id).view_of < 0 && !is_viewed) continue;
    throw note_tile(invalid_kernel(loc, "channel {} has tile {}, which {} a view", channel.name, kernel.tile(id).name,
                                   is_viewed ? "has" : "is"),
                    kernel.tile(id))
        .hint("channels hand over tiles without views");
  }
}

}  // namespace

void refuse_tables(const Loc& loc) {
  throw unsupported(loc, "a program with schedules, roles, channels or tensor maps of its own")
      .hint("leave them out: pipelined loops are scheduled by the compiler; docs/status.md");
}

void verify_role(const Role& role, const Kernel& kernel, const Loc& loc) {
  check_name(role.name, loc);
  check_exec(role.exec, fmt::format("role {}", role.name), kernel, loc);
  if (role.exec.num_warps == 0) {
    throw invalid_kernel(loc, "role {} has no warps", role.name).hint("give it at least one");
  }
  if (role.max_regs == 0) return;
  const bool legal = role.max_regs >= 24 && role.max_regs <= 256 && role.max_regs % 8 == 0;
  const bool groups = role.exec.first_warp % kGroupWarps == 0 && role.exec.num_warps % kGroupWarps == 0;
  if (legal && groups) return;
  throw invalid_kernel(loc, "role {} sets {} registers on {}", role.name, role.max_regs, to_string(role.exec))
      .hint("setmaxnreg takes multiples of 8 from 24 to 256, in whole warpgroups of 4 warps");
}

void verify_tables(const Program& program, const Kernel& kernel) {
  for (const TensorMap& map : kernel.maps) {
    check_name(map.name, kernel.loc);
    const bool known = map.tensor >= 0 && size_t(map.tensor) < program.tensors.size();
    const bool extents = std::all_of(map.box.begin(), map.box.end(), [](int64_t e) { return e >= 1 && e <= 256; });
    const bool span = map.span_bytes == 0 || map.span_bytes == 32 || map.span_bytes == 64 || map.span_bytes == 128;
    if (known && extents && span && map.box.size() == program.tensors[size_t(map.tensor)].shape.size()) continue;
    throw invalid_kernel(kernel.loc, "map {} is no box of a tensor", map.name)
        .hint("it has one extent from 1 to 256 for each dimension of its tensor, and a span of 0, 32, 64 or 128");
  }
  if (kernel.roles.size() > kMaxRoles) {
    throw invalid_kernel(kernel.loc, "a kernel has {} roles", kernel.roles.size())
        .hint(fmt::format("the hardware has {} barriers for them", kMaxRoles));
  }
  for (size_t r = 0; r < kernel.roles.size(); ++r) {
    verify_role(kernel.roles[r], kernel, kernel.loc);
    for (size_t other = 0; other < r; ++other) {
      if (disjoint(kernel.roles[r].exec, kernel.roles[other].exec)) continue;
      throw invalid_kernel(kernel.loc, "roles {} and {} share warps", kernel.roles[other].name, kernel.roles[r].name)
          .hint("each warp has one role");
    }
  }
  for (const Channel& channel : kernel.channels) check_channel_row(channel, kernel, kernel.loc);
}

void verify_schedule(const ForStmt& loop, const Kernel& kernel, const Loc& loc) {
  for (const Channel& channel : loop.schedule->channels) check_channel_row(channel, kernel, loc);
  ScheduleChecker(loop, kernel, loc).check();
}

}  // namespace tilewright::ir
