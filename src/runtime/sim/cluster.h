// Clusters of blocks, as the PTX manual ("Cluster of Cooperative Thread Arrays", "barrier.cluster") has them.
#pragma once

#include "runtime/sim/detector.h"
#include "runtime/sim/mbarrier.h"

#include <tilewright/device/sim/hooks.h>

#include <array>
#include <cstdint>
#include <map>
#include <semaphore>
#include <vector>

namespace tilewright::sim {

constexpr int kMaxWarps = 32, kNumBarriers = 16;
// CUDA allows no more, the larger ones where a kernel says so.
constexpr unsigned kMaxBlocksOfCluster = 16;

// PTX: barriers of a block. A phase ends when `expected` threads have come.
struct Barrier {
  unsigned expected = 0;  // of this phase; 0: none came yet
  bool whole_block = false;
  unsigned arrived = 0;  // that wait, and that only arrived
  std::array<uint32_t, kMaxWarps> waiting = {};
  unsigned all = 1, count = 0;  // votes
  Clock clock = {};             // of those that came
};

// The barrier of all threads of a cluster that have not ended.
struct ClusterBarrier {
  int arrived = 0;      // of those that have not ended
  Clock clock = {};     // what those hand on who came to this phase
  Clock released = {};  // the same of the phase before
};

// Where memory of a block is, packed as addresses of the cluster's window are, but with the rank itself.
struct SharedPlace {
  unsigned packed = 0;

  static SharedPlace of(int rank, unsigned offset) { return {unsigned(rank) << device::sim::kBlockShift | offset}; }
  int rank() const { return int(packed >> device::sim::kBlockShift); }
  unsigned offset() const { return packed & ((1u << device::sim::kBlockShift) - 1); }
  Memory memory() const { return {-1 - rank(), int64_t(offset())}; }
  friend auto operator<=>(const SharedPlace&, const SharedPlace&) = default;
};

// The arrival of a thread's cp.async copies so far, which is to come.
struct CopiesArrival {
  int thread = 0, line = 0;
  uint64_t copies = 0;  // of all that the thread ever started
  SharedPlace barrier = {};
  Clock clock = {};
};

// The last access of a thread to the shared memory of another block.
struct Visit {
  uint32_t time = 0;
  int line = 0;
};

// What a cluster has once for each block.
struct BlockState {
  int64_t number = 0;  // in the grid
  int num_alive = 0;   // threads
  std::array<Barrier, kNumBarriers> barriers = {};
  std::map<int, Visit> visits = {};  // by others' threads
  Clock at_end = {};                 // what its threads knew when they ended
  // Of the thread of the host that runs it, where its text finds both.
  unsigned char* shared = nullptr;
  const device::sim::ThreadView** view = nullptr;
  void* main_stack = nullptr;
};

// Whose turn it is. Each block runs in a thread of the host of its own, as texts find shared memory by that thread; one
// of them runs at a time.
struct Turn {
  std::binary_semaphore given{0};
};

}  // namespace tilewright::sim
