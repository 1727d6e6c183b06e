// Parallel loops: run in two orders, compared, undone.
#pragma once

#include "runtime/interp/machine.h"

namespace tilewright::interp {

template <class M>
struct ParallelLoop {
  struct Dim {
    ir::VarId var;
    IntNode<M> begin, extent;
    int64_t step;
  };
  std::vector<Dim> dims;
  std::vector<ir::TileId> locals;   // private to each iteration
  std::vector<ir::TileId> atomics;  // accessed by atomics
  bool reads_atomics = false;       // what an atomic returns depends on the order by right: only one is run
  StepNode<M> body;
  Loc loc;

  // Leaves the state of the forward order. Throws where the reverse order gives another.
  void run(Machine<M>& m) const;

 private:
  struct Orders {
    std::vector<TracedAccess> forward, reverse;
  };

  void run_order(Machine<M>& m, bool reverse) const;
  void run_dim(Machine<M>& m, size_t d, bool reverse) const;
  void run_body(Machine<M>& m) const;
  void run_reverse(Machine<M>& m, size_t mark) const;
  void run_both(Machine<M>& m) const;
  void compare(Machine<M>& m, size_t mark) const;
  Orders traced(Machine<M>& m, const Trace& filter) const;
  std::vector<TracedAccess> traced_order(Machine<M>& m, Trace trace, bool reverse) const;
  [[noreturn]] void explain(Machine<M>& m, const Snapshot& forward, const Snapshot& reverse) const;
  [[noreturn]] void explain_read(Machine<M>& m, const TracedAccess& write, const Snapshot& forward,
                                 const Snapshot& reverse) const;
};

extern template struct ParallelLoop<Plain>;
extern template struct ParallelLoop<Tracked>;

}  // namespace tilewright::interp
