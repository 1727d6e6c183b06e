// The state of a running program, and the closures that programs are compiled to.
#pragma once

#include "ir/kernel.h"
#include "runtime/interp/interp.h"
#include "runtime/interp/memory.h"

#include <memory>
#include <utility>
#include <vector>

namespace tilewright::interp {

// One access in the program text.
struct AccessSite {
  ir::TileId id = -1;
  const ir::Tile* tile = nullptr;
  Loc loc;
};

// Accesses seen while a loop is run again to explain a difference between its two orders.
struct TracedAccess {
  const AccessSite* site = nullptr;
  bool is_write = false;
  Snapshot after;
  std::vector<int64_t> iteration;
};

struct Trace {
  // What to keep: accesses of this element, or those of one iteration.
  const Storage* storage = nullptr;
  size_t at = 0;
  bool by_iteration = false;
  std::vector<int64_t> only;
  std::vector<int64_t> iteration;  // of the loop in question, kept by it
  std::vector<TracedAccess> accesses = {};

  void see(const AccessSite& site, Storage& where, size_t index, bool is_write);
};

// A block of a grid, by number.
struct BlockNumber {
  int64_t number;
  const std::vector<int64_t>& grid;
};

[[noreturn]] void throw_block_conflict(const AccessSite& site, const Storage& storage, size_t at, Touching how,
                                       const BlockWatch::Touch& other, const BlockNumber& block);

template <class M>
struct Machine {
  struct Var {
    typename M::Float f{};
    typename M::Int i{};
  };
  std::vector<Var> vars;        // by VarId
  std::vector<Storage*> tiles;  // by TileId
  std::vector<int64_t> block;   // coordinates
  std::vector<int64_t> grid;
  int64_t block_number = 0;  // the first dimension is the fastest
  bool watching = true;      // false while code runs that no block need run
  const ir::Kernel* kernel = nullptr;
  InterpOptions options;
  Journal journal;
  int open_journals = 0;  // parallel loops that may roll back
  Trace* trace = nullptr;
  // Tracked mode: inside a branch whose condition is undetermined; a loop of whose iterations the number is.
  int undetermined_depth = 0;
  bool undetermined_loop = false;

  // Throws where another block of the kernel touches the element in a way that the order of blocks decides about.
  void watch(const AccessSite& site, Storage& storage, size_t at, Touching how) {
    if (!storage.watch.watches() || !watching) [[likely]]
      return;
    const BlockWatch::Touch* other = storage.watch.touch(at, block_number, site, how);
    if (other) [[unlikely]]
      throw_block_conflict(site, storage, at, how, *other, {block_number, grid});
  }
  void before_write(const AccessSite& site, Storage& storage, size_t at, bool journaled) {
    watch(site, storage, at, Touching::write);
    if (journaled && open_journals > 0) [[unlikely]]
      journal.record(storage, at);
  }
  void after_write(const AccessSite& site, Storage& storage, size_t at) {
    if constexpr (M::kTracked) {
      if (undetermined_depth > 0) storage.lose_bound(at);
    }
    storage.states[at] = kInitialised | kWritten;
    if (trace) [[unlikely]]
      trace->see(site, storage, at, true);
  }
  // No element of the tile has a bound any more.
  void lose_bounds(Storage& storage) {
    for (size_t at = 0; at < storage.bounds.size(); ++at) {
      if (open_journals > 0) journal.record(storage, at);
      storage.lose_bound(at);
    }
  }
};

enum class Flow : uint8_t { next, break_loop, continue_loop };

template <class M, class Result>
struct Node {
  virtual ~Node() = default;
  virtual Result run(Machine<M>& m) const = 0;
};

template <class M>
using FloatNode = std::unique_ptr<const Node<M, typename M::Float>>;
template <class M>
using IntNode = std::unique_ptr<const Node<M, typename M::Int>>;
template <class M>
using StepNode = std::unique_ptr<const Node<M, Flow>>;

template <class M, class Result, class F>
class Closure final : public Node<M, Result> {
 public:
  explicit Closure(F f) : f_(std::move(f)) {}
  Result run(Machine<M>& m) const override { return f_(m); }

 private:
  F f_;
};

template <class M, class Result, class F>
std::unique_ptr<const Node<M, Result>> closure(F f) {
  return std::make_unique<const Closure<M, Result, F>>(std::move(f));
}

// One coordinate: a constant, a variable, or anything.
template <class M>
struct Coordinate {
  enum class Kind : uint8_t { constant, variable, general } kind = Kind::constant;
  int64_t value = 0;  // of the constant; the VarId
  IntNode<M> node = nullptr;

  typename M::Int run(Machine<M>& m) const {
    if (kind == Kind::variable) return m.vars[size_t(value)].i;
    if (kind == Kind::constant) return M::int_imm(value);
    return node->run(m);
  }
};

// An element of a tile, by coordinates.
template <class M>
struct Place {
  AccessSite site;
  std::vector<Coordinate<M>> coordinates;

  // Row-major number of the element; -1 outside the tile.
  int64_t locate(Machine<M>& m, const Storage& storage, bool& undetermined) const {
    int64_t at = 0;
    bool inside = true;
    for (size_t d = 0; d < coordinates.size(); ++d) {
      const typename M::Int c = coordinates[d].run(m);
      if constexpr (M::kTracked) undetermined |= M::undetermined(c);
      const int64_t extent = storage.shape[d];
      inside &= uint64_t(M::value(c)) < uint64_t(extent);
      at = int64_t(uint64_t(at) * uint64_t(extent) + uint64_t(M::value(c)));
    }
    return inside ? at : -1;
  }
  std::vector<int64_t> values(Machine<M>& m) const {
    std::vector<int64_t> out;
    for (const Coordinate<M>& c : coordinates) out.push_back(M::value(c.run(m)));
    return out;
  }
};

}  // namespace tilewright::interp
