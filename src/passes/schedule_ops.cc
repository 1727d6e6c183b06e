#include "passes/schedule_ops.h"

#include "ops/copy.h"
#include "ops/gemm.h"
#include "ir/rewrite.h"
#include "support/error.h"

#include <algorithm>
#include <array>

namespace tilewright::passes {

using ir::Access;
using ir::Kernel;
using ir::OpStmt;

namespace {

using Effects = std::vector<Access> (*)(const OpStmt&, const Kernel&);

std::vector<Access> no_accesses(const OpStmt&, const Kernel&) { return {}; }

std::vector<Access> async_copy_effects(const OpStmt& op, const Kernel& kernel) {
  std::vector<Access> out = ops::copy_op().effects(op, kernel);
  for (Access& a : out) a.until = ir::Queue::cp_async;
  return out;
}

std::vector<Access> bulk_copy_effects(const OpStmt& op, const Kernel& kernel) {
  std::vector<Access> out = ops::copy_op().effects(op, kernel);
  for (Access& a : out) {
    a.until = ir::Queue::mbarrier;
    a.proxy = ir::Proxy::async;
  }
  return out;
}

std::vector<Access> warpgroup_gemm_effects(const OpStmt& op, const Kernel& kernel) {
  std::vector<Access> out = ops::gemm_op().effects(op, kernel);
  for (Access& a : out) {
    a.until = ir::Queue::wgmma;
    a.proxy = kernel.tile(a.ref.tile).space == ir::Space::shared ? ir::Proxy::async : ir::Proxy::generic;
  }
  return out;
}

void verify_bulk_copy(const OpStmt& op, const Kernel& kernel, const Loc& loc) {
  const int64_t map = ir::int_attr(op.attrs, "map", -1);
  if (op.tiles.size() < 2 || op.tiles.size() > 3) {
    throw invalid_kernel(loc, "bulk_copy has {} tiles", op.tiles.size()).hint("source, destination, barrier");
  }
  if (map < 0 || map >= int64_t(kernel.maps.size())) {
    throw invalid_kernel(loc, "bulk_copy names map {} of {}", map, kernel.maps.size()).hint("a row of the kernel");
  }
  ops::copy_op().verify(op, kernel, loc);
}

ir::OpDef as(const ir::OpDef& meaning, std::string_view name, Effects effects) {
  ir::OpDef out = meaning;
  out.name = name;
  out.effects = effects;
  return out;
}

ir::OpDef bulk_copy() {
  ir::OpDef out = as(ops::copy_op(), "bulk_copy", bulk_copy_effects);
  out.num_tiles = -1;
  out.verify = verify_bulk_copy;
  out.elected = true;
  return out;
}

constexpr ir::OpDef call(std::string_view name, int num_tiles, int num_scalars) {
  return {.name = name,
          .num_tiles = num_tiles,
          .num_scalars = num_scalars,
          .verify = nullptr,
          .effects = no_accesses,
          .expand = nullptr};
}

}  // namespace

const ir::OpDef& async_copy_op() {
  static const ir::OpDef kOp = as(ops::copy_op(), "async_copy", async_copy_effects);
  return kOp;
}

const ir::OpDef& bulk_copy_op() {
  static const ir::OpDef kOp = bulk_copy();
  return kOp;
}

const ir::OpDef& warpgroup_gemm_op() {
  static const ir::OpDef kOp = as(ops::gemm_op(), "warpgroup_gemm", warpgroup_gemm_effects);
  return kOp;
}

namespace {

class AsyncWorkFinder : public ir::Visitor {
 public:
  using Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    if (const auto* op = ir::get_if<OpStmt>(stmt)) {
      found.products = found.products || op->def == &warpgroup_gemm_op();
      found.bulk_copies = found.bulk_copies || op->def == &bulk_copy_op();
    }
    visit_parts(stmt);
  }
  AsyncWork found;
};

}  // namespace

AsyncWork async_work(const ir::Block& block) {
  AsyncWorkFinder finder;
  finder.visit(block);
  return finder.found;
}

bool in_channel(const Kernel& kernel, ir::TileId id) {
  return std::any_of(kernel.channels.begin(), kernel.channels.end(), [id](const ir::Channel& channel) {
    return std::find(channel.tiles.begin(), channel.tiles.end(), id) != channel.tiles.end();
  });
}

ir::Region whole_region(const ir::Tile& tile) {
  ir::Region out;
  for (const ir::Expr& extent : tile.shape) out.push_back({.begin = ir::int_imm(0), .extent = extent});
  return out;
}

#define TW_CALL(NAME, TILES, SCALARS)                             \
  const ir::OpDef& NAME##_op() {                                  \
    static constexpr ir::OpDef kOp = call(#NAME, TILES, SCALARS); \
    return kOp;                                                   \
  }

TW_CALL(acquire, 0, 1)
TW_CALL(commit, 0, 1)
TW_CALL(wait, 0, 1)
TW_CALL(release, 0, 1)
TW_CALL(bulk_load, 2, -1)
TW_CALL(prefetch_map, 0, 0)
TW_CALL(mbarrier_init, 1, 1)
TW_CALL(mbarrier_arrive, 1, 0)
TW_CALL(mbarrier_arrive_after_copies, 1, 0)
TW_CALL(mbarrier_arrive_expect, 1, 1)
TW_CALL(mbarrier_wait, 1, 1)
TW_CALL(fence_mbarrier_init, 0, 0)
TW_CALL(fence_async_shared, 0, 0)
TW_CALL(sync_warp, 0, 0)
TW_CALL(sync_threads, 0, 0)
TW_CALL(wgmma_descriptor, 2, 0)
TW_CALL(wgmma, 3, 3)
TW_CALL(wgmma_fence, 0, 0)
TW_CALL(wgmma_commit, 0, 0)
TW_CALL(wgmma_wait, -1, 0)
TW_CALL(wgmma_registers, -1, 0)
#undef TW_CALL

std::span<const ir::OpDef* const> schedule_ops() {
  static const std::array kOps = {&async_copy_op(),
                                  &bulk_copy_op(),
                                  &warpgroup_gemm_op(),
                                  &acquire_op(),
                                  &commit_op(),
                                  &wait_op(),
                                  &release_op(),
                                  &bulk_load_op(),
                                  &prefetch_map_op(),
                                  &mbarrier_init_op(),
                                  &mbarrier_arrive_op(),
                                  &mbarrier_arrive_after_copies_op(),
                                  &mbarrier_arrive_expect_op(),
                                  &mbarrier_wait_op(),
                                  &fence_mbarrier_init_op(),
                                  &fence_async_shared_op(),
                                  &sync_warp_op(),
                                  &sync_threads_op(),
                                  &wgmma_descriptor_op(),
                                  &wgmma_op(),
                                  &wgmma_fence_op(),
                                  &wgmma_commit_op(),
                                  &wgmma_wait_op(),
                                  &wgmma_registers_op()};
  return kOps;
}

}  // namespace tilewright::passes
