#pragma once
// The functions of the simulator as the text calls them. The table is constant to the text, so that compilers do not
// report each call's look at it; the module fills it under its other name before anything runs.
#include <tilewright/device/sim/hooks.h>

namespace tilewright::device::sim {
extern const Hooks hook_table __asm__("tw_sim_hook_table") __attribute__((visibility("hidden")));
constexpr const Hooks* hooks = &hook_table;
}  // namespace tilewright::device::sim
