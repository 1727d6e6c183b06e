// Schedules: when and by which warps the statements of a loop run, and what the warps hand to each other. Data on a
// loop; docs/schedules.md shows tables. expand_schedule turns them into loops, place_channel_sync into barriers.
#pragma once

#include "ir/expr.h"

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

inline constexpr int kWarpThreads = 32;

// The range of warps of a block that executes a statement; num_warps 0 means all of them.
struct ExecSet {
  int first_warp = 0;
  int num_warps = 0;
  friend bool operator==(const ExecSet&, const ExecSet&) = default;
};
// The warps of `inner` are among those of `outer`.
bool contains(const ExecSet& outer, const ExecSet& inner);
bool disjoint(const ExecSet& a, const ExecSet& b);
std::string to_string(const ExecSet& exec);  // warps(4, 8)

// How a statement reaches memory: by ordinary loads and stores, or past them (bulk copies, wgmma).
enum class Proxy : uint8_t { generic, async };

// What says that an access is over: the statement itself, or the completion of groups of a queue.
enum class Queue : uint8_t {
  none,      // over when the statement is
  cp_async,  // groups of the thread: cp.async.wait_group
  mbarrier,  // bytes that a barrier in shared memory counts
  wgmma,     // groups of the warpgroup: wgmma.wait_group
};

// Tiles that `producer` fills and `consumers` read, as a ring of `stages` buffers: iteration i of the loop uses buffer
// i mod stages. A buffer is filled when all producers have committed it and free when all consumers have released it.
struct Channel {
  std::string name;
  std::vector<TileId> tiles;
  int stages = 1;
  ExecSet producer;
  std::vector<ExecSet> consumers;
  friend bool operator==(const Channel&, const Channel&) = default;
};

// The same warps fill and read it.
bool filled_where_read(const Channel& channel);

// One line of the table: a statement of the body, or a step of a channel's protocol, which for iteration i runs `stage`
// steps after the first statements of iteration i, as number `order` of that step.
struct Slot {
  enum class Kind : uint8_t {
    op,       // statement `index` of the loop's body
    acquire,  // the producer waits until the buffer of channel `index` is free
    commit,   // ... and hands it over
    wait,     // a consumer waits until it is filled
    release,  // ... and gives it back
  };
  Kind kind = Kind::op;
  int index = 0;
  int stage = 0;
  int order = 0;
  ExecSet exec;
  friend bool operator==(const Slot&, const Slot&) = default;
  // When it runs, seen from its iteration.
  std::pair<int, int> time() const { return {stage, order}; }
};
inline constexpr int kNumSlotKinds = 5;
std::string_view to_string(Slot::Kind kind);

// Slots of stages below `anchor` run ahead, in a prologue at first; those above it run behind, at last in an epilogue.
struct Schedule {
  int anchor = 0;
  std::vector<Slot> slots;
  std::vector<Channel> channels;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// Warps with code of their own. Role 0 runs what no other role is named for, and the author's threads are its threads.
struct Role {
  std::string name;
  ExecSet exec;
  int max_regs = 0;  // of a thread, from the beginning of the role on; 0: as launched
  friend bool operator==(const Role&, const Role&) = default;
};

}  // namespace tilewright::ir
