// Runs the blocks of one kernel: every thread of a block is a fiber, those of a block on one thread of the host.
#pragma once

#include "runtime/sim/findings.h"
#include "target/sim.h"

#include <tilewright/device/sim/hooks.h>

#include <cstdint>
#include <optional>

namespace tilewright::sim {

class Detector;
class WarpCounter;

// One kernel as its module gives it.
struct Code {
  void (*enter)(void* const* arguments) = nullptr;
  unsigned char* (*shared)() = nullptr;  // of the calling thread
  const device::sim::ThreadView** (*thread)() = nullptr;
  int64_t shared_bytes = 0;     // what the kernel asked for
  int64_t margin_bytes = 0;     // before and behind them
  int shared_unit_bytes = 1;    // the smallest part that is accessed by itself
  int blocks_of_registers = 1;  // that share what a multiprocessor has
};

// One block, or the blocks of a cluster of these extents, of which `block` is the first. The grid is a multiple of
// them.
struct Block {
  device::sim::Dim3 block, grid, threads;
  device::sim::Dim3 cluster = {1, 1, 1};
};

// The functions that a module's `hooks` points to.
const device::sim::Hooks& hooks();

// Runs one block, or one cluster, to its end. `arguments`: the addresses of the kernel's arguments. May be called from
// several threads at once. `detector` and `counter`, of code compiled with TW_SIM_CHECKED, watch; then blocks run one
// after the other. Clusters of several blocks are not counted.
std::optional<Finding> run_block(const Code& code, const Block& block, void* const* arguments,
                                 const SimAdversary& adversary, Detector* detector = nullptr,
                                 WarpCounter* counter = nullptr);

}  // namespace tilewright::sim
