#pragma once
// Asynchronous products of a warpgroup: descriptors, order, waiting. The products themselves are in wgmma_f16.h,
// wgmma_bf16.h, wgmma_tf32.h, wgmma_fp8.h and wgmma_int8.h. sm_90a (PTX: asynchronous warpgroup-level matrix
// instructions)
//
// A warpgroup is four warps, the first of which has a number that 4 divides. All 128 threads execute each of these,
// converged. d[64, n] (+)= a[64, k] * b[k, n]; `a` in registers or shared memory, `b` in shared memory, `d` in
// registers.
//
//   wgmma_fence();                                    // registers of d (and a) were written before
//   for (...) wgmma_m64k16_f32_bf16<128>(d, a, b, accumulate);
//   wgmma_commit();
//   wgmma_wait<0>();                                  // now d may be read, a and b overwritten
//
// A wait speaks for the own warp: shared memory that other warps of the group read as well is free when each has
// waited, so each warp arrives at the barrier that hands it back.
//
// Thread t of the group, w = t / 32, g = t % 32 / 4, c = t % 4, holds element i of
//   d                  row 16 * w + g + 8 * (i / 2 % 2), column 8 * (i / 4) + 2 * c + i % 2; 16-bit ones two in a
//   register a, 16 bits, k 16   row 16 * w + g + 8 * (i / 2 % 2), column 8 * (i / 4) + 2 * c + i % 2: as d a, 8 bits, k
//   32    row 16 * w + g + 8 * (i / 4 % 2), column 16 * (i / 8) + 4 * c + i % 4 a, tf32, k 8       row 16 * w + g + 8 *
//   (i % 2), column 4 * (i / 2) + c
//
// The compiler serialises products, and says so in its log, when it cannot see that registers in flight are left alone:
// never index d by a run-time value, wait unconditionally before d is read, and keep issue and wait in uniform control
// flow. Any branch between a fence and a product, a loop around a wait for an mbarrier too, needs a fence behind it.
// pin() marks the places where the registers change hands.
#include <tilewright/device/cuda/types.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

// ---- Order ----

// Before the first product, and after registers of d or a were written by anything else.
TW_ATOM void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Makes a group of the products since the last call.
TW_ATOM void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most the kPending newest groups are unfinished.
template <u32 kPending>
TW_ATOM void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(kPending) : "memory");
}

// No instruction: keeps the compiler from moving uses of the registers across this place.
template <u32 kCount>
TW_ATOM void pin(float* x) {
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) asm volatile("" : "+f"(x[i]) : : "memory");
}
template <u32 kCount>
TW_ATOM void pin(u32* x) {
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) asm volatile("" : "+r"(x[i]) : : "memory");
}
template <u32 kCount>
TW_ATOM void pin(i32* x) {
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) asm volatile("" : "+r"(x[i]) : : "memory");
}

// ---- Descriptors of operands in shared memory ----
//
// A tile is made of atoms: 8 rows of kSpan bytes, swizzled (memory.h), or 8 rows of 16 bytes without. Atoms start at
// multiples of 8 * span bytes (of 16 without swizzle).
//
// K-major (a row holds consecutive k; a [m, k], b [n, k]): `stride` is the distance from 8 rows to the next 8;
// `leading` is ignored with a swizzle, without it the distance from 16 bytes of k to the next. The next k step is 32
// bytes on. MN-major (a row holds consecutive m or n; 16-bit types, with the transposing forms): a span of m or n by 8
// k is an atom. `stride` is the distance from 8 k to the next 8, `leading` from one span of m or n to the next. Without
// a swizzle the two change places. The next k step (16) is 2 * stride on (2 * leading without a swizzle).

enum class SharedLayout : u32 { plain = 0, span128 = 1, span64 = 2, span32 = 3 };

TW_ATOM u64 wgmma_descriptor(u32 address, u32 leading_bytes, u32 stride_bytes, SharedLayout layout) {
  const u32 low = (address & 0x3ffff) >> 4 | leading_bytes >> 4 << 16;
  const u32 high = stride_bytes >> 4 | u32(layout) << 30;
  return pack32(low, high);
}
// The same tile so many bytes further on; the sum stays below 256 KiB, so that no carry leaves its field.
TW_ATOM u64 advance(u64 descriptor, u32 bytes) { return descriptor + (bytes >> 4); }

}  // namespace tilewright::device
#endif
