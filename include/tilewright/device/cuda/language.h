#pragma once
// Scalar operations of generated CUDA code, with the exact meanings of docs/language.md: total integer division,
// saturating casts, NaN-ignoring min and max, 16-bit floats computed in f32. Needs no header of the CUDA toolkit.

#define TW_DEVICE __device__ __forceinline__

namespace tilewright::device::cuda {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

// ---- 16-bit floats in memory. PTX ISA 9.7.9.21, cvt ----
struct F16 {
  u16 bits;
};
struct BF16 {
  u16 bits;
};

TW_DEVICE float to_f32(F16 x) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x.bits));
  return out;
}
TW_DEVICE float to_f32(BF16 x) { return __uint_as_float(u32(x.bits) << 16); }

// Rounds to nearest even.
template <class T>
TW_DEVICE T from_f32(float x);
template <>
TW_DEVICE F16 from_f32<F16>(float x) {
  F16 out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
  return out;
}
template <>
TW_DEVICE BF16 from_f32<BF16>(float x) {
  BF16 out;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
#else
  const u32 u = __float_as_uint(x);
  out.bits = x != x ? u16(0x7fff) : u16((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
#endif
  return out;
}

TW_DEVICE float round_f16(float x) { return to_f32(from_f32<F16>(x)); }
TW_DEVICE float round_bf16(float x) { return to_f32(from_f32<BF16>(x)); }

// ---- integers ----
// Towards minus infinity; x / 0 is 0 and x mod 0 is x. The smallest value divided by -1 wraps.
template <class T>
TW_DEVICE T floordiv(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(u64(0) - u64(a));
    const T q = T(a / b);
    return T(q - ((a % b != T(0)) & ((a < T(0)) != (b < T(0)))));
  } else {
    return T(a / b);
  }
}
template <class T>
TW_DEVICE T floormod(T a, T b) {
  if (b == T(0)) return a;
  if constexpr (T(-1) < T(0)) {
    if (b == T(-1)) return T(0);
    const T r = T(a % b);
    return T(r + (((r != T(0)) & ((r < T(0)) != (b < T(0)))) ? b : T(0)));
  } else {
    return T(a % b);
  }
}

// An amount outside [0, bits) gives 0, or the sign for a signed right shift.
template <class T>
TW_DEVICE T shl(T a, T b) {
  return u64(b) < 8 * sizeof(T) ? T(u64(a) << u64(b)) : T(0);
}
template <class T>
TW_DEVICE T shr(T a, T b) {
  constexpr bool kSigned = T(-1) < T(0);
  const bool inside = u64(b) < 8 * sizeof(T);
  return T(a >> (inside ? u64(b) : kSigned ? 8 * sizeof(T) - 1 : 0)) & T(inside || kSigned ? T(-1) : T(0));
}

// Integers, and floats where a NaN operand is ignored.
template <class T>
TW_DEVICE T minimum(T a, T b) {
  return ((a < b) | (b != b)) ? a : b;
}
template <class T>
TW_DEVICE T maximum(T a, T b) {
  return ((a > b) | (b != b)) ? a : b;
}
// PTX ISA 9.7.3: min.f32 and max.f32 give the operand that is not NaN.
template <>
TW_DEVICE float minimum(float a, float b) {
  return fminf(a, b);
}
template <>
TW_DEVICE float maximum(float a, float b) {
  return fmaxf(a, b);
}

// ---- conversions ----
// Truncates and saturates; NaN gives 0.
template <class T, class F>
TW_DEVICE T saturate(F x) {
  constexpr bool kSigned = T(-1) < T(0);
  constexpr u64 kHalf = u64(1) << (8 * sizeof(T) - 1);
  constexpr T kMax = kSigned ? T(kHalf - 1) : T(-1);
  constexpr T kMin = kSigned ? T(-kMax - 1) : T(0);
  // The first float above kMax: kMax + 1 is a power of two and so exact.
  constexpr F kAbove = F(2) * F(u64(1) << (8 * sizeof(T) - (kSigned ? 2 : 1)));
  if (x != x) return T(0);
  if (x >= kAbove) return kMax;
  return x > F(kMin) ? T(x) : kMin;
}

// Rounded towards the odd neighbour: rounding the result again to a narrower format equals rounding once (Boldo and
// Melquiond 2008).
TW_DEVICE float to_odd(double x) {
  const float f = __double2float_rz(x);
  const u32 bits = __float_as_uint(f);
  return f == f && double(f) != x ? __uint_as_float(bits | 1u) : f;
}
TW_DEVICE double to_odd(u64 x) {
  const double d = __ull2double_rz(x);
  const bool exact = x < (u64(1) << 53) || __double2ull_rz(d) == x;
  return exact ? d : __longlong_as_double(__double_as_longlong(d) | 1);
}
TW_DEVICE double to_odd(i64 x) { return x < 0 ? -to_odd(u64(0) - u64(x)) : to_odd(u64(x)); }

// A value of another type as the f32 that holds it rounded to a 16-bit float.
TW_DEVICE float to_f16(float x) { return round_f16(x); }
TW_DEVICE float to_bf16(float x) { return round_bf16(x); }
TW_DEVICE float to_f16(double x) { return round_f16(to_odd(x)); }
TW_DEVICE float to_bf16(double x) { return round_bf16(to_odd(x)); }
template <class I>
TW_DEVICE float to_f16(I x) {
  return to_f16(to_odd(i64(x)));
}
template <class I>
TW_DEVICE float to_bf16(I x) {
  return to_bf16(to_odd(i64(x)));
}
template <>
TW_DEVICE float to_f16(u64 x) {
  return to_f16(to_odd(x));
}
template <>
TW_DEVICE float to_bf16(u64 x) {
  return to_bf16(to_odd(x));
}

// ---- elementary functions; largest error 4 ulp (CUDA C++ Programming Guide, "Mathematical Functions") ----
#define TW_FUNCTION(name)                                \
  TW_DEVICE float name(float x) { return ::name##f(x); } \
  TW_DEVICE double name(double x) { return ::name(x); }
TW_FUNCTION(exp)
TW_FUNCTION(exp2)
TW_FUNCTION(log)
TW_FUNCTION(log2)
TW_FUNCTION(sqrt)
TW_FUNCTION(rsqrt)
TW_FUNCTION(sin)
TW_FUNCTION(cos)
TW_FUNCTION(tanh)
TW_FUNCTION(erf)
TW_FUNCTION(floor)
TW_FUNCTION(ceil)
#undef TW_FUNCTION
TW_DEVICE float round(float x) { return ::rintf(x); }  // to nearest even
TW_DEVICE double round(double x) { return ::rint(x); }
TW_DEVICE float abs(float x) { return ::fabsf(x); }
TW_DEVICE double abs(double x) { return ::fabs(x); }
template <class I>
TW_DEVICE I abs(I x) {
  return x < I(0) ? I(-x) : x;
}
// 1 / (1 + e^-x), from e^-|x|, which neither overflows nor loses a small result.
template <class F>
TW_DEVICE F sigmoid(F x) {
  const F e = exp(-abs(x));
  return (x < F(0) ? e : F(1)) / (F(1) + e);
}

// ---- failed checks ----
// The first failed check of a launch; the host turns `site` into an error at the author's line.
struct Failure {
  i64 site;
  i64 at[7];
};
template <class... I>
static __device__ __noinline__ void fail(Failure* failure, i64 site, I... at) {
  if (atomicCAS(reinterpret_cast<u64*>(&failure->site), u64(0), u64(site)) != 0) return;
  const i64 coordinates[] = {at..., 0};
  for (int i = 0; i < int(sizeof...(I)) && i < 7; ++i) failure->at[i] = coordinates[i];
}
// The value of a failed read.
template <class T, class... I>
TW_DEVICE T failed(Failure* failure, i64 site, I... at) {
  fail(failure, site, at...);
  return T(0);
}

// ---- threads of a block. PTX ISA 9.7.13.1, barrier ----
TW_DEVICE void block_sync() { __syncthreads(); }

TW_DEVICE u32 shared_address(const void* p) { return u32(__cvta_generic_to_shared(p)); }
TW_DEVICE void cp_async16(void* dst, const void* src, i64 valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(dst)), "l"(src), "r"(int(valid))
               : "memory");
}
TW_DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
TW_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
TW_DEVICE void ldmatrix_x4(u32* r, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
TW_DEVICE void ldmatrix_x4_trans(u32* r, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
TW_DEVICE void ldmatrix_x2(u32* r, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}
TW_DEVICE void ldmatrix_x2_trans(u32* r, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}
TW_DEVICE void mma_m16n8k16_f16(float* d, const u32* a, const u32* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
TW_DEVICE void mma_m16n8k16_bf16(float* d, const u32* a, const u32* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

}  // namespace tilewright::device::cuda
