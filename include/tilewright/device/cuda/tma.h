#pragma once
// Bulk copies: the tensor memory accelerator and its one-dimensional sisters. sm_90
// (PTX: cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk, cp.async.bulk.prefetch)
//
// One thread starts a copy. Shared addresses are multiples of 128 bytes for tensors (of the swizzle's pattern: 1024,
// 512 or 256 bytes) and of 16 otherwise; sizes of one-dimensional copies are multiples of 16.
//   loads   end at an mbarrier, as bytes that it expects. Of a box that sticks out of the tensor the outside is filled
//           with zeros and counts as well.
//   stores  and reductions leave shared memory in groups of the thread that started them. What sticks out is left out,
//           in the innermost dimension by whole 16 bytes only: where a row ends inside 16 bytes, what follows it there
//           is overwritten (measured on an H200). Rows of such tensors need another path, or room of their own. Shared
//           memory must have been written in the asynchronous proxy's sight (fence_async_shared, then a barrier).
// Coordinates are elements, innermost first. The innermost one is a multiple of 16 bytes; those of loads and prefetches
// may be negative, those of stores and reductions may not. Breaking either is an illegal instruction on an H200
// (measured; the manual does not say so). `map` lies in parameter, constant or global memory.
#include <tilewright/device/cuda/types.h>

#if TW_CUDA_ARCH >= 900
namespace tilewright::device {

// As the host encoded it; opaque. Kernels take it as `const __grid_constant__ TensorMap`.
struct alignas(64) TensorMap {
  u64 opaque[16];
};

// Fetches the map itself, which otherwise delays the first copy. (PTX: prefetch.tensormap)
TW_ATOM void tma_prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" : : "l"(map) : "memory");
}

// Operand numbers of coordinates in the text, parameters, operands.
#define TW_TMA_TEXT_1(a, b, c, d, e) "{%" #a "}"
#define TW_TMA_TEXT_2(a, b, c, d, e) "{%" #a ", %" #b "}"
#define TW_TMA_TEXT_3(a, b, c, d, e) "{%" #a ", %" #b ", %" #c "}"
#define TW_TMA_TEXT_4(a, b, c, d, e) "{%" #a ", %" #b ", %" #c ", %" #d "}"
#define TW_TMA_TEXT_5(a, b, c, d, e) "{%" #a ", %" #b ", %" #c ", %" #d ", %" #e "}"
#define TW_TMA_PARAMETERS_1 i32 x0
#define TW_TMA_PARAMETERS_2 i32 x0, i32 x1
#define TW_TMA_PARAMETERS_3 i32 x0, i32 x1, i32 x2
#define TW_TMA_PARAMETERS_4 i32 x0, i32 x1, i32 x2, i32 x3
#define TW_TMA_PARAMETERS_5 i32 x0, i32 x1, i32 x2, i32 x3, i32 x4
#define TW_TMA_OPERANDS_1 "r"(x0)
#define TW_TMA_OPERANDS_2 "r"(x0), "r"(x1)
#define TW_TMA_OPERANDS_3 "r"(x0), "r"(x1), "r"(x2)
#define TW_TMA_OPERANDS_4 "r"(x0), "r"(x1), "r"(x2), "r"(x3)
#define TW_TMA_OPERANDS_5 "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4)

// ---- Loads. tma_load_2d(to, map, barrier, x0, x1), with an L2 policy as last argument where wanted ----
//
// tma_load_multicast_2d(to, map, barrier, mask, x0, x1): the box lands at the same place in each block of the cluster
// whose bit is set, and each one's barrier at that place counts the bytes.

#define TW_TMA_LOADS(RANK)                                                                                             \
  TW_ATOM void tma_load_##RANK##d(u32 to, const TensorMap* map, u32 barrier, TW_TMA_PARAMETERS_##RANK) {               \
    asm volatile("cp.async.bulk.tensor." #RANK                                                                         \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " TW_TMA_TEXT_##RANK(          \
                     3, 4, 5, 6, 7) "], [%2];"                                                                         \
                 :                                                                                                     \
                 : "r"(to), "l"(map), "r"(barrier), TW_TMA_OPERANDS_##RANK                                             \
                 : "memory");                                                                                          \
  }                                                                                                                    \
  TW_ATOM void tma_load_##RANK##d(u32 to, const TensorMap* map, u32 barrier, TW_TMA_PARAMETERS_##RANK, u64 policy) {   \
    asm volatile("cp.async.bulk.tensor." #RANK                                                                         \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"                                          \
                 ".L2::cache_hint [%0], [%1, " TW_TMA_TEXT_##RANK(4, 5, 6, 7, 8) "], [%2], %3;"                        \
                 :                                                                                                     \
                 : "r"(to), "l"(map), "r"(barrier), "l"(policy), TW_TMA_OPERANDS_##RANK                                \
                 : "memory");                                                                                          \
  }                                                                                                                    \
  TW_ATOM void tma_load_multicast_##RANK##d(u32 to, const TensorMap* map, u32 barrier, u16 mask,                       \
                                            TW_TMA_PARAMETERS_##RANK) {                                                \
    asm volatile("cp.async.bulk.tensor." #RANK                                                                         \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"                                          \
                 ".multicast::cluster [%0], [%1, " TW_TMA_TEXT_##RANK(4, 5, 6, 7, 8) "], [%2], %3;"                    \
                 :                                                                                                     \
                 : "r"(to), "l"(map), "r"(barrier), "h"(mask), TW_TMA_OPERANDS_##RANK                                  \
                 : "memory");                                                                                          \
  }                                                                                                                    \
  TW_ATOM void tma_load_multicast_##RANK##d(u32 to, const TensorMap* map, u32 barrier, u16 mask,                       \
                                            TW_TMA_PARAMETERS_##RANK, u64 policy) {                                    \
    asm volatile("cp.async.bulk.tensor." #RANK                                                                         \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"                                          \
                 ".multicast::cluster.L2::cache_hint [%0], [%1, " TW_TMA_TEXT_##RANK(5, 6, 7, 8, 9) "], [%2], %3, %4;" \
                 :                                                                                                     \
                 : "r"(to), "l"(map), "r"(barrier), "h"(mask), "l"(policy), TW_TMA_OPERANDS_##RANK                     \
                 : "memory");                                                                                          \
  }
TW_TMA_LOADS(1)
TW_TMA_LOADS(2)
TW_TMA_LOADS(3)
TW_TMA_LOADS(4)
TW_TMA_LOADS(5)
#undef TW_TMA_LOADS

// ---- Stores and reductions: tma_store_2d(map, from, x0, x1), tma_reduce_add_2d(map, from, x0, x1) ----

#define TW_TMA_REDUCE(RANK, NAME, OP)                                                                    \
  TW_ATOM void tma_reduce_##NAME##_##RANK##d(const TensorMap* map, u32 from, TW_TMA_PARAMETERS_##RANK) { \
    asm volatile("cp.reduce.async.bulk.tensor." #RANK "d.global.shared::cta." OP                         \
                 ".tile.bulk_group [%0, " TW_TMA_TEXT_##RANK(2, 3, 4, 5, 6) "], [%1];"                   \
                 :                                                                                       \
                 : "l"(map), "r"(from), TW_TMA_OPERANDS_##RANK                                           \
                 : "memory");                                                                            \
  }
#define TW_TMA_STORES(RANK)                                                                                          \
  TW_ATOM void tma_store_##RANK##d(const TensorMap* map, u32 from, TW_TMA_PARAMETERS_##RANK) {                       \
    asm volatile("cp.async.bulk.tensor." #RANK                                                                       \
                 "d.global.shared::cta.tile.bulk_group [%0, " TW_TMA_TEXT_##RANK(2, 3, 4, 5, 6) "], [%1];"           \
                 :                                                                                                   \
                 : "l"(map), "r"(from), TW_TMA_OPERANDS_##RANK                                                       \
                 : "memory");                                                                                        \
  }                                                                                                                  \
  TW_ATOM void tma_store_##RANK##d(const TensorMap* map, u32 from, TW_TMA_PARAMETERS_##RANK, u64 policy) {           \
    asm volatile(                                                                                                    \
        "cp.async.bulk.tensor." #RANK                                                                                \
        "d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, " TW_TMA_TEXT_##RANK(3, 4, 5, 6, 7) "], [%1], %2;" \
        :                                                                                                            \
        : "l"(map), "r"(from), "l"(policy), TW_TMA_OPERANDS_##RANK                                                   \
        : "memory");                                                                                                 \
  }                                                                                                                  \
  TW_TMA_REDUCE(RANK, add, "add")                                                                                    \
  TW_TMA_REDUCE(RANK, min, "min")                                                                                    \
  TW_TMA_REDUCE(RANK, max, "max")                                                                                    \
  /* Brings the box into L2. */                                                                                      \
  TW_ATOM void tma_prefetch_##RANK##d(const TensorMap* map, TW_TMA_PARAMETERS_##RANK) {                              \
    asm volatile("cp.async.bulk.prefetch.tensor." #RANK                                                              \
                 "d.L2.global.tile [%0, " TW_TMA_TEXT_##RANK(1, 2, 3, 4, 5) "];"                                     \
                 :                                                                                                   \
                 : "l"(map), TW_TMA_OPERANDS_##RANK                                                                  \
                 : "memory");                                                                                        \
  }
TW_TMA_STORES(1)
TW_TMA_STORES(2)
TW_TMA_STORES(3)
TW_TMA_STORES(4)
TW_TMA_STORES(5)
#undef TW_TMA_STORES
#undef TW_TMA_REDUCE
#undef TW_TMA_TEXT_1
#undef TW_TMA_TEXT_2
#undef TW_TMA_TEXT_3
#undef TW_TMA_TEXT_4
#undef TW_TMA_TEXT_5
#undef TW_TMA_PARAMETERS_1
#undef TW_TMA_PARAMETERS_2
#undef TW_TMA_PARAMETERS_3
#undef TW_TMA_PARAMETERS_4
#undef TW_TMA_PARAMETERS_5
#undef TW_TMA_OPERANDS_1
#undef TW_TMA_OPERANDS_2
#undef TW_TMA_OPERANDS_3
#undef TW_TMA_OPERANDS_4
#undef TW_TMA_OPERANDS_5

// ---- Rows of bytes ----

TW_ATOM void bulk_load(u32 to, const void* from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :
               : "r"(to), "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
TW_ATOM void bulk_load_multicast(u32 to, const void* from, u32 bytes, u32 barrier, u16 mask) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
      :
      : "r"(to), "l"(from), "r"(bytes), "r"(barrier), "h"(mask)
      : "memory");
}
TW_ATOM void bulk_store(void* to, u32 from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(to), "r"(from), "r"(bytes)
               : "memory");
}
// From this block's shared memory to a peer's; `to` and `barrier` are addresses of the cluster's window, in one block.
TW_ATOM void bulk_copy_cluster(u32 to, u32 from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :
               : "r"(to), "r"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
#define TW_BULK_REDUCE(NAME, OP)                                                             \
  TW_ATOM void NAME(void* to, u32 from, u32 bytes) {                                         \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." OP " [%0], [%1], %2;" \
                 :                                                                           \
                 : "l"(to), "r"(from), "r"(bytes)                                            \
                 : "memory");                                                                \
  }
TW_BULK_REDUCE(bulk_reduce_add_f32, "add.f32")
TW_BULK_REDUCE(bulk_reduce_add_f64, "add.f64")
TW_BULK_REDUCE(bulk_reduce_add_f16, "add.noftz.f16")
TW_BULK_REDUCE(bulk_reduce_add_bf16, "add.noftz.bf16")
TW_BULK_REDUCE(bulk_reduce_add_s32, "add.s32")
TW_BULK_REDUCE(bulk_reduce_add_u64, "add.u64")
#undef TW_BULK_REDUCE
TW_ATOM void bulk_prefetch(const void* from, u32 bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" : : "l"(from), "r"(bytes) : "memory");
}

// ---- Groups of stores ----

// Makes a group of the stores and reductions that this thread started since the last call.
TW_ATOM void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until at most the kPending newest groups of this thread are unfinished: written and visible.
template <u32 kPending>
TW_ATOM void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" : : "n"(kPending) : "memory");
}
// Until their shared memory has been read and may be overwritten.
template <u32 kPending>
TW_ATOM void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(kPending) : "memory");
}

}  // namespace tilewright::device
#endif
