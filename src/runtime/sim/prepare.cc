// What a block, or the blocks of a cluster, begin with.
#include "runtime/sim/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tilewright::sim {

namespace {

// Why the simulator does not run these blocks together; empty: it does.
std::string why_not_simulated(const Block& block, bool checked, int threads) {
  const device::sim::Dim3 c = block.cluster, g = block.grid;
  if (c.x == 0 || c.y == 0 || c.z == 0 || uint64_t(c.x) * c.y * c.z > kMaxBlocksOfCluster) {
    return fmt::format("clusters of {} x {} x {} blocks; at most {} blocks are possible", c.x, c.y, c.z,
                       kMaxBlocksOfCluster);
  }
  if (g.x % c.x != 0 || g.y % c.y != 0 || g.z % c.z != 0) {
    return fmt::format("a grid of {} x {} x {} blocks is no multiple of a cluster of {} x {} x {}", g.x, g.y, g.z, c.x,
                       c.y, c.z);
  }
  // The detector's clocks have four numbers for each pair of threads.
  constexpr int kMostCheckedThreads = 4096;
  if (checked && c.x * c.y * c.z > 1 && threads > kMostCheckedThreads) {
    return fmt::format("a cluster of {} threads; where accesses are checked, {} are simulated", threads,
                       kMostCheckedThreads);
  }
  return {};
}

}  // namespace

void Executor::prepare(const Block& block) {
  const device::sim::Dim3 cluster = block.cluster;
  const auto num_blocks = size_t(cluster.x * cluster.y * cluster.z);
  num_threads_ = int(block.threads.x * block.threads.y * block.threads.z);
  num_warps_ = (num_threads_ + kWarpSize - 1) / kWarpSize;
  stride_ = std::max(1, num_blocks == 1 ? num_threads_ : num_warps_ * kWarpSize);
  num_fibers_ = int(num_blocks) * stride_;
  num_alive_ = int(num_blocks) * num_threads_;
  if (const std::string why = why_not_simulated(block, detector_ != nullptr, num_fibers_); !why.empty()) {
    finding_ = Finding{.kind = Finding::Kind::misuse, .text = why};
    return;
  }
  stacks_.reserve(num_fibers_);
  if (fibers_.size() < size_t(num_fibers_)) fibers_.resize(size_t(num_fibers_));
  const size_t warps = num_blocks * size_t(num_warps_);
  warps_.assign(warps, {});
  blocks_.assign(num_blocks, {});
  cluster_barrier_ = {};
  names_.clear();
  over_ = false;
  mbarriers_.clear();
  mbarrier_times_.clear();
  arrivals_.clear();
  loads_.clear();
  failed_tests_ = quiet_steps_ = 0;
  products_.clear();
  products_.resize(warps + kWarpsOfGroup);  // the last block may have no whole warpgroup
  orders_.assign(warps, {});
  registers_.assign(warps, 0);
  wanted_registers_.assign(warps, 0);
  waiting_for_registers_.assign(warps, 0);
  current_ = -1;  // before the first, whatever this thread of the host ran before
  for (int r = 0; r < int(num_blocks); ++r) {
    const auto rank = unsigned(r);
    const device::sim::Dim3 at = {block.block.x + rank % cluster.x, block.block.y + rank / cluster.x % cluster.y,
                                  block.block.z + rank / (cluster.x * cluster.y)};
    blocks_[rank].number = at.x + int64_t(block.grid.x) * (at.y + int64_t(block.grid.y) * at.z);
    blocks_[rank].num_alive = num_threads_;
    for (int t = 0; t < stride_; ++t) prepare_thread(block, at, r, unsigned(t));
  }
  for (Warp& warp : warps_) warp.alive = warp.runnable = warp.exists;
}

void Executor::prepare_thread(const Block& block, device::sim::Dim3 at, int rank, unsigned n) {
  const int id = rank * stride_ + int(n);
  Fiber& fiber = fibers_[size_t(id)];
  fiber.ended = n >= unsigned(num_threads_);
  fiber.wait = Fiber::Wait::nothing;
  fiber.asks_active = false;
  fiber.copies.clear();
  fiber.group_ends.clear();
  fiber.copies_waited = 0;
  fiber.copies_arrived.clear();
  fiber.stores = {};
  fiber.at_cluster = Fiber::AtCluster::away;
  fiber.cluster_waits = 0;
  fiber.fenced.clear();
  if (fiber.ended) return;
  fiber.stack = stacks_.prepare(id, fiber_main);
  fiber.view = {
      .thread = {n % block.threads.x, n / block.threads.x % block.threads.y, n / (block.threads.x * block.threads.y)},
      .block = at,
      .block_dim = block.threads,
      .grid_dim = block.grid,
      .cluster_dim = block.cluster};
  warps_[size_t(id / kWarpSize)].exists |= 1u << n % kWarpSize;
}

}  // namespace tilewright::sim
