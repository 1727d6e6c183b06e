// The simulator as a target: an architecture, and how unkind the simulated machine is.
#pragma once

#include "target/cuda.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

// Who runs next where several threads could.
enum class SimSchedule : uint8_t {
  fair,     // lane after lane, warp after warp, each up to where it must wait
  greedy,   // a warp as long as it can: the largest distance between warps
  reverse,  // the last thread that can
  random,   // by the seed
};
// When asynchronous work takes place between its start and the wait for it.
enum class SimCompletion : uint8_t { late, early, random };

// Everything that a GPU is free to do, decided.
struct SimAdversary {
  SimSchedule schedule = SimSchedule::fair;
  SimCompletion completion = SimCompletion::late;
  uint64_t seed = 1;

  std::string name() const;  // "reverse+early", "random+seed=7"; "fair" for the default
};

struct SimTarget {
  CudaTarget cuda;
  SimAdversary adversary;
  bool checked = false;  // every access is watched for races, bounds and values that nobody wrote

  std::string name() const;  // "sim:sm_80+reverse+early"
};

// From "sim", "sim:sm_80", "sim:sm_80+checked+random+seed=7". Throws Error{invalid_argument}.
SimTarget sim_target_from_name(std::string_view name);

}  // namespace tilewright
