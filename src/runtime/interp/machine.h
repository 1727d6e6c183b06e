// The state of a running program, and the closures that programs are compiled to.
#pragma once

#include "ir/kernel.h"
#include "runtime/interp/access_log.h"
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
  // What to keep: accesses of this unit, or those of one iteration.
  const Storage* storage = nullptr;
  size_t at = 0;
  bool by_iteration = false;
  std::vector<int64_t> only;
  std::vector<int64_t> iteration;  // of the loop in question, kept by it
  std::vector<TracedAccess> accesses = {};

  void see(const AccessSite& site, const Array& array, size_t index, bool is_write);
};

// A block of a grid, by number.
struct BlockNumber {
  int64_t number;
  const std::vector<int64_t>& grid;
};

// Throw the error for two accesses of one element that do not go together: by blocks, and by iterations.
[[noreturn]] void throw_block_conflict(const AccessSite& site, const Array& array, size_t at, AccessHow how,
                                       const BlockWatch::Conflict& other, const BlockNumber& block);
[[noreturn]] void throw_conflict(const AccessLog::Conflict& conflict, const Array& array, size_t at,
                                 std::span<const int64_t> block);

template <class M>
struct Machine {
  struct Var {
    typename M::Float f{};
    typename M::Int i{};
  };
  std::vector<Var> vars;       // by VarId
  std::vector<Array> tiles;    // by TileId
  std::vector<int64_t> block;  // coordinates
  std::vector<int64_t> grid;
  int64_t block_number = 0;  // the first dimension is the fastest
  bool one_block = true;     // in the grid
  const ir::Kernel* kernel = nullptr;
  InterpOptions options;
  Journal journal;
  int open_journals = 0;  // parallel loops that may roll back
  Trace* trace = nullptr;
  // Tracked mode: inside a branch whose condition is undetermined; a loop of whose iterations the number is.
  int undetermined_depth = 0;
  bool undetermined_loop = false;

  // Compares the accesses of the iterations of a parallel loop with atomics.
  AccessLog* iteration_log = nullptr;
  // Above 0 while statements run again in another order, or expressions that the program does not evaluate: neither
  // accesses nor prints count.
  int reruns = 0;

  // Throws where another iteration, or another block of the kernel, accesses the element in a way that the order of
  // the two decides about.
  void access(const AccessSite& site, const Array& array, size_t at, AccessHow how) {
    BlockWatch& watch = array.storage->watch;
    if (iteration_log == nullptr && !watch.watches()) [[likely]]
      return;
    if (reruns > 0 || trace) return;
    if (iteration_log) {
      if (const auto conflict = iteration_log->see(site, array, at, how)) throw_conflict(*conflict, array, at, block);
    }
    for (size_t k = 0; watch.watches() && k < array.units; ++k) {
      BlockWatch::Conflict found;
      if (!watch.touch(at * array.units + k, block_number, site, how, found)) [[unlikely]]
        throw_block_conflict(site, array, at, how, found, {block_number, grid});
    }
  }

  void before_write(const Array& array, size_t at, bool journaled) {
    if (journaled && open_journals > 0) [[unlikely]]
      journal.record(array, at);
  }
  void after_write(const AccessSite& site, const Array& array, size_t at) {
    if constexpr (M::kTracked) {
      if (undetermined_depth > 0) array.lose_bound(at);
    }
    array.mark_written(at);
    if (trace) [[unlikely]]
      trace->see(site, array, at, true);
  }
  // No element of the tile has a bound any more.
  void lose_bounds(const Array& array) {
    Storage& storage = *array.storage;
    for (size_t unit = 0; unit < storage.bounds.size(); ++unit) {
      if (open_journals > 0) journal.record(storage, unit);
      storage.lose_bound(unit);
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
  int64_t locate(Machine<M>& m, const Array& array, bool& undetermined) const {
    int64_t at = 0;
    bool inside = true;
    for (size_t d = 0; d < coordinates.size(); ++d) {
      const typename M::Int c = coordinates[d].run(m);
      if constexpr (M::kTracked) undetermined |= M::undetermined(c);
      const int64_t extent = array.shape[d];
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
