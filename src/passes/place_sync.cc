#include "ir/rewrite.h"
#include "passes/cuda_atoms.h"
#include "passes/cuda_passes.h"
#include "passes/pending_accesses.h"
#include "passes/schedule_ops.h"
#include "support/error.h"

#include <cstdint>
#include <span>
#include <utility>

namespace tilewright::passes {

using ir::Block;
using ir::Expr;
using ir::Kernel;
using ir::Stmt;

namespace {

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
    return pending_accesses(kernel_, part);
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
