#include "ir/loop_options.h"
#include "ir/op.h"
#include "ir/parse.h"
#include "ir/verify_parts.h"
#include "support/error.h"

#include <utility>

namespace tilewright::ir {

namespace {

// A break of this loop, not of one inside it.
bool may_break(const Block& block) {
  for (const Stmt& stmt : block) {
    if (get_if<BreakStmt>(stmt)) return true;
    const auto* branch = get_if<IfStmt>(stmt);
    if (branch && (may_break(branch->then) || may_break(branch->otherwise))) return true;
  }
  return false;
}

class BodyChecker {
 public:
  BodyChecker(const Kernel& kernel, VarScopes& scopes, ExprChecker& exprs)
      : kernel_(kernel), scopes_(scopes), exprs_(exprs) {}

  void block(const Block& block, const Loc& loc);

 private:
  struct Alternatives;
  void op(const OpStmt& op, const Loc& loc);
  void let(const LetStmt& let, const Loc& loc);
  void store(const StoreStmt& store, const Loc& loc);
  void atomic(const AtomicStmt& atomic, const Loc& loc);
  void loop(const ForStmt& loop, const Loc& loc);
  void loop_form(const ForStmt& loop, const Loc& loc);
  void loop_dim(const ForStmt& loop, const LoopDim& dim, const Loc& loc);
  void while_loop(const WhileStmt& loop, const Loc& loc);
  void branch(const IfStmt& branch, const Loc& loc);
  void lanes(const LanesStmt& lanes, const Loc& loc);
  void role(const RoleStmt& role, const Loc& loc);
  void jump(std::string_view word, const Loc& loc);
  void loop_body(const Block& body, bool parallel, bool dead, const Loc& loc);
  void maybe_dead(const Block& body, bool dead, const Loc& loc);

  const Kernel& kernel_;
  VarScopes& scopes_;
  ExprChecker& exprs_;
  Loc parallel_loc_;
  int depth_ = 0;
  bool in_parallel_ = false;  // inside a parallel loop at any distance
  bool in_lanes_ = false;     // the code of one thread: its parallel loops are unrolled, or its share of one
  bool in_loop_ = false;      // a loop that break would leave, on this side of the nearest parallel loop
};

struct BodyChecker::Alternatives {
  BodyChecker& c;
  const Loc& loc;
  void operator()(const OpStmt& s) const { c.op(s, loc); }
  void operator()(const LetStmt& s) const { c.let(s, loc); }
  void operator()(const StoreStmt& s) const { c.store(s, loc); }
  void operator()(const AtomicStmt& s) const { c.atomic(s, loc); }
  void operator()(const ForStmt& s) const { c.loop(s, loc); }
  void operator()(const WhileStmt& s) const { c.while_loop(s, loc); }
  void operator()(const IfStmt& s) const { c.branch(s, loc); }
  void operator()(const LanesStmt& s) const { c.lanes(s, loc); }
  void operator()(const RoleStmt& s) const { c.role(s, loc); }
  void operator()(const BreakStmt&) const { c.jump("break", loc); }
  void operator()(const ContinueStmt&) const { c.jump("continue", loc); }
};

void BodyChecker::block(const Block& block, const Loc& loc) {
  if (depth_ >= kMaxNesting) {
    throw invalid_kernel(loc, "statements nested more than {} deep", kMaxNesting).hint("join loops or branches");
  }
  ++depth_;
  scopes_.open();
  for (const Stmt& stmt : block) {
    if (stmt == nullptr) throw invalid_kernel(loc, "a statement is missing").hint("blocks hold no null statements");
    std::visit(Alternatives{*this, stmt->loc}, stmt->value);
  }
  scopes_.close();
  --depth_;
}

void BodyChecker::op(const OpStmt& op, const Loc& loc) {
  if (op.def == nullptr) throw invalid_kernel(loc, "an operation without a definition").hint("set OpStmt::def");
  const std::string_view name = op.def->name;
  if (in_parallel_ && !in_lanes_ && !op.def->reports) {
    throw invalid_kernel(loc, "{} inside a parallel loop", name)
        .note("the parallel loop", parallel_loc_)
        .hint("a parallel loop assigns elements; tile operations stand outside of it");
  }
  const auto check_count = [&](size_t given, int wanted, const char* what) {
    if (int(given) == wanted || wanted < 0) return;
    throw invalid_kernel(loc, "{} has {} {} but takes {}", name, given, what, wanted)
        .hint("the operation's header describes its operands");
  };
  check_count(op.tiles.size(), op.def->num_tiles, "tiles");
  check_count(op.scalars.size(), op.def->num_scalars, "scalars");
  if (op.exec.first_warp < 0 || op.exec.num_warps < 0) {
    throw invalid_kernel(loc, "{} runs on {} warps from warp {}", name, op.exec.num_warps, op.exec.first_warp)
        .hint("both are 0 or more; 0 warps means all of the block");
  }
  for (const TileRef& ref : op.tiles) exprs_.check_ref(ref, name, loc);
  for (const Expr& e : op.scalars) exprs_.check(e, loc);
  try {
    if (op.def->verify) op.def->verify(op, kernel_, loc);
  } catch (const Error& e) {
    throw e.with_loc(loc);
  }
}

void BodyChecker::let(const LetStmt& let, const Loc& loc) {
  exprs_.check(let.value, loc);
  scopes_.define(let.var, VarRole::let, loc);
  if (let.var.dtype() == let.value.dtype()) return;
  throw invalid_kernel(loc, "{} has dtype {} but its value has {}", let.var->name, to_string(let.var.dtype()),
                       to_string(let.value.dtype()))
      .hint("a let's variable has the dtype of its value");
}

void BodyChecker::store(const StoreStmt& store, const Loc& loc) {
  const Tile& tile = exprs_.check_tile(store.tile, loc);
  for (const Expr& e : store.indices) exprs_.check(e, loc);
  exprs_.check_indices(store.tile, store.indices, true, loc);
  exprs_.check(store.value, loc);
  if (store.value.dtype() == tile.dtype) return;
  throw note_tile(invalid_kernel(loc, "the value stored to {} has dtype {}, but {} holds {}", tile.name,
                                 to_string(store.value.dtype()), tile.name, to_string(tile.dtype))
                      .hint(fmt::format("cast the value to {}", to_string(tile.dtype))),
                  tile);
}

void BodyChecker::atomic(const AtomicStmt& atomic, const Loc& loc) {
  const Tile& tile = exprs_.check_tile(atomic.tile, loc);
  const std::string word = fmt::format("atomic_{}", to_string(atomic.kind));
  for (const Expr& e : atomic.indices) exprs_.check(e, loc);
  exprs_.check_indices(atomic.tile, atomic.indices, true, loc);
  check_atomic(atomic.kind, atomic.order, tile, loc);
  if (bool(atomic.value) == (atomic.kind == AtomicKind::load)) {
    throw invalid_kernel(loc, "{} has {} value", word, atomic.value ? "a" : "no")
        .hint("every kind of atomic but load has one value");
  }
  if (atomic.value) exprs_.check(atomic.value, tile.dtype, word + ": the value", loc);
  if (!atomic.prev) return;
  scopes_.define(atomic.prev, VarRole::let, loc);
  if (atomic.prev.dtype() == tile.dtype) return;
  throw note_tile(invalid_kernel(loc, "{}: {} has dtype {}", word, atomic.prev->name, to_string(atomic.prev.dtype()))
                      .hint(fmt::format("the previous value has dtype {}", to_string(tile.dtype))),
                  tile);
}

void BodyChecker::loop_form(const ForStmt& loop, const Loc& loc) {
  const std::string_view kind = to_string(loop.kind);
  if (loop.dims.empty()) throw invalid_kernel(loc, "a loop without a variable").hint("give at least one dimension");
  if (loop.dims.size() > 1 && loop.kind != LoopKind::parallel) {
    throw invalid_kernel(loc, "a {} loop has {} variables", kind, loop.dims.size())
        .hint("only a parallel loop has several; nest the others");
  }
  const bool refused = loop.kind == LoopKind::parallel || loop.kind == LoopKind::pipelined;
  if (in_parallel_ && !in_lanes_ && refused) {
    throw invalid_kernel(loc, "a {} loop inside a parallel loop", kind)
        .note("the parallel loop", parallel_loc_)
        .hint(loop.kind == LoopKind::parallel
                  ? "give one parallel loop several dimensions, or make the inner one serial"
                  : "make the inner loop serial");
  }
  if (!exprs_.structure_only()) check_loop_options(loop, loc);
}

void BodyChecker::loop_dim(const ForStmt& loop, const LoopDim& dim, const Loc& loc) {
  exprs_.check(dim.begin, kIndex, "the start of a loop", loc);
  exprs_.check(dim.extent, kIndex, "the extent of a loop", loc);
  check_step(dim.step, loc);
  if (loop.kind == LoopKind::parallel && dim.extent.as_int().value_or(0) < 0) {
    throw invalid_kernel(loc, "a parallel loop has extent {}", *dim.extent.as_int()).hint("extents are 0 or more");
  }
}

void BodyChecker::loop(const ForStmt& loop, const Loc& loc) {
  loop_form(loop, loc);
  bool dead = false;
  for (const LoopDim& dim : loop.dims) {
    loop_dim(loop, dim, loc);
    dead |= dim.extent.as_int().value_or(1) <= 0;
  }
  scopes_.open();
  for (const LoopDim& dim : loop.dims) {
    scopes_.define(dim.var, VarRole::loop, loc);
    if (dim.var.dtype() == kIndex) continue;
    throw invalid_kernel(loc, "loop variable {} has dtype {}", dim.var->name, to_string(dim.var.dtype()))
        .hint(fmt::format("loop variables have dtype {}", to_string(kIndex)));
  }
  loop_body(loop.body, loop.kind == LoopKind::parallel, dead, loc);
  if (loop.schedule && !exprs_.structure_only()) refuse_tables(loc);
  if (loop.schedule) verify_schedule(loop, kernel_, loc);
  scopes_.close();
}

void BodyChecker::loop_body(const Block& body, bool parallel, bool dead, const Loc& loc) {
  const bool was_in_parallel = in_parallel_, was_in_loop = in_loop_;
  if (parallel) parallel_loc_ = loc;
  in_parallel_ |= parallel;
  in_loop_ = !parallel;
  maybe_dead(body, dead, loc);
  in_parallel_ = was_in_parallel;
  in_loop_ = was_in_loop;
}

void BodyChecker::maybe_dead(const Block& body, bool dead, const Loc& loc) {
  const bool was_dead = exprs_.dead();
  exprs_.set_dead(was_dead || dead);
  block(body, loc);
  exprs_.set_dead(was_dead);
}

void BodyChecker::while_loop(const WhileStmt& loop, const Loc& loc) {
  exprs_.check(loop.condition, DType::boolean, "a condition", loc);
  if (loop.condition.is_int(1) && !exprs_.dead() && !may_break(loop.body)) {
    throw invalid_kernel(loc, "this loop never ends: its condition is always true and nothing breaks out of it")
        .hint("leave it with T::loop_break(), or use a condition that can become false");
  }
  loop_body(loop.body, false, loop.condition.is_int(0), loc);
}

void BodyChecker::branch(const IfStmt& branch, const Loc& loc) {
  exprs_.check(branch.condition, DType::boolean, "a condition", loc);
  maybe_dead(branch.then, branch.condition.is_int(0), loc);
  maybe_dead(branch.otherwise, branch.condition.is_int(1), loc);
}

void BodyChecker::lanes(const LanesStmt& lanes, const Loc& loc) {
  const bool before = std::exchange(in_lanes_, true);
  block(lanes.body, loc);
  in_lanes_ = before;
}

void BodyChecker::role(const RoleStmt& role, const Loc& loc) {
  if (!exprs_.structure_only()) refuse_tables(loc);
  if (in_parallel_) {
    throw invalid_kernel(loc, "role {} inside a parallel loop", role.name)
        .note("the parallel loop", parallel_loc_)
        .hint("roles stand outside of it");
  }
  verify_role({.name = role.name, .exec = role.exec, .max_regs = role.max_regs}, kernel_, loc);
  block(role.body, loc);
}

void BodyChecker::jump(std::string_view word, const Loc& loc) {
  if (in_loop_) return;
  if (!in_parallel_) {
    throw invalid_kernel(loc, "{} outside a loop", word).hint("it leaves or continues a serial or while loop");
  }
  throw invalid_kernel(loc, "{} inside a parallel loop", word)
      .note("the parallel loop", parallel_loc_)
      .hint("iterations of a parallel loop have no order; use a condition, or a serial loop");
}

}  // namespace

void check_atomic(AtomicKind kind, MemoryOrder order, const Tile& tile, const Loc& loc) {
  const auto fail = [&](const std::string& message, std::string hint) {
    throw note_tile(Error(ErrorKind::invalid_kernel, fmt::format("atomic_{}: {}", to_string(kind), message), loc)
                        .hint(std::move(hint)),
                    tile);
  };
  if (tile.space != Space::global && tile.space != Space::shared) {
    fail(fmt::format("{} is a {} tile, which no two threads share", tile.name, to_string(tile.space)),
         "atomics are for global and shared tiles; here plain assignments do");
  }
  if (!is_atomic_dtype(tile.dtype)) {
    fail(fmt::format("{} holds {}", tile.name, to_string(tile.dtype)),
         "atomics are defined on i32, u32, i64, u64, f16, bf16, f32 and f64");
  }
  const bool bitwise = kind >= AtomicKind::bit_and && kind <= AtomicKind::bit_xor;
  if (bitwise && is_float(tile.dtype)) {
    fail(fmt::format("{} holds {}, but bits are those of integers", tile.name, to_string(tile.dtype)),
         "use an integer tile, or T::view this one as integers");
  }
  if (!fits(kind, order)) {
    fail(fmt::format("the memory order is {}", to_string(order)), kind == AtomicKind::load
                                                                      ? "a load is relaxed, consume, acquire or seq_cst"
                                                                      : "a store is relaxed, release or seq_cst");
  }
}

void verify_body(const Kernel& kernel, VarScopes& scopes, ExprChecker& exprs) {
  BodyChecker(kernel, scopes, exprs).block(kernel.body, kernel.loc);
}

}  // namespace tilewright::ir
