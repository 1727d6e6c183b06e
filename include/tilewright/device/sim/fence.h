#pragma once
// PTX: fence. Threads of the host see one memory, so that fences between threads are nothing more than the host's, but
// for what a relaxed arrival at the cluster's barrier then hands on. Of fences between proxies the simulator keeps
// count.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

TW_ATOM void fence_block() { __threadfence_block(); }
#if TW_CUDA_ARCH >= 900
TW_ATOM void fence_cluster() {
  __threadfence();
  sim::hooks->fence(sim::Fence::cluster);
}
// Of a wider scope than the cluster's.
TW_ATOM void fence_gpu() { fence_cluster(); }
TW_ATOM void fence_system() { fence_cluster(); }
TW_ATOM void fence_mbarrier_init() { sim::hooks->fence(sim::Fence::mbarrier_init); }
TW_ATOM void fence_async_shared() { sim::hooks->fence(sim::Fence::async_shared); }
TW_ATOM void fence_async_global() { sim::hooks->fence(sim::Fence::async_global); }
TW_ATOM void fence_async() { sim::hooks->fence(sim::Fence::async); }
#else
TW_ATOM void fence_gpu() { __threadfence(); }
TW_ATOM void fence_system() { __threadfence_system(); }
#endif

}  // namespace tilewright::device
