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

// Asks for kLines lines from `from` on, which may lie anywhere: a prefetch never faults. Into the second-level cache:
// the first is full of what is being worked on, and its few miss buffers are what bounds a core's share of the memory.
template <int kLines>
TW_INLINE void prefetch(const void* from) {
  TW_UNROLL(8)
  for (int i = 0; i < kLines; ++i) __builtin_prefetch(static_cast<const char*>(from) + i * kLineBytes, 0, 2);
}

// dst[r * kLd + c] = src[r * row_stride + c] inside the tensor, 0 outside.
template <class D, int kRows, int kCols, int kLd, class S>
TW_INLINE void copy_in(const S* src, long long row_stride, long long valid_rows, long long valid_cols, D* dst) {
  constexpr int kPadded = padded_cols<D, kCols, kLd>();
  const int rows = clip(valid_rows, kRows), cols = clip(valid_cols, kCols);
  if (cols == kCols) {  // constant trip counts
    for (int r = 0; r < rows; ++r) {
      convert(dst + r * kLd, src + r * row_stride, kCols);
      if constexpr (kPadded > kCols) fill(dst + r * kLd + kCols, D{}, kPadded - kCols);
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

// `to` is aligned to the size of v: a vector, or an element of 4 or 8 bytes. Smaller ones have no streaming store.
template <class V, class T>
TW_INLINE void stream(T* to, V v) {
#if defined(__clang__)
  if constexpr (sizeof(V) >= 16) {
    __builtin_nontemporal_store(v, reinterpret_cast<V*>(to));
  } else if constexpr (sizeof(V) == 8) {
    __builtin_nontemporal_store(bit_cast<long long>(v), reinterpret_cast<long long*>(to));
  } else if constexpr (sizeof(V) == 4) {
    __builtin_nontemporal_store(bit_cast<int>(v), reinterpret_cast<int*>(to));
  } else {
    store(to, v);
  }
#elif defined(__SSE2__)
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return __builtin_ia32_movntps512(reinterpret_cast<float*>(to), v);
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return __builtin_ia32_movntps256(reinterpret_cast<float*>(to), v);
#endif
  if constexpr (sizeof(V) == 16) return __builtin_ia32_movntps(reinterpret_cast<float*>(to), v);
  if constexpr (sizeof(V) == 8)
    return __builtin_ia32_movnti64(reinterpret_cast<long long*>(to), bit_cast<long long>(v));
  if constexpr (sizeof(V) == 4) return __builtin_ia32_movnti(reinterpret_cast<int*>(to), bit_cast<int>(v));
  if constexpr (sizeof(V) < 4) store(to, v);
#else
  store(to, v);
#endif
}

// Elements from `to` on until the next line begins; `to` is aligned to its size.
template <class D>
TW_INLINE int to_next_line(const D* to) {
  return int((0 - reinterpret_cast<unsigned long long>(to)) % kLineBytes / sizeof(D));
}

// One row. Elements before the first whole vector and after the last go one by one and meet those of the next row in
// the same write buffer.
template <class D, class S>
TW_INLINE void stream_row(D* to, const S* from, int n) {
  constexpr int kLanes = TW_VEC_BYTES / int(sizeof(D));
  const int gap = to_next_line(to), head = gap < n ? gap : n;
  int i = 0;
  for (; i < head; ++i) stream(to + i, Convert<D, S>::one(from[i]));
  for (; i + kLanes <= n; i += kLanes) {
    D lanes[kLanes];
    convert(lanes, from + i, kLanes);
    stream(to + i, load<Vec<float>>(lanes));  // the bits of any type
  }
  for (; i < n; ++i) stream(to + i, Convert<D, S>::one(from[i]));
}

// Whether the lines that rows begin and end in are filled by neighbouring rows: a partial line costs as much as many
// whole ones. Elements below 4 bytes are streamed in vectors only.
template <int kRows, int kCols, class D>
TW_INLINE bool fills_lines(const D* dst, long long row_stride) {
  const unsigned long long at = reinterpret_cast<unsigned long long>(dst), step = row_stride * sizeof(D);
  const bool aligned = (at | (kRows > 1 ? step : 0) | kCols * sizeof(D)) % kLineBytes == 0;
  const bool joined = sizeof(D) >= 4 && at % sizeof(D) == 0 && (kRows == 1 || row_stride == kCols);
  return aligned || joined;
}

// dst[r * row_stride + c] = src[r * kLd + c] for what is inside the tensor; nothing else is written. With `streams`,
// past the caches where that fills lines; whoever calls with it calls finish_streaming() in the end.
template <int kRows, int kCols, int kLd, class D, class S>
TW_INLINE void copy_out(const S* src, D* dst, long long row_stride, long long valid_rows, long long valid_cols,
                        bool streams = false) {
  const int rows = clip(valid_rows, kRows), cols = clip(valid_cols, kCols);
  if (streams && cols == kCols && fills_lines<kRows, kCols>(dst, row_stride)) {
    for (int r = 0; r < rows; ++r) stream_row(dst + r * row_stride, src + r * kLd, kCols);
    return;
  }
  if (cols == kCols) {
    for (int r = 0; r < rows; ++r) convert(dst + r * row_stride, src + r * kLd, kCols);
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
