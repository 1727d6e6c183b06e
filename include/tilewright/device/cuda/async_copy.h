#pragma once
// Copies from global to shared memory that a thread starts and waits for later. (PTX: cp.async, sm_80)
//
// Both addresses are multiples of the size. What is copied may be read by the thread after its wait, by others after a
// barrier behind it; shared memory may be reused once the copies into it are waited for.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// 16 bytes past L1; 8 and 4 through it, as only so they exist.
template <u32 kBytes>
TW_ATOM void copy_async(u32 to, const void* from) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(to), "l"(from), "n"(kBytes) : "memory");
  }
}

// Reads the first `valid_bytes` (0 to kBytes) and fills the rest with zeros. With 0 nothing is read, so that `from`
// need not be an address inside the tensor.
template <u32 kBytes>
TW_ATOM void copy_async_zero_fill(u32 to, const void* from, u32 valid_bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(from), "r"(valid_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(to), "l"(from), "n"(kBytes), "r"(valid_bytes)
                 : "memory");
  }
}

// Makes a group of the copies started since the last call. (PTX: cp.async.commit_group)
TW_ATOM void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the kPending newest groups are unfinished. (PTX: cp.async.wait_group)
template <u32 kPending>
TW_ATOM void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kPending) : "memory");
}

}  // namespace tilewright::device
