// Registers that move between warps. PTX: setmaxnreg.
#include "runtime/sim/executor.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::sim {

namespace {

constexpr unsigned kRegisters = 65536, kMaxRegisters = 256, kUnit = 8;

}  // namespace

// What a thread has at most when the block begins: its share of all registers, or of those that __launch_bounds__
// leaves to each of several blocks, in steps of 8. A kernel that needs fewer begins with fewer, which its text does not
// say.
unsigned Executor::launch_registers() const {
  return std::min(kMaxRegisters,
                  kRegisters / unsigned(code_.blocks_of_registers) / unsigned(num_warps_ * kWarpSize) / kUnit * kUnit);
}

unsigned Executor::registers_of(int warp) const {
  const unsigned own = registers_[size_t(warp)];
  return own == 0 ? launch_registers() : own;
}

unsigned Executor::free_registers(int rank) const {
  unsigned held = 0;
  for (int w = 0; w < num_warps_; ++w) held += registers_of(rank * num_warps_ + w);
  return launch_registers() * unsigned(num_warps_) - held;  // of each lane of a warp
}

// Gives a warp what it waits for if there is as much.
bool Executor::take_registers(int warp) {
  unsigned& wanted = wanted_registers_[size_t(warp)];
  if (wanted > registers_of(warp) + free_registers(rank_of_warp(warp))) return false;
  registers_[size_t(warp)] = wanted;
  wanted = 0;
  return true;
}

void Executor::give_registers(int warp, unsigned registers, int line) {
  if (registers > registers_of(warp)) {
    refuse(fmt::format("{} gives registers away and asks for {} of each thread, of which it has {}", name_of_warp(warp),
                       registers, registers_of(warp)),
           line);
  }
  registers_[size_t(warp)] = registers;
  for (int w = rank_of_warp(warp) * num_warps_, end = w + num_warps_; w < end; ++w) {
    uint32_t& waiting = waiting_for_registers_[size_t(w)];
    if (wanted_registers_[size_t(w)] == 0 || !take_registers(w)) continue;
    warps_[size_t(w)].runnable |= waiting;
    waiting = 0;
  }
}

void Executor::more_registers(unsigned registers, int line) {
  const int own = current_ / kWarpSize;
  device::sim::Lane lane{.mask = ~0u, .n = registers};
  warp_op(device::sim::WarpOp::more_registers, &lane, line);
  while (wanted_registers_[size_t(own)] != 0) {
    current().registers = registers;
    waiting_for_registers_[size_t(own)] |= 1u << current_ % kWarpSize;
    wait(Fiber::Wait::registers, line);
  }
}

}  // namespace tilewright::sim
