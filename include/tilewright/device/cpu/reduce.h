#pragma once
// Reductions of scratch tiles: along a contiguous row, and over rows, column by column. Each operator is a monoid that
// works on scalars and on vectors alike.
#include "scalar.h"

namespace tilewright::device::cpu {

// ---- operators: identity, what an element becomes first, and how two values combine

template <class T>
constexpr bool is_float_type = T(0.5) != T(0);
template <class T>
constexpr bool is_signed_type = T(-1) < T(0);

template <class T>
constexpr T lowest_value() {
  if constexpr (is_float_type<T>) {
    return T(-__builtin_inf());
  } else {
    return is_signed_type<T> ? T(u64(1) << (8 * sizeof(T) - 1)) : T(0);
  }
}
template <class T>
constexpr T highest_value() {
  if constexpr (is_float_type<T>) {
    return T(__builtin_inf());
  } else {
    return T(~lowest_value<T>());
  }
}

// The element as it is.
struct Plain {
  template <class V>
  static TW_INLINE V element(V v) {
    return v;
  }
};
// |element|. Adding 0 turns -0 into 0 and changes nothing else; the smallest integer stays, as abs means it.
struct Magnitude {
  template <class V>
  static TW_INLINE V element(V v) {
    return v < V{} ? -v : v + V{};
  }
};

struct Sum : Plain {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return a + b;
  }
};
// A NaN in `b` is ignored; `a` starts from the identity and so never becomes one.
struct Max : Plain {
  template <class T>
  static constexpr T identity() {
    return lowest_value<T>();
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return b > a ? b : a;
  }
};
struct Min : Plain {
  template <class T>
  static constexpr T identity() {
    return highest_value<T>();
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return b < a ? b : a;
  }
};
struct AbsSum : Magnitude {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return a + b;
  }
};
struct AbsMax : Magnitude {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return b > a ? b : a;
  }
};
struct BitAnd : Plain {
  template <class T>
  static constexpr T identity() {
    return T(~T(0));
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return a & b;
  }
};
struct BitOr : Plain {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return a | b;
  }
};
struct BitXor : Plain {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  static TW_INLINE V combine(V a, V b) {
    return a ^ b;
  }
};

// ---- rows

namespace reduce_detail {

// As many lanes as `Half` has, from kFrom on.
template <class Half, int kFrom, class V, int... I>
TW_INLINE Half lanes_from(V v, Lanes<I...>) {
  return __builtin_shufflevector(v, v, (I + kFrom)...);
}
// Lane l becomes lane (l + kBy) modulo their number.
template <int kBy, class V, int... I>
TW_INLINE V rotate(V v, Lanes<I...>) {
  return __builtin_shufflevector(v, v, ((I + kBy) % int(sizeof...(I)))...);
}

// All lanes combined, in a tree: halves down to 16 bytes, rotations below.
template <class Op, class T, int kBytes>
TW_INLINE T combine_lanes(Vec<T, kBytes> v) {
  constexpr int kLanes = kBytes / int(sizeof(T));
  if constexpr (kBytes > 16) {
    using Half = Vec<T, kBytes / 2>;
    return combine_lanes<Op, T, kBytes / 2>(Op::combine(lanes_from<Half, 0>(v, FirstLanes<kLanes / 2>{}),
                                                        lanes_from<Half, kLanes / 2>(v, FirstLanes<kLanes / 2>{})));
  } else {
    using All = FirstLanes<kLanes>;
    if constexpr (kLanes > 8) v = Op::combine(v, rotate<8>(v, All{}));
    if constexpr (kLanes > 4) v = Op::combine(v, rotate<4>(v, All{}));
    if constexpr (kLanes > 2) v = Op::combine(v, rotate<2>(v, All{}));
    if constexpr (kLanes > 1) v = Op::combine(v, rotate<1>(v, All{}));
    return v[0];
  }
}

// Vectors with `count` lanes kept at their end or at their beginning, and the identity in the others: a table that is
// read at an offset makes the mask.
template <class V>
TW_INLINE auto end_mask(int count) -> decltype(V{} < V{}) {
  struct Table {
    unsigned char bytes[3 * sizeof(V)];
    constexpr Table() : bytes{} {
      for (unsigned long i = sizeof(V); i < 2 * sizeof(V); ++i) bytes[i] = 0xff;
    }
  };
  alignas(64) static constexpr Table kTable;
  return load<decltype(V{} < V{})>(kTable.bytes + count);
}

// The last `count` lanes of the vector that ends at `end`; the others belong to the vector before.
template <class Op, class T, int kBytes>
TW_INLINE Vec<T, kBytes> last_lanes(const T* end, int count) {
  using V = Vec<T, kBytes>;
  const V v = Op::element(load<V>(end - kBytes / int(sizeof(T))));
  return end_mask<V>(count * int(sizeof(T))) ? v : V{} + Op::template identity<T>();
}
// The first `count` lanes of the vector at `from`, which lies in storage as a whole.
template <class Op, class T, int kBytes>
TW_INLINE Vec<T, kBytes> first_lanes(const T* from, int count) {
  using V = Vec<T, kBytes>;
  const V v = Op::element(load<V>(from));
  return end_mask<V>(2 * kBytes - count * int(sizeof(T))) ? v : V{} + Op::template identity<T>();
}

// Vectors of kBytes and several independent chains: a single one would wait for the latency of each step. n is at least
// a vector, or the storage of the last one is whole (kPadded), which spares a load across the stores of two vectors.
template <class Op, class T, int kBytes, bool kPadded>
TW_INLINE T reduce_vectors(const T* row, i64 n) {
  constexpr int kLanes = kBytes / int(sizeof(T)), kChains = 4;
  using V = Vec<T, kBytes>;
  V acc[kChains];
  for (int c = 0; c < kChains; ++c) acc[c] = V{} + Op::template identity<T>();
  i64 i = 0;
  for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
    TW_UNROLL(4)
    for (int c = 0; c < kChains; ++c) acc[c] = Op::combine(acc[c], Op::element(load<V>(row + i + c * kLanes)));
  }
  TW_UNROLL(4) for (int c = 0; c + 1 < kChains; ++c) {
    if (i + kLanes > n) break;
    acc[c] = Op::combine(acc[c], Op::element(load<V>(row + i)));
    i += kLanes;
  }
  if (i < n) {
    if constexpr (kPadded)
      acc[kChains - 1] = Op::combine(acc[kChains - 1], first_lanes<Op, T, kBytes>(row + i, int(n - i)));
    else
      acc[kChains - 1] = Op::combine(acc[kChains - 1], last_lanes<Op, T, kBytes>(row + n, int(n - i)));
  }
  return combine_lanes<Op, T, kBytes>(Op::combine(Op::combine(acc[0], acc[1]), Op::combine(acc[2], acc[3])));
}

}  // namespace reduce_detail

// combine(identity, row[0], ..., row[n - 1]) in some order.
template <class Op, class T>
TW_INLINE T reduce_row(const T* row, i64 n) {
  constexpr int kWide = TW_VEC_BYTES / int(sizeof(T)), kNarrow = 16 / int(sizeof(T));
  T result = Op::template identity<T>();
  if (n >= kWide) {
    result = reduce_detail::reduce_vectors<Op, T, TW_VEC_BYTES, false>(row, n);
  } else if (n >= kNarrow) {
    result = reduce_detail::reduce_vectors<Op, T, 16, false>(row, n);
  } else {
    for (i64 i = 0; i < n; ++i) result = T(Op::combine(result, T(Op::element(row[i]))));
  }
  return result;
}

// The same combined with `start`, of which Max and Min ignore a NaN even where the row has nothing but NaN.
template <class Op, class T>
TW_INLINE T reduce_row(const T* row, i64 n, T start) {
  return T(Op::combine(reduce_row<Op>(row, n), start));
}

// The same for rows whose storage goes on to a whole vector.
template <class Op, class T>
TW_INLINE T reduce_padded_row(const T* row, i64 n) {
  return reduce_detail::reduce_vectors<Op, T, TW_VEC_BYTES, true>(row, n);
}
template <class Op, class T>
TW_INLINE T reduce_padded_row(const T* row, i64 n, T start) {
  return T(Op::combine(reduce_padded_row<Op>(row, n), start));
}

// The same for a row that comes in parts, of which only the last one may end within a vector, whose storage is whole.
template <class Op, class T>
class RowReduction {
 public:
  TW_INLINE RowReduction() {
    for (int c = 0; c < kChains; ++c) acc_[c] = V{} + Op::template identity<T>();
  }
  template <int N>
  TW_INLINE void take(const T* part) {
    constexpr int kWhole = N / kLanes, kRest = N % kLanes;
    TW_UNROLL(16)
    for (int v = 0; v < kWhole; ++v)
      acc_[v % kChains] = Op::combine(acc_[v % kChains], Op::element(load<V>(part + v * kLanes)));
    if constexpr (kRest > 0)
      acc_[kWhole % kChains] = Op::combine(
          acc_[kWhole % kChains], reduce_detail::first_lanes<Op, T, TW_VEC_BYTES>(part + kWhole * kLanes, kRest));
  }
  TW_INLINE T result() const {
    return reduce_detail::combine_lanes<Op, T, TW_VEC_BYTES>(
        Op::combine(Op::combine(acc_[0], acc_[1]), Op::combine(acc_[2], acc_[3])));
  }
  TW_INLINE T result(T start) const { return T(Op::combine(result(), start)); }

 private:
  using V = Vec<T>;
  static constexpr int kLanes = TW_VEC_BYTES / int(sizeof(T)), kChains = 4;
  V acc_[kChains];
};

// ---- columns

// What a tile of 16-bit floats, held as f32, keeps of a value.
struct Exact {
  template <class T>
  static TW_INLINE T round(T x) {
    return x;
  }
};
struct ToF16 {
  static TW_INLINE float round(float x) { return round_f16(x); }
};
struct ToBF16 {
  static TW_INLINE float round(float x) { return round_bf16(x); }
};

namespace reduce_detail {

// kVecs vectors of columns stay in registers while the rows pass.
template <class Op, bool kKeeps, int kBytes, int kVecs, class T>
TW_INLINE void reduce_column_vectors(const T* src, i64 rows, i64 row_stride, T* dst) {
  constexpr int kLanes = kBytes / int(sizeof(T));
  using V = Vec<T, kBytes>;
  V acc[kVecs];
  for (int c = 0; c < kVecs; ++c) acc[c] = V{} + Op::template identity<T>();
  for (i64 r = 0; r < rows; ++r) {
    TW_UNROLL(4)
    for (int c = 0; c < kVecs; ++c)
      acc[c] = Op::combine(acc[c], Op::element(load<V>(src + r * row_stride + c * kLanes)));
  }
  for (int c = 0; c < kVecs; ++c) {
    T* const to = dst + c * kLanes;
    store(to, kKeeps ? Op::combine(acc[c], load<V>(to)) : acc[c]);
  }
}

}  // namespace reduce_detail

// dst[c] = combine(identity, src[0][c], ..., src[rows - 1][c]) for c < cols, combined with what dst[c] held if kKeeps;
// rounded once. Elements of a row are contiguous.
template <class Op, class Rounding, bool kKeeps, class T>
TW_INLINE void reduce_columns(const T* src, i64 rows, i64 row_stride, i64 cols, T* dst) {
  constexpr int kWide = TW_VEC_BYTES / int(sizeof(T)), kNarrow = 16 / int(sizeof(T));
  i64 c = 0;
  for (; c + 4 * kWide <= cols; c += 4 * kWide)
    reduce_detail::reduce_column_vectors<Op, kKeeps, TW_VEC_BYTES, 4>(src + c, rows, row_stride, dst + c);
  for (; c + kWide <= cols; c += kWide)
    reduce_detail::reduce_column_vectors<Op, kKeeps, TW_VEC_BYTES, 1>(src + c, rows, row_stride, dst + c);
  for (; c + kNarrow <= cols; c += kNarrow)
    reduce_detail::reduce_column_vectors<Op, kKeeps, 16, 1>(src + c, rows, row_stride, dst + c);
  for (; c < cols; ++c) {
    T acc = Op::template identity<T>();
    for (i64 r = 0; r < rows; ++r) acc = T(Op::combine(acc, T(Op::element(src[r * row_stride + c]))));
    dst[c] = kKeeps ? T(Op::combine(acc, dst[c])) : acc;
  }
  for (i64 i = 0; i < cols; ++i) dst[i] = Rounding::round(dst[i]);
}

}  // namespace tilewright::device::cpu
