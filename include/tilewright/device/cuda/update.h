#pragma once
// The atomic accesses of the language, with a memory order (docs/language.md): of elements of global memory, named by a
// pointer, and of shared memory, named by a SharedCell. Each hands out the value from before.
//
// Integers, sums of f32 and f64, and loads and stores are single instructions; the other updates of floats retry a
// compare-and-exchange of the element's bits until nothing came between.
#include <tilewright/device/cuda/atomic.h>
#include <tilewright/device/cuda/fence.h>
#include <tilewright/device/cuda/language.h>

// In simulated text each function is told the line that it is called from.
#if defined(TW_SIM_LINE)
#define TW_LINE , TW_SIM_LINE
#define TW_AT_LINE , line
#else
#define TW_LINE
#define TW_AT_LINE
#endif

namespace tilewright::device {

constexpr int k_relaxed = 0, k_consume = 1, k_acquire = 2, k_release = 3, k_acq_rel = 4, k_seq_cst = 5;

// A fence in front of what releases, one behind what acquires.
template <int kOrder>
TW_ATOM void order_before() {
  if constexpr (kOrder >= k_release) fence_gpu();
}
template <int kOrder>
TW_ATOM void order_after() {
  if constexpr (kOrder != k_relaxed && kOrder != k_release) fence_gpu();
}

template <class At>
struct CellOf;
template <class T>
struct CellOf<T*> {
  using Element = T;
};
template <class T>
struct CellOf<SharedCell<T>> {
  using Element = T;
};
template <class At>
using ElementAt = typename CellOf<At>::Element;
template <class At>
using ValueAt = decltype(value_of(*static_cast<ElementAt<At>*>(nullptr)));

template <class At>
using WordAt = typename Word<sizeof(ElementAt<At>)>::type;

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
template <class T>
constexpr bool kAddsAtOnce = kIsInteger<T>;
template <>
inline constexpr bool kAddsAtOnce<float> = true;
template <>
inline constexpr bool kAddsAtOnce<double> = true;

// The element becomes f(element).
template <class At, class F>
TW_ATOM ValueAt<At> exchange(At at, F f TW_LINE) {
  using T = ElementAt<At>;
  using Word = WordAt<At>;
  const auto word = cell_as<Word>(at);
  Word before = relaxed_load(word TW_AT_LINE);
  for (;;) {
    const ValueAt<At> x = value_of(bit_cast<T>(before));
    const Word seen = compare_exchange(word, before, bit_cast<Word>(memory_of<T>(f(x))) TW_AT_LINE);
    if (seen == before) return x;
    before = seen;
  }
}

template <int kOrder, class At>
TW_ATOM ValueAt<At> atomic_add(At at, ValueAt<At> v TW_LINE) {
  using T = ElementAt<At>;
  order_before<kOrder>();
  ValueAt<At> before;
  if constexpr (kAddsAtOnce<T> && sizeof(T) == 8 && kIsInteger<T>)
    before = ValueAt<At>(fetch_add(cell_as<u64>(at), u64(v) TW_AT_LINE));
  else if constexpr (kAddsAtOnce<T>)
    before = fetch_add(at, v TW_AT_LINE);
  else
    before = exchange(at, [v](ValueAt<At> x) { return x + v; } TW_AT_LINE);
  order_after<kOrder>();
  return before;
}

#define TW_EXTREME(NAME, FETCH, CHOOSE)                                              \
  template <int kOrder, class At>                                                    \
  TW_ATOM ValueAt<At> NAME(At at, ValueAt<At> v TW_LINE) {                           \
    order_before<kOrder>();                                                          \
    ValueAt<At> before;                                                              \
    if constexpr (kIsInteger<ElementAt<At>>)                                         \
      before = FETCH(at, v TW_AT_LINE);                                              \
    else                                                                             \
      before = exchange(at, [v](ValueAt<At> x) { return CHOOSE(x, v); } TW_AT_LINE); \
    order_after<kOrder>();                                                           \
    return before;                                                                   \
  }
TW_EXTREME(atomic_max, fetch_max, maximum)
TW_EXTREME(atomic_min, fetch_min, minimum)
#undef TW_EXTREME

// Of integers.
#define TW_BITS(NAME, FETCH)                                                              \
  template <int kOrder, class At>                                                         \
  TW_ATOM ValueAt<At> NAME(At at, ValueAt<At> v TW_LINE) {                                \
    using Word = WordAt<At>;                                                              \
    order_before<kOrder>();                                                               \
    const ValueAt<At> before = ValueAt<At>(FETCH(cell_as<Word>(at), Word(v) TW_AT_LINE)); \
    order_after<kOrder>();                                                                \
    return before;                                                                        \
  }
TW_BITS(atomic_and, fetch_and)
TW_BITS(atomic_or, fetch_or)
TW_BITS(atomic_xor, fetch_xor)
#undef TW_BITS

template <int kOrder, class At>
TW_ATOM ValueAt<At> atomic_load(At at TW_LINE) {
  // One that is sequentially consistent is in order with stores before it too.
  if constexpr (kOrder == k_seq_cst) fence_gpu();
  const auto word = relaxed_load(cell_as<WordAt<At>>(at) TW_AT_LINE);
  order_after<kOrder>();
  return value_of(bit_cast<ElementAt<At>>(word));
}
template <int kOrder, class At>
TW_ATOM void atomic_store(At at, ValueAt<At> v TW_LINE) {
  order_before<kOrder>();
  relaxed_store(cell_as<WordAt<At>>(at), bit_cast<WordAt<At>>(memory_of<ElementAt<At>>(v)) TW_AT_LINE);
  if constexpr (kOrder == k_seq_cst) fence_gpu();
}

}  // namespace tilewright::device
