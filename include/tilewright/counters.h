// What the warps of a simulated GPU did, in numbers. docs/simulator.md explains each.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

namespace tilewright {

struct Counters {
  // One level of memory. A request is one access by the lanes of a warp.
  struct Level {
    int64_t requests = 0;
    int64_t transactions = 0;  // that the requests took: wavefronts of shared memory, sectors of 32 bytes of global
    int64_t ideal = 0;         // the fewest that requests of their kind and bytes take
    int64_t read_bytes = 0, written_bytes = 0;

    int64_t excess() const { return transactions - ideal; }
    friend bool operator==(const Level&, const Level&) = default;
  };
  // Asynchronous copies of a warp that have been started and not waited for.
  struct InFlight {
    int groups = 0;     // committed, without those that have no copy
    int64_t bytes = 0;  // of all lanes
    friend auto operator<=>(const InFlight&, const InFlight&) = default;
  };

  Level shared, global;
  std::map<int, int64_t> copied_bytes;   // by asynchronous copies, which the levels count too: by bytes of one lane
  int64_t mma = 0, flops = 0;            // instructions of a warp on tensor cores
  std::map<InFlight, int64_t> mma_with;  // mma, by what was in flight meanwhile
  int64_t barriers = 0;                  // bar.sync, bar.red and bar.arrive of a warp
  int64_t atomics = 0;                   // of a warp; the levels count them as writes

  Counters& operator+=(const Counters& other);
  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace tilewright
