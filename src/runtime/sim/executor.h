// The state of the block that a thread of the host runs.
#pragma once

#include "runtime/sim/counters.h"
#include "runtime/sim/detector.h"
#include "runtime/sim/fiber.h"
#include "runtime/sim/machine.h"

#include <array>
#include <bit>
#include <memory>
#include <random>
#include <vector>

namespace tilewright::sim {

constexpr int kWarpSize = 32, kMaxWarps = 32, kNumBarriers = 16;

// One cp.async that has not taken place.
struct PendingCopy {
  unsigned char* to = nullptr;
  const unsigned char* from = nullptr;
  uint8_t bytes = 0, valid_bytes = 0;
  int line = 0;
  bool done = false;
};

struct Fiber {
  void* stack = nullptr;  // where it goes on
  device::sim::ThreadView view = {};
  bool ended = false;
  // What it waits for.
  enum class Wait : uint8_t { nothing, barrier, warp, others };
  Wait wait = Wait::nothing;
  uint8_t barrier = 0;
  int line = 0;
  device::sim::WarpOp op = device::sim::WarpOp::sync;
  device::sim::Lane* lane = nullptr;
  unsigned vote_result = 0;
  uint32_t active = 0;  // of activemask, once it is known
  bool asks_active = false;
  std::vector<PendingCopy> copies;   // in order of their start
  std::vector<uint32_t> group_ends;  // copies before each commit that was not waited for
};

struct Warp {
  uint32_t exists = 0;    // lanes that the block has
  uint32_t alive = 0;     // those that have not ended
  uint32_t runnable = 0;  // could run now
  uint32_t resting = 0;   // could run, but let the others come first
  uint32_t arrived = 0;   // wait in an operation of the warp
};

// PTX: barriers of a block. A phase ends when `expected` threads have come.
struct Barrier {
  unsigned expected = 0;  // of this phase; 0: none came yet
  bool whole_block = false;
  unsigned arrived = 0;  // that wait, and that only arrived
  std::array<uint32_t, kMaxWarps> waiting = {};
  unsigned all = 1, count = 0;  // votes
  Clock clock = {};             // of those that came
};

class Executor {
 public:
  // The executor of this thread.
  static Executor& mine();

  std::optional<Finding> run(const Code& code, const Block& block, void* const* arguments,
                             const SimAdversary& adversary, Detector* detector, WarpCounter* counter);

  // ---- for the hooks, in the fiber that runs ----
  Fiber& current() { return fibers_[size_t(current_)]; }
  Warp& warp() { return warps_[size_t(current_ / kWarpSize)]; }
  Fiber& lane_of_warp(int lane) { return fibers_[size_t(current_ / kWarpSize * kWarpSize + lane)]; }
  unsigned barrier(unsigned id, unsigned threads, device::sim::BlockVote vote, unsigned x, int line);
  void barrier_arrive(unsigned id, unsigned threads, int line);
  void warp_op(device::sim::WarpOp op, device::sim::Lane* lane, int line);
  void copy_async(unsigned to, const void* from, unsigned bytes, unsigned valid_bytes, int line);
  void copy_async_commit();
  void copy_async_wait(unsigned pending);
  // The bytes behind an address of the block's window.
  unsigned char* shared(unsigned address, unsigned bytes, Access access, int line) {
    return shared_of_thread(current_, address, bytes, access, line);
  }
  // The same for a lane of this warp that is in an operation of it.
  unsigned char* shared_of(int lane, unsigned address, unsigned bytes, Access access) {
    return shared_of_thread(current_ / kWarpSize * kWarpSize + lane, address, bytes, access, lane_of_warp(lane).line);
  }
  // Memory behind a pointer is about to be accessed, in a way that relies on an alignment.
  void access(const void* at, unsigned bytes, unsigned alignment, Access access, const void* where);
  [[noreturn]] void misaligned(const void* at, unsigned bytes, unsigned alignment, Site site);
  unsigned long long atomic(device::sim::AtomicOp op, device::sim::Number type, void* at, unsigned long long x,
                            unsigned long long expected, int line);
  // PTX activemask: the lanes of this warp that come to the same line before anything else must happen.
  uint32_t active_mask(int line);
  // Ends the block with a finding; does not return to the fiber.
  [[noreturn]] void stop(Finding finding);

 private:
  static void fiber_main();
  unsigned char* shared_of_thread(int thread, unsigned address, unsigned bytes, Access access, int line);
  void prepare(const Block& block);
  [[noreturn]] void end_fiber();
  void wait(Fiber::Wait why, int line);
  void go_on(void** save);
  int next();
  int next_of(uint32_t runnable, int warp) const;
  bool wake_resting();
  void finish_barrier(unsigned id);
  bool arrive_at(unsigned id, unsigned threads, int line);
  bool try_warp_op(Fiber& fiber);
  void run_warp_op(device::sim::WarpOp op, uint32_t mask);
  Finding deadlock() const;
  static void complete(PendingCopy& copy);
  unsigned char* shared_at(int thread, unsigned address, unsigned bytes, int line);
  void sync_clocks(uint32_t mask);
  uint64_t random(uint64_t below);

  Code code_;
  SimAdversary adversary_;
  Detector* detector_ = nullptr;
  WarpCounter* counter_ = nullptr;
  std::mt19937_64 generator_;
  void* const* arguments_ = nullptr;
  Stacks stacks_;
  void* main_stack_ = nullptr;
  unsigned char* shared_memory_ = nullptr;
  const device::sim::ThreadView** view_ = nullptr;
  std::vector<Fiber> fibers_;
  std::array<Warp, kMaxWarps> warps_ = {};
  std::array<Barrier, kNumBarriers> barriers_ = {};
  int num_threads_ = 0, num_warps_ = 0, num_alive_ = 0, current_ = 0;
  std::optional<Finding> finding_;
};

// What an operation of a warp computes; `lanes[i]` is null where the mask has no bit. Results go to the lanes.
void execute_warp_op(device::sim::WarpOp op, device::sim::Lane* const* lanes, Executor& executor);

}  // namespace tilewright::sim
