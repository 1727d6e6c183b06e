#pragma once
// PTX: cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk and their groups. When a copy takes place, the
// simulator chooses. What the caches are told means nothing here.
#include <tilewright/device/cuda/types.h>

#if TW_CUDA_ARCH >= 900
namespace tilewright::device {

struct alignas(64) TensorMap {
  u64 opaque[16];
};

TW_ATOM void tma_prefetch_map(const TensorMap*) {}

namespace sim {
template <class... X>
inline BulkCopy tensor_copy(const TensorMap* map, u32 shared, X... at) {
  BulkCopy out;
  out.map = map;
  out.shared = shared;
  out.rank = int(sizeof...(X));
  int d = 0;
  ((out.at[d++] = at), ...);
  return out;
}
inline void start_load(BulkCopy copy, u32 barrier, int line) {
  copy.load = true;
  copy.barrier = barrier;
  hooks->bulk_copy(&copy, line);
}
inline void start_multicast(BulkCopy copy, u32 barrier, u16 blocks, int line) {
  copy.multicast = true;
  copy.blocks = blocks;
  start_load(copy, barrier, line);
}
inline void start_store(BulkCopy copy, AtomicOp reduce, int line) {
  copy.reduce = reduce;
  hooks->bulk_copy(&copy, line);
}
inline BulkCopy row_copy(const void* global, u32 shared, u32 bytes) {
  BulkCopy out;
  out.global = const_cast<void*>(global);
  out.shared = shared;
  out.bytes = bytes;
  return out;
}
inline void reduce_row(void* to, u32 from, u32 bytes, Element type, bool wide_integer, int line) {
  BulkCopy copy = row_copy(to, from, bytes);
  copy.type = type;
  copy.wide_integer = wide_integer;
  start_store(copy, AtomicOp::add, line);
}
}  // namespace sim

#define TW_SIM_TMA(RANK, PARAMETERS, ...)                                                                         \
  TW_ATOM void tma_load_##RANK##d(u32 to, const TensorMap* map, u32 barrier, PARAMETERS, TW_SIM_PLACE) {          \
    sim::start_load(sim::tensor_copy(map, to, __VA_ARGS__), barrier, place.line);                                 \
  }                                                                                                               \
  TW_ATOM void tma_load_##RANK##d(u32 to, const TensorMap* map, u32 barrier, PARAMETERS, u64, TW_SIM_PLACE) {     \
    sim::start_load(sim::tensor_copy(map, to, __VA_ARGS__), barrier, place.line);                                 \
  }                                                                                                               \
  TW_ATOM void tma_load_multicast_##RANK##d(u32 to, const TensorMap* map, u32 barrier, u16 mask, PARAMETERS,      \
                                            TW_SIM_PLACE) {                                                       \
    sim::start_multicast(sim::tensor_copy(map, to, __VA_ARGS__), barrier, mask, place.line);                      \
  }                                                                                                               \
  TW_ATOM void tma_load_multicast_##RANK##d(u32 to, const TensorMap* map, u32 barrier, u16 mask, PARAMETERS, u64, \
                                            TW_SIM_PLACE) {                                                       \
    sim::start_multicast(sim::tensor_copy(map, to, __VA_ARGS__), barrier, mask, place.line);                      \
  }                                                                                                               \
  TW_ATOM void tma_store_##RANK##d(const TensorMap* map, u32 from, PARAMETERS, TW_SIM_PLACE) {                    \
    sim::start_store(sim::tensor_copy(map, from, __VA_ARGS__), sim::AtomicOp::exchange, place.line);              \
  }                                                                                                               \
  TW_ATOM void tma_store_##RANK##d(const TensorMap* map, u32 from, PARAMETERS, u64, TW_SIM_PLACE) {               \
    sim::start_store(sim::tensor_copy(map, from, __VA_ARGS__), sim::AtomicOp::exchange, place.line);              \
  }                                                                                                               \
  TW_ATOM void tma_reduce_add_##RANK##d(const TensorMap* map, u32 from, PARAMETERS, TW_SIM_PLACE) {               \
    sim::start_store(sim::tensor_copy(map, from, __VA_ARGS__), sim::AtomicOp::add, place.line);                   \
  }                                                                                                               \
  TW_ATOM void tma_reduce_min_##RANK##d(const TensorMap* map, u32 from, PARAMETERS, TW_SIM_PLACE) {               \
    sim::start_store(sim::tensor_copy(map, from, __VA_ARGS__), sim::AtomicOp::min, place.line);                   \
  }                                                                                                               \
  TW_ATOM void tma_reduce_max_##RANK##d(const TensorMap* map, u32 from, PARAMETERS, TW_SIM_PLACE) {               \
    sim::start_store(sim::tensor_copy(map, from, __VA_ARGS__), sim::AtomicOp::max, place.line);                   \
  }                                                                                                               \
  TW_ATOM void tma_prefetch_##RANK##d(const TensorMap*, PARAMETERS) { sim::ignore(__VA_ARGS__); }
#define TW_SIM_COMMA ,
namespace sim {
template <class... X>
inline void ignore(X...) {}
}  // namespace sim
TW_SIM_TMA(1, i32 x0, x0)
TW_SIM_TMA(2, i32 x0 TW_SIM_COMMA i32 x1, x0, x1)
TW_SIM_TMA(3, i32 x0 TW_SIM_COMMA i32 x1 TW_SIM_COMMA i32 x2, x0, x1, x2)
TW_SIM_TMA(4, i32 x0 TW_SIM_COMMA i32 x1 TW_SIM_COMMA i32 x2 TW_SIM_COMMA i32 x3, x0, x1, x2, x3)
TW_SIM_TMA(5, i32 x0 TW_SIM_COMMA i32 x1 TW_SIM_COMMA i32 x2 TW_SIM_COMMA i32 x3 TW_SIM_COMMA i32 x4, x0, x1, x2, x3,
           x4)
#undef TW_SIM_COMMA
#undef TW_SIM_TMA

TW_ATOM void bulk_load(u32 to, const void* from, u32 bytes, u32 barrier, TW_SIM_LINE) {
  sim::start_load(sim::row_copy(from, to, bytes), barrier, line);
}
TW_ATOM void bulk_load_multicast(u32 to, const void* from, u32 bytes, u32 barrier, u16 mask, TW_SIM_LINE) {
  sim::start_multicast(sim::row_copy(from, to, bytes), barrier, mask, line);
}
TW_ATOM void bulk_store(void* to, u32 from, u32 bytes, TW_SIM_LINE) {
  sim::start_store(sim::row_copy(to, from, bytes), sim::AtomicOp::exchange, line);
}
TW_ATOM void bulk_copy_cluster(u32 to, u32 from, u32 bytes, u32 barrier, TW_SIM_LINE) {
  sim::BulkCopy copy = sim::row_copy(nullptr, to, bytes);
  copy.from_shared = true;
  copy.source = from;
  sim::start_load(copy, barrier, line);
}
#define TW_SIM_BULK_REDUCE(NAME, TYPE, WIDE)                          \
  TW_ATOM void NAME(void* to, u32 from, u32 bytes, TW_SIM_LINE) {     \
    sim::reduce_row(to, from, bytes, sim::Element::TYPE, WIDE, line); \
  }
TW_SIM_BULK_REDUCE(bulk_reduce_add_f32, f32, false)
TW_SIM_BULK_REDUCE(bulk_reduce_add_f64, f64, false)
TW_SIM_BULK_REDUCE(bulk_reduce_add_f16, f16, false)
TW_SIM_BULK_REDUCE(bulk_reduce_add_bf16, bf16, false)
TW_SIM_BULK_REDUCE(bulk_reduce_add_s32, s32, false)
TW_SIM_BULK_REDUCE(bulk_reduce_add_u64, s32, true)
#undef TW_SIM_BULK_REDUCE
TW_ATOM void bulk_prefetch(const void*, u32) {}

TW_ATOM void bulk_commit() { sim::hooks->bulk_commit(); }
template <u32 kPending>
TW_ATOM void bulk_wait() {
  sim::hooks->bulk_wait(kPending, false);
}
template <u32 kPending>
TW_ATOM void bulk_wait_read() {
  sim::hooks->bulk_wait(kPending, true);
}

}  // namespace tilewright::device
#endif
