#pragma once
// PTX: griddepcontrol, setmaxnreg, nanosleep, clocks. Kernels run one after the other here, so that a wait for those in
// front concerns the detector of races alone, and what lets the next one start means nothing: it waits by itself. A
// clock counts its readings.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

#if TW_CUDA_ARCH >= 900
TW_ATOM void wait_for_grid() { sim::hooks->wait_for_grid(); }
TW_ATOM void launch_next_grid() {}
#endif

#if TW_CUDA_SM90A
template <u32 kRegisters>
TW_ATOM void more_registers(TW_SIM_LINE) {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  sim::hooks->more_registers(kRegisters, line);
}
template <u32 kRegisters>
TW_ATOM void fewer_registers(TW_SIM_LINE) {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  sim::in_warp(sim::WarpOp::fewer_registers, kFullMask, 0, kRegisters, 32, line);
}
#endif

TW_ATOM void sleep_ns(u32, TW_SIM_LINE) { sim::hooks->rest(line); }

namespace sim {
inline u64 next_reading() {
  static __thread u64 readings;
  return ++readings;
}
}  // namespace sim
TW_ATOM u64 clock_cycles() { return sim::next_reading(); }
TW_ATOM u64 clock_ns() { return sim::next_reading(); }

}  // namespace tilewright::device
