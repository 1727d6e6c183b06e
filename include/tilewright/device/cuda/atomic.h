#pragma once
// Atomic operations on global and shared memory, relaxed: they order nothing else. (PTX: red, atom)
//
// reduce_*: the result is not wanted. fetch_*: the value from before. f32 sums of many threads depend on their order.
#include <tilewright/device/cuda/cells.h>

namespace tilewright::device {

// ---- Global memory, at the scope of the GPU ----

#define TW_REDUCE(NAME, OP, T, C)                                                         \
  TW_ATOM void NAME(T* to, T x) {                                                         \
    asm volatile("red.relaxed.gpu.global." OP " [%0], %1;" : : "l"(to), C(x) : "memory"); \
  }
TW_REDUCE(reduce_add, "add.f32", float, "f")
TW_REDUCE(reduce_add, "add.f64", double, "d")
TW_REDUCE(reduce_add, "add.s32", i32, "r")
TW_REDUCE(reduce_add, "add.u32", u32, "r")
TW_REDUCE(reduce_add, "add.u64", u64, "l")
TW_REDUCE(reduce_min, "min.s32", i32, "r")
TW_REDUCE(reduce_min, "min.u32", u32, "r")
TW_REDUCE(reduce_min, "min.s64", i64, "l")
TW_REDUCE(reduce_min, "min.u64", u64, "l")
TW_REDUCE(reduce_max, "max.s32", i32, "r")
TW_REDUCE(reduce_max, "max.u32", u32, "r")
TW_REDUCE(reduce_max, "max.s64", i64, "l")
TW_REDUCE(reduce_max, "max.u64", u64, "l")
TW_REDUCE(reduce_and, "and.b32", u32, "r")
TW_REDUCE(reduce_or, "or.b32", u32, "r")
TW_REDUCE(reduce_xor, "xor.b32", u32, "r")
#undef TW_REDUCE

// Two 16-bit floats at a multiple of 4, each rounded; subnormals count.
TW_ATOM void reduce_add_f16x2(void* to, u32 x) {
  asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" : : "l"(to), "r"(x) : "memory");
}
TW_ATOM void reduce_add_f16(void* to, u16 x) {
  asm volatile("red.relaxed.gpu.global.add.noftz.f16 [%0], %1;" : : "l"(to), "h"(x) : "memory");
}
#if TW_CUDA_ARCH >= 900
TW_ATOM void reduce_add_bf16x2(void* to, u32 x) {
  asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;" : : "l"(to), "r"(x) : "memory");
}
TW_ATOM void reduce_add_bf16(void* to, u16 x) {
  asm volatile("red.relaxed.gpu.global.add.noftz.bf16 [%0], %1;" : : "l"(to), "h"(x) : "memory");
}
// Two (four) elements at a multiple of 8 (16) bytes; each is atomic, not the vector.
TW_ATOM void reduce_add_v2(float* to, const float* x) {
  asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" : : "l"(to), "f"(x[0]), "f"(x[1]) : "memory");
}
TW_ATOM void reduce_add_v4(float* to, const float* x) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3])
               : "memory");
}
#endif
// What this thread wrote before is seen by whoever acquires the sum.
TW_ATOM void reduce_add_release(u32* to, u32 x) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(to), "r"(x) : "memory");
}

// The larger (smaller) float: of two floats with the same sign the order is that of their bits as integers, reversed
// for negative ones. Not for NaN; -0 counts as less than 0. Two instructions, of which one executes.
TW_ATOM void reduce_max(float* to, float x) {
  if (i32(bits_of(x)) >= 0)
    reduce_max(reinterpret_cast<i32*>(to), i32(bits_of(x)));
  else
    reduce_min(reinterpret_cast<u32*>(to), bits_of(x));
}
TW_ATOM void reduce_min(float* to, float x) {
  if (i32(bits_of(x)) >= 0)
    reduce_min(reinterpret_cast<i32*>(to), i32(bits_of(x)));
  else
    reduce_max(reinterpret_cast<u32*>(to), bits_of(x));
}

// ---- Shared memory, at the scope of the block ----

#define TW_REDUCE_SHARED(NAME, OP, T, C)                                                  \
  TW_ATOM void NAME(u32 to, T x) {                                                        \
    asm volatile("red.relaxed.cta.shared." OP " [%0], %1;" : : "r"(to), C(x) : "memory"); \
  }
TW_REDUCE_SHARED(reduce_add_shared, "add.f32", float, "f")
TW_REDUCE_SHARED(reduce_add_shared, "add.s32", i32, "r")
TW_REDUCE_SHARED(reduce_add_shared, "add.u32", u32, "r")
TW_REDUCE_SHARED(reduce_min_shared, "min.s32", i32, "r")
TW_REDUCE_SHARED(reduce_min_shared, "min.u32", u32, "r")
TW_REDUCE_SHARED(reduce_max_shared, "max.s32", i32, "r")
TW_REDUCE_SHARED(reduce_max_shared, "max.u32", u32, "r")
#undef TW_REDUCE_SHARED

// ---- Elements of either memory (cells.h): each hands out the value from before ----
//
// ptxas makes `red` of an `atom` whose result is not used.

#define TW_FETCH(NAME, OP, T, C)                                                                                  \
  TW_ATOM T NAME(T* to, T x) {                                                                                    \
    T out;                                                                                                        \
    asm volatile("atom.relaxed.gpu.global." OP " %0, [%1], %2;" : "=" C(out) : "l"(to), C(x) : "memory");         \
    return out;                                                                                                   \
  }                                                                                                               \
  TW_ATOM T NAME(SharedCell<T> to, T x) {                                                                         \
    T out;                                                                                                        \
    asm volatile("atom.relaxed.cta.shared." OP " %0, [%1], %2;" : "=" C(out) : "r"(to.address), C(x) : "memory"); \
    return out;                                                                                                   \
  }
// Sums of f32 in global memory flush subnormal numbers to zero.
TW_FETCH(fetch_add, "add.f32", float, "f")
TW_FETCH(fetch_add, "add.f64", double, "d")
TW_FETCH(fetch_add, "add.s32", i32, "r")
TW_FETCH(fetch_add, "add.u32", u32, "r")
TW_FETCH(fetch_add, "add.u64", u64, "l")
TW_FETCH(fetch_min, "min.s32", i32, "r")
TW_FETCH(fetch_min, "min.u32", u32, "r")
TW_FETCH(fetch_min, "min.s64", i64, "l")
TW_FETCH(fetch_min, "min.u64", u64, "l")
TW_FETCH(fetch_max, "max.s32", i32, "r")
TW_FETCH(fetch_max, "max.u32", u32, "r")
TW_FETCH(fetch_max, "max.s64", i64, "l")
TW_FETCH(fetch_max, "max.u64", u64, "l")
TW_FETCH(fetch_and, "and.b32", u32, "r")
TW_FETCH(fetch_and, "and.b64", u64, "l")
TW_FETCH(fetch_or, "or.b32", u32, "r")
TW_FETCH(fetch_or, "or.b64", u64, "l")
TW_FETCH(fetch_xor, "xor.b32", u32, "r")
TW_FETCH(fetch_xor, "xor.b64", u64, "l")
TW_FETCH(fetch_exchange, "exch.b32", u32, "r")
TW_FETCH(fetch_exchange, "exch.b64", u64, "l")
#undef TW_FETCH

// Words that stand for elements of any type: read, written, and exchanged where `expected` stands.
#define TW_WORD(T, TYPE, C)                                                                             \
  TW_ATOM T relaxed_load(T* at) {                                                                       \
    T out;                                                                                              \
    asm volatile("ld.relaxed.gpu.global." TYPE " %0, [%1];" : "=" C(out) : "l"(at) : "memory");         \
    return out;                                                                                         \
  }                                                                                                     \
  TW_ATOM T relaxed_load(SharedCell<T> at) {                                                            \
    T out;                                                                                              \
    asm volatile("ld.relaxed.cta.shared." TYPE " %0, [%1];" : "=" C(out) : "r"(at.address) : "memory"); \
    return out;                                                                                         \
  }                                                                                                     \
  TW_ATOM void relaxed_store(T* at, T x) {                                                              \
    asm volatile("st.relaxed.gpu.global." TYPE " [%0], %1;" : : "l"(at), C(x) : "memory");              \
  }                                                                                                     \
  TW_ATOM void relaxed_store(SharedCell<T> at, T x) {                                                   \
    asm volatile("st.relaxed.cta.shared." TYPE " [%0], %1;" : : "r"(at.address), C(x) : "memory");      \
  }                                                                                                     \
  TW_ATOM T compare_exchange(T* at, T expected, T x) {                                                  \
    T out;                                                                                              \
    asm volatile("atom.relaxed.gpu.global.cas." TYPE " %0, [%1], %2, %3;"                               \
                 : "=" C(out)                                                                           \
                 : "l"(at), C(expected), C(x)                                                           \
                 : "memory");                                                                           \
    return out;                                                                                         \
  }                                                                                                     \
  TW_ATOM T compare_exchange(SharedCell<T> at, T expected, T x) {                                       \
    T out;                                                                                              \
    asm volatile("atom.relaxed.cta.shared.cas." TYPE " %0, [%1], %2, %3;"                               \
                 : "=" C(out)                                                                           \
                 : "r"(at.address), C(expected), C(x)                                                   \
                 : "memory");                                                                           \
    return out;                                                                                         \
  }
TW_WORD(u16, "b16", "h")
TW_WORD(u32, "b32", "r")
TW_WORD(u64, "b64", "l")
#undef TW_WORD

}  // namespace tilewright::device
