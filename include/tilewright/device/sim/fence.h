#pragma once
// PTX: fence. Threads of the host see one memory, so that fences between threads are nothing more than the host's.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

TW_ATOM void fence_block() { __threadfence_block(); }
TW_ATOM void fence_gpu() { __threadfence(); }
TW_ATOM void fence_system() { __threadfence_system(); }

}  // namespace tilewright::device
