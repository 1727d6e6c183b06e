#include "ir/rewrite.h"
#include "passes/channel_handover.h"
#include "passes/cuda_atoms.h"
#include "passes/role_sync.h"
#include "passes/schedule_ops.h"
#include "passes/schedule_passes.h"
#include "support/error.h"

#include <fmt/format.h>

#include <set>

namespace tilewright::passes {

using ir::Block;
using ir::ExecSet;
using ir::Expr;
using ir::Kernel;
using ir::kWarpThreads;
using ir::Stmt;
using ir::TileId;

namespace {

int64_t num_warps(const ExecSet& exec, const Kernel& kernel) {
  return exec.num_warps > 0 ? exec.num_warps : (kernel.threads + kWarpThreads - 1) / kWarpThreads;
}

// Bulk copies read tensors past the loads and stores that barriers order: only what the kernel does not write.
class TensorWrites : public ir::Visitor {
 public:
  TensorWrites(const ir::Program& program, const Kernel& kernel) : program_(program), kernel_(kernel) {
    for (const ir::TensorMap& map : kernel.maps) read_.insert(memory_of(map.tensor));
  }
  using Visitor::visit;
  void visit(const Stmt& stmt) override {
    if (const auto* store = ir::get_if<ir::StoreStmt>(stmt)) note(store->tile, stmt->loc);
    if (const auto* atomic = ir::get_if<ir::AtomicStmt>(stmt)) note(atomic->tile, stmt->loc);
    if (const auto* op = ir::get_if<ir::OpStmt>(stmt)) {
      for (const ir::Access& a : op->def->effects(*op, kernel_)) {
        if (a.mode != ir::Mode::read) note(a.ref.tile, stmt->loc);
      }
    }
    visit_parts(stmt);
  }

 private:
  int memory_of(int tensor) const {
    const int root = program_.tensors[size_t(tensor)].view_of;
    return root >= 0 ? root : tensor;
  }
  void note(TileId id, const Loc& loc) const {
    const ir::Tile& tile = kernel_.tile(id);
    if (tile.space != ir::Space::global || !read_.contains(memory_of(tile.tensor))) return;
    throw unsupported(loc, "{} is written in a kernel whose bulk copies read it", tile.name)
        .hint("read it by another copy, or write it in a kernel of its own");
  }

  const ir::Program& program_;
  const Kernel& kernel_;
  std::set<int> read_;
};

class KernelSync {
 public:
  KernelSync(Kernel& kernel, ir::VarId& next_var) : kernel_(kernel), next_var_(next_var) {}
  void run();

 private:
  void plan();
  TileId add_barriers(const char* name, const ir::Channel& channel);
  Block initialise() const;

  Kernel& kernel_;
  ir::VarId& next_var_;
  std::vector<Handover> plans_;
};

TileId KernelSync::add_barriers(const char* name, const ir::Channel& channel) {
  kernel_.tiles.push_back({.name = fmt::format("{}_{}", name, channel.name),
                           .space = ir::Space::shared,
                           .dtype = DType::u64,
                           .shape = {ir::int_imm(channel.stages)},
                           .layout = std::nullopt,
                           .origin = std::string(kBarrierOrigin),
                           .loc = kernel_.loc});
  return TileId(kernel_.tiles.size()) - 1;
}

void KernelSync::plan() {
  plans_ = channel_handovers(kernel_);
  for (size_t c = 0; c < plans_.size(); ++c) {
    const ir::Channel& channel = kernel_.channels[c];
    if (plans_[c].own) continue;
    plans_[c].full = add_barriers("full", channel);
    plans_[c].empty = add_barriers("empty", channel);
  }
}

// By one thread, before all others come by.
Block KernelSync::initialise() const {
  Block body;
  bool bulk = false;
  for (size_t c = 0; c < plans_.size(); ++c) {
    const Handover& h = plans_[c];
    if (h.own) continue;
    const ir::Channel& channel = kernel_.channels[c];
    bulk = bulk || h.fills_bulk;
    const int64_t fillers = num_warps(channel.producer, kernel_);
    int64_t readers = 0;
    for (const ExecSet& exec : channel.consumers) readers += num_warps(exec, kernel_);
    const int64_t fills = h.fills_bulk ? 1 : h.fills_copies ? fillers * kWarpThreads : fillers;
    for (int s = 0; s < channel.stages; ++s) {
      const ir::Region stage = {{.begin = ir::int_imm(s), .extent = ir::int_imm(1)}};
      const auto init = [&](TileId barriers, int64_t arrivals) {
        body.push_back(make_call(mbarrier_init_op(), {{.tile = barriers, .region = stage, .slot = {}}},
                                 {ir::int_imm(arrivals)}, {}, kernel_.loc));
      };
      init(h.full, fills);
      init(h.empty, readers);
    }
  }
  if (body.empty()) return {};
  if (bulk) body.push_back(make_call(fence_mbarrier_init_op(), {}, {}, {}, kernel_.loc));
  for (size_t m = 0; m < kernel_.maps.size(); ++m) {
    body.push_back(make_call(prefetch_map_op(), {}, {}, {{"map", int64_t(m)}}, kernel_.loc));
  }
  const Expr first = ir::binary(ir::ExprKind::eq, kernel_.thread_var, ir::int_imm(0));
  const Stmt init =
      ir::make_stmt(ir::IfStmt{.condition = first, .then = std::move(body), .otherwise = {}}, kernel_.loc);
  return {ir::make_stmt(ir::LanesStmt{.exec = {}, .body = {init}}, kernel_.loc),
          make_call(block_sync_op(), {}, {}, {}, kernel_.loc)};
}

void KernelSync::run() {
  if (kernel_.channels.empty() && !async_work(kernel_.body).any()) return;
  if (!kernel_.thread_var) kernel_.thread_var = ir::var(next_var_++, "tid", ir::kIndex, kernel_.loc);
  plan();
  Block body = initialise();
  int role_number = 0;
  for (const Stmt& stmt : kernel_.body) {
    const auto* role = ir::get_if<ir::RoleStmt>(stmt);
    if (role == nullptr && kernel_.roles.empty()) continue;
    if (role == nullptr) {
      throw unsupported(stmt->loc, "a statement outside of roles in a kernel that has some")
          .hint("the expansion of a scheduled loop gives every statement a role");
    }
    ir::RoleStmt copy = *role;
    copy.body = synchronise_role(kernel_, plans_, {role->exec, ++role_number, role->elected}, role->body);
    body.push_back(ir::make_stmt(std::move(copy), stmt->loc));
  }
  if (kernel_.roles.empty()) {
    const Block all = synchronise_role(kernel_, plans_, {}, kernel_.body);
    body.insert(body.end(), all.begin(), all.end());
  }
  kernel_.body = std::move(body);
}

}  // namespace

bool is_barrier_tile(const ir::Tile& tile) { return tile.origin == kBarrierOrigin; }

ir::Program place_channel_sync(ir::Program program) {
  for (const Kernel& kernel : program.kernels) {
    if (!kernel.maps.empty()) TensorWrites(program, kernel).visit(kernel.body);
  }
  for (Kernel& kernel : program.kernels) KernelSync(kernel, program.next_var).run();
  return program;
}

}  // namespace tilewright::passes
