#pragma once
// Reductions of a contiguous row, in several independent vector accumulators: a single one would wait for the latency
// of each addition.
#include "scalar.h"

namespace tilewright::device::cpu {

struct Sum {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return a + b;
  }
};

struct Max {
  template <class T>
  static constexpr T identity() {
    if constexpr (T(0.5) != T(0)) {
      return T(-__builtin_inf());
    } else if constexpr (T(-1) < T(0)) {
      return T(u64(1) << (8 * sizeof(T) - 1));
    } else {
      return T(0);
    }
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return ((a > b) | (b != b)) ? a : b;
  }
};

// combine(start, combine(identity, row[0], ..., row[n - 1])) in some order: a NaN in `start` is ignored by Max even
// where the row has nothing but NaN.
template <class Op, class T>
TW_INLINE T reduce_row(const T* row, i64 n, T start) {
  constexpr int kLanes = TW_VEC_BYTES / int(sizeof(T)), kChains = 4;
  using V = Vec<T>;
  T result = Op::template identity<T>();
  i64 i = 0;
  if (n >= kLanes) {
    V acc[kChains];
    for (int c = 0; c < kChains; ++c) acc[c] = V{} + Op::template identity<T>();
    for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
      TW_UNROLL(4) for (int c = 0; c < kChains; ++c) acc[c] = Op::combine(acc[c], load<V>(row + i + c * kLanes));
    }
    for (; i + kLanes <= n; i += kLanes) acc[0] = Op::combine(acc[0], load<V>(row + i));
    const V all = Op::combine(Op::combine(acc[0], acc[1]), Op::combine(acc[2], acc[3]));
    for (int l = 0; l < kLanes; ++l) result = Op::combine(result, T(all[l]));
  }
  for (; i < n; ++i) result = Op::combine(result, row[i]);
  return Op::combine(start, result);
}

}  // namespace tilewright::device::cpu
