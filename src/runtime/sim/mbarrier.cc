#include "runtime/sim/mbarrier.h"

#include "runtime/sim/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace tilewright::sim {

using device::sim::Fence;
using device::sim::MbarrierOp;

namespace {

constexpr unsigned kBytes = 8;
// PTX ISA, "Contents of the mbarrier object".
constexpr unsigned kMaxArrivals = (1u << 20) - 1;
constexpr int64_t kMaxBytes = (1 << 20) - 1;
// Failed tests in a row, with nothing happening in between, that are no waiting any more.
constexpr int64_t kMaxFailedTests = 1 << 20;

}  // namespace

void Executor::refuse(std::string text, int line) {
  stop({.kind = Finding::Kind::misuse, .text = std::move(text), .site = Site::line(line)});
}

// The barrier at an address, whose memory this thread accesses as an atomic does.
Mbarrier& Executor::mbarrier_at(SharedPlace place, const char* verb, int line) {
  unsigned char* const at = shared_at(current_, place, kBytes, line);
  const auto found = mbarriers_.find(place);
  if (found == mbarriers_.end()) {
    refuse(fmt::format("{} {} an mbarrier at byte {} of shared memory{}, where none was initialised", name_of(current_),
                       verb, place.offset(), of_block(place.rank())),
           line);
  }
  visit(place.rank(), line);
  if (detector_) {
    check_init_is_known(place, found->second, verb, line);
    detector_->access(current_, at, kBytes, Access::atomic, Site::line(line));
  }
  uint64_t mark;
  std::memcpy(&mark, at, kBytes);
  if (mark != mark_of(place)) {
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("{} {} an mbarrier whose memory was overwritten", name_of(current_), verb),
          .site = Site::line(line),
          .memory = {place.memory()},
          .notes = {{.text = "initialised", .site = Site::line(found->second.init_line)}}});
  }
  return found->second;
}

// Accesses of a barrier are atomic, so that the first of them hides the initialisation from the detector.
void Executor::check_init_is_known(SharedPlace place, const Mbarrier& b, const char* verb, int line) {
  if (detector_->knows(current_, b.init_thread, b.init_time)) return;
  if (b.known_after_waits > 0 && current().cluster_waits >= b.known_after_waits) return;
  stop({.kind = Finding::Kind::race,
        .text = fmt::format("{} {} an mbarrier that {} initialises, and nothing orders the two", name_of(current_),
                            verb, name_of(b.init_thread)),
        .site = Site::line(line),
        .memory = {place.memory()},
        .notes = {{.text = "initialised", .site = Site::line(b.init_line)}}});
}

// What lies in the memory of a barrier: by this a write over it is seen.
uint64_t Executor::mark_of(SharedPlace place) { return 0x6d62617272696572u ^ place.packed; }

void Executor::init_mbarrier(SharedPlace place, unsigned arrivals, int line) {
  unsigned char* const at = shared_at(current_, place, kBytes, line);
  if (arrivals < 1 || arrivals > kMaxArrivals) {
    refuse(fmt::format("an mbarrier of {} arrivals; 1 to {} are possible", arrivals, kMaxArrivals), line);
  }
  if (const auto before = mbarriers_.find(place); before != mbarriers_.end()) {
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("{} initialises an mbarrier that was initialised and not invalidated", name_of(current_)),
          .site = Site::line(line),
          .memory = {place.memory()},
          .notes = {{.text = "initialised", .site = Site::line(before->second.init_line)}}});
  }
  if (detector_) detector_->access(current_, at, kBytes, Access::write, Site::line(line));
  const uint64_t mark = mark_of(place);
  std::memcpy(at, &mark, kBytes);
  Mbarrier barrier{.expected = arrivals, .pending = arrivals, .init_thread = current_, .init_line = line};
  if (detector_) {
    barrier.init_time = detector_->time_of(current_);
    barrier.column =
        detector_->column_of(fmt::format("a copy for the mbarrier at byte {}", place.offset()), place.rank());
    // A barrier that was here before has left its times behind.
    barrier.first_time = mbarrier_times_[place];
  }
  mbarriers_.emplace(place, std::move(barrier));
}

void Executor::invalidate_mbarrier(SharedPlace place, int line) {
  const Mbarrier& b = mbarrier_at(place, "invalidates", line);
  for (const uint32_t lanes : b.waiting) {
    if (lanes) refuse(fmt::format("{} invalidates an mbarrier that others wait for", name_of(current_)), line);
  }
  if (detector_) {
    detector_->access(current_, shared_at(current_, place, kBytes, line), kBytes, Access::write, Site::line(line));
    mbarrier_times_[place] = b.first_time + b.phase + 1;
  }
  mbarriers_.erase(place);
}

unsigned Executor::mbarrier(MbarrierOp op, unsigned address, unsigned x, int line) {
  if (op == MbarrierOp::arrive_cluster || op == MbarrierOp::release_cluster) {
    return arrive_from_afar(place_in_cluster(address, line), op == MbarrierOp::release_cluster, line), 0;
  }
  const SharedPlace place = place_in_block(current_, address, line);
  if (op == MbarrierOp::init) return init_mbarrier(place, x, line), 0;
  if (op == MbarrierOp::invalidate) return invalidate_mbarrier(place, line), 0;
  if (op == MbarrierOp::test) return test_mbarrier(place, x, line);
  if (op == MbarrierOp::wait || op == MbarrierOp::wait_cluster) {
    return wait_for_mbarrier(place, x, op == MbarrierOp::wait_cluster, line), 0;
  }
  Mbarrier& b = mbarrier_at(place, op == MbarrierOp::expect ? "expects bytes at" : "arrives at", line);
  if (op == MbarrierOp::arrive_after_copies) {
    const Fiber& fiber = current();
    arrivals_.push_back({.thread = current_,
                         .line = line,
                         .copies = fiber.copies_waited + fiber.copies.size(),
                         .barrier = place,
                         .clock = detector_ ? detector_->fork(current_) : Clock()});
    if (completes_now()) complete_arrivals(current_, arrivals_.back().copies);
    return 0;
  }
  if (op != MbarrierOp::arrive) add_bytes(b, int64_t(x), line);
  if (op == MbarrierOp::expect) return end_phase_if_complete(place, b), 0;
  if (detector_) detector_->release(current_, b.arrived);
  arrive(place, op == MbarrierOp::arrive ? x : 1, line);
  return 0;
}

// A barrier of any block of the cluster. PTX: without a scope an arrival releases for the threads of its own block;
// that reads and waited work have ended holds for others too, as it is not a matter of what they see.
void Executor::arrive_from_afar(SharedPlace place, bool release, int line) {
  Mbarrier& b = mbarrier_at(place, "arrives at", line);
  if (detector_) {
    if (place.rank() == rank()) {
      detector_->release(current_, b.arrived);
    } else {
      if (release) detector_->release(current_, b.arrived_cluster);
      detector_->release_end(current_, b.arrived);
    }
  }
  arrive(place, 1, line);
}

void Executor::add_bytes(Mbarrier& b, int64_t bytes, int line) {
  b.pending_bytes += bytes;
  if (std::abs(b.pending_bytes) > kMaxBytes) {
    refuse(fmt::format("an mbarrier counts {} pending bytes; at most {} are possible", b.pending_bytes, kMaxBytes),
           line);
  }
}

void Executor::arrive(SharedPlace place, unsigned count, int line) {
  Mbarrier& b = mbarriers_.at(place);
  if (count < 1 || count > b.pending) {
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("{} arrives {} times at an mbarrier whose phase {} lacks {} of {} arrivals and {} bytes",
                              name_of(current_), count, b.phase, b.pending, b.expected, b.pending_bytes),
          .site = Site::line(line),
          .memory = {place.memory()}});
  }
  b.pending -= count;
  end_phase_if_complete(place, b);
}

void Executor::acquire_phase(int fiber, const Mbarrier& b, bool cluster_scope) {
  if (detector_ == nullptr) return;
  detector_->acquire(fiber, b.released);
  if (cluster_scope) detector_->acquire(fiber, b.released_cluster);
}

void Executor::end_phase_if_complete(SharedPlace place, Mbarrier& b) {
  failed_tests_ = 0;
  if (b.pending > 0 || b.pending_bytes != 0) return;
  if (detector_) {
    join(b.released, b.arrived);
    join(b.released_cluster, b.arrived_cluster);
  }
  ++b.phase;
  b.pending = b.expected;
  for (int w = 0; w < num_warps_; ++w) {
    uint32_t& lanes = b.waiting[size_t(w)];
    warps_[size_t(place.rank() * num_warps_ + w)].runnable |= lanes;
    for (; lanes && detector_; lanes &= lanes - 1) {
      const int fiber = place.rank() * stride_ + w * kWarpSize + std::countr_zero(lanes);
      acquire_phase(fiber, b, fibers_[size_t(fiber)].cluster_scope);
    }
    lanes = 0;
  }
}

// Whether the phase of that parity has ended. A phase before it counts, as one that has.
bool Executor::has_ended(const Mbarrier& b, unsigned parity) { return b.phase % 2 != parity; }

void Executor::check_parity(unsigned parity, int line) {
  if (parity > 1) refuse(fmt::format("an mbarrier is waited for with parity {}; 0 and 1 are possible", parity), line);
}

unsigned Executor::test_mbarrier(SharedPlace place, unsigned parity, int line) {
  check_parity(parity, line);
  if (!has_ended(mbarrier_at(place, "tests", line), parity)) {
    // What a loop waits for can only happen while others run.
    if (++failed_tests_ > kMaxFailedTests) stop(endless_test(place, parity, line));
    rest(line);
  }
  const Mbarrier& b = mbarrier_at(place, "tests", line);
  if (!has_ended(b, parity)) return 0;
  acquire_phase(current_, b, false);
  return 1;
}

void Executor::wait_for_mbarrier(SharedPlace place, unsigned parity, bool cluster_scope, int line) {
  check_parity(parity, line);
  Mbarrier& b = mbarrier_at(place, "waits for", line);
  if (has_ended(b, parity)) return acquire_phase(current_, b, cluster_scope);
  b.waiting[size_t(warp_in_block(current_ / kWarpSize))] |= 1u << current_ % kWarpSize;
  current().mbarrier = place;
  current().cluster_scope = cluster_scope;
  wait(Fiber::Wait::mbarrier, line);
}

void Executor::rest(int line) {
  warp().resting |= 1u << current_ % kWarpSize;
  wait(Fiber::Wait::others, line);
}

// ---- cp.async that arrives ----

// The oldest of a thread: each stands behind all copies before it.
void Executor::complete_arrival(int thread) {
  const auto oldest = std::ranges::find(arrivals_, thread, &CopiesArrival::thread);
  const SharedPlace barrier = oldest->barrier;
  const int line = oldest->line;
  const auto found = mbarriers_.find(barrier);
  if (found == mbarriers_.end()) refuse("copies arrive at an mbarrier that was invalidated", line);
  complete_copies(*oldest, found->second);
  arrivals_.erase(oldest);
  arrive(barrier, 1, line);
}

// All that stand behind no more than so many copies of the thread.
void Executor::complete_arrivals(int thread, uint64_t copies) {
  const auto is_due = [&](const CopiesArrival& a) { return a.thread == thread && a.copies <= copies; };
  while (std::ranges::any_of(arrivals_, is_due)) complete_arrival(thread);
}

// Copies arrive once; a later arrival hands on what the ones before it did.
void Executor::complete_copies(const CopiesArrival& arrival, Mbarrier& b) {
  Fiber& fiber = fibers_[size_t(arrival.thread)];
  const Agent agent{.column = b.column, .time = b.first_time + b.phase + 1, .clock = arrival.clock, .generic = true};
  for (size_t i = 0; i < fiber.copies.size() && fiber.copies_waited + i < arrival.copies; ++i) {
    PendingCopy& c = fiber.copies[i];
    if (std::exchange(c.arrived, true)) continue;
    complete(c);
    if (detector_ == nullptr) continue;
    detector_->agent_access(agent, c.to, c.bytes, Access::write, AgentAccess::end, Site::line(c.line));
    if (c.valid_bytes > 0) {
      detector_->agent_access(agent, c.from, c.valid_bytes, Access::read, AgentAccess::end, Site::line(c.line));
    }
  }
  if (detector_) {
    join_agent(b.arrived, agent);
    join(b.arrived, fiber.copies_arrived);
    join_agent(fiber.copies_arrived, agent);
  }
  // What no group waits for any more is forgotten.
  if (!fiber.group_ends.empty()) return;
  const auto left = std::ranges::find(fiber.copies, false, &PendingCopy::arrived);
  fiber.copies_waited += uint64_t(left - fiber.copies.begin());
  fiber.copies.erase(fiber.copies.begin(), left);
}

// What an agent that comes to a barrier did and knows is known to those who wait.
void Executor::join_agent(Clock& to, const Agent& agent) {
  join(to, agent.clock);
  if (to.size() <= size_t(agent.column)) to.resize(size_t(agent.column) + 1, 0);
  uint32_t& own = to[size_t(agent.column)];
  own = std::max(own, agent.time);
}

// Work that a thread of another block started hands on what that one wrote only to waits of the cluster's scope.
void Executor::join_agent(Mbarrier& b, const Agent& agent, bool from_afar) {
  if (!from_afar) return join_agent(b.arrived, agent);
  join_agent(b.arrived_cluster, agent);
  detector_->join_end(b.arrived, agent.clock);
  join_agent(b.arrived, {.column = agent.column, .time = agent.time});
}

// ---- Fences ----

void Executor::fence(Fence fence) {
  if (fence == Fence::cluster) {
    if (detector_) detector_->release(current_, current().fenced);
    return;
  }
  for (auto& [place, barrier] : mbarriers_) {
    if (barrier.init_thread != current_) continue;
    if (fence != Fence::async_global) barrier.known_to_async = true;
    if (fence != Fence::mbarrier_init || barrier.init_fenced) continue;
    barrier.init_fenced = true;
    // From here on order is a matter of check_init_is_known, and accesses of a barrier are atomic.
    if (detector_) {
      unsigned char* const at = blocks_[size_t(place.rank())].shared + place.offset();
      detector_->access(current_, at, kBytes, Access::atomic, Site::line(barrier.init_line));
    }
  }
  if (detector_ == nullptr || fence == Fence::mbarrier_init) return;
  detector_->fence_async(current_, fence != Fence::async_global, fence != Fence::async_shared);
}

// ---- Reports ----

std::string Executor::state_of_mbarrier(SharedPlace place) const {
  const Mbarrier& b = mbarriers_.at(place);
  const char* come = b.pending_bytes < 0 ? "bytes came that nobody expected" : "bytes are to come";
  return fmt::format("phase {} of the mbarrier at byte {} of shared memory{}: {} of {} arrivals came, {} {}", b.phase,
                     place.offset(), of_block(place.rank()), b.expected - b.pending, b.expected,
                     std::abs(b.pending_bytes), come);
}

Finding Executor::endless_test(SharedPlace place, unsigned parity, int line) const {
  return {.kind = Finding::Kind::deadlock,
          .text = fmt::format("block {} waits for ever: {} tests again and again with parity {} for {}",
                              blocks_[size_t(rank())].number, name_of(current_), parity, state_of_mbarrier(place)),
          .site = Site::line(line),
          .memory = {place.memory()}};
}

}  // namespace tilewright::sim
