// Barriers in shared memory, as the PTX manual ("mbarrier") has them.
#pragma once

#include "runtime/sim/detector.h"

#include <array>
#include <cstdint>

namespace tilewright::sim {

// A phase ends when no arrival and no byte is pending. Bytes may come before they are expected: then fewer than none
// are pending.
struct Mbarrier {
  unsigned expected = 0;  // arrivals of each phase
  unsigned pending = 0;   // arrivals that this phase lacks
  int64_t pending_bytes = 0;
  uint32_t phase = 0;
  int init_thread = 0, init_line = 0;
  uint32_t init_time = 0;                 // of that thread
  bool known_to_async = false;            // a fence by that thread came after init
  bool init_fenced = false;               // one of what initialises
  int known_after_waits = 0;              // at the barrier of the cluster, which that thread came to behind its fence
  std::array<uint32_t, 32> waiting = {};  // lanes of each warp, for the end of this phase
  Clock arrived = {};                     // what those who came to this phase know
  Clock released = {};                    // what those know who waited for the phase before
  // The same of what is handed on across blocks, to those whose wait has the scope of the cluster.
  Clock arrived_cluster = {}, released_cluster = {};
  int column = -1;  // of the copies that complete here, in phase p at first_time + p + 1
  uint32_t first_time = 0;
};

}  // namespace tilewright::sim
