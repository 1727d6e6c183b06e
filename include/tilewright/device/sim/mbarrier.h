#pragma once
// PTX: mbarrier, cp.async.mbarrier.arrive. Counts, phases and bytes are the simulator's.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

TW_ATOM void mbarrier_init(u32 barrier, u32 arrivals, TW_SIM_LINE) {
  sim::hooks->mbarrier(sim::MbarrierOp::init, barrier, arrivals, line);
}
TW_ATOM void mbarrier_invalidate(u32 barrier, TW_SIM_LINE) {
  sim::hooks->mbarrier(sim::MbarrierOp::invalidate, barrier, 0, line);
}
TW_ATOM void mbarrier_arrive(u32 barrier, TW_SIM_PLACE) {
  sim::hooks->mbarrier(sim::MbarrierOp::arrive, barrier, 1, place.line);
}
TW_ATOM void mbarrier_arrive_after_copies(u32 barrier, TW_SIM_LINE) {
  sim::hooks->mbarrier(sim::MbarrierOp::arrive_after_copies, barrier, 1, line);
}
TW_ATOM bool mbarrier_test(u32 barrier, u32 parity, TW_SIM_LINE) {
  return sim::hooks->mbarrier(sim::MbarrierOp::test, barrier, parity, line) != 0;
}
TW_ATOM void mbarrier_wait(u32 barrier, u32 parity, TW_SIM_LINE) {
  sim::hooks->mbarrier(sim::MbarrierOp::wait, barrier, parity, line);
}

#if TW_CUDA_ARCH >= 900
TW_ATOM bool mbarrier_try(u32 barrier, u32 parity, TW_SIM_LINE) { return mbarrier_test(barrier, parity, line); }
TW_ATOM void mbarrier_wait_cluster(u32 barrier, u32 parity, TW_SIM_LINE) {
  sim::hooks->mbarrier(sim::MbarrierOp::wait_cluster, barrier, parity, line);
}
TW_ATOM void mbarrier_arrive(u32 barrier, u32 count, TW_SIM_PLACE) {
  sim::hooks->mbarrier(sim::MbarrierOp::arrive, barrier, count, place.line);
}
TW_ATOM void mbarrier_arrive_expect(u32 barrier, u32 bytes, TW_SIM_LINE) {
  sim::hooks->mbarrier(sim::MbarrierOp::arrive_expect, barrier, bytes, line);
}
TW_ATOM void mbarrier_expect(u32 barrier, u32 bytes, TW_SIM_LINE) {
  sim::hooks->mbarrier(sim::MbarrierOp::expect, barrier, bytes, line);
}
TW_ATOM void mbarrier_arrive_cluster(u32 barrier, TW_SIM_LINE) {
  sim::hooks->mbarrier(sim::MbarrierOp::arrive_cluster, barrier, 1, line);
}
TW_ATOM void mbarrier_release_cluster(u32 barrier, TW_SIM_LINE) {
  sim::hooks->mbarrier(sim::MbarrierOp::release_cluster, barrier, 1, line);
}
#endif

}  // namespace tilewright::device
