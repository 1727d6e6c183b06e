// The interpreter's memory: every tile and tensor as a row-major array of values, with a journal that undoes writes.
#pragma once

#include "runtime/interp/block_watch.h"
#include "runtime/interp/mode.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tilewright::interp {

union Cell {
  int64_t i = 0;
  double f;
};

enum : uint8_t { kInitialised = 1, kWritten = 2 };

// One array. `bounds` is empty unless errors are tracked.
struct Storage {
  bool holds_floats = false;
  std::vector<int64_t> shape;
  std::vector<Cell> cells;
  std::vector<uint8_t> states;
  std::vector<Bound> bounds;
  BlockWatch watch;  // of a tensor that the running kernel writes

  void resize(bool floats, std::vector<int64_t> extents, bool tracked);
  void forget();  // all elements uninitialised
  void lose_bound(size_t at) { bounds[at].err = bounds[at].base = std::numeric_limits<double>::infinity(); }

  template <class M>
  typename M::Float load_float(size_t at) const {
    if constexpr (M::kTracked)
      return {cells[at].f, bounds[at]};
    else
      return cells[at].f;
  }
  template <class M>
  typename M::Int load_int(size_t at) const {
    if constexpr (M::kTracked)
      return {cells[at].i, bounds[at].err > 0};
    else
      return cells[at].i;
  }
  template <class M>
  void put(size_t at, const typename M::Float& value) requires(M::kTracked) {
    cells[at].f = value.value;
    bounds[at] = value.bound;
  }
  template <class M>
  void put(size_t at, const typename M::Int& value) requires(M::kTracked) {
    cells[at].i = value.value;
    const double err = value.undetermined ? std::numeric_limits<double>::infinity() : 0;
    bounds[at] = {.err = err, .mag = 0, .base = err, .adds = 0};
  }
  template <class M>
  void put(size_t at, double value) requires(!M::kTracked) {
    cells[at].f = value;
  }
  template <class M>
  void put(size_t at, int64_t value) requires(!M::kTracked) {
    cells[at].i = value;
  }
};

// The content of one element.
struct Snapshot {
  Storage* storage = nullptr;
  size_t at = 0;
  Cell cell;
  uint8_t state = 0;
  Bound bound;

  static Snapshot of(Storage& storage, size_t at);
  void restore() const;
  // Same value and state; zeros of either sign are equal, and so are NaNs.
  bool equals(const Snapshot& other) const;
};

// Old contents of written elements, in order of writing. Loops nest: each looks at the entries after its own mark.
class Journal {
 public:
  size_t mark() const { return entries_.size(); }
  void record(Storage& storage, size_t at) { entries_.push_back(Snapshot::of(storage, at)); }
  // The present contents of the elements written since `mark`.
  std::vector<Snapshot> present(size_t mark) const;
  void roll_back(size_t mark);
  void drop(size_t mark) { entries_.resize(mark); }

 private:
  std::vector<Snapshot> entries_;
};

}  // namespace tilewright::interp
