#include "ir/rewrite.h"
#include "passes/role_expansion.h"
#include "passes/schedule_ops.h"
#include "passes/schedule_passes.h"
#include "support/error.h"

#include <map>
#include <set>

namespace tilewright::passes {

using ir::Block;
using ir::Kernel;
using ir::Stmt;
using ir::TileId;

namespace {

class KernelExpansion : public ir::Visitor {
 public:
  KernelExpansion(Kernel& kernel, ir::VarId& next_var) : kernel_(kernel), next_var_(next_var) {}
  using Visitor::visit;

  void run() {
    const Block before = kernel_.body;
    mentions_ = ir::tile_mentions(before);
    visit(before);
    if (first_channel_.empty()) return;
    if (kernel_.roles.empty()) {
      kernel_.body = expand_role(kernel_, next_var_, first_channel_, {.name = "all", .exec = {}}, true, before);
    } else {
      kernel_.body.clear();
      for (size_t r = 0; r < kernel_.roles.size(); ++r) {
        const ir::Role role = kernel_.roles[r];
        const Block body = expand_role(kernel_, next_var_, first_channel_, role, r == 0, before);
        kernel_.body.push_back(ir::make_stmt(ir::RoleStmt{.name = role.name,
                                                          .exec = role.exec,
                                                          .max_regs = role.max_regs,
                                                          .body = ir::with_fresh_vars(body, next_var_)},
                                             kernel_.loc));
      }
    }
    for (size_t c = 0; c < kernel_.channels.size(); ++c) stage(kernel_.channels[c]);
  }

  // Channels become rows of the kernel; nothing else uses their tiles.
  void visit(const Stmt& stmt) override {
    visit_parts(stmt);
    const auto* loop = ir::get_if<ir::ForStmt>(stmt);
    if (loop == nullptr || !loop->schedule) return;
    first_channel_.emplace(loop->schedule.get(), int(kernel_.channels.size()));
    check_bulk_copies(*loop);
    std::map<TileId, int> inside = ir::tile_mentions(loop->body);
    for (const ir::Channel& channel : loop->schedule->channels) {
      kernel_.channels.push_back(channel);
      for (TileId id : channel.tiles) {
        if (inside[id] == mentions_[id]) continue;
        throw unsupported(stmt->loc, "tile {} of channel {} is used outside of its loop", kernel_.tile(id).name,
                          channel.name);
      }
    }
  }

 private:
  // A barrier expects the bytes of each tile once.
  void check_bulk_copies(const ir::ForStmt& loop) const {
    std::set<TileId> filled;
    for (const Stmt& stmt : loop.body) {
      const auto* op = ir::get_if<ir::OpStmt>(stmt);
      if (op == nullptr || op->def != &bulk_copy_op() || filled.insert(op->tiles[1].tile).second) continue;
      throw unsupported(stmt->loc, "two bulk copies to {} in one iteration", kernel_.tile(op->tiles[1].tile).name)
          .hint("one copies the whole tile");
    }
  }
  void stage(const ir::Channel& channel) {
    for (TileId id : channel.tiles) {
      ir::Tile& tile = kernel_.tiles[size_t(id)];
      tile.shape.insert(tile.shape.begin(), ir::int_imm(channel.stages));
      tile.stages = channel.stages;
      if (!tile.layout) continue;
      std::vector<layout::Dim> dims = tile.layout->dims();
      dims.insert(dims.begin(), {{.extent = channel.stages, .stride = tile.layout->cosize()}});
      tile.layout = layout::Layout(std::move(dims), tile.layout->swizzle());
    }
  }

  Kernel& kernel_;
  ir::VarId& next_var_;
  ChannelRows first_channel_;
  std::map<TileId, int> mentions_;  // in the kernel
};

}  // namespace

ir::Program expand_schedule(ir::Program program) {
  for (Kernel& kernel : program.kernels) KernelExpansion(kernel, program.next_var).run();
  return program;
}

}  // namespace tilewright::passes
