#pragma once
// Atomic accesses to global memory, which blocks on several threads share. Each hands out the value from before.
//
// Integers and loads and stores are single instructions; the other updates of floats, and of minima and maxima, retry a
// compare-and-exchange of the element's bits until nothing came between.
#include "scalar.h"

namespace tilewright::device::cpu {

constexpr int k_relaxed = __ATOMIC_RELAXED, k_consume = __ATOMIC_CONSUME, k_acquire = __ATOMIC_ACQUIRE,
              k_release = __ATOMIC_RELEASE, k_acq_rel = __ATOMIC_ACQ_REL, k_seq_cst = __ATOMIC_SEQ_CST;

// An element's bits; in memory they are an element of another type at the same time, which plain accesses use.
template <int kBytes>
struct BitsOf;
template <>
struct BitsOf<2> {
  using type = u16;
  typedef u16 __attribute__((may_alias)) memory;
};
template <>
struct BitsOf<4> {
  using type = u32;
  typedef u32 __attribute__((may_alias)) memory;
};
template <>
struct BitsOf<8> {
  using type = u64;
  typedef u64 __attribute__((may_alias)) memory;
};
template <class T>
using Bits = typename BitsOf<int(sizeof(T))>::type;

// The type in which an element is computed with.
template <class T>
struct Element {
  using Value = T;
  static TW_INLINE T value(Bits<T> bits) { return bit_cast<T>(bits); }
  static TW_INLINE Bits<T> bits(T value) { return bit_cast<Bits<T>>(value); }
};
template <class H>
struct HalfElement {
  using Value = float;
  static TW_INLINE float value(u16 bits) { return to_f32(bit_cast<H>(bits)); }
  static TW_INLINE u16 bits(float value) { return bit_cast<u16>(from_f32<H>(value)); }
};
template <>
struct Element<F16> : HalfElement<F16> {};
template <>
struct Element<BF16> : HalfElement<BF16> {};
template <class T>
using Value = typename Element<T>::Value;

template <class T>
constexpr bool kIsInteger = false;
template <>
inline constexpr bool kIsInteger<i32> = true;
template <>
inline constexpr bool kIsInteger<u32> = true;
template <>
inline constexpr bool kIsInteger<i64> = true;
template <>
inline constexpr bool kIsInteger<u64> = true;

// The order of the read that a failed exchange is.
constexpr int read_order(int order) { return order == k_release ? k_relaxed : order == k_acq_rel ? k_acquire : order; }

template <class T>
TW_INLINE auto* memory_of(T* at) {
  return reinterpret_cast<typename BitsOf<int(sizeof(T))>::memory*>(at);
}

template <int kOrder, class T, class F>
TW_INLINE Value<T> exchange(T* at, F updated) {
  using E = Element<T>;
  auto* const cell = memory_of(at);
  Bits<T> before = __atomic_load_n(cell, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(cell, &before, E::bits(updated(E::value(before))), true, kOrder,
                                      read_order(kOrder))) {
  }
  return E::value(before);
}

template <int kOrder, class T>
TW_INLINE Value<T> atomic_add(T* at, Value<T> v) {
  if constexpr (kIsInteger<T>)
    return __atomic_fetch_add(at, v, kOrder);
  else
    return exchange<kOrder>(at, [v](Value<T> x) { return Value<T>(x + v); });
}
template <int kOrder, class T>
TW_INLINE Value<T> atomic_max(T* at, Value<T> v) {
  return exchange<kOrder>(at, [v](Value<T> x) { return maximum<Value<T>>(x, v); });
}
template <int kOrder, class T>
TW_INLINE Value<T> atomic_min(T* at, Value<T> v) {
  return exchange<kOrder>(at, [v](Value<T> x) { return minimum<Value<T>>(x, v); });
}
template <int kOrder, class T>
TW_INLINE T atomic_and(T* at, Value<T> v) {
  return __atomic_fetch_and(at, v, kOrder);
}
template <int kOrder, class T>
TW_INLINE T atomic_or(T* at, Value<T> v) {
  return __atomic_fetch_or(at, v, kOrder);
}
template <int kOrder, class T>
TW_INLINE T atomic_xor(T* at, Value<T> v) {
  return __atomic_fetch_xor(at, v, kOrder);
}
template <int kOrder, class T>
TW_INLINE Value<T> atomic_load(T* at) {
  return Element<T>::value(__atomic_load_n(memory_of(at), kOrder));
}
template <int kOrder, class T>
TW_INLINE void atomic_store(T* at, Value<T> v) {
  __atomic_store_n(memory_of(at), Element<T>::bits(v), kOrder);
}

}  // namespace tilewright::device::cpu
