// Runs the blocks of one kernel: every thread of a block is a fiber, all of them on one thread of the host.
#pragma once

#include <tilewright/device/sim/hooks.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::sim {

// Who runs next where several could.
enum class Schedule : uint8_t {
  fair,     // lane after lane, warp after warp, each up to where it must wait
  greedy,   // a warp as long as it can: the largest distance between warps
  reverse,  // the same from the last thread downwards
  random,   // by the seed
};
// When asynchronous work takes place between its start and the wait for it.
enum class Completion : uint8_t { late, early, random };

struct Adversary {
  Schedule schedule = Schedule::fair;
  Completion completion = Completion::late;
  uint64_t seed = 1;
};

// What is wrong with a launch. Lines are of the simulated text, 0: none.
struct Finding {
  enum class Kind : uint8_t { deadlock, misuse, out_of_bounds };
  Kind kind;
  std::string text;
  int line = 0;
  struct Note {
    std::string text;
    int line = 0;
  };
  std::vector<Note> notes = {};
};

// One kernel as its module gives it.
struct Code {
  void (*enter)(void* const* arguments) = nullptr;
  unsigned char* (*shared)() = nullptr;  // of the calling thread
  const device::sim::ThreadView** (*thread)() = nullptr;
  int64_t shared_bytes = 0;  // what the kernel asked for
  int64_t margin_bytes = 0;  // behind them
};

struct Block {
  device::sim::Dim3 block, grid, threads;
};

// The functions that a module's `hooks` points to.
const device::sim::Hooks& hooks();

// Runs one block to its end. `arguments`: the addresses of the kernel's arguments. May be called from several threads
// at once.
std::optional<Finding> run_block(const Code& code, const Block& block, void* const* arguments,
                                 const Adversary& adversary);

}  // namespace tilewright::sim
