#pragma once
// Clusters: the simulator runs blocks one by one, each of which is a cluster of its own. What reaches another block is
// refused.
#include <tilewright/device/cuda/types.h>

#if TW_CUDA_ARCH >= 900
namespace tilewright::device {

TW_ATOM u32 cluster_rank() { return 0; }
TW_ATOM u32 cluster_size() { return 1; }
TW_ATOM u32 cluster_rank_x() { return 0; }
TW_ATOM u32 cluster_rank_y() { return 0; }
TW_ATOM u32 cluster_rank_z() { return 0; }
TW_ATOM u32 cluster_id_x() { return blockIdx.x; }
TW_ATOM u32 cluster_id_y() { return blockIdx.y; }
TW_ATOM u32 cluster_id_z() { return blockIdx.z; }
TW_ATOM u32 num_clusters_x() { return gridDim.x; }

#define TW_SIM_NO_CLUSTERS(NAME, ...) \
  TW_ATOM void NAME(__VA_ARGS__ TW_SIM_LINE) { sim::hooks->unsupported(#NAME ": clusters", line); }
TW_SIM_NO_CLUSTERS(cluster_arrive, )
TW_SIM_NO_CLUSTERS(cluster_arrive_relaxed, )
TW_SIM_NO_CLUSTERS(cluster_wait, )
TW_SIM_NO_CLUSTERS(sync_cluster, )
TW_SIM_NO_CLUSTERS(load_cluster_v1, u32*, u32, )
TW_SIM_NO_CLUSTERS(load_cluster_v4, u32*, u32, )
TW_SIM_NO_CLUSTERS(store_cluster_v1, u32, const u32*, )
TW_SIM_NO_CLUSTERS(store_cluster_v4, u32, const u32*, )
TW_SIM_NO_CLUSTERS(add_cluster, u32, float, )
TW_SIM_NO_CLUSTERS(store_async_v1, u32, const u32*, u32, )
TW_SIM_NO_CLUSTERS(store_async_v4, u32, const u32*, u32, )
#undef TW_SIM_NO_CLUSTERS
TW_ATOM u32 map_shared(u32 address, u32, TW_SIM_LINE) {
  sim::hooks->unsupported("map_shared: clusters", line);
  return address;
}

}  // namespace tilewright::device
#endif
