#include "runtime/sim/executor.h"

#include "runtime/sim/atomics.h"

#include <fmt/format.h>

#include <cstring>
#include <tuple>

namespace tilewright::sim {

using device::sim::BlockVote;
using device::sim::Lane;
using device::sim::Product;
using device::sim::WarpOp;

namespace {

// What the lanes of one operation on matrices must agree in.
bool same_form(WarpOp op, const Lane& a, const Lane& b) {
  const Product &p = a.product, &q = b.product;
  switch (op) {
    case WarpOp::load_matrix:
    case WarpOp::store_matrix: return a.n == b.n && a.transposed == b.transposed;
    case WarpOp::wgmma_product:
      return std::tie(p.m, p.n, p.k, p.a, p.b, p.d) == std::tie(q.m, q.n, q.k, q.a, q.b, q.d) &&
             a.operands == b.operands && (a.a == nullptr) == (b.a == nullptr);
    case WarpOp::wgmma_wait:
    case WarpOp::more_registers:
    case WarpOp::fewer_registers:
    case WarpOp::cluster_arrive: return a.n == b.n;
    case WarpOp::multiply: return std::tie(p.m, p.n, p.k, p.a, p.b, p.d) == std::tie(q.m, q.n, q.k, q.a, q.b, q.d);
    default: return true;
  }
}

// Operations that do not wait for lanes that have ended.
bool is_of_living(WarpOp op) {
  return op == WarpOp::sync || op == WarpOp::cluster_arrive || op == WarpOp::cluster_wait;
}

}  // namespace

std::optional<Finding> Executor::run(const Code& code, const Block& block, void* const* arguments,
                                     const SimAdversary& adversary, Detector* detector, WarpCounter* counter) {
  code_ = code;
  adversary_ = adversary;
  detector_ = detector;
  counter_ = counter;
  arguments_ = arguments;
  // Blocks differ, and a block runs the same in any order of blocks.
  generator_.seed(adversary.seed + 0x9e3779b97f4a7c15u * (block.block.x + 1));
  finding_.reset();
  prepare(block);
  if (finding_ || num_threads_ == 0) return std::move(finding_);
  run_hosts();
  if (counter_) counter_->end_block();
  return std::move(finding_);
}

void Executor::fiber_main() {
  Executor& executor = mine();
  executor.stacks_.begin();
  executor.code_.enter(executor.arguments_);
  executor.end_fiber();
}

void Executor::end_fiber() {
  Fiber& fiber = current();
  const uint32_t bit = 1u << current_ % kWarpSize;
  fiber.ended = true;
  warp().alive &= ~bit;
  warp().runnable &= ~bit;
  --num_alive_;
  BlockState& own = block();
  --own.num_alive;
  if (detector_ && blocks_.size() > 1) detector_->release(current_, own.at_end);
  // Those who wait for all that have not ended wait for one less.
  for (unsigned id = 0; id < kNumBarriers; ++id) {
    Barrier& b = own.barriers[id];
    if (b.whole_block && b.arrived > 0 && b.arrived >= unsigned(own.num_alive)) finish_barrier(rank(), id);
  }
  for (uint32_t waiting = warp().arrived; waiting; waiting &= waiting - 1) {
    const int lane = std::countr_zero(waiting);
    if ((warp().arrived >> lane & 1) && is_of_living(lane_of_warp(lane).op)) try_warp_op(lane_of_warp(lane));
  }
  if (fiber.at_cluster == Fiber::AtCluster::arrived) --cluster_barrier_.arrived;
  finish_cluster_barrier();
  if (own.num_alive == 0) end_block(rank());
  void* unused = nullptr;
  go_on(&unused);
  std::abort();  // nobody goes on with a fiber that ended
}

void Executor::stop(Finding finding) {
  finding_ = std::move(finding);
  over_ = true;
  void* unused = nullptr;
  leave(&unused);
  std::abort();
}

// ---- Who runs ----

uint64_t Executor::random(uint64_t below) { return generator_() % below; }

int Executor::next_of(uint32_t runnable, int warp) const {
  const bool last = adversary_.schedule == SimSchedule::reverse;
  const int lane = last ? 31 - std::countl_zero(runnable) : std::countr_zero(runnable);
  return warp * kWarpSize + lane;
}

// Of the block whose warps begin there, a bit for each warp that can run.
uint32_t Executor::runnable_in(int first_warp) const {
  uint32_t out = 0;
  for (int w = 0; w < num_warps_; ++w) out |= uint32_t(warps_[size_t(first_warp + w)].runnable != 0) << w;
  return out;
}

// A block that can run: mostly the one that does, as every other choice costs a switch of threads of the host.
int Executor::random_block() {
  if (blocks_.size() == 1) return 0;
  constexpr uint64_t kStay = 16;
  if (current_ >= 0 && random(kStay) != 0 && runnable_in(rank() * num_warps_) != 0) return rank();
  std::vector<int> can_run;
  for (int r = 0; r < int(blocks_.size()); ++r) {
    if (runnable_in(r * num_warps_) != 0) can_run.push_back(r);
  }
  return can_run.empty() ? 0 : can_run[size_t(random(can_run.size()))];
}

int Executor::next() {
  if (adversary_.schedule == SimSchedule::random) {
    const int first = random_block() * num_warps_;
    uint32_t runnable_warps = runnable_in(first);
    if (runnable_warps == 0) return -1;
    for (uint64_t skip = random(uint64_t(std::popcount(runnable_warps))); skip > 0; --skip)
      runnable_warps &= runnable_warps - 1;
    const int w = first + std::countr_zero(runnable_warps);
    uint32_t lanes = warps_[size_t(w)].runnable;
    for (uint64_t skip = random(uint64_t(std::popcount(lanes))); skip > 0; --skip) lanes &= lanes - 1;
    return w * kWarpSize + std::countr_zero(lanes);
  }
  if (adversary_.schedule == SimSchedule::reverse) {
    for (int w = int(warps_.size()) - 1; w >= 0; --w) {
      if (warps_[size_t(w)].runnable) return next_of(warps_[size_t(w)].runnable, w);
    }
    return -1;
  }
  const int own = current_ / kWarpSize, lane = current_ % kWarpSize;
  const uint32_t higher = lane == 31 ? 0 : warps_[size_t(own)].runnable & ~0u << (lane + 1);
  if (higher) return next_of(higher, own);
  if (adversary_.schedule == SimSchedule::greedy && warps_[size_t(own)].runnable) {
    return next_of(warps_[size_t(own)].runnable, own);
  }
  const int num_warps = int(warps_.size());
  for (int k = 1; k <= num_warps; ++k) {
    const int w = (own + k) % num_warps;
    if (warps_[size_t(w)].runnable) return next_of(warps_[size_t(w)].runnable, w);
  }
  return -1;
}

bool Executor::wake_resting() {
  bool found = false;
  for (Warp& warp : warps_) {
    found |= warp.resting != 0;
    warp.runnable |= warp.resting;
    warp.resting = 0;
  }
  return found;
}

// Leaves this fiber, whose state goes to `*save`, for the next, which may be the same.
void Executor::go_on(void** save) {
  if (adversary_.completion == SimCompletion::random && random(8) == 0) complete_one();
  int id = next();
  while (id < 0 && num_alive_ > 0 && (int(complete_one()) | int(wake_resting()))) id = next();
  if (id < 0) {
    if (num_alive_ > 0) finding_ = deadlock();
    over_ = true;
    leave(save);
    return;
  }
  if (id == current_ && !current().ended) {
    current().wait = Fiber::Wait::nothing;
    return;
  }
  if (rank_of(id) != rank()) {
    next_ = id;
    leave(save);
    return;
  }
  current_ = id;
  Fiber& fiber = current();
  fiber.wait = Fiber::Wait::nothing;
  *block().view = &fiber.view;
  stacks_.switch_stack(save, fiber.stack);
}

void Executor::wait(Fiber::Wait why, int line) {
  Fiber& fiber = current();
  fiber.wait = why;
  fiber.line = line;
  warp().runnable &= ~(1u << current_ % kWarpSize);
  go_on(&fiber.stack);
}

uint32_t Executor::active_mask(int line) {
  Fiber& fiber = current();
  fiber.asks_active = true;
  fiber.active = 0;
  warp().resting |= 1u << current_ % kWarpSize;
  wait(Fiber::Wait::others, line);
  if (fiber.active == 0) {
    uint32_t mask = 0;
    const auto is_here = [&](const Fiber& f) { return f.asks_active && f.active == 0 && f.line == line; };
    for (uint32_t left = warp().alive; left; left &= left - 1) {
      mask |= uint32_t(is_here(lane_of_warp(std::countr_zero(left)))) << std::countr_zero(left);
    }
    for (uint32_t left = mask; left; left &= left - 1) lane_of_warp(std::countr_zero(left)).active = mask;
  }
  fiber.asks_active = false;
  return fiber.active;
}

// ---- Barriers ----

// Whether this thread's coming ends the phase.
bool Executor::arrive_at(unsigned id, unsigned threads, int line) {
  Barrier& b = block().barriers[id];
  const bool whole_block = threads == 0;
  if (b.arrived == 0) {
    b.expected = threads;
    b.whole_block = whole_block;
  } else if (b.expected != threads) {
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("{} comes to barrier {} with a count of {}, others in this phase with {}",
                              name_of(current_), id, threads, b.expected),
          .site = Site::line(line)});
  }
  if (detector_) {
    if (b.arrived == 0) b.clock = detector_->no_clock();
    detector_->release(current_, b.clock);
  }
  ++b.arrived;
  const unsigned expected = whole_block ? unsigned(block().num_alive) : threads;
  if (b.arrived > expected) {
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("{} threads came to barrier {}, which counts {}", b.arrived, id, expected),
          .site = Site::line(line)});
  }
  return b.arrived == expected;
}

void Executor::finish_barrier(int rank, unsigned id) {
  Barrier& b = blocks_[size_t(rank)].barriers[id];
  const int first_warp = rank * num_warps_, first_fiber = rank * stride_;
  for (int w = 0; w < num_warps_; ++w) {
    const uint32_t waiting = b.waiting[size_t(w)];
    Warp& warp = warps_[size_t(first_warp + w)];
    if (counter_ && waiting && waiting == warp.alive) counter_->meet(w);
    warp.runnable |= waiting;
  }
  for (int t = 0; t < num_threads_; ++t) {
    if (!(b.waiting[size_t(t / kWarpSize)] >> t % kWarpSize & 1)) continue;
    fibers_[size_t(first_fiber + t)].vote_result = b.count | (b.all ? 0x10000u : 0);
    if (detector_) detector_->acquire(first_fiber + t, b.clock);
  }
  b = {};
}

unsigned Executor::barrier(unsigned id, unsigned threads, BlockVote vote, unsigned x, int line) {
  if (counter_) counter_->barrier(current_, Site::line(line));
  note_quiet_step(Site::line(line));
  const bool last = arrive_at(id, threads, line);
  Barrier& b = block().barriers[id];
  if (vote != BlockVote::none) {
    b.count += x != 0;
    b.all = b.all && x != 0;
  }
  Fiber& fiber = current();
  fiber.barrier = uint8_t(id);
  b.waiting[size_t(warp_in_block(current_ / kWarpSize))] |= 1u << current_ % kWarpSize;
  if (last)
    finish_barrier(rank(), id);
  else
    wait(Fiber::Wait::barrier, line);
  const unsigned count = fiber.vote_result & 0xffffu, all = fiber.vote_result >> 16;
  switch (vote) {
    case BlockVote::any: return count > 0;
    case BlockVote::all: return all;
    case BlockVote::count: return count;
    case BlockVote::none: break;
  }
  return 0;
}

void Executor::barrier_arrive(unsigned id, unsigned threads, int line) {
  if (counter_) counter_->barrier(current_, Site::line(line));
  if (arrive_at(id, threads, line)) finish_barrier(rank(), id);
}

// ---- Warps ----

void Executor::warp_op(WarpOp op, Lane* lane, int line) {
  note_quiet_step(Site::line(line));
  Fiber& fiber = current();
  const int own = current_ % kWarpSize;
  fiber.op = op;
  fiber.lane = lane;
  fiber.line = line;
  if (!(lane->mask >> own & 1)) {
    stop(
        {.kind = Finding::Kind::misuse,
         .text = fmt::format("{} (lane {}) is not in the mask {:#x} that it names", name_of(current_), own, lane->mask),
         .site = Site::line(line)});
  }
  const uint32_t absent = lane->mask & ~warp().exists;
  if (absent && op != WarpOp::sync) {
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("{} names lanes {:#x}, which its warp does not have: the block has {} threads",
                              name_of(current_), absent, num_threads_),
          .site = Site::line(line)});
  }
  warp().arrived |= 1u << own;
  if (!try_warp_op(fiber)) wait(Fiber::Wait::warp, line);
}

// Executes the operation of a lane that has arrived if it was the last.
bool Executor::try_warp_op(Fiber& fiber) {
  Warp& w = warp();
  const uint32_t named = fiber.lane->mask;
  const uint32_t mask = is_of_living(fiber.op) ? named & w.alive : named;
  if ((w.arrived & mask) != mask) return false;
  for (uint32_t left = mask; left; left &= left - 1) {
    const Fiber& other = lane_of_warp(std::countr_zero(left));
    const bool same = other.op == fiber.op && other.lane->mask == named;
    if (same && same_form(fiber.op, *fiber.lane, *other.lane)) continue;
    if (same) {
      stop(
          {.kind = Finding::Kind::misuse,
           .text = fmt::format("lanes of {} come to one operation {}in different forms",
                               name_of_warp(current_ / kWarpSize), fiber.op < WarpOp::wgmma_wait ? "on matrices " : ""),
           .site = Site::line(fiber.line),
           .notes = {{.text = "the other", .site = Site::line(other.line)}}});
    }
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("lanes of {} come to different operations, or name different masks: {:#x} and {:#x}",
                              name_of_warp(current_ / kWarpSize), named, other.lane->mask),
          .site = Site::line(fiber.line),
          .notes = {{.text = "the other", .site = Site::line(other.line)}}});
  }
  w.arrived &= ~mask;
  if (fiber.op != WarpOp::sync)
    run_warp_op(fiber.op, mask);
  else if (detector_)
    sync_clocks(mask);
  if (counter_ && mask == w.alive) counter_->meet(current_ / kWarpSize);
  w.runnable |= mask;
  return true;
}

void Executor::sync_clocks(uint32_t mask) {
  Clock clock = detector_->no_clock();
  const int first = current_ / kWarpSize * kWarpSize;
  for (uint32_t left = mask; left; left &= left - 1) detector_->release(first + std::countr_zero(left), clock);
  for (uint32_t left = mask; left; left &= left - 1) detector_->acquire(first + std::countr_zero(left), clock);
}

void Executor::run_warp_op(WarpOp op, uint32_t mask) {
  std::array<Lane*, kWarpSize> lanes = {};
  for (uint32_t left = mask; left; left &= left - 1) {
    const int lane = std::countr_zero(left);
    lanes[size_t(lane)] = lane_of_warp(lane).lane;
  }
  if (counter_) counter_->warp_op(op, lanes.data(), *this);
  execute_warp_op(op, lanes.data(), *this);
}

unsigned char* Executor::shared_of_thread(int thread, unsigned address, unsigned bytes, Access access, int line) {
  unsigned char* const at = shared_at(thread, place_in_block(thread, address, line), bytes, line);
  if (access == Access::write) note_change();
  // An atomic is watched where it takes place.
  if (detector_ && access != Access::atomic) detector_->access(thread, at, bytes, access, Site::line(line));
  return at;
}

void Executor::access(const void* at, unsigned bytes, unsigned alignment, Access access, const void* where) {
  if ((detector_ == nullptr && counter_ == nullptr) || stacks_.contains(at)) return;
  access == Access::read ? note_quiet_step(Site::code(where)) : note_change();
  if (reinterpret_cast<uintptr_t>(at) % alignment != 0) misaligned(at, bytes, alignment, Site::code(where));
  if (detector_) detector_->access(current_, at, bytes, access, Site::code(where));
  if (counter_) counter_->access(current_, at, bytes, access, Site::code(where));
}

void Executor::misaligned(const void* at, unsigned bytes, unsigned alignment, Site site) {
  Finding finding{.kind = Finding::Kind::misuse,
                  .text = fmt::format("{} accesses {} bytes at an address that is no multiple of {}", name_of(current_),
                                      bytes, alignment),
                  .site = site};
  if (detector_) finding.memory = detector_->memory_at(at);
  stop(std::move(finding));
}

unsigned long long Executor::atomic(device::sim::AtomicOp op, device::sim::Number type, void* at, unsigned long long x,
                                    unsigned long long expected, int line) {
  const unsigned bytes = bytes_of(type);
  if (reinterpret_cast<uintptr_t>(at) % bytes != 0) misaligned(at, bytes, bytes, Site::line(line));
  if (detector_) detector_->access(current_, at, bytes, Access::atomic, Site::line(line));
  if (counter_) counter_->access(current_, at, bytes, Access::atomic, Site::line(line));
  const unsigned long long before = execute_atomic(op, type, at, x, expected);
  std::memcmp(at, &before, bytes) == 0 ? note_quiet_step(Site::line(line)) : note_change();
  return before;
}

unsigned char* Executor::shared_at(int thread, SharedPlace place, unsigned bytes, int line) {
  const unsigned address = place.offset();
  const bool inside = int64_t(address) + bytes <= code_.shared_bytes;
  if (inside && address % bytes == 0) return blocks_[size_t(place.rank())].shared + address;
  stop({.kind = Finding::Kind::out_of_bounds,
        .text = inside ? fmt::format("{} accesses {} bytes at address {} of shared memory, no multiple of {}",
                                     name_of(thread), bytes, address, bytes)
                       : fmt::format("{} accesses {} bytes at address {} of shared memory, which has {}",
                                     name_of(thread), bytes, address, code_.shared_bytes),
        .site = Site::line(line)});
}

// ---- Asynchronous copies ----

void Executor::complete(PendingCopy& copy) {
  if (copy.done) return;
  copy.done = true;
  std::memcpy(copy.to, copy.from, copy.valid_bytes);
  std::memset(copy.to + copy.valid_bytes, 0, size_t(copy.bytes - copy.valid_bytes));
}

void Executor::copy_async(unsigned to, const void* from, unsigned bytes, unsigned valid_bytes, int line) {
  if (valid_bytes > bytes) {
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("a copy of {} bytes is to read {}", bytes, valid_bytes),
          .site = Site::line(line)});
  }
  if (valid_bytes > 0 && reinterpret_cast<uintptr_t>(from) % bytes != 0) {
    stop({.kind = Finding::Kind::misuse,
          .text = fmt::format("{} copies {} bytes from {}, no multiple of {}", name_of(current_), bytes,
                              reinterpret_cast<uintptr_t>(from), bytes),
          .site = Site::line(line)});
  }
  PendingCopy copy{.to = shared_at(current_, place_in_block(current_, to, line), bytes, line),
                   .from = static_cast<const unsigned char*>(from),
                   .bytes = uint8_t(bytes),
                   .valid_bytes = uint8_t(valid_bytes),
                   .line = line};
  if (detector_) detector_->copy_begins(current_, copy.to, from, bytes, valid_bytes, Site::line(line));
  if (counter_) counter_->copy(current_, copy.to, from, bytes, valid_bytes, Site::line(line));
  note_change();
  std::memset(copy.to, kPoisonByte, bytes);
  if (completes_now()) complete(copy);
  current().copies.push_back(copy);
}

void Executor::copy_async_commit() { current().group_ends.push_back(uint32_t(current().copies.size())); }

void Executor::copy_async_wait(unsigned pending) {
  Fiber& fiber = current();
  if (fiber.group_ends.size() <= pending) return;
  const size_t groups = fiber.group_ends.size() - pending;
  const uint32_t copies = fiber.group_ends[groups - 1];
  // Arrivals that stand behind these copies have nothing more to wait for.
  complete_arrivals(current_, fiber.copies_waited + copies);
  if (detector_) detector_->acquire(current_, fiber.copies_arrived);
  for (uint32_t i = 0; i < copies; ++i) {
    PendingCopy& c = fiber.copies[i];
    complete(c);
    if (detector_ && !c.arrived)
      detector_->copy_ends(current_, c.to, c.from, c.bytes, c.valid_bytes, Site::line(c.line));
  }
  fiber.copies.erase(fiber.copies.begin(), fiber.copies.begin() + copies);
  fiber.copies_waited += copies;
  fiber.group_ends.erase(fiber.group_ends.begin(), fiber.group_ends.begin() + std::ptrdiff_t(groups));
  for (uint32_t& end : fiber.group_ends) end -= copies;
}

}  // namespace tilewright::sim
