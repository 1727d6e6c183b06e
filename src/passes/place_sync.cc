#include "ir/rewrite.h"
#include "passes/cuda_atoms.h"
#include "passes/cuda_passes.h"
#include "passes/schedule_ops.h"
#include "support/error.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::Stmt;
using ir::TileId;

namespace {

// Memory that the threads of a block share, by one number for each array: the tensor of a global tile, else the tile.
using Memory = int64_t;
constexpr Memory kPrinted = INT64_MIN;  // where prints go

// Arrays that are accessed, each with how its elements belong to threads: accesses of the same way are of one thread
// for each element, and need no barrier. Empty where nothing is known.
class Accessed {
 public:
  void add(Memory memory, const std::string& owner = {}) {
    const auto [at, fresh] = owners_.emplace(memory, owner);
    if (!fresh && at->second != owner) at->second.clear();
  }
  void add(const Accessed& other) {
    for (const auto& [memory, owner] : other.owners_) add(memory, owner);
  }
  bool contains(Memory memory) const { return owners_.contains(memory); }
  bool empty() const { return owners_.empty(); }
  bool meets(const Accessed& other) const {
    return std::any_of(owners_.begin(), owners_.end(), [&](const auto& access) {
      const auto same = other.owners_.find(access.first);
      return same != other.owners_.end() && (access.second.empty() || access.second != same->second);
    });
  }
  friend bool operator==(const Accessed&, const Accessed&) = default;

 private:
  std::map<Memory, std::string> owners_;
};

// Accesses by any thread since the last barrier.
struct Pending {
  Accessed reads, writes;
  // By atomics of one kind whose results nobody uses: their order does not matter.
  std::set<std::tuple<Memory, ir::AtomicKind, DType>> updates;
  bool releases = false;  // an atomic hands on what all threads did before
  bool async = false;     // some of the writes are cp.async that nothing waits for yet

  void add(const Pending& other) {
    async |= other.async;
    reads.add(other.reads);
    writes.add(other.writes);
    updates.insert(other.updates.begin(), other.updates.end());
    releases |= other.releases;
  }
  bool conflicts(const Pending& next) const {
    if (next.releases && !(reads.empty() && writes.empty() && updates.empty())) return true;
    return writes.meets(next.reads) || writes.meets(next.writes) || reads.meets(next.writes) || updates_meet(next) ||
           next.updates_meet(*this);
  }
  // Whether an update is of what `other` accesses in another way.
  bool updates_meet(const Pending& other) const {
    return std::any_of(updates.begin(), updates.end(), [&](const auto& update) {
      const Memory memory = std::get<Memory>(update);
      if (other.reads.contains(memory) || other.writes.contains(memory)) return true;
      return std::any_of(other.updates.begin(), other.updates.end(),
                         [&](const auto& u) { return std::get<Memory>(u) == memory && u != update; });
    });
  }
  friend bool operator==(const Pending&, const Pending&) = default;
};

class Accesses : public ir::Visitor {
 public:
  explicit Accesses(const Kernel& kernel) : kernel_(kernel) {}
  using Visitor::visit;
  void visit(const Expr& e) override {
    if (e.is(ir::ExprKind::load)) note(e.tile_id(), found.reads, owner_of(e.tile_id(), e.args()));
    if (e) visit_args(e);
  }
  void visit(const Stmt& stmt) override {
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop && is_dealt_out(*loop)) {
      const ir::ForStmt* const around = std::exchange(dealt_out_, loop);
      visit_parts(stmt);
      dealt_out_ = around;
      return;
    }
    const auto* branch = ir::get_if<ir::IfStmt>(stmt);
    if (branch && branch->otherwise.empty() && is_first_thread(branch->condition)) {
      const bool around = std::exchange(in_first_thread_, true);
      visit_parts(stmt);
      in_first_thread_ = around;
      return;
    }
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) {
      note(store->tile, found.writes, owner_of(store->tile, store->indices));
    }
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) note_atomic(*atomic);
    if (const auto* op = ir::get_if<ir::OpStmt>(stmt)) {
      // Statements of a block print one after the other.
      if (op->def->reports && ir::text_attr(op->attrs, "kind") == "print") found.writes.add(kPrinted);
      for (const ir::Access& a : op->def->effects(*op, kernel_)) {
        if (a.mode != ir::Mode::write) note(a.ref.tile, found.reads);
        if (a.mode != ir::Mode::read) note(a.ref.tile, found.writes);
        const bool copies = op->def == &cp_async_op() && a.mode != ir::Mode::read;
        if (copies && !handed_over(a.ref.tile)) found.async = true;
      }
    }
    visit_parts(stmt);
  }
  Pending found;

 private:
  void note(TileId id, Accessed& to, const std::string& owner = {}) {
    if (const std::optional<Memory> memory = shared_memory(id)) to.add(*memory, owner);
  }
  // A parallel loop whose iterations distribute_threads dealt out in turn.
  bool is_dealt_out(const ir::ForStmt& loop) const {
    return loop.kind == ir::LoopKind::parallel && loop.dims.size() == 1 && kernel_.thread_var &&
           ir::equal(loop.dims[0].begin, kernel_.thread_var) && loop.dims[0].step == kernel_.threads;
  }
  bool is_first_thread(const Expr& condition) const {
    return kernel_.thread_var && condition.is(ExprKind::eq) && ir::equal(condition.arg(0), kernel_.thread_var) &&
           condition.arg(1).is_int(0);
  }
  std::string owner_of(TileId id, std::span<const Expr> at) const;
  void note_atomic(const ir::AtomicStmt& atomic) {
    const std::optional<Memory> memory = shared_memory(atomic.tile);
    if (!memory) return;
    using enum ir::MemoryOrder;
    found.releases |= atomic.order == release || atomic.order == acq_rel || atomic.order == seq_cst;
    if (ir::expr_kind(atomic.kind) && !atomic.prev)
      found.updates.emplace(*memory, atomic.kind, kernel_.tile(atomic.tile).dtype);
    else {
      found.reads.add(*memory);
      if (atomic.kind != ir::AtomicKind::load) found.writes.add(*memory);
    }
  }
  // What the pass keeps apart; nothing for registers, and for what is handed over.
  std::optional<Memory> shared_memory(TileId id) const {
    const ir::Tile& tile = kernel_.tile(id);
    if (tile.space == ir::Space::local || tile.space == ir::Space::fragment || handed_over(id)) return std::nullopt;
    const TileId row = declaring_row(id);
    return tile.space == ir::Space::global ? -1 - Memory(kernel_.tile(row).tensor) : Memory(row);
  }
  // Its pipeline, or its channel, keeps writers and readers apart.
  bool handed_over(TileId id) const { return kernel_.tile(id).stages > 1 || in_channel(kernel_, declaring_row(id)); }
  // A view has the memory of its root. Rows that passes added for unchecked accesses have the name, and the memory, of
  // the row they were made from.
  TileId declaring_row(TileId id) const {
    id = kernel_.storage_of(id);
    if (!kernel_.tile(id).unchecked) return id;
    for (TileId other = 0; other < TileId(kernel_.tiles.size()); ++other) {
      if (!kernel_.tile(other).unchecked && kernel_.tile(other).name == kernel_.tile(id).name) return other;
    }
    return id;
  }
  const Kernel& kernel_;
  const ir::ForStmt* dealt_out_ = nullptr;  // the innermost around
  bool in_first_thread_ = false;
};

// Where iteration `index` of a loop that is dealt out accesses the element whose coordinates are the digits of `index`:
// thread `index` modulo the number of threads has that element, whichever loop of these digits it is.
std::string Accesses::owner_of(TileId id, std::span<const Expr> at) const {
  if (in_first_thread_) return "the first thread";
  if (dealt_out_ == nullptr || at.empty() || kernel_.tile(id).view_of >= 0 ||
      kernel_.tile(id).space != ir::Space::shared)
    return {};
  const Expr& index = dealt_out_->dims[0].var;
  if (at.size() == 1) return ir::equal(at[0], index) ? "1" : "";
  Expr rest = index;
  std::string owner = std::to_string(at.size());
  for (size_t d = at.size(); d-- > 0;) {
    const auto* let = d < dealt_out_->body.size() ? ir::get_if<ir::LetStmt>(dealt_out_->body[d]) : nullptr;
    if (let == nullptr || !ir::equal(at[d], let->var)) return {};
    if (d == 0) return ir::equal(let->value, rest) ? owner : "";
    if (!let->value.is(ExprKind::floormod) || !ir::equal(let->value.arg(0), rest)) return {};
    const std::optional<int64_t> extent = let->value.arg(1).as_int();
    if (!extent) return {};
    owner += " " + std::to_string(*extent);
    rest = ir::floordiv(rest, *extent);
  }
  return {};
}

class Placement {
 public:
  explicit Placement(const Kernel& kernel) : kernel_(kernel), barrier_{.def = &block_sync_op()} {}
  // Of the code of one role, whose threads meet at a barrier of their own.
  Placement(const Kernel& kernel, const ir::RoleStmt& role, int64_t barrier_id)
      : kernel_(kernel), barrier_{.def = &sync_threads_op()}, role_(&role) {
    barrier_.attrs = {{"barrier", barrier_id}, {"threads", int64_t(role.exec.num_warps) * ir::kWarpThreads}};
  }
  Block run_role() { return block(role_->body); }

  Block run() { return block(kernel_.body); }

 private:
  Block block(const Block& body) {
    Block out;
    for (size_t i = 0; i < body.size(); ++i) {
      size_t end = i;
      while (end < body.size() && ir::get_if<ir::RoleStmt>(body[end])) ++end;
      if (end == i) {
        stmt(body[i], out);
      } else {
        roles(std::span(body).subspan(i, end - i), out);
        i = end - 1;
      }
    }
    return out;
  }
  void stmt(const Stmt& stmt, Block& out);
  void loop(const Stmt& stmt, Block& out);
  void branch(const ir::IfStmt& branch, const Loc& loc, Block& out);
  void roles(std::span<const Stmt> roles, Block& out);

  template <class Part>
  Pending accesses(const Part& part) const {
    Accesses finder(kernel_);
    finder.visit(part);
    return std::move(finder.found);
  }
  // Before code with these accesses, a barrier if they meet pending ones.
  void before(const Pending& next, const Loc& loc, Block& out) {
    if (pending_.conflicts(next)) {
      if (pending_.async) {
        out.push_back(ir::make_stmt(ir::OpStmt{.def = &cp_async_commit_op()}, loc));
        out.push_back(ir::make_stmt(
            ir::OpStmt{.def = &cp_async_wait_op(), .tiles = {}, .scalars = {}, .attrs = {{"pending", int64_t(0)}}},
            loc));
      }
      // One thread waits for nobody.
      if (role_ == nullptr || !role_->elected) out.push_back(ir::make_stmt(barrier_, loc));
      pending_ = {};
    }
    pending_.add(next);
  }

  const Kernel& kernel_;
  ir::OpStmt barrier_;
  const ir::RoleStmt* role_ = nullptr;
  Pending pending_;
  int64_t num_roles_ = 0;
  Pending at_jumps_;  // pending where a break or continue leaves
  Pending head_;      // read by the condition of the innermost loop
};

void Placement::stmt(const Stmt& stmt, Block& out) {
  // A barrier that is there already, such as that of a pipeline, waits for all but copies that nobody waits for yet.
  const auto* op = ir::get_if<ir::OpStmt>(stmt);
  if (op && op->def == &block_sync_op() && role_ == nullptr && !pending_.async) {
    pending_ = {};
    out.push_back(stmt);
    return;
  }
  // Outside of `lanes` all threads take the same way.
  if (ir::get_if<ir::ForStmt>(stmt) || ir::get_if<ir::WhileStmt>(stmt)) return loop(stmt, out);
  if (const auto* branch = ir::get_if<ir::IfStmt>(stmt)) return this->branch(*branch, stmt->loc, out);
  if (ir::get_if<ir::BreakStmt>(stmt) || ir::get_if<ir::ContinueStmt>(stmt)) {
    // After a continue the loop's condition is read.
    if (ir::get_if<ir::ContinueStmt>(stmt)) before(head_, stmt->loc, out);
    at_jumps_.add(pending_);
    out.push_back(stmt);
    return;
  }
  before(accesses(stmt), stmt->loc, out);
  out.push_back(stmt);
}

// Roles that stand one behind the other run at the same time.
void Placement::roles(std::span<const Stmt> roles, Block& out) {
  Pending all;
  for (const Stmt& stmt : roles) {
    const Pending inside = accesses(stmt);
    if (all.conflicts(inside)) {
      throw unsupported(stmt->loc, "role {} and one beside it share memory that no channel has",
                        ir::get_if<ir::RoleStmt>(stmt)->name)
          .hint("hand it over by a channel");
    }
    all.add(inside);
  }
  before(all, roles[0]->loc, out);
  for (const Stmt& stmt : roles) {
    ir::RoleStmt copy = *ir::get_if<ir::RoleStmt>(stmt);
    const int64_t id = role_ ? ir::int_attr(barrier_.attrs, "barrier", 0) : ++num_roles_;
    copy.body = Placement(kernel_, copy, id).run_role();
    out.push_back(ir::make_stmt(std::move(copy), stmt->loc));
  }
}

void Placement::branch(const ir::IfStmt& branch, const Loc& loc, Block& out) {
  before(accesses(branch.condition), loc, out);
  ir::IfStmt rebuilt{.condition = branch.condition, .then = {}, .otherwise = {}};
  const Pending start = pending_;
  rebuilt.then = block(branch.then);
  const Pending after_then = std::exchange(pending_, start);
  rebuilt.otherwise = block(branch.otherwise);
  pending_.add(after_then);
  out.push_back(ir::make_stmt(std::move(rebuilt), loc));
}

// What is pending at the end of an iteration meets the beginning of the next: passes over the body until nothing new
// comes in, which the finite number of arrays bounds.
void Placement::loop(const Stmt& stmt, Block& out) {
  const auto* for_loop = ir::get_if<ir::ForStmt>(stmt);
  const auto* while_loop = ir::get_if<ir::WhileStmt>(stmt);
  const Block& body = for_loop ? for_loop->body : while_loop->body;
  Pending head;  // read by the loop's own expressions
  if (for_loop) {
    for (const ir::LoopDim& dim : for_loop->dims) {
      head.add(accesses(dim.begin));
      head.add(accesses(dim.extent));
    }
  } else {
    head = accesses(while_loop->condition);
  }
  before(head, stmt->loc, out);
  const Pending outer_jumps = std::exchange(at_jumps_, {});
  const Pending outer_head = std::exchange(head_, while_loop ? head : Pending());
  Pending entry = pending_;
  Block rebuilt;
  for (;;) {
    pending_ = entry;
    at_jumps_ = {};
    rebuilt = block(body);
    // The condition of a while loop is read again after the body.
    if (while_loop) before(head, stmt->loc, rebuilt);
    Pending next = entry;
    next.add(pending_);
    next.add(at_jumps_);
    if (next == entry) break;
    entry = std::move(next);
  }
  pending_ = entry;
  at_jumps_ = outer_jumps;
  head_ = outer_head;
  if (for_loop) {
    ir::ForStmt copy = *for_loop;
    copy.body = std::move(rebuilt);
    out.push_back(ir::make_stmt(std::move(copy), stmt->loc));
  } else {
    out.push_back(
        ir::make_stmt(ir::WhileStmt{.condition = while_loop->condition, .body = std::move(rebuilt)}, stmt->loc));
  }
}

}  // namespace

ir::Program place_sync(const ir::Program& program) {
  ir::Program out = program;
  for (Kernel& kernel : out.kernels) {
    const Kernel before = kernel;
    kernel.body = Placement(before).run();
  }
  return out;
}

}  // namespace tilewright::passes
