// How an element is accessed, and which accesses by two actors (iterations of a parallel loop, blocks of a grid) do not
// go together, because the order of the actors would decide about the result.
#pragma once

#include "ir/stmt.h"

#include <string>

namespace tilewright::interp {

// A plain read or store, or an atomic.
struct AccessHow {
  int number = 0;  // 0 read, 1 store, 2 + AtomicKind

  static AccessHow read() { return {0}; }
  static AccessHow store() { return {1}; }
  static AccessHow atomic(ir::AtomicKind kind) { return {2 + int(kind)}; }
  bool is_atomic() const { return number >= 2; }
  bool changes() const { return number != 0 && number != 2 + int(ir::AtomicKind::load); }
  std::string text() const;  // "a plain read", "a plain store", "atomic_add"
};
inline constexpr int kNumAccessHows = 2 + ir::kNumAtomicKinds;

// Two accesses of one element by different actors conflict when
//     both are atomic and change the element in different ways (an add and a max, a store and an add);
//     one is atomic and the other a plain store, or a plain read of what the atomic changes;
//     both are plain, one of them a store.
bool conflict(AccessHow a, AccessHow b);

}  // namespace tilewright::interp
