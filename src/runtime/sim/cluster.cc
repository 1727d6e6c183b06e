#include "runtime/sim/cluster.h"

#include "runtime/sim/executor.h"

#include <fmt/format.h>

#include <cstring>
#include <latch>
#include <thread>
#include <utility>

namespace tilewright::sim {

using device::sim::kBlockShift;
using device::sim::Lane;
using device::sim::WarpOp;

// ---- Threads of the host ----

namespace {

// Of a thread of the host that runs a block of another one's cluster.
thread_local Executor* served = nullptr;

}  // namespace

Executor& Executor::mine() {
  if (served) return *served;
  thread_local Executor executor;
  return executor;
}

// Runs the block of this rank whenever it has its turn, in a thread of the host that runs no other.
void Executor::serve(int rank) {
  BlockState& own = blocks_[size_t(rank)];
  for (;;) {
    if (blocks_.size() > 1) turns_[size_t(rank)].given.acquire();
    if (over_) return;
    current_ = std::exchange(next_, -1);
    Fiber& fiber = current();
    fiber.wait = Fiber::Wait::nothing;
    *own.view = &fiber.view;
    stacks_.switch_stack(&own.main_stack, fiber.stack);
    if (over_) break;
    turns_[size_t(rank_of(next_))].given.release();
  }
  // The others wake and find that it is over.
  for (size_t r = 0; r < turns_.size(); ++r) {
    if (int(r) != rank) turns_[r].given.release();
  }
}

// Leaves this fiber for the block's thread of the host: it is over, or another block has its turn.
void Executor::leave(void** save) { stacks_.switch_stack(save, block().main_stack); }

void Executor::run_hosts() {
  const auto find_memory = [&](size_t rank) {
    blocks_[rank].shared = code_.shared();
    blocks_[rank].view = code_.thread();
  };
  std::latch ready(std::ptrdiff_t(blocks_.size()) - 1);
  std::vector<std::jthread> others;
  turns_.clear();
  if (blocks_.size() > 1) turns_.resize(blocks_.size());
  try {
    for (size_t r = 1; r < blocks_.size(); ++r) {
      others.emplace_back([&, r] {
        served = this;
        find_memory(r);
        ready.count_down();
        serve(int(r));
      });
    }
  } catch (...) {  // the host has no more threads: those that began go home
    over_ = true;
    for (Turn& turn : turns_) turn.given.release();
    throw;
  }
  find_memory(0);
  ready.wait();
  std::vector<SharedWindow> windows;
  for (const BlockState& b : blocks_) {
    std::memset(b.shared - code_.margin_bytes, kPoisonByte, size_t(code_.shared_bytes + 2 * code_.margin_bytes));
    windows.push_back({b.shared, b.number});
  }
  if (detector_) detector_->begin_cluster(std::move(windows), stride_, code_.shared_bytes, code_.margin_bytes);
  if (blocks_.size() > 1) counter_ = nullptr;
  if (counter_) counter_->begin_block(num_threads_, blocks_[0].shared, code_.shared_bytes);
  next_ = next();
  if (blocks_.size() > 1) turns_[size_t(rank_of(next_))].given.release();
  serve(0);
}

// ---- Names ----

// Kept, as what a fiber that stops has on its stack is not destroyed.
template <class Make>
const std::string& Executor::kept(Name kind, int id, const Make& make) const {
  const auto [at, is_new] = names_.try_emplace({kind, id});
  if (is_new) at->second = make();
  return at->second;
}

const std::string& Executor::of_block(int rank) const {
  return kept(Name::block, rank, [&] {
    return blocks_.size() == 1 ? std::string() : fmt::format(" of block {}", blocks_[size_t(rank)].number);
  });
}
const std::string& Executor::name_of(int fiber) const {
  return kept(Name::thread, fiber,
              [&] { return fmt::format("thread {}{}", fiber % stride_, of_block(rank_of(fiber))); });
}
const std::string& Executor::name_of_warp(int warp) const {
  return kept(Name::warp, warp,
              [&] { return fmt::format("warp {}{}", warp_in_block(warp), of_block(rank_of_warp(warp))); });
}

// ---- Shared memory of other blocks ----

SharedPlace Executor::place_in_block(int fiber, unsigned address, int line) {
  const unsigned number = address >> kBlockShift;
  if (number > 0 && number <= blocks_.size()) {
    refuse(fmt::format("{} uses an address of the cluster's window, of block {}, where one of its own block belongs",
                       name_of(fiber), blocks_[number - 1].number),
           line);
  }
  if (number > 0) {
    stop({.kind = Finding::Kind::out_of_bounds,
          .text = fmt::format("{} accesses address {} of shared memory, which has {}", name_of(fiber), address,
                              code_.shared_bytes),
          .site = Site::line(line)});
  }
  return SharedPlace::of(rank_of(fiber), address);
}

SharedPlace Executor::place_in_cluster(unsigned address, int line) {
  const unsigned number = address >> kBlockShift;
  if (number == 0) return SharedPlace::of(rank(), address);
  if (number > blocks_.size()) {
    stop({.kind = Finding::Kind::out_of_bounds,
          .text = fmt::format("{} uses address {:#x} of a cluster's window that no map_shared of this cluster gave",
                              name_of(current_), address),
          .site = Site::line(line)});
  }
  return SharedPlace::of(int(number) - 1, address & ((1u << kBlockShift) - 1));
}

unsigned Executor::map_shared(unsigned address, unsigned rank, int line) {
  const SharedPlace own = place_in_block(current_, address, line);
  if (rank >= blocks_.size()) {
    refuse(fmt::format("{} maps an address to block {} of its cluster, which has {}", name_of(current_), rank,
                       blocks_.size()),
           line);
  }
  return (rank + 1) << kBlockShift | own.offset();
}

unsigned char* Executor::shared_of_cluster(unsigned address, unsigned bytes, Access access, int line) {
  const SharedPlace place = place_in_cluster(address, line);
  if (access == Access::read) note_quiet_step(Site::line(line));
  unsigned char* const at = shared_at(current_, place, bytes, line);
  visit(place.rank(), line);
  if (access == Access::write) note_change();
  if (detector_ && access != Access::atomic) detector_->access(current_, at, bytes, access, Site::line(line));
  return at;
}

// PTX: shared memory of a block is there until the block ends.
void Executor::visit(int rank, int line) {
  if (rank == this->rank()) return;
  BlockState& b = blocks_[size_t(rank)];
  if (b.num_alive == 0) {
    refuse(fmt::format("{} accesses shared memory of block {}, which has ended", name_of(current_), b.number), line);
  }
  if (detector_) b.visits[current_] = {detector_->time_of(current_), line};
}

// A block must not end before it knows that others have done with its shared memory, whatever happened here.
void Executor::check_visits(int rank) {
  const BlockState& b = blocks_[size_t(rank)];
  for (const auto& [fiber, visit] : b.visits) {
    if (detector_->has_ended(b.at_end, fiber, visit.time)) continue;
    stop({.kind = Finding::Kind::race,
          .text = fmt::format("{} accesses shared memory of block {}, which ends, and nothing orders the two",
                              name_of(fiber), b.number),
          .site = Site::line(visit.line)});
  }
}

// ---- The barrier of the cluster ----

void Executor::cluster_arrive(bool relaxed, int line) {
  Lane lane{.mask = warp().exists, .n = relaxed};
  warp_op(WarpOp::cluster_arrive, &lane, line);
  Fiber& fiber = current();
  if (fiber.at_cluster != Fiber::AtCluster::away) {
    refuse(fmt::format("{} arrives at the barrier of the cluster and has not waited since it last arrived",
                       name_of(current_)),
           line);
  }
  fiber.at_cluster = Fiber::AtCluster::arrived;
  ++cluster_barrier_.arrived;
  for (auto& [place, b] : mbarriers_) {
    if (b.init_thread == current_ && b.init_fenced && b.known_after_waits == 0)
      b.known_after_waits = fiber.cluster_waits + 1;
  }
  if (detector_)
    relaxed ? join(cluster_barrier_.clock, fiber.fenced) : detector_->release(current_, cluster_barrier_.clock);
  finish_cluster_barrier();
}

void Executor::finish_cluster_barrier() {
  if (cluster_barrier_.arrived == 0 || cluster_barrier_.arrived < num_alive_) return;
  cluster_barrier_.arrived = 0;
  cluster_barrier_.released = std::move(cluster_barrier_.clock);
  cluster_barrier_.clock = {};
  for (int f = 0; f < num_fibers_; ++f) {
    Fiber& fiber = fibers_[size_t(f)];
    if (fiber.ended || fiber.at_cluster != Fiber::AtCluster::arrived) continue;
    fiber.at_cluster = Fiber::AtCluster::released;
    if (fiber.wait == Fiber::Wait::cluster) warps_[size_t(f / kWarpSize)].runnable |= 1u << f % kWarpSize;
  }
}

void Executor::cluster_wait(int line) {
  Lane lane{.mask = warp().exists};
  warp_op(WarpOp::cluster_wait, &lane, line);
  Fiber& fiber = current();
  if (fiber.at_cluster == Fiber::AtCluster::away) {
    refuse(fmt::format("{} waits at the barrier of the cluster and has not arrived", name_of(current_)), line);
  }
  if (fiber.at_cluster == Fiber::AtCluster::arrived) wait(Fiber::Wait::cluster, line);
  fiber.at_cluster = Fiber::AtCluster::away;
  ++fiber.cluster_waits;
  if (detector_) detector_->acquire(current_, cluster_barrier_.released);
}

void Executor::wait_for_grid() {
  if (detector_) detector_->wait_for_launch(current_);
}

}  // namespace tilewright::sim
