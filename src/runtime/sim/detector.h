// Data races, and reads of what nobody wrote, in the shared and global memory of one kernel.
//
// Happens-before by vector clocks (Mattern 1988; FastTrack, Flanagan and Freund 2009). Every thread t of the block that
// runs has a clock C_t: C_t[u] is the time of u up to which t knows what u did. An access of u at time c is ordered
// before what t does now iff c <= C_t[u]. Barriers join clocks; shuffles, votes and mma.sync do not, because PTX gives
// them no order of memory.
//
// An asynchronous copy is a write (and a read of its source) at an unknown time between its start and the wait for it:
// what came before must be ordered before the start, what comes after behind the wait, and in between nobody may touch
// the destination.
//
// Bulk copies and products of warpgroups are agents of their own. An agent begins with the clock of the thread that
// starts it, and has a column in every clock: a thread knows what an agent did up to some time when it waited for that.
// Agents read and write by the asynchronous proxy, where a thread's ordinary writes are seen only up to its last fence
// of the proxy: clocks have a column for those times too, so that they travel with the order of threads.
//
// Clusters of blocks (a launch without has those of one block) run one after the other here, and are unordered on a
// GPU: accesses of two clusters conflict unless both read or both are atomic. The threads of one cluster have clocks
// for all of them. An arrival that is a release for its own block alone, at a barrier of another block, hands on that
// reads and asynchronous work have ended, not what was written: a column for each thread says up to when.
//
// Of launches that follow each other through one detector, the later is ordered behind the earlier, unless it may start
// before that ends: then for who waited for it, or knows of one who did.
#pragma once

#include "runtime/sim/findings.h"

#include <tilewright/device/sim/hooks.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright::sim {

// Memory that a launch was given.
struct Region {
  const unsigned char* begin = nullptr;
  int64_t bytes = 0;
  int unit_bytes = 1;    // the smallest part that is accessed by itself
  bool guarded = false;  // memory around it belongs to nobody
};

// Bytes of shared memory that hold a tile.
struct SharedPart {
  int64_t begin = 0, end = 0;
};

// The shared memory of a block that runs, and the number of the block in its grid.
struct SharedWindow {
  const unsigned char* begin = nullptr;
  int64_t block = 0;
};

using device::sim::Access;

using Clock = std::vector<uint32_t>;
// `to` knows what `from` knows.
inline void join(Clock& to, const Clock& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (size_t u = 0; u < from.size(); ++u) to[u] = std::max(to[u], from[u]);
}

// Asynchronous work that accesses memory.
struct Agent {
  int column = -1;       // which knowledge of it is known by
  uint32_t time = 0;     // what it does now, in that column
  Clock clock = {};      // what it knows, which is what its thread knew when it began
  bool generic = false;  // of the generic proxy: cp.async
};
// What one access of an agent is: the check of what came before, what later accesses are checked against, or both.
// From `begin` of a write to its `end` nobody may touch the memory.
enum class AgentAccess : uint8_t { begin, end, whole };

class Detector {
 public:
  // `red_zone_bytes` of memory before and behind each guarded tensor belong to nobody, and so does shared memory
  // outside of its parts, where any are given.
  Detector(std::vector<Region> tensors, int shared_unit_bytes, int64_t red_zone_bytes,
           const std::vector<SharedPart>& shared_parts = {});
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;
  ~Detector();

  // A launch begins that follows those before. Not needed for the first. `programmatic`: it may start before the one in
  // front of it has ended, and waits for that itself.
  void begin_launch(bool programmatic);
  // The blocks of a cluster begin, each with so many threads and so many bytes of shared memory, around which
  // `margin_bytes` belong to nobody. Threads of the block of rank r are r * threads_of_block + 0, 1, 2, ...
  void begin_cluster(std::vector<SharedWindow> windows, int threads_of_block, int64_t shared_bytes,
                     int64_t margin_bytes);

  // ---- Order ----
  // What `thread` did is known to whoever joins `to`.
  void release(int thread, Clock& to);
  // `thread` knows what was released to `from`.
  void acquire(int thread, const Clock& from);
  Clock no_clock() const { return Clock(size_t(columns_), 0); }
  // Who joins `to` knows that what `thread` read and waited for has ended. Of clusters of several blocks.
  void release_end(int thread, Clock& to);
  // `to` knows of the ends that `from` knows of.
  void join_end(Clock& to, std::span<const uint32_t> from);
  // Whether what `thread` did at a time has ended for who knows `clock`.
  bool has_ended(const Clock& clock, int thread, uint32_t time) const;
  // `thread` waited for the launch in front.
  void wait_for_launch(int thread);

  // ---- Agents ----
  // A column for agents of the block of this rank that `name` describes in reports, and that of a name that has one.
  int column_of(const std::string& name, int rank);
  // What an agent knows that `thread` starts now.
  Clock fork(int thread);
  // What an agent knows that several threads start together: what all of them know.
  Clock fork(std::span<const int> threads);
  void learn(int thread, int column, uint32_t time);
  uint32_t time_of(int thread) const { return clock(thread)[size_t(thread)]; }
  // Whether `thread` knows what `other` did at a time.
  bool knows(int thread, int other, uint32_t time) const { return known(thread, other) >= time; }
  void agent_access(const Agent& agent, const void* at, unsigned bytes, Access access, AgentAccess part, Site site);
  // fence.proxy.async of a thread, for shared and global memory.
  void fence_async(int thread, bool shared, bool global);

  // ---- Accesses ----
  void access(int thread, const void* at, unsigned bytes, Access access, Site site);
  void copy_begins(int thread, const void* to, const void* from, unsigned bytes, unsigned valid_bytes, Site site);
  void copy_ends(int thread, const void* to, const void* from, unsigned bytes, unsigned valid_bytes, Site site);

  // For reports: what lies at an address; nothing where it is no memory of the launch.
  std::vector<Memory> memory_at(const void* at) const;
  std::vector<Finding>& findings() { return findings_; }

 private:
  struct Readers {  // of one time and place
    uint32_t time = 0;
    Site site;
    std::vector<uint64_t> threads = {};  // a bit for each
    int next = -1;
  };
  // What is known of the smallest part of memory.
  struct Cell {
    Site write_site, read_site, foreign_site;
    uint32_t write_time = 0, read_time = 0;  // 0: none
    int32_t write_cluster = 0, foreign_cluster = -1;
    uint16_t write_thread = 0, read_thread = 0, foreign_thread = 0;
    bool write_atomic = false, pending = false, write_generic = false;
    int32_t read_cluster = 0;
    int more_readers = -1;  // of the cluster `read_cluster`, beside the one above
  };
  static constexpr int64_t kCellsPerPage = 1024;
  static constexpr int kCoarsestUnitBytes = 16;
  using Page = std::array<Cell, kCellsPerPage>;
  // Of detectors that are gone, for the next of this thread: fresh memory costs more than what is done with it.
  struct Spare {
    std::vector<std::unique_ptr<Page>> pages;
    std::vector<Readers> readers;
  };
  static Spare& spare();
  struct Global {
    Region region;  // in parts as small as accesses so far needed
    int finest_unit_bytes = 1;
    std::vector<std::unique_ptr<Page>> pages;
  };
  struct Event {
    int thread;
    Access access;
    Site site;
    bool is_copy = false;
    const Agent* agent = nullptr;  // then `thread` is its column
  };

  bool ordered(int before, uint32_t time, const Event& now) const {
    if (now.agent) return time <= known(now.agent->clock, before);
    const auto t = size_t(now.thread);
    return before == now.thread || (before < num_threads_ && time <= floor_[t]) ||
           time <= clock(now.thread)[size_t(before)];
  }
  // The same of a read, whose end is all that matters.
  bool read_ordered(int before, uint32_t time, const Event& now) const {
    if (ordered(before, time, now)) return true;
    if (windows_.size() == 1 || before >= num_threads_) return false;
    const int end = end_column(before);
    return time <= (now.agent ? known(now.agent->clock, end) : end < columns_ ? known(now.thread, end) : 0);
  }
  // Whether what another cluster did is ordered before what one of the present one does: it belongs to a launch that
  // has ended.
  bool is_past(int32_t cluster, const Event& now) const;
  uint32_t known(int thread, int column) const { return clock(thread)[size_t(column)]; }
  static uint32_t known(const Clock& clock, int column) {
    return size_t(column) < clock.size() ? clock[size_t(column)] : 0;
  }
  std::span<uint32_t> clock(int thread) {
    return {clocks_.data() + size_t(thread) * size_t(columns_), size_t(columns_)};
  }
  std::span<const uint32_t> clock(int thread) const {
    return {clocks_.data() + size_t(thread) * size_t(columns_), size_t(columns_)};
  }
  uint32_t floor_of(const Event& now) const { return now.agent ? 0 : floor_[size_t(now.thread)]; }
  uint32_t time_of(const Event& now) const {
    return now.agent ? now.agent->time : clock(now.thread)[size_t(now.thread)];
  }
  // The columns, behind those of threads, of what they wrote in sight of the asynchronous proxy.
  int fenced_column(int thread, bool shared) const { return num_threads_ * (shared ? 1 : 2) + thread; }
  // Of clusters of several blocks, behind those: of what they did that has ended.
  int end_column(int thread) const { return num_threads_ * 3 + thread; }
  int first_agent() const { return num_threads_ * (windows_.size() == 1 ? 3 : 4); }
  void add_thread_columns();
  void add_columns(int count);
  static bool is_generic(const Event& now) { return now.agent == nullptr || now.agent->generic; }
  bool check_proxy(const Cell& c, const Event& now, const Memory& memory);
  // The number of the block in its grid.
  int64_t block_of(int column, int32_t cluster) const;
  // With its block, where that is not `here`.
  std::string name_of(int column, int32_t cluster, int64_t here) const;
  std::string name_of(const Event& now) const;  // with its block
  template <class Function>
  void for_cells(const void* at, unsigned bytes, const Event& event, const Function& fn);
  Cell& cell(const Memory& memory, int unit_bytes);
  // The bytes of a cell that accesses at `offset` are kept in. Cells are split where an access is smaller.
  int unit_of_shared(int64_t offset, unsigned bytes);
  int64_t cells_of_window(int unit_bytes) const { return (shared_bytes_ + unit_bytes - 1) / unit_bytes; }
  int unit_of_tensor(size_t tensor, int64_t offset, unsigned bytes);
  Cell copy_of(const Cell& c);
  void check(Cell& c, const Event& now, const Memory& memory);
  void check_readers(Cell& c, const Event& now, const Memory& memory);
  void note_read(Cell& c, const Event& now);
  void add_reader(Cell& c, int thread, uint32_t time, Site site);
  void note_write(Cell& c, const Event& now);
  void free_readers(Cell& c);
  void outside(const void* at, unsigned bytes, const Event& event);
  // Whether these bytes of shared memory, which lie inside of it, hold anything.
  bool holds(int64_t offset, unsigned bytes) const {
    const auto at = [&](int64_t byte) { return size_t(byte) < held_.size() && held_[size_t(byte)]; };
    return held_.empty() || (at(offset) && at(offset + bytes - 1));
  }
  void report(const Event& now, const Memory& memory, const std::string& before, int thread, int32_t cluster,
              Site site);
  void add(Finding finding, uint64_t first, uint64_t second);

  std::vector<Global> tensors_;
  int shared_unit_bytes_, finest_shared_unit_bytes_;
  int64_t red_zone_bytes_;
  int32_t cluster_ = -1;  // of all launches, in order of their runs
  struct Cluster {
    size_t first_block;
    int threads_of_block, num_threads;
  };
  std::vector<Cluster> clusters_;  // of all launches, which may have different ones
  std::vector<int64_t> blocks_;    // of all clusters
  std::vector<SharedWindow> windows_;
  int num_threads_ = 0;  // of the cluster
  int64_t shared_bytes_ = 0, margin_bytes_ = 0;
  // Launches that have ended for all in this one are those before the first cluster `past_`; for those who waited also
  // those from `gap_` on.
  int32_t launch_ = 0, past_ = 0, gap_ = 0;
  bool programmatic_ = false, waited_ = false;
  int launch_column_ = -1;
  std::vector<bool> held_;          // by byte of shared memory; empty: all
  std::vector<Cell> shared_cells_;  // of one window behind the other
  std::vector<uint32_t> clocks_;
  int columns_ = 0;  // of each clock: threads, then from the first agent or fence on more of each, agents
  struct AgentName {
    std::string name;
    int rank;
  };
  std::vector<AgentName> names_;  // of the columns of agents
  std::vector<uint32_t> floor_;   // the smallest entry of each clock
  std::vector<Readers> readers_;
  int free_readers_ = -1;
  std::vector<Finding> findings_;
  std::set<std::tuple<Finding::Kind, uint64_t, uint64_t>> known_;
};

}  // namespace tilewright::sim
