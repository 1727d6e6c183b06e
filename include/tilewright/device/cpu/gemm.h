#pragma once
// gemm_tile: c += op(a) op(b) on scratch tiles, by a register-blocked micro-kernel.
//
// The kernel is an outer product: for each k, one vector row of B times MR broadcast elements of A, accumulated in MR x
// NV registers (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008; Van Zee and van de
// Geijn, "BLIS", 2015). A is read by broadcast at constant displacements, so neither a row-major nor a k-major A needs
// packing, and B is read from a row-major tile with a padded leading dimension: measured on Zen 4, packed panels for
// either operand gain less than 1 %.
#include "copy.h"

namespace tilewright::device::cpu {

// Rows per micro-kernel. With the accumulators of kGemmRows x 2 vectors and two vectors of B the registers are full.
#if defined(__AVX512F__) && TW_VEC_BYTES == 64
constexpr int kGemmRows = 12;
#elif TW_VEC_REGS == 32
constexpr int kGemmRows = 8;
#elif TW_VEC_BYTES >= 32
constexpr int kGemmRows = 6;
#else
constexpr int kGemmRows = 4;
#endif

// A panel of B, kGemmDepth x 128 bytes, stays in half of a 48 KiB or in all of a 32 KiB first-level cache while the
// rows of A pass.
constexpr int kGemmDepth = 256;

// c[MR, NV vectors] += a[MR, depth] b[depth, NV vectors]; element (i, k) of a is a[i * kARow + k * kAStep].
template <class V, int MR, int NV, int kARow, int kAStep, int kBStep, int kCRow, class T>
__attribute__((noinline)) void gemm_micro(const T* __restrict a, const T* __restrict b, T* __restrict c, int depth) {
  constexpr int kLanes = int(sizeof(V) / sizeof(T));
  TW_UNROLL(16) for (int i = 0; i < MR; ++i) {
    __builtin_prefetch(c + i * kCRow, 1);
    __builtin_prefetch(c + i * kCRow + NV * kLanes - 1, 1);
  }
  V acc[MR][NV];
  TW_UNROLL(16) for (int i = 0; i < MR; ++i) { TW_UNROLL(8) for (int j = 0; j < NV; ++j) acc[i][j] = V{}; }
  for (int k = 0; k < depth; ++k, a += kAStep, b += kBStep) {
    V row[NV];
    TW_UNROLL(8) for (int j = 0; j < NV; ++j) row[j] = load<V>(b + j * kLanes);
    TW_UNROLL(16) for (int i = 0; i < MR; ++i) {
      const T scale = a[i * kARow];
      TW_UNROLL(8) for (int j = 0; j < NV; ++j) acc[i][j] += scale * row[j];
    }
  }
  TW_UNROLL(16) for (int i = 0; i < MR; ++i) {
    TW_UNROLL(8) for (int j = 0; j < NV; ++j) {
      T* to = c + i * kCRow + j * kLanes;
      store(to, load<V>(to) + acc[i][j]);
    }
  }
}

// One panel of NV vectors of B against all rows of A. The rows are cut into ceil(M / kGemmRows) groups of at most two
// nearly equal heights, so that a tail never runs a tiny kernel.
template <class V, int M, int NV, int kARow, int kAStep, int kBStep, int kCRow, class T>
TW_INLINE void gemm_rows(const T* a, const T* b, T* c, int depth) {
  constexpr int kGroups = ceil_div(M, kGemmRows), kShort = M / kGroups, kTall = kShort + 1, kTallGroups = M % kGroups;
  if constexpr (kTallGroups > 0) {
    for (int g = 0; g < kTallGroups; ++g)
      gemm_micro<V, kTall, NV, kARow, kAStep, kBStep, kCRow>(a + g * kTall * kARow, b, c + g * kTall * kCRow, depth);
  }
  a += kTallGroups * kTall * kARow;
  c += kTallGroups * kTall * kCRow;
  for (int g = 0; g < kGroups - kTallGroups; ++g)
    gemm_micro<V, kShort, NV, kARow, kAStep, kBStep, kCRow>(a + g * kShort * kARow, b, c + g * kShort * kCRow, depth);
}

// kPanels panels of NV vectors each. A transposed B [n, k] is turned into a panel on the stack first, with zeros from
// column `inside` on.
template <class V, int M, int NV, int kPanels, int kARow, int kAStep, int kLdb, int kLdc, bool kTransB, class T>
TW_INLINE void gemm_panels(const T* a, const T* b, T* c, int depth, int inside) {
  constexpr int kCols = NV * int(sizeof(V) / sizeof(T));
  for (int p = 0; p < kPanels; ++p, c += kCols, inside -= kCols) {
    if constexpr (kTransB) {
      alignas(64) T panel[kGemmDepth * kCols];
      const int cols = inside < kCols ? inside : kCols;
      if (cols < kCols) fill(panel, T{}, depth * kCols);
      transpose<T, T>(b + p * kCols * kLdb, kLdb, cols, depth, panel, kCols);
      gemm_rows<V, M, NV, kARow, kAStep, kCols, kLdc>(a, panel, c, depth);
    } else {
      gemm_rows<V, M, NV, kARow, kAStep, kLdb, kLdc>(a, b + p * kCols, c, depth);
    }
  }
}

// N columns in vectors of kBytes; what remains takes narrower vectors, unless the columns up to the next full vector
// are ours as well.
template <class T, int kBytes, int M, int N, int kLda, int kLdb, int kLdc, bool kTransA, bool kTransB, bool kPadded>
TW_INLINE void gemm_columns(const T* a, const T* b, T* c, int depth) {
  constexpr int kLanes = kBytes / int(sizeof(T));
  constexpr int kARow = kTransA ? 1 : kLda, kAStep = kTransA ? kLda : 1, kBCol = kTransB ? kLdb : 1;
  constexpr int kVecs = kPadded ? ceil_div(N, kLanes) : N / kLanes;
  using V = Vec<T, kBytes>;
  if constexpr (kVecs > 0) {
    // Few rows leave registers for wider panels: NV vectors of B, mr * NV accumulators, one broadcast and one product.
    constexpr int kMr = ceil_div(M, ceil_div(M, kGemmRows)), kFit = (TW_VEC_REGS - 2) / (kMr + 1),
                  kMax = kTransB ? 4 : 8;
    constexpr int kNv = kFit < 1 ? 1 : kFit > kMax ? kMax : kFit;
    constexpr int kPanels = ceil_div(kVecs, kNv), kNarrow = kVecs / kPanels, kWide = kNarrow + 1,
                  kWidePanels = kVecs % kPanels;
    constexpr int kWideCols = kWidePanels * kWide * kLanes;
    if constexpr (kWidePanels > 0)
      gemm_panels<V, M, kWide, kWidePanels, kARow, kAStep, kLdb, kLdc, kTransB>(a, b, c, depth, N);
    gemm_panels<V, M, kNarrow, kPanels - kWidePanels, kARow, kAStep, kLdb, kLdc, kTransB>(
        a, b + kWideCols * kBCol, c + kWideCols, depth, N - kWideCols);
  }
  constexpr int kDone = kVecs * kLanes;
  if constexpr (kDone < N)
    gemm_columns<T, kBytes / 2, M, N - kDone, kLda, kLdb, kLdc, kTransA, kTransB, kPadded>(a, b + kDone * kBCol,
                                                                                           c + kDone, depth);
}

// The narrowest vector, at least 16 bytes, that holds n elements in one; else the widest.
template <class T>
constexpr int gemm_vec_bytes(int n) {
  int bytes = 16;
  while (bytes < TW_VEC_BYTES && bytes < n * int(sizeof(T))) bytes *= 2;
  return bytes;
}

// c [M, N] += op(a) [M, K] op(b) [K, N] for T in float, double, int32 (wraps); extents >= 0, row-major with leading
// dimensions in elements. kTransA: a is stored [K, M]. kTransB: b is stored [N, K] and transposed by panels on the
// stack (a copy_in_transposed into a [K, N] tile is as good and pays once). kPadded: the columns of c, and of b unless
// kTransB, up to the next multiple of TW_VEC_BYTES belong to these tiles (so kLdb, kLdc reach that far); they are read
// and overwritten. Set it for whole tiles, not for slices.
template <class T, int M, int N, int K, int kLda, int kLdb, int kLdc, bool kTransA = false, bool kTransB = false,
          bool kPadded = false>
TW_INLINE void gemm_tile(const T* a, const T* b, T* c) {
  static_assert(M >= 0 && N >= 0 && K >= 0);
  if constexpr (M > 0 && N > 0 && K > 0) {
    constexpr int kBytes = gemm_vec_bytes<T>(N);
    static_assert(!kPadded || (round_up(N, kBytes / int(sizeof(T))) <= kLdc &&
                               (kTransB || round_up(N, kBytes / int(sizeof(T))) <= kLdb)));
    constexpr int kDepth = ceil_div(K, ceil_div(K, kGemmDepth));
    for (int k = 0; k < K; k += kDepth) {
      const int depth = K - k < kDepth ? K - k : kDepth;
      gemm_columns<T, kBytes, M, N, kLda, kLdb, kLdc, kTransA, kTransB, kPadded>(
          a + k * (kTransA ? kLda : 1), b + k * (kTransB ? 1 : kLdb), c, depth);
    }
  }
}

}  // namespace tilewright::device::cpu
