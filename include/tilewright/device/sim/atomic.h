#pragma once
// PTX: red, atom, relaxed.
#include <tilewright/device/cuda/cells.h>

namespace tilewright::device {

namespace sim {
template <class T>
struct NumberOf;
#define TW_NUMBER(T, WORD)                        \
  template <>                                     \
  struct NumberOf<T> {                            \
    static constexpr Number value = Number::WORD; \
  };
TW_NUMBER(i32, i32)
TW_NUMBER(u32, u32)
TW_NUMBER(i64, i64)
TW_NUMBER(u64, u64)
TW_NUMBER(float, f32)
TW_NUMBER(double, f64)
TW_NUMBER(u16, u16)
#undef TW_NUMBER
template <class T>
inline u64 to_bits(T x) {
  u64 out = 0;
  __builtin_memcpy(&out, &x, sizeof x);
  return out;
}
template <class T>
inline T atomic(AtomicOp op, T* to, T x, T expected, int line) {
  const u64 before = hooks->atomic(op, NumberOf<T>::value, to, to_bits(x), to_bits(expected), line);
  T out;
  __builtin_memcpy(&out, &before, sizeof out);
  return out;
}
template <class T>
inline T atomic_shared(AtomicOp op, u32 to, T x, int line) {
  void* const at = hooks->shared(to, sizeof(T), Access::atomic, line);
  return atomic(op, static_cast<T*>(at), x, T(0), line);
}
}  // namespace sim

#define TW_REDUCE(NAME, WORD, T) \
  TW_ATOM void NAME(T* to, T x, TW_SIM_LINE) { sim::atomic(sim::AtomicOp::WORD, to, x, T(0), line); }
TW_REDUCE(reduce_add, add, float)
TW_REDUCE(reduce_add, add, double)
TW_REDUCE(reduce_add, add, i32)
TW_REDUCE(reduce_add, add, u32)
TW_REDUCE(reduce_add, add, u64)
TW_REDUCE(reduce_min, min, i32)
TW_REDUCE(reduce_min, min, u32)
TW_REDUCE(reduce_min, min, i64)
TW_REDUCE(reduce_min, min, u64)
TW_REDUCE(reduce_max, max, i32)
TW_REDUCE(reduce_max, max, u32)
TW_REDUCE(reduce_max, max, i64)
TW_REDUCE(reduce_max, max, u64)
TW_REDUCE(reduce_and, bit_and, u32)
TW_REDUCE(reduce_or, bit_or, u32)
TW_REDUCE(reduce_xor, bit_xor, u32)
#undef TW_REDUCE
// Not for NaN; -0 counts as less than 0.
TW_ATOM void reduce_max(float* to, float x, TW_SIM_LINE) { sim::atomic(sim::AtomicOp::max, to, x, 0.0f, line); }
TW_ATOM void reduce_min(float* to, float x, TW_SIM_LINE) { sim::atomic(sim::AtomicOp::min, to, x, 0.0f, line); }

#define TW_REDUCE_SHARED(NAME, WORD, T) \
  TW_ATOM void NAME(u32 to, T x, TW_SIM_LINE) { sim::atomic_shared(sim::AtomicOp::WORD, to, x, line); }
TW_REDUCE_SHARED(reduce_add_shared, add, float)
TW_REDUCE_SHARED(reduce_add_shared, add, i32)
TW_REDUCE_SHARED(reduce_add_shared, add, u32)
TW_REDUCE_SHARED(reduce_min_shared, min, i32)
TW_REDUCE_SHARED(reduce_min_shared, min, u32)
TW_REDUCE_SHARED(reduce_max_shared, max, i32)
TW_REDUCE_SHARED(reduce_max_shared, max, u32)
#undef TW_REDUCE_SHARED

// ---- Elements of either memory: each hands out the value from before ----

#define TW_FETCH(NAME, WORD, T)                                                                           \
  TW_ATOM T NAME(T* to, T x, TW_SIM_LINE) { return sim::atomic(sim::AtomicOp::WORD, to, x, T(0), line); } \
  TW_ATOM T NAME(SharedCell<T> to, T x, TW_SIM_LINE) {                                                    \
    return sim::atomic_shared(sim::AtomicOp::WORD, to.address, x, line);                                  \
  }
TW_FETCH(fetch_add, add, float)
TW_FETCH(fetch_add, add, double)
TW_FETCH(fetch_add, add, i32)
TW_FETCH(fetch_add, add, u32)
TW_FETCH(fetch_add, add, u64)
TW_FETCH(fetch_min, min, i32)
TW_FETCH(fetch_min, min, u32)
TW_FETCH(fetch_min, min, i64)
TW_FETCH(fetch_min, min, u64)
TW_FETCH(fetch_max, max, i32)
TW_FETCH(fetch_max, max, u32)
TW_FETCH(fetch_max, max, i64)
TW_FETCH(fetch_max, max, u64)
TW_FETCH(fetch_and, bit_and, u32)
TW_FETCH(fetch_and, bit_and, u64)
TW_FETCH(fetch_or, bit_or, u32)
TW_FETCH(fetch_or, bit_or, u64)
TW_FETCH(fetch_xor, bit_xor, u32)
TW_FETCH(fetch_xor, bit_xor, u64)
TW_FETCH(fetch_exchange, exchange, u32)
TW_FETCH(fetch_exchange, exchange, u64)
#undef TW_FETCH

#define TW_WORD(T)                                                                                                 \
  TW_ATOM T relaxed_load(T* at, TW_SIM_LINE) {                                                                     \
    return sim::atomic(sim::AtomicOp::compare_exchange, at, T(0), T(0), line);                                     \
  }                                                                                                                \
  TW_ATOM T relaxed_load(SharedCell<T> at, TW_SIM_LINE) { return compare_exchange(at, T(0), T(0), line); }         \
  TW_ATOM void relaxed_store(T* at, T x, TW_SIM_LINE) { sim::atomic(sim::AtomicOp::exchange, at, x, T(0), line); } \
  TW_ATOM void relaxed_store(SharedCell<T> at, T x, TW_SIM_LINE) {                                                 \
    sim::atomic_shared(sim::AtomicOp::exchange, at.address, x, line);                                              \
  }
#define TW_COMPARE_EXCHANGE(T)                                                                       \
  TW_ATOM T compare_exchange(T* at, T expected, T x, TW_SIM_LINE) {                                  \
    return sim::atomic(sim::AtomicOp::compare_exchange, at, x, expected, line);                      \
  }                                                                                                  \
  TW_ATOM T compare_exchange(SharedCell<T> at, T expected, T x, TW_SIM_LINE) {                       \
    void* const memory = sim::hooks->shared(at.address, sizeof(T), sim::Access::atomic, line);       \
    return sim::atomic(sim::AtomicOp::compare_exchange, static_cast<T*>(memory), x, expected, line); \
  }
TW_COMPARE_EXCHANGE(u16)
TW_COMPARE_EXCHANGE(u32)
TW_COMPARE_EXCHANGE(u64)
TW_WORD(u16)
TW_WORD(u32)
TW_WORD(u64)
#undef TW_COMPARE_EXCHANGE
#undef TW_WORD

}  // namespace tilewright::device
