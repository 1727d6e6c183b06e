#pragma once
// The three forms of wgmma as macros, which the headers of the types expand once for each row of a table.
//
// Each declares, for the legal n, and refuses others at compile time:
//   wgmma_NAME<n>(d, a, b, accumulate)   d (+)= a * b; without `accumulate` d need not be set before
// with `a` either a descriptor or the registers of a fragment, `b` a descriptor. Operands of 16 bits may be MN-major:
//   wgmma_NAME<n, kMajorA, kMajorB>(d, descriptor a, ...) and wgmma_NAME<n, kMajorB>(d, registers a, ...).
#include <tilewright/device/cuda/wgmma.h>
#include <tilewright/device/cuda/wgmma_rows.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

// What the rows of an operand in shared memory hold consecutively: k, or m (a) and n (b).
enum class Major : int { k = 0, mn = 1 };

}  // namespace tilewright::device

// The text of one product. P: the number of the operand that says whether to accumulate.
#define TW_WGMMA_TEXT(N, TYPES, R0, A, B, P, TAIL)                                             \
  "{\n .reg .pred p;\n setp.ne.b32 p, %" P ", 0;\n wgmma.mma_async.sync.aligned.m64n" #N TYPES \
  " {" TW_WGMMA_REGISTERS_##R0 "}, " A ", %" B ", p" TAIL ";\n}"

#define TW_WGMMA_REGISTERS_A(R0, R1, R2, R3) "{%" #R0 ", %" #R1 ", %" #R2 ", %" #R3 "}"

// ---- 16 bits: sign of a and b (1: as they are), then their major ----

#define TW_WGMMA_ROW_16BIT(N, R0, R1, R2, R3, R4, R5, R6, NAME, TYPES, T, C)                                    \
  template <>                                                                                                   \
  struct NAME<N> {                                                                                              \
    template <int kMajorA, int kMajorB>                                                                         \
    static TW_ATOM void run(T* d, u64 a, u64 b, bool accumulate) {                                              \
      asm volatile(TW_WGMMA_TEXT(N, TYPES, R0, "%" #R0, #R1, #R2, ", 1, 1, %" #R3 ", %" #R4)                    \
                   : TW_WGMMA_ACCUMULATORS_##R0(C)                                                              \
                   : "l"(a), "l"(b), "r"(u32(accumulate)), "n"(kMajorA), "n"(kMajorB));                         \
    }                                                                                                           \
    template <int kMajorB>                                                                                      \
    static TW_ATOM void run(T* d, const u32* a, u64 b, bool accumulate) {                                       \
      asm volatile(TW_WGMMA_TEXT(N, TYPES, R0, TW_WGMMA_REGISTERS_A(R0, R1, R2, R3), #R4, #R5, ", 1, 1, %" #R6) \
                   : TW_WGMMA_ACCUMULATORS_##R0(C)                                                              \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(u32(accumulate)), "n"(kMajorB));   \
    }                                                                                                           \
  };

#define TW_WGMMA_16BIT(NAME, TYPES, T, C, ROWS)                                           \
  namespace wgmma_forms {                                                                 \
  template <u32 kN>                                                                       \
  struct NAME;                                                                            \
  ROWS(TW_WGMMA_ROW_16BIT, NAME, TYPES, T, C)                                             \
  }                                                                                       \
  template <u32 kN, Major kMajorA = Major::k, Major kMajorB = Major::k>                   \
  TW_ATOM void wgmma_##NAME(T* d, u64 a, u64 b, bool accumulate) {                        \
    wgmma_forms::NAME<kN>::template run<int(kMajorA), int(kMajorB)>(d, a, b, accumulate); \
  }                                                                                       \
  template <u32 kN, Major kMajorB = Major::k>                                             \
  TW_ATOM void wgmma_##NAME(T* d, const u32* a, u64 b, bool accumulate) {                 \
    wgmma_forms::NAME<kN>::template run<int(kMajorB)>(d, a, b, accumulate);               \
  }

// ---- tf32 and fp8: K-major only. TAIL: signs of a and b. 8-bit integers: no signs ----

#define TW_WGMMA_ROW_K(N, R0, R1, R2, R3, R4, R5, R6, NAME, TYPES, T, C, TAIL)                       \
  template <>                                                                                        \
  struct NAME<N> {                                                                                   \
    static TW_ATOM void run(T* d, u64 a, u64 b, bool accumulate) {                                   \
      asm volatile(TW_WGMMA_TEXT(N, TYPES, R0, "%" #R0, #R1, #R2, TAIL)                              \
                   : TW_WGMMA_ACCUMULATORS_##R0(C)                                                   \
                   : "l"(a), "l"(b), "r"(u32(accumulate)));                                          \
    }                                                                                                \
    static TW_ATOM void run(T* d, const u32* a, u64 b, bool accumulate) {                            \
      asm volatile(TW_WGMMA_TEXT(N, TYPES, R0, TW_WGMMA_REGISTERS_A(R0, R1, R2, R3), #R4, #R5, TAIL) \
                   : TW_WGMMA_ACCUMULATORS_##R0(C)                                                   \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(u32(accumulate)));      \
    }                                                                                                \
  };

#define TW_WGMMA_K_MAJOR(NAME, TYPES, T, C, ROWS, TAIL)                   \
  namespace wgmma_forms {                                                 \
  template <u32 kN>                                                       \
  struct NAME;                                                            \
  ROWS(TW_WGMMA_ROW_K, NAME, TYPES, T, C, TAIL)                           \
  }                                                                       \
  template <u32 kN>                                                       \
  TW_ATOM void wgmma_##NAME(T* d, u64 a, u64 b, bool accumulate) {        \
    wgmma_forms::NAME<kN>::run(d, a, b, accumulate);                      \
  }                                                                       \
  template <u32 kN>                                                       \
  TW_ATOM void wgmma_##NAME(T* d, const u32* a, u64 b, bool accumulate) { \
    wgmma_forms::NAME<kN>::run(d, a, b, accumulate);                      \
  }
#endif
