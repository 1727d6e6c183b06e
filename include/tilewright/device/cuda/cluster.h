#pragma once
// Clusters: blocks that run at the same time and reach each other's shared memory. sm_90
#include <tilewright/device/cuda/types.h>

#if TW_CUDA_ARCH >= 900
namespace tilewright::device {

#define TW_SPECIAL(NAME, REGISTER)                  \
  TW_ATOM u32 NAME() {                              \
    u32 out;                                        \
    asm("mov.u32 %0, %%" REGISTER ";" : "=r"(out)); \
    return out;                                     \
  }
TW_SPECIAL(cluster_rank, "cluster_ctarank")  // of this block in its cluster, x fastest
TW_SPECIAL(cluster_size, "cluster_nctarank")
TW_SPECIAL(cluster_rank_x, "cluster_ctaid.x")
TW_SPECIAL(cluster_rank_y, "cluster_ctaid.y")
TW_SPECIAL(cluster_rank_z, "cluster_ctaid.z")
TW_SPECIAL(cluster_id_x, "clusterid.x")  // of the cluster in the grid
TW_SPECIAL(cluster_id_y, "clusterid.y")
TW_SPECIAL(cluster_id_z, "clusterid.z")
TW_SPECIAL(num_clusters_x, "nclusterid.x")
#undef TW_SPECIAL

// ---- Barrier of all threads of the cluster (PTX: barrier.cluster). All threads of a warp, converged. ----

// What was written before is seen behind the wait of the others.
TW_ATOM void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
// The same without ordering memory: after fence_mbarrier_init, which does that for barriers.
TW_ATOM void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
TW_ATOM void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
TW_ATOM void sync_cluster() {
  cluster_arrive();
  cluster_wait();
}

// ---- Shared memory of other blocks. It is there until they exit: a barrier of the cluster stands before the end. ----

// The address, in the cluster's window, of the same place in block `rank`. (PTX: mapa)
TW_ATOM u32 map_shared(u32 address, u32 rank) {
  u32 out;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(out) : "r"(address), "r"(rank));
  return out;
}

TW_ATOM void load_cluster_v1(u32* to, u32 from) {
  asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(to[0]) : "r"(from) : "memory");
}
TW_ATOM void load_cluster_v4(u32* to, u32 from) {
  asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
TW_ATOM void store_cluster_v1(u32 to, const u32* x) {
  asm volatile("st.shared::cluster.b32 [%0], %1;" : : "r"(to), "r"(x[0]) : "memory");
}
TW_ATOM void store_cluster_v4(u32 to, const u32* x) {
  asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
}
TW_ATOM void add_cluster(u32 to, float x) {
  asm volatile("red.relaxed.cluster.shared::cluster.add.f32 [%0], %1;" : : "r"(to), "f"(x) : "memory");
}

// Stores that tell a barrier beside their destination when they have landed: 4 (16) bytes of those it expects.
// (PTX: st.async)
TW_ATOM void store_async_v1(u32 to, const u32* x, u32 barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
               :
               : "r"(to), "r"(x[0]), "r"(barrier)
               : "memory");
}
TW_ATOM void store_async_v4(u32 to, const u32* x, u32 barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
               :
               : "r"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(barrier)
               : "memory");
}

}  // namespace tilewright::device
#endif
