#pragma once
// Copies between global memory and a block's scratch, and the transposition that gemm and copies need.
//
// Scratch tiles have constant extents and a constant leading dimension kLd. Global sides have run-time strides in
// elements (may be negative) and say how many rows and columns, from the tile's origin on, lie inside the tensor: any
// value is right, below 0 counts as 0 and above the extent as the extent. Every copy converts: exact upwards, round to
// nearest even downwards (vector.h).
#include "vector.h"

namespace tilewright::device::cpu {

constexpr int kLineBytes = 64;

TW_INLINE int clip(long long valid, int extent) { return valid < 0 ? 0 : valid > extent ? extent : int(valid); }

template <class T>
TW_INLINE void fill(T* to, T value, int n) {
  for (int i = 0; i < n; ++i) to[i] = value;
}

// ---- transposition
// -------------------------------------------------------------------------------------------------------------

// Transposes n x n registers of n lanes in log2(n) rounds of pairwise interleaving (Eklundh 1972).
template <class V>
TW_INLINE void transpose_lanes(V (&v)[4]) {
  const V a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5), b = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const V c = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5), d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

template <class V>
TW_INLINE void transpose_lanes(V (&v)[8]) {
  V pairs[8], quads[8];
  TW_UNROLL(4) for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  TW_UNROLL(2) for (int i = 0; i < 8; i += 4) {
    TW_UNROLL(2) for (int j = 0; j < 2; ++j) {
      quads[i + 2 * j] = __builtin_shufflevector(pairs[i + j], pairs[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      quads[i + 2 * j + 1] = __builtin_shufflevector(pairs[i + j], pairs[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  TW_UNROLL(4) for (int i = 0; i < 4; ++i) {
    v[i] = __builtin_shufflevector(quads[i], quads[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    v[i + 4] = __builtin_shufflevector(quads[i], quads[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

template <class D, int kLanes, class S>
TW_INLINE Vec<D, kLanes* int(sizeof(D))> load_as(const S* from) {
  D lanes[kLanes];
  convert(lanes, from, kLanes);
  return load<Vec<D, kLanes* int(sizeof(D))>>(lanes);
}

// What does not fill a block. Cold, so that it stays a plain loop: vectorised for 16-bit floats it took most of a
// kernel's compile time.
template <class D, class S>
__attribute__((noinline, cold)) void transpose_edge(const S* src, long long src_stride, int rows, int cols, D* dst,
                                                    long long dst_stride) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) dst[c * dst_stride + r] = Convert<D, S>::one(src[r * src_stride + c]);
}

// dst[c * dst_stride + r] = src[r * src_stride + c] for r < rows, c < cols.
template <class D, class S>
__attribute__((noinline)) void transpose(const S* src, long long src_stride, int rows, int cols, D* dst,
                                         long long dst_stride) {
  constexpr bool kShuffles = sizeof(D) == 4 && !kIsNarrow<D>;
  constexpr int kBlock = kShuffles && TW_VEC_BYTES == 16 ? 4 : 8;
  const int block_rows = rows / kBlock * kBlock, block_cols = cols / kBlock * kBlock;
  for (int r = 0; r < block_rows; r += kBlock) {
    for (int c = 0; c < block_cols; c += kBlock) {
      const S* from = src + r * src_stride + c;
      D* to = dst + c * dst_stride + r;
      if constexpr (kShuffles) {
        Vec<D, kBlock* int(sizeof(D))> v[kBlock];
        TW_UNROLL(8) for (int i = 0; i < kBlock; ++i) v[i] = load_as<D, kBlock>(from + i * src_stride);
        transpose_lanes(v);
        TW_UNROLL(8) for (int i = 0; i < kBlock; ++i) store(to + i * dst_stride, v[i]);
      } else {
        transpose_edge<D, S>(from, src_stride, kBlock, kBlock, to, dst_stride);
      }
    }
  }
  if (block_cols < cols)
    transpose_edge<D, S>(src + block_cols, src_stride, block_rows, cols - block_cols, dst + block_cols * dst_stride,
                         dst_stride);
  if (block_rows < rows)
    transpose_edge<D, S>(src + block_rows * src_stride, src_stride, rows - block_rows, cols, dst + block_rows,
                         dst_stride);
}

// ---- global to scratch
// ---------------------------------------------------------------------------------------------------------

// Columns a row-major scratch tile may hold beyond kCols so that gemm_tile can run whole vectors: up to the next full
// vector if kLd has room. copy_in zeroes them.
template <class D, int kCols, int kLd>
constexpr int padded_cols() {
  constexpr int kUp = round_up(kCols, TW_VEC_BYTES / int(sizeof(D)) > 0 ? TW_VEC_BYTES / int(sizeof(D)) : 1);
  return kUp <= kLd ? kUp : kCols;
}

// Asks for the lines of N elements, which may lie anywhere: a prefetch never faults. Into the cache of level kLevel:
// the few miss buffers of the first are what bounds a core's share of the memory.
template <int N, int kLevel, class S>
TW_INLINE void prefetch(const S* from) {
  TW_UNROLL(8)
  for (int byte = 0; byte < N * int(sizeof(S)); byte += kLineBytes)
    __builtin_prefetch(reinterpret_cast<const char*>(from) + byte, 0, kLevel == 1 ? 3 : 2);
}

// Lane l is v[l + kBy], 0 from the end of v on.
template <int kBy, class V, int... I>
TW_INLINE V shift_lanes(V v, Lanes<I...>) {
  constexpr int kLanes = int(sizeof...(I));
  return __builtin_shufflevector(v, V{}, (I + kBy < kLanes ? I + kBy : kLanes)...);
}

// As many lanes as a vector has, from lane kFrom of `a` on and on into `b`.
template <int kFrom, class V, int... I>
TW_INLINE V lanes_across(V a, V b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, (I + kFrom)...);
}

// N elements, then zeros up to kPadded: N or the next whole vector. A few vectors are written out, so that the compiler
// sees through them, and the last one is a single store, which a later load of it can take its value from.
template <int N, int kPadded, class D, class S>
TW_INLINE void convert_padded(D* to, const S* from) {
  convert(to, from, N);
  if constexpr (kPadded > N) fill(to + N, D{}, kPadded - N);
}
template <int N, int kPadded, class T>
TW_INLINE void convert_padded(T* to, const T* from) {
  constexpr int kLanes = TW_VEC_BYTES / int(sizeof(T)), kWhole = N / kLanes, kRest = N % kLanes;
  if constexpr (kWhole > 8 || kWhole == 0) {
    convert(to, from, N);
    if constexpr (kPadded > N) fill(to + N, T{}, kPadded - N);
  } else {
    TW_UNROLL(8) for (int v = 0; v < kWhole; ++v) store(to + v * kLanes, load<Vec<T>>(from + v * kLanes));
    if constexpr (kRest > 0) {
      const Vec<T> last = load<Vec<T>>(from + N - kLanes);
      if constexpr (kPadded > N)
        store(to + kWhole * kLanes, shift_lanes<kLanes - kRest>(last, FirstLanes<kLanes>{}));
      else
        store(to + N - kLanes, last);
    }
  }
}

// N elements from storage that goes on to kPadded: N or the next whole vector, in which case the last store is made of
// the last two vectors, so that no load lies across the stores of two.
template <int N, int kPadded, class D, class S>
TW_INLINE void convert_from_padded(D* to, const S* from) {
  convert(to, from, N);
}
template <int N, int kPadded, class T>
TW_INLINE void convert_from_padded(T* to, const T* from) {
  constexpr int kLanes = TW_VEC_BYTES / int(sizeof(T)), kWhole = N / kLanes, kRest = N % kLanes;
  if constexpr (kWhole > 8 || kWhole == 0 || kRest == 0 || kPadded == N) {
    convert_padded<N, N>(to, from);
  } else {
    TW_UNROLL(8) for (int v = 0; v < kWhole; ++v) store(to + v * kLanes, load<Vec<T>>(from + v * kLanes));
    const Vec<T> before = load<Vec<T>>(from + (kWhole - 1) * kLanes), last = load<Vec<T>>(from + kWhole * kLanes);
    store(to + N - kLanes, lanes_across<kRest>(before, last, FirstLanes<kLanes>{}));
  }
}

// dst[r * kLd + c] = src[r * row_stride + c] inside the tensor, 0 outside.
template <class D, int kRows, int kCols, int kLd, class S>
TW_INLINE void copy_in(const S* src, long long row_stride, long long valid_rows, long long valid_cols, D* dst) {
  constexpr int kPadded = padded_cols<D, kCols, kLd>();
  const int rows = clip(valid_rows, kRows), cols = clip(valid_cols, kCols);
  if (cols == kCols) {  // constant trip counts
    for (int r = 0; r < rows; ++r) {
      convert_padded<kCols, kPadded>(dst + r * kLd, src + r * row_stride);
    }
  } else {
    for (int r = 0; r < rows; ++r) {
      convert(dst + r * kLd, src + r * row_stride, cols);
      fill(dst + r * kLd + cols, D{}, kPadded - cols);
    }
  }
  for (int r = rows; r < kRows; ++r) fill(dst + r * kLd, D{}, kPadded);
}

// dst[c * kLd + r] = src[r * row_stride + c] inside the tensor, 0 outside: the tile is stored with its columns as
// scratch rows.
template <class D, int kRows, int kCols, int kLd, class S>
TW_INLINE void copy_in_transposed(const S* src, long long row_stride, long long valid_rows, long long valid_cols,
                                  D* dst) {
  constexpr int kPadded = padded_cols<D, kRows, kLd>();
  const int rows = clip(valid_rows, kRows), cols = clip(valid_cols, kCols);
  transpose<D, S>(src, row_stride, rows, cols, dst, kLd);
  if (rows < kPadded)
    for (int c = 0; c < cols; ++c) fill(dst + c * kLd + rows, D{}, kPadded - rows);
  for (int c = cols; c < kCols; ++c) fill(dst + c * kLd, D{}, kPadded);
}

// copy_in for any two strides.
template <class D, int kRows, int kCols, int kLd, class S>
TW_INLINE void copy_in_strided(const S* src, long long row_stride, long long col_stride, long long valid_rows,
                               long long valid_cols, D* dst) {
  if (col_stride == 1) return copy_in<D, kRows, kCols, kLd>(src, row_stride, valid_rows, valid_cols, dst);
  if (row_stride == 1) return copy_in_transposed<D, kCols, kRows, kLd>(src, col_stride, valid_cols, valid_rows, dst);
  const int rows = clip(valid_rows, kRows), cols = clip(valid_cols, kCols);
  for (int r = 0; r < kRows; ++r) {
    const int inside = r < rows ? cols : 0;
    for (int c = 0; c < inside; ++c) dst[r * kLd + c] = Convert<D, S>::one(src[r * row_stride + c * col_stride]);
    fill(dst + r * kLd + inside, D{}, padded_cols<D, kCols, kLd>() - inside);
  }
}

// ---- scratch to global
// ---------------------------------------------------------------------------------------------------------

// Streaming stores write whole lines to memory without reading them first and leave the caches alone. They are weakly
// ordered: finish_streaming() makes what this thread streamed visible before what it writes afterwards.

#if defined(__SSE2__)
TW_INLINE void finish_streaming() { __builtin_ia32_sfence(); }
#else
TW_INLINE void finish_streaming() {}
#endif

// `to` is aligned to the size of v.
template <class T>
TW_INLINE void stream(T* to, Vec<float> v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, reinterpret_cast<Vec<float>*>(to));
#elif TW_VEC_BYTES == 64 && defined(__AVX512F__)
  __builtin_ia32_movntps512(reinterpret_cast<float*>(to), v);
#elif TW_VEC_BYTES == 32 && defined(__AVX__)
  __builtin_ia32_movntps256(reinterpret_cast<float*>(to), v);
#elif TW_VEC_BYTES == 16 && defined(__SSE2__)
  __builtin_ia32_movntps(reinterpret_cast<float*>(to), v);
#else
  store(to, v);
#endif
}

// Whole lines: `to` and n are multiples of one.
template <class D, class S>
TW_INLINE void stream_row(D* to, const S* from, int n) {
  constexpr int kLanes = TW_VEC_BYTES / int(sizeof(D));
  for (int i = 0; i < n; i += kLanes) {
    D lanes[kLanes];
    convert(lanes, from + i, kLanes);
    stream(to + i, load<Vec<float>>(lanes));  // the bits of any type
  }
}

// Whether rows begin and end with a line: a partial line costs as much as many whole ones.
template <int kRows, int kCols, class D>
TW_INLINE bool fills_lines(const D* dst, long long row_stride) {
  constexpr unsigned long long kSize = sizeof(D);
  const unsigned long long at = reinterpret_cast<unsigned long long>(dst);
  return (at | (kRows > 1 ? row_stride * kSize : 0) | kCols * kSize) % kLineBytes == 0;
}

// dst[r * row_stride + c] = src[r * kLd + c] for what is inside the tensor; nothing else is written. With `streams`,
// past the caches where its rows are whole lines; whoever calls with it calls finish_streaming() in the end.
template <int kRows, int kCols, int kLd, class D, class S>
TW_INLINE void copy_out(const S* src, D* dst, long long row_stride, long long valid_rows, long long valid_cols,
                        bool streams = false) {
  const int rows = clip(valid_rows, kRows), cols = clip(valid_cols, kCols);
  if (streams && cols == kCols && fills_lines<kRows, kCols>(dst, row_stride)) {
    for (int r = 0; r < rows; ++r) stream_row(dst + r * row_stride, src + r * kLd, kCols);
    return;
  }
  if (cols == kCols) {
    for (int r = 0; r < rows; ++r)
      convert_from_padded<kCols, padded_cols<S, kCols, kLd>()>(dst + r * row_stride, src + r * kLd);
  } else {
    for (int r = 0; r < rows; ++r) convert(dst + r * row_stride, src + r * kLd, cols);
  }
}

// dst[c * row_stride + r] = src[r * kLd + c]: valid_rows and valid_cols count rows and columns of the scratch tile.
template <int kRows, int kCols, int kLd, class D, class S>
TW_INLINE void copy_out_transposed(const S* src, D* dst, long long row_stride, long long valid_rows,
                                   long long valid_cols) {
  transpose<D, S>(src, kLd, clip(valid_rows, kRows), clip(valid_cols, kCols), dst, row_stride);
}

// copy_out for any two strides.
template <int kRows, int kCols, int kLd, class D, class S>
TW_INLINE void copy_out_strided(const S* src, D* dst, long long row_stride, long long col_stride, long long valid_rows,
                                long long valid_cols) {
  if (col_stride == 1) return copy_out<kRows, kCols, kLd>(src, dst, row_stride, valid_rows, valid_cols);
  if (row_stride == 1) return copy_out_transposed<kRows, kCols, kLd>(src, dst, col_stride, valid_rows, valid_cols);
  const int rows = clip(valid_rows, kRows), cols = clip(valid_cols, kCols);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) dst[r * row_stride + c * col_stride] = Convert<D, S>::one(src[r * kLd + c]);
}

}  // namespace tilewright::device::cpu
