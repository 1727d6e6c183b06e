// Who accesses which element, and how: finds elements that one iteration of a parallel loop updates atomically while
// another accesses them otherwise.
//
// The two orders of a parallel loop cannot show that: a sum of floats may differ between them by rounding, and what an
// atomic returns differs by right. So the accesses themselves are compared, in one order, by the rule of access_how.h;
// two plain ones only where the log watches those too.
#pragma once

#include "runtime/interp/access_how.h"
#include "runtime/interp/memory.h"

#include <array>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace tilewright::interp {

struct AccessSite;

class AccessLog {
 public:
  enum class Watch : uint8_t {
    only,        // the storages given: their atomics, and what else touches them
    all_except,  // everything but the storages given; plain accesses conflict with each other too
  };
  AccessLog(Watch watch, std::set<const Storage*> storages) : watch_(watch), storages_(std::move(storages)) {}

  // The actor of what follows: the coordinates of an iteration.
  void begin(std::vector<int64_t> actor) { actors_.push_back(std::move(actor)); }

  struct Party {
    AccessHow how;
    const AccessSite* site = nullptr;
    std::vector<int64_t> actor;
  };
  struct Conflict {
    Party earlier, later;
  };
  std::optional<Conflict> see(const AccessSite& site, const Array& array, size_t at, AccessHow how);

  // `value` is added to an element of a float dtype that holds `before`.
  void add(const Array& array, size_t at, double before, double value);
  // Whether two contents of one unit may be the same sum in two orders.
  bool admits(const Snapshot& a, const Snapshot& b) const;

 private:
  static constexpr int64_t kNobody = -1;
  struct Actors {
    int64_t first = kNobody, second = kNobody;  // the first two that did it
    const AccessSite* site = nullptr;
  };
  struct Use {
    std::array<Actors, kNumAccessHows> by;  // by AccessHow::number
    double magnitude = 0, adds = 0;
    DType dtype = DType::f32;
  };
  struct Key {
    const Storage* storage;
    size_t unit;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const {
      return std::hash<const void*>()(k.storage) ^ (k.unit * 0x9e3779b97f4a7c15u);
    }
  };
  bool conflicts(AccessHow a, AccessHow b) const;

  Watch watch_;
  std::set<const Storage*> storages_;
  std::vector<std::vector<int64_t>> actors_;
  std::unordered_map<Key, Use, Hash> uses_;
};

}  // namespace tilewright::interp
