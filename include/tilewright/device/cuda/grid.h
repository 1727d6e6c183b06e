#pragma once
// A kernel among others, and the registers of its warps.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

#if TW_CUDA_ARCH >= 900
// Waits until the kernels in front have ended and their writes are seen. Returns at once in a launch that is not
// programmatic. Before the first access to what they write, also by bulk copies. (PTX: griddepcontrol.wait)
TW_ATOM void wait_for_grid() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// Lets the next kernel start once all blocks have said so or ended; it waits for the rest itself.
// (PTX: griddepcontrol.launch_dependents)
TW_ATOM void launch_next_grid() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
#endif

#if TW_CUDA_SM90A
// The registers that each thread of a warpgroup has from here on: a multiple of 8 from 24 to 256. All warps of the
// warpgroup execute it. `more` waits until they are free. Over the warpgroups of a block they must not sum up to more
// than it was launched with: that would wait for ever, and no compiler checks it. Works in kernels with
// __launch_bounds__ only. (PTX: setmaxnreg, sm_90a)
template <u32 kRegisters>
TW_ATOM void more_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(kRegisters));
}
template <u32 kRegisters>
TW_ATOM void fewer_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(kRegisters));
}
#endif

// Waits about so long: for loops that poll memory. (PTX: nanosleep)
TW_ATOM void sleep_ns(u32 ns) { asm volatile("nanosleep.u32 %0;" : : "r"(ns)); }

// A clock of the multiprocessor and one of the GPU, for measurements. (PTX: %clock64, %globaltimer)
TW_ATOM u64 clock_cycles() {
  u64 out;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(out) : : "memory");
  return out;
}
TW_ATOM u64 clock_ns() {
  u64 out;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out) : : "memory");
  return out;
}

}  // namespace tilewright::device
