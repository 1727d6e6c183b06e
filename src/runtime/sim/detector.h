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
// Blocks run one after the other here, and are unordered on a GPU: accesses of two blocks conflict unless both read or
// both are atomic.
#pragma once

#include "runtime/sim/findings.h"

#include <tilewright/device/sim/hooks.h>

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

using device::sim::Access;

using Clock = std::vector<uint32_t>;

class Detector {
 public:
  // `red_zone_bytes` of memory before and behind each guarded tensor belong to nobody.
  Detector(std::vector<Region> tensors, int shared_unit_bytes, int64_t red_zone_bytes);
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;
  ~Detector();

  // `margin_bytes` before and behind the block's shared memory belong to nobody.
  void begin_block(int64_t block, int num_threads, const unsigned char* shared, int64_t shared_bytes,
                   int64_t margin_bytes);

  // ---- Order ----
  // What `thread` did is known to whoever joins `to`.
  void release(int thread, Clock& to);
  // `thread` knows what was released to `from`.
  void acquire(int thread, const Clock& from);
  Clock no_clock() const { return Clock(size_t(num_threads_), 0); }

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
    std::array<uint64_t, 16> threads = {};
    int next = -1;
  };
  // What is known of the smallest part of memory.
  struct Cell {
    Site write_site, read_site, foreign_site;
    uint32_t write_time = 0, read_time = 0;  // 0: none
    int32_t write_block = 0, foreign_block = -1;
    uint16_t write_thread = 0, read_thread = 0, foreign_thread = 0;
    bool write_atomic = false, pending = false;
    int32_t read_block = 0;
    int more_readers = -1;  // of the block of `read_block`, beside the one above
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
  };
  struct Found {
    Memory memory;
    int unit_bytes = 1;
  };

  bool ordered(int before, uint32_t time, int now) const {
    return before == now || time <= floor_[size_t(now)] || time <= clock(now)[size_t(before)];
  }
  std::span<uint32_t> clock(int thread) {
    return {clocks_.data() + size_t(thread) * size_t(num_threads_), size_t(num_threads_)};
  }
  std::span<const uint32_t> clock(int thread) const {
    return {clocks_.data() + size_t(thread) * size_t(num_threads_), size_t(num_threads_)};
  }
  template <class Function>
  void for_cells(const void* at, unsigned bytes, const Event& event, const Function& fn);
  Cell& cell(const Memory& memory, int unit_bytes);
  // The bytes of a cell that accesses at `offset` are kept in. Cells are split where an access is smaller.
  int unit_of_shared(int64_t offset, unsigned bytes);
  int unit_of_tensor(size_t tensor, int64_t offset, unsigned bytes);
  Cell copy_of(const Cell& c);
  void check(Cell& c, const Event& now, const Memory& memory);
  void check_readers(Cell& c, const Event& now, const Memory& memory);
  void note_read(Cell& c, const Event& now);
  void add_reader(Cell& c, int thread, uint32_t time, Site site);
  void note_write(Cell& c, const Event& now);
  void free_readers(Cell& c);
  void outside(const void* at, unsigned bytes, const Event& event);
  void report(const Event& now, const Memory& memory, const char* before, int thread, int64_t block, Site site);
  void add(Finding finding, uint64_t first, uint64_t second);

  std::vector<Global> tensors_;
  int shared_unit_bytes_, finest_shared_unit_bytes_;
  int64_t red_zone_bytes_;
  int64_t block_ = 0;
  int num_threads_ = 0;
  const unsigned char* shared_ = nullptr;
  int64_t shared_bytes_ = 0, margin_bytes_ = 0;
  std::vector<Cell> shared_cells_;
  std::vector<uint32_t> clocks_;
  std::vector<uint32_t> floor_;  // the smallest entry of each clock
  std::vector<Readers> readers_;
  int free_readers_ = -1;
  std::vector<Finding> findings_;
  std::set<std::tuple<Finding::Kind, uint64_t, uint64_t>> known_;
};

}  // namespace tilewright::sim
