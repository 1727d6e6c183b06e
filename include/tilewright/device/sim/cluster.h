#pragma once
// PTX: %cluster_ctarank and its relatives, barrier.cluster, mapa, ld, st, red and st.async to shared::cluster. A launch
// without clusters has those of one block.
#include <tilewright/device/cuda/types.h>

#if TW_CUDA_ARCH >= 900
namespace tilewright::device {

namespace sim {
inline Dim3 block_in_cluster() {
  const ThreadView& v = *thread_view();
  return {v.block.x % v.cluster_dim.x, v.block.y % v.cluster_dim.y, v.block.z % v.cluster_dim.z};
}
inline Dim3 cluster_in_grid() {
  const ThreadView& v = *thread_view();
  return {v.block.x / v.cluster_dim.x, v.block.y / v.cluster_dim.y, v.block.z / v.cluster_dim.z};
}
}  // namespace sim

TW_ATOM u32 cluster_rank_x() { return sim::block_in_cluster().x; }
TW_ATOM u32 cluster_rank_y() { return sim::block_in_cluster().y; }
TW_ATOM u32 cluster_rank_z() { return sim::block_in_cluster().z; }
TW_ATOM u32 cluster_rank() {
  const sim::Dim3 at = sim::block_in_cluster(), size = sim::thread_view()->cluster_dim;
  return at.x + size.x * (at.y + size.y * at.z);
}
TW_ATOM u32 cluster_size() {
  const sim::Dim3 size = sim::thread_view()->cluster_dim;
  return size.x * size.y * size.z;
}
TW_ATOM u32 cluster_id_x() { return sim::cluster_in_grid().x; }
TW_ATOM u32 cluster_id_y() { return sim::cluster_in_grid().y; }
TW_ATOM u32 cluster_id_z() { return sim::cluster_in_grid().z; }
TW_ATOM u32 num_clusters_x() { return gridDim.x / sim::thread_view()->cluster_dim.x; }

TW_ATOM void cluster_arrive(TW_SIM_LINE) { sim::hooks->cluster_arrive(false, line); }
TW_ATOM void cluster_arrive_relaxed(TW_SIM_LINE) { sim::hooks->cluster_arrive(true, line); }
TW_ATOM void cluster_wait(TW_SIM_LINE) { sim::hooks->cluster_wait(line); }
TW_ATOM void sync_cluster(TW_SIM_LINE) {
  cluster_arrive(line);
  cluster_wait(line);
}

TW_ATOM u32 map_shared(u32 address, u32 rank, TW_SIM_LINE) { return sim::hooks->map_shared(address, rank, line); }

namespace sim {
template <u32 kBytes>
TW_ATOM void load_cluster(u32* to, u32 from, int line) {
  __builtin_memcpy(to, hooks->shared_of_cluster(from, kBytes, Access::read, line), kBytes);
}
template <u32 kBytes>
TW_ATOM void store_cluster(u32 to, const u32* x, int line) {
  __builtin_memcpy(hooks->shared_of_cluster(to, kBytes, Access::write, line), x, kBytes);
}
}  // namespace sim

TW_ATOM void load_cluster_v1(u32* to, u32 from, TW_SIM_LINE) { sim::load_cluster<4>(to, from, line); }
TW_ATOM void load_cluster_v4(u32* to, u32 from, TW_SIM_LINE) { sim::load_cluster<16>(to, from, line); }
TW_ATOM void store_cluster_v1(u32 to, const u32* x, TW_SIM_LINE) { sim::store_cluster<4>(to, x, line); }
TW_ATOM void store_cluster_v4(u32 to, const u32* x, TW_SIM_LINE) { sim::store_cluster<16>(to, x, line); }
TW_ATOM void add_cluster(u32 to, float x, TW_SIM_LINE) {
  u64 bits = 0;
  __builtin_memcpy(&bits, &x, sizeof x);
  void* const at = sim::hooks->shared_of_cluster(to, 4, sim::Access::atomic, line);
  sim::hooks->atomic(sim::AtomicOp::add, sim::Number::f32, at, bits, 0, line);
}
TW_ATOM void store_async_v1(u32 to, const u32* x, u32 barrier, TW_SIM_LINE) {
  sim::hooks->store_async(to, x, 4, barrier, line);
}
TW_ATOM void store_async_v4(u32 to, const u32* x, u32 barrier, TW_SIM_LINE) {
  sim::hooks->store_async(to, x, 16, barrier, line);
}

}  // namespace tilewright::device
#endif
