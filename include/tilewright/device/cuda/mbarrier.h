#pragma once
// Barriers that live in shared memory: 8 bytes at a multiple of 8. (PTX: mbarrier)
//
// A barrier is in phase 0, 1, 2, ... A phase ends when as many threads have arrived as init said and as many bytes have
// been copied as were expected. mbarrier_wait(b, p) returns when the phase with parity p has ended, that is, when the
// current phase has the other parity: on a fresh barrier parity 1 passes at once and parity 0 waits for the first
// phase.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// By one thread, before any other use. Then fence_mbarrier_init (sm_90) and a barrier of the block or cluster.
TW_ATOM void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(barrier), "r"(arrivals) : "memory");
}
// Before its memory is used for something else.
TW_ATOM void mbarrier_invalidate(u32 barrier) {
  asm volatile("mbarrier.inval.shared.b64 [%0];" : : "r"(barrier) : "memory");
}

// Counts this thread as arrived; what it did before is seen by those who wait.
TW_ATOM void mbarrier_arrive(u32 barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" : : "r"(barrier) : "memory");
}

// Arrives when the cp.async copies of this thread so far are done. The arrival is one of those that init counted.
// (PTX: cp.async.mbarrier.arrive.noinc)
TW_ATOM void mbarrier_arrive_after_copies(u32 barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" : : "r"(barrier) : "memory");
}

// Whether the phase with this parity has ended. Does not wait.
TW_ATOM bool mbarrier_test(u32 barrier, u32 parity) {
  u32 out;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(out)
               : "r"(barrier), "r"(parity)
               : "memory");
  return out != 0;
}

#if TW_CUDA_ARCH >= 900
// The same, but may sleep for a while first.
TW_ATOM bool mbarrier_try(u32 barrier, u32 parity) {
  u32 out;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(out)
               : "r"(barrier), "r"(parity)
               : "memory");
  return out != 0;
}
TW_ATOM void mbarrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n .reg .pred p;\nTW_WAIT_%=:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      " @!p bra.uni TW_WAIT_%=;\n}"
      :
      : "r"(barrier), "r"(parity)
      : "memory");
}
// Also sees what threads of other blocks of the cluster wrote before they arrived.
TW_ATOM void mbarrier_wait_cluster(u32 barrier, u32 parity) {
  asm volatile(
      "{\n .reg .pred p;\nTW_WAIT_%=:\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      " @!p bra.uni TW_WAIT_%=;\n}"
      :
      : "r"(barrier), "r"(parity)
      : "memory");
}

TW_ATOM void mbarrier_arrive(u32 barrier, u32 count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(count) : "memory");
}
// Arrives and expects so many bytes more in this phase: what the copies that name the barrier will write here, also
// those that other blocks of the cluster start, and also what lies outside a tensor. A copy may land before.
TW_ATOM void mbarrier_arrive_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}
// Expects without arriving.
TW_ATOM void mbarrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the barrier of another block of the cluster; `barrier` is an address of the cluster's window (map_shared).
// Says that the thread has read, and that copies and products that it waited for have ended, as a consumer does that
// frees a buffer; what it wrote is not seen there. Without a qualifier, which is a release for this block alone (PTX:
// .scope is .cta by default): `.release.cluster` adds a fence of the whole GPU (MEMBAR.ALL.GPU), which cost a GEMM 16
// %.
TW_ATOM void mbarrier_arrive_cluster(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" : : "r"(barrier) : "memory");
}
// The same; what the thread wrote before is seen by threads of that block behind mbarrier_wait_cluster.
TW_ATOM void mbarrier_release_cluster(u32 barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" : : "r"(barrier) : "memory");
}
#else
// sm_80 has no instruction that sleeps.
TW_ATOM void mbarrier_wait(u32 barrier, u32 parity) {
  while (!mbarrier_test(barrier, parity)) {
  }
}
#endif

}  // namespace tilewright::device
