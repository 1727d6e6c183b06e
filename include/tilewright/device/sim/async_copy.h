#pragma once
// PTX: cp.async, cp.async.commit_group, cp.async.wait_group (sm_80). A copy may take place at any time between its
// start and the wait for its group: when, the simulator chooses.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

#if TW_CUDA_ARCH >= 800
template <u32 kBytes>
TW_ATOM void copy_async(u32 to, const void* from, TW_SIM_LINE) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  sim::hooks->copy_async(to, from, kBytes, kBytes, line);
}
template <u32 kBytes>
TW_ATOM void copy_async_zero_fill(u32 to, const void* from, u32 valid_bytes, TW_SIM_LINE) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  sim::hooks->copy_async(to, from, kBytes, valid_bytes, line);
}
TW_ATOM void copy_async_commit() { sim::hooks->copy_async_commit(); }
template <u32 kPending>
TW_ATOM void copy_async_wait() {
  sim::hooks->copy_async_wait(kPending);
}
#endif

}  // namespace tilewright::device
