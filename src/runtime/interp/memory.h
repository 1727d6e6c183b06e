// The interpreter's memory: every tile and tensor as a row-major array of values, with a journal that undoes writes.
#pragma once

#include "runtime/interp/block_watch.h"
#include "runtime/interp/mode.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tilewright::interp {

union Cell {
  int64_t i = 0;
  double f;
};

enum : uint8_t { kInitialised = 1, kWritten = 2 };

// The memory of one tile or tensor, and of its views. A unit is an element and its cell the value; where views have
// other dtypes ("raw") a unit is as wide as the narrowest element and its cell has the bits. `bounds` is empty unless
// errors are tracked.
struct Storage {
  bool holds_floats = false;  // when not raw
  int unit_bytes = 0;         // 0: not raw
  std::vector<Cell> cells;
  std::vector<uint8_t> states;
  std::vector<Bound> bounds;
  // Raw: the dtype of the element that a unit was last written as a part of, and whether that was a zero or NaN, whose
  // bits are not all determined.
  std::vector<uint8_t> writers;
  BlockWatch watch;  // of a tensor that the running kernel writes; by unit

  bool raw() const { return unit_bytes > 0; }
  // `dtypes` are those of the tile and its views; `count` the elements of the tile.
  // Throws where this machine cannot hold them.
  void resize(DType dtype, std::span<const DType> dtypes, size_t count, bool tracked, const std::string& name,
              const Loc& loc);
  void forget();  // all elements uninitialised
  void lose_bound(size_t unit) { bounds[unit].err = bounds[unit].base = std::numeric_limits<double>::infinity(); }
};

// A row of the tile table at run time: the elements of a storage by a shape and a dtype.
struct Array {
  Storage* storage = nullptr;
  std::vector<int64_t> shape;
  DType dtype = DType::f32;
  size_t units = 1;  // of one element

  Array() = default;
  Array(Storage& memory, std::vector<int64_t> extents, DType element);

  bool initialised(size_t at) const {
    for (size_t k = 0; k < units; ++k) {
      if (!(storage->states[at * units + k] & kInitialised)) return false;
    }
    return true;
  }
  void mark_written(size_t at) const {
    for (size_t k = 0; k < units; ++k) storage->states[at * units + k] = kInitialised | kWritten;
  }
  void lose_bound(size_t at) const {
    for (size_t k = 0; k < units; ++k) storage->lose_bound(at * units + k);
  }
  // What a tracked load knows of the element.
  Bound bound_of(size_t at) const;

  template <class M>
  typename M::Float load_float(size_t at) const {
    const double value = storage->raw() ? raw_value(at).f : storage->cells[at].f;
    if constexpr (M::kTracked)
      return {value, storage->raw() ? bound_of(at) : storage->bounds[at]};
    else
      return value;
  }
  template <class M>
  typename M::Int load_int(size_t at) const {
    const int64_t value = storage->raw() ? raw_value(at).i : storage->cells[at].i;
    if constexpr (M::kTracked)
      return {value, bound_of(at).err > 0};
    else
      return value;
  }
  template <class M>
  void put(size_t at, const typename M::Float& value) const requires(M::kTracked) {
    put_cell(at, {.f = value.value});
    put_bound(at, value.bound);
  }
  template <class M>
  void put(size_t at, const typename M::Int& value) const requires(M::kTracked) {
    put_cell(at, {.i = value.value});
    const double err = value.undetermined ? std::numeric_limits<double>::infinity() : 0;
    put_bound(at, {.err = err, .mag = 0, .base = err, .adds = 0});
  }
  template <class M>
  void put(size_t at, double value) const requires(!M::kTracked) {
    put_cell(at, {.f = value});
  }
  template <class M>
  void put(size_t at, int64_t value) const requires(!M::kTracked) {
    put_cell(at, {.i = value});
  }

  // The bytes of an element in a raw storage.
  void put_bytes(size_t at, const std::byte* bytes, bool free_bits) const;
  void get_bytes(size_t at, std::byte* bytes) const;

 private:
  void put_cell(size_t at, Cell value) const {
    if (storage->raw()) [[unlikely]]
      return put_raw(at, value);
    storage->cells[at] = value;
  }
  void put_bound(size_t at, const Bound& bound) const {
    for (size_t k = 0; k < units; ++k) storage->bounds[at * units + k] = bound;
  }
  Cell raw_value(size_t at) const;
  void put_raw(size_t at, Cell value) const;
};

// The content of one unit.
struct Snapshot {
  Storage* storage = nullptr;
  size_t at = 0;
  Cell cell;
  uint8_t state = 0;
  uint8_t writer = 0;
  Bound bound;

  static Snapshot of(Storage& storage, size_t at);
  void restore() const;
  // Same value and state; zeros of either sign are equal, and so are NaNs.
  bool equals(const Snapshot& other) const;
};

// Old contents of written units, in order of writing. Loops nest: each looks at the entries after its own mark.
class Journal {
 public:
  size_t mark() const { return entries_.size(); }
  void record(Storage& storage, size_t at) { entries_.push_back(Snapshot::of(storage, at)); }
  void record(const Array& array, size_t at) {
    for (size_t k = 0; k < array.units; ++k) record(*array.storage, at * array.units + k);
  }
  // The present contents of the units written since `mark`.
  std::vector<Snapshot> present(size_t mark) const;
  void roll_back(size_t mark);
  void drop(size_t mark) { entries_.resize(mark); }

 private:
  std::vector<Snapshot> entries_;
};

}  // namespace tilewright::interp
