#include "passes/pending_accesses.h"

#include "ir/rewrite.h"
#include "passes/cuda_atoms.h"
#include "passes/schedule_ops.h"

#include <optional>
#include <span>
#include <utility>

namespace tilewright::passes {

using ir::Expr;
using ir::ExprKind;
using ir::Kernel;
using ir::Stmt;
using ir::TileId;

namespace {

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

template <class Part>
Pending accesses_of(const Kernel& kernel, const Part& part) {
  Accesses finder(kernel);
  finder.visit(part);
  return std::move(finder.found);
}

}  // namespace

Pending pending_accesses(const Kernel& kernel, const Expr& e) { return accesses_of(kernel, e); }
Pending pending_accesses(const Kernel& kernel, const Stmt& stmt) { return accesses_of(kernel, stmt); }

}  // namespace tilewright::passes
