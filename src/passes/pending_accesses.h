// What threads of a block access between two barriers, and whether that meets what comes next: for place_sync.
#pragma once

#include "ir/kernel.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace tilewright::passes {

// Memory that the threads of a block share, by one number for each array: the tensor of a global tile, else the tile.
using Memory = int64_t;
inline constexpr Memory kPrinted = INT64_MIN;  // where prints go

// Arrays that are accessed, each with how its elements belong to threads: accesses of the same way are of one thread
// for each element, and need no barrier. Empty where nothing is known.
class Accessed {
 public:
  void add(Memory memory, const std::string& owner = {}) {
    const auto [at, fresh] = owners_.emplace(memory, owner);
    if (!fresh && at->second != owner) at->second.clear();
  }
  void add(const Accessed& other) {
    for (const auto& [memory, owner] : other.owners_) add(memory, owner);
  }
  bool contains(Memory memory) const { return owners_.contains(memory); }
  bool empty() const { return owners_.empty(); }
  bool meets(const Accessed& other) const {
    return std::any_of(owners_.begin(), owners_.end(), [&](const auto& access) {
      const auto same = other.owners_.find(access.first);
      return same != other.owners_.end() && (access.second.empty() || access.second != same->second);
    });
  }
  friend bool operator==(const Accessed&, const Accessed&) = default;

 private:
  std::map<Memory, std::string> owners_;
};

// Accesses by any thread since the last barrier.
struct Pending {
  Accessed reads, writes;
  // By atomics of one kind whose results nobody uses: their order does not matter.
  std::set<std::tuple<Memory, ir::AtomicKind, DType>> updates;
  bool releases = false;  // an atomic hands on what all threads did before
  bool async = false;     // some of the writes are cp.async that nothing waits for yet

  void add(const Pending& other) {
    async |= other.async;
    reads.add(other.reads);
    writes.add(other.writes);
    updates.insert(other.updates.begin(), other.updates.end());
    releases |= other.releases;
  }
  bool conflicts(const Pending& next) const {
    if (next.releases && !(reads.empty() && writes.empty() && updates.empty())) return true;
    return writes.meets(next.reads) || writes.meets(next.writes) || reads.meets(next.writes) || updates_meet(next) ||
           next.updates_meet(*this);
  }
  // Whether an update is of what `other` accesses in another way.
  bool updates_meet(const Pending& other) const {
    return std::any_of(updates.begin(), updates.end(), [&](const auto& update) {
      const Memory memory = std::get<Memory>(update);
      if (other.reads.contains(memory) || other.writes.contains(memory)) return true;
      return std::any_of(other.updates.begin(), other.updates.end(),
                         [&](const auto& u) { return std::get<Memory>(u) == memory && u != update; });
    });
  }
  friend bool operator==(const Pending&, const Pending&) = default;
};

// Of code of one thread.
Pending pending_accesses(const ir::Kernel& kernel, const ir::Expr& e);
Pending pending_accesses(const ir::Kernel& kernel, const ir::Stmt& stmt);

}  // namespace tilewright::passes
