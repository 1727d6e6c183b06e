#pragma once
// Fences: order of memory accesses without waiting. (PTX: fence, membar)
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// ---- Between threads ----

TW_ATOM void fence_block() { __threadfence_block(); }
TW_ATOM void fence_gpu() { __threadfence(); }
TW_ATOM void fence_system() { __threadfence_system(); }

#if TW_CUDA_ARCH >= 900
TW_ATOM void fence_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }

// Makes initialised mbarriers known to the cluster and to the asynchronous proxy; a barrier of block or cluster
// follows.
TW_ATOM void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// ---- Between ways to memory (proxies) ----
//
// wgmma and bulk copies read and write memory by the asynchronous proxy. What a thread wrote by ordinary stores is not
// seen there until that same thread has executed the fence; a barrier then hands it to the thread that starts the
// operation. In the other direction waiting for the operation suffices.

TW_ATOM void fence_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
TW_ATOM void fence_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
TW_ATOM void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
#endif

}  // namespace tilewright::device
