// Counts what warps do: requests to memory, what they take, products, barriers.
//
// The lanes of a warp run one after the other, so an access of the warp is put together from those of its lanes: the
// n-th access that each lane makes at one place of the code since all lanes of the warp last met. They meet where all
// that have not ended take part in one barrier or one operation of the warp.
#pragma once

#include "runtime/sim/detector.h"

#include <tilewright/counters.h>
#include <tilewright/device/sim/hooks.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilewright::sim {

class Executor;

// What one lane accesses; no bytes: the lane takes no part.
struct LaneAccess {
  uint64_t at = 0;
  unsigned bytes = 0;
};

struct Transactions {
  int64_t actual = 0, ideal = 0;
  friend bool operator==(const Transactions&, const Transactions&) = default;
};

// Of a request of 32 lanes. Shared memory has 32 banks of 4 bytes; a wavefront takes one word of each. Lanes that
// access 8 bytes are served by halves of the warp, those of 16 by quarters.
Transactions wavefronts(std::span<const LaneAccess> lanes);
// Global memory is accessed by sectors of 32 bytes.
Transactions sectors(std::span<const LaneAccess> lanes);

class WarpCounter {
 public:
  // `tensors`: what counts as global memory.
  explicit WarpCounter(std::vector<Region> tensors) : tensors_(std::move(tensors)) {}

  void begin_block(int num_threads, const unsigned char* shared, int64_t shared_bytes);
  void end_block();
  // All lanes of a warp that have not ended are at one place.
  void meet(int warp);

  void access(int thread, const void* at, unsigned bytes, Access access, Site site);
  void copy(int thread, const void* to, const void* from, unsigned bytes, unsigned valid_bytes, Site site);
  void barrier(int thread, Site site);
  // The operation of a warp whose lanes the executor has at hand.
  void warp_op(device::sim::WarpOp op, device::sim::Lane* const* lanes, Executor& executor);

  // By Site::value.
  const std::map<uint64_t, Counters>& sites() const { return sites_; }
  // More accesses between two meetings than are put together: the numbers are not those of the kernel.
  bool overflowed() const { return overflowed_; }

 private:
  enum class Kind : uint8_t { shared, global, copy_to, copy_from, barrier };
  // Lanes of one access that have come so far.
  struct Request {
    uint32_t lanes = 0;
    std::array<LaneAccess, 32> accesses = {};
  };
  // One kind of access at one place of the code.
  struct Place {
    Kind kind;
    Access access;
    uint64_t site;
  };
  // A place, in one warp since its lanes met.
  struct Visit {
    std::array<uint32_t, 32> times = {};  // of each lane
    std::vector<int32_t> requests;        // of each time; -1: complete
  };
  struct Warp {
    uint32_t exists = 0;
    std::vector<Visit> visits;  // by place
    std::vector<int> visited;   // places
    std::vector<Request> requests;
    std::vector<int32_t> free;
  };

  bool is_shared(const unsigned char* at) const { return at >= shared_ && at < shared_ + shared_bytes_; }
  bool is_global(const unsigned char* at) const;
  int place_of(Kind kind, Access access, Site site);
  void add(int thread, Kind kind, Access access, Site site, LaneAccess what);
  void count(const Place& place, const Request& request);
  Counters& counters(Site site) { return sites_[site.value]; }

  std::vector<Region> tensors_;
  const unsigned char* shared_ = nullptr;
  int64_t shared_bytes_ = 0;
  std::vector<Place> places_;
  std::unordered_map<uint64_t, int> place_numbers_;
  std::vector<Warp> warps_;
  std::map<uint64_t, Counters> sites_;
  bool overflowed_ = false;
};

}  // namespace tilewright::sim
