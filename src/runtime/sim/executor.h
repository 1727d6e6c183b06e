// The state of the blocks, one or those of a cluster, that run together.
#pragma once

#include "runtime/sim/counters.h"
#include "runtime/sim/detector.h"
#include "runtime/sim/fiber.h"
#include "runtime/sim/bulk_copies.h"
#include "runtime/sim/cluster.h"
#include "runtime/sim/machine.h"
#include "runtime/sim/mbarrier.h"
#include "runtime/sim/wgmma.h"

#include <array>
#include <bit>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::sim {

struct TensorBox;
struct Waiting;

constexpr int kWarpSize = 32;
// NaN as a float of any width, -1 as an integer: what nobody wrote shows in the result.
constexpr int kPoisonByte = 0xff;

// One cp.async that has not taken place.
struct PendingCopy {
  unsigned char* to = nullptr;
  const unsigned char* from = nullptr;
  uint8_t bytes = 0, valid_bytes = 0;
  int line = 0;
  bool done = false;
  bool arrived = false;  // at an mbarrier: the detector knows that it has ended
};

struct Fiber {
  void* stack = nullptr;  // where it goes on
  device::sim::ThreadView view = {};
  bool ended = false;
  // What it waits for.
  enum class Wait : uint8_t { nothing, barrier, warp, others, mbarrier, products, registers, cluster };
  Wait wait = Wait::nothing;
  uint8_t barrier = 0;
  SharedPlace mbarrier = {};
  bool cluster_scope = false;  // of the wait for it
  unsigned registers = 0;      // that it asks for
  int line = 0;
  device::sim::WarpOp op = device::sim::WarpOp::sync;
  device::sim::Lane* lane = nullptr;
  unsigned vote_result = 0;
  uint32_t active = 0;  // of activemask, once it is known
  bool asks_active = false;
  std::vector<PendingCopy> copies;   // in order of their start
  std::vector<uint32_t> group_ends;  // copies before each commit that was not waited for
  uint64_t copies_waited = 0;        // of all that the thread started
  Clock copies_arrived;              // the times of the mbarriers that copies arrived at
  BulkStores stores;
  // At the barrier of the cluster.
  enum class AtCluster : uint8_t { away, arrived, released };
  AtCluster at_cluster = AtCluster::away;
  int cluster_waits = 0;  // that it came back from
  Clock fenced;           // what it knew at its last fence of the cluster or wider
};

struct Warp {
  uint32_t exists = 0;    // lanes that the block has
  uint32_t alive = 0;     // those that have not ended
  uint32_t runnable = 0;  // could run now
  uint32_t resting = 0;   // could run, but let the others come first
  uint32_t arrived = 0;   // wait in an operation of the warp
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
  // What lies on the fiber's stack is not destroyed: nothing there may own memory.
  [[noreturn]] void stop(Finding finding);
  [[noreturn]] void refuse(std::string text, int line);  // with one of misuse
  // ---- mbarrier.cc ----
  unsigned mbarrier(device::sim::MbarrierOp op, unsigned address, unsigned x, int line);
  void fence(device::sim::Fence fence);
  void wait_for_grid();
  // Lets the others run until none of them can.
  void rest(int line);
  // ---- spinning.cc ----
  // An array of a thread, its registers, is indexed beside its end. Does not return.
  [[noreturn]] void outside_of_array(int64_t index, int line);
  // ---- cluster.cc ----
  void cluster_arrive(bool relaxed, int line);
  void cluster_wait(int line);
  unsigned map_shared(unsigned address, unsigned rank, int line);
  unsigned char* shared_of_cluster(unsigned address, unsigned bytes, Access access, int line);
  // ---- bulk_copies.cc ----
  void store_async(unsigned to, const void* x, unsigned bytes, unsigned barrier, int line);
  void bulk_copy(const device::sim::BulkCopy& copy, int line);
  void bulk_commit();
  void bulk_wait(unsigned pending, bool read_only);
  // ---- wgmma.cc ----
  void wgmma_wait(unsigned pending, int line);
  void warpgroup_op(device::sim::WarpOp op, device::sim::Lane* const* lanes);
  void more_registers(unsigned registers, int line);

 private:
  static void fiber_main();
  unsigned char* shared_of_thread(int thread, unsigned address, unsigned bytes, Access access, int line);
  void prepare(const Block& block);
  void prepare_thread(const Block& block, device::sim::Dim3 at, int rank, unsigned thread);
  [[noreturn]] void end_fiber();
  void wait(Fiber::Wait why, int line);
  void go_on(void** save);
  int next();
  uint32_t runnable_in(int first_warp) const;
  int random_block();
  int next_of(uint32_t runnable, int warp) const;
  bool wake_resting();
  void finish_barrier(int rank, unsigned id);
  bool arrive_at(unsigned id, unsigned threads, int line);
  bool try_warp_op(Fiber& fiber);
  void run_warp_op(device::sim::WarpOp op, uint32_t mask);
  Finding deadlock() const;
  Finding::Note describe(const Waiting& waiting) const;
  static void complete(PendingCopy& copy);
  unsigned char* shared_at(int thread, SharedPlace place, unsigned bytes, int line);
  void sync_clocks(uint32_t mask);
  uint64_t random(uint64_t below);

  // ---- Asynchronous work, which takes place when the adversary says so ----
  bool completes_now();
  bool complete_one();  // false: there is none
  std::optional<Finding> unfinished(int rank) const;
  void end_block(int rank);

  // ---- cluster.cc ----
  // Fibers of the block of rank r are r * stride_ + thread, and none where a last warp has fewer lanes.
  int rank_of(int fiber) const { return fiber / stride_; }
  int rank() const { return rank_of(current_); }
  BlockState& block() { return blocks_[size_t(rank())]; }
  int rank_of_warp(int warp) const { return warp / num_warps_; }
  int warp_in_block(int warp) const { return warp % num_warps_; }
  int first_of_warpgroup(int warp) const {
    return warp - warp_in_block(warp) + warp_in_block(warp) / kWarpsOfGroup * kWarpsOfGroup;
  }
  const std::string& name_of(int fiber) const;  // "thread 3", in a cluster "thread 3 of block 1"
  const std::string& name_of_warp(int warp) const;
  const std::string& of_block(int rank) const;  // "", in a cluster " of block 1"
  enum class Name : uint8_t { thread, warp, block };
  template <class Make>
  const std::string& kept(Name kind, int id, const Make& make) const;
  SharedPlace place_in_block(int fiber, unsigned address, int line);
  SharedPlace place_in_cluster(unsigned address, int line);
  void visit(int rank, int line);
  void check_visits(int rank);
  void finish_cluster_barrier();
  void run_hosts();
  void serve(int rank);
  void leave(void** save);

  // ---- mbarrier.cc ----
  static uint64_t mark_of(SharedPlace place);
  Mbarrier& mbarrier_at(SharedPlace place, const char* verb, int line);
  void check_init_is_known(SharedPlace place, const Mbarrier& b, const char* verb, int line);
  void init_mbarrier(SharedPlace place, unsigned arrivals, int line);
  void invalidate_mbarrier(SharedPlace place, int line);
  void arrive_from_afar(SharedPlace place, bool release, int line);
  void add_bytes(Mbarrier& b, int64_t bytes, int line);
  void arrive(SharedPlace place, unsigned count, int line);
  void end_phase_if_complete(SharedPlace place, Mbarrier& b);
  void acquire_phase(int fiber, const Mbarrier& b, bool cluster_scope);
  static bool has_ended(const Mbarrier& b, unsigned parity);
  void check_parity(unsigned parity, int line);
  unsigned test_mbarrier(SharedPlace place, unsigned parity, int line);
  void wait_for_mbarrier(SharedPlace place, unsigned parity, bool cluster_scope, int line);
  void complete_arrival(int thread);
  void complete_arrivals(int thread, uint64_t copies);
  void complete_copies(const CopiesArrival& arrival, Mbarrier& b);
  void join_agent(Mbarrier& b, const Agent& agent, bool from_afar);
  static void join_agent(Clock& to, const Agent& agent);
  std::string state_of_mbarrier(SharedPlace place) const;
  Finding endless_test(SharedPlace place, unsigned parity, int line) const;

  // ---- spinning.cc ----
  void note_quiet_step(Site site);
  void note_change() { quiet_steps_ = 0; }

  // ---- bulk_copies.cc ----
  unsigned char* shared_range(SharedPlace place, uint64_t bytes, unsigned alignment, int line);
  std::vector<Piece> pieces_of_rows(const device::sim::BulkCopy& copy, SharedPlace place, int line);
  std::vector<Piece> pieces_of_box(const TensorBox& box, const device::sim::BulkCopy& copy, SharedPlace place,
                                   int line);
  std::vector<Piece> pieces_of_source(const device::sim::BulkCopy& copy, SharedPlace place, int line);
  void bulk_load(const TensorBox& box, const device::sim::BulkCopy& copy, int line);
  void bulk_load_to(const TensorBox& box, const device::sim::BulkCopy& copy, SharedPlace to, SharedPlace barrier,
                    int line);
  void check_box(const TensorBox& box, const device::sim::BulkCopy& copy, int line);
  void check_barrier_of_load(SharedPlace barrier, int line);
  void start_load(BulkTransfer load);
  void land(const BulkTransfer& load, Mbarrier& b);
  void start_store(BulkTransfer transfer);
  void complete_load(size_t index);
  void read_source(BulkTransfer& store);
  void write_target(BulkTransfer& store);
  void note_store(const BulkTransfer& store, const BulkStores& stores);

  // ---- wgmma.cc ----
  void start_product(device::sim::Lane* const* lanes);
  void check_order(const WarpgroupProduct& product, int line);
  Accumulators& accumulators_of(WarpProducts& warp, device::sim::Lane* const* lanes, int registers, int line);
  void fence_products(WarpProducts& warp);
  void check_fence(const WarpProducts& warp, const Accumulators& accumulators, device::sim::Lane* const* lanes,
                   int line);
  void check_fence_of_a(const WarpProducts& warp, device::sim::Lane* const* lanes, int line);
  void note_operands(const WarpgroupProduct& product, int warp);
  void complete_product(WarpgroupProduct& product, int warp);
  void check_operands(const WarpgroupProduct& product, int warp);
  void check_untouched(const Accumulators& a, int warp, int line);
  void check_a_untouched(const WarpgroupProduct& product, int warp);
  void finish_groups(int warp, unsigned pending);
  bool products_have_come(int warp, unsigned pending) const;

  // ---- registers.cc ----
  unsigned launch_registers() const;
  unsigned registers_of(int warp) const;
  unsigned free_registers(int rank) const;
  bool take_registers(int warp);
  void give_registers(int warp, unsigned registers, int line);

  Code code_;
  SimAdversary adversary_;
  Detector* detector_ = nullptr;
  WarpCounter* counter_ = nullptr;
  std::mt19937_64 generator_;
  void* const* arguments_ = nullptr;
  Stacks stacks_;
  std::vector<BlockState> blocks_;
  std::deque<Turn> turns_;  // of each block
  bool over_ = false;
  int next_ = -1;  // the fiber that runs where another block has its turn
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;  // of all blocks
  ClusterBarrier cluster_barrier_;
  mutable std::map<std::pair<Name, int>, std::string> names_;  // for reports
  int num_threads_ = 0, num_warps_ = 0, stride_ = 1;           // of a block: threads, warps, fibers
  int num_fibers_ = 0, num_alive_ = 0, current_ = 0;           // of all blocks
  std::optional<Finding> finding_;
  std::map<SharedPlace, Mbarrier> mbarriers_;
  std::map<SharedPlace, uint32_t> mbarrier_times_;  // of the columns of those that were invalidated
  std::vector<CopiesArrival> arrivals_;             // that are to come
  std::vector<BulkTransfer> loads_;                 // that are under way
  int64_t failed_tests_ = 0;
  int64_t quiet_steps_ = 0;  // of all threads since memory changed
  // By warp; by the first one of a warpgroup.
  std::vector<WarpProducts> products_;
  std::vector<WarpgroupOrder> orders_;
  std::vector<unsigned> registers_;              // of each thread; 0: as launched
  std::vector<unsigned> wanted_registers_;       // that a warp waits for
  std::vector<uint32_t> waiting_for_registers_;  // lanes
};

// What an operation of a warp computes; `lanes[i]` is null where the mask has no bit. Results go to the lanes.
void execute_warp_op(device::sim::WarpOp op, device::sim::Lane* const* lanes, Executor& executor);

}  // namespace tilewright::sim
