// Who accesses which element, and how: finds elements that one iteration (or block) updates atomically while another
// accesses them otherwise.
//
// The two orders of a parallel loop cannot show that: a sum of floats may differ between them by rounding, and what an
// atomic returns differs by right. So the accesses themselves are compared, in one order. Two accesses of one element
// by different actors conflict when
//     both are atomic and change the element in different ways (an add and a max, a store and an add);
//     one is atomic and the other a plain store, or a plain read of what the atomic changes;
//     both are plain, one of them a store, and the log watches plain accesses too.
#pragma once

#include "runtime/interp/memory.h"

#include "ir/stmt.h"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright::interp {

struct AccessSite;

// A plain read or store, or an atomic.
struct AccessHow {
  int number = 0;  // 0 read, 1 store, 2 + AtomicKind

  static AccessHow read() { return {0}; }
  static AccessHow store() { return {1}; }
  static AccessHow atomic(ir::AtomicKind kind) { return {2 + int(kind)}; }
  bool is_atomic() const { return number >= 2; }
  bool changes() const { return number != 0 && number != 2 + int(ir::AtomicKind::load); }
  std::string text() const;  // "read", "stored", "atomic_add"
};
inline constexpr int kNumAccessHows = 2 + ir::kNumAtomicKinds;

class AccessLog {
 public:
  enum class Watch : uint8_t {
    only,        // the storages given: their atomics, and what else touches them
    all_except,  // everything but the storages given; plain accesses conflict with each other too
  };
  AccessLog(Watch watch, std::set<const Storage*> storages) : watch_(watch), storages_(std::move(storages)) {}

  bool watches_any() const { return watch_ == Watch::all_except || !storages_.empty(); }
  // The actor of what follows, e.g. the coordinates of an iteration.
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
