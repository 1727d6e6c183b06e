#pragma once
// The words of CUDA C++ for the host compiler: stands in front of simulated text. What the device library calls of
// CUDA's own functions is here, with the meaning of the CUDA C++ Programming Guide and the CUDA Math API.
#include <tilewright/device/sim/hook_table.h>

#define __device__
#define __host__
#if defined(TW_SIM_CHECKED)
#include <tilewright/device/sim/checked.h>
// So that each access has a place in the kernel that the author's line is known of.
#define __forceinline__ inline __attribute__((always_inline))
#define TW_SIM_UNCHECKED __attribute__((no_sanitize("thread")))
#else
#define __forceinline__ inline
#define TW_SIM_UNCHECKED
#endif
#define __noinline__ __attribute__((noinline))
#define __global__ __attribute__((visibility("default"), noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// One block runs in one thread of the host at a time.
#define __shared__ __thread
#define threadIdx (tilewright::device::sim::thread_view()->thread)
#define blockIdx (tilewright::device::sim::thread_view()->block)
#define blockDim (tilewright::device::sim::thread_view()->block_dim)
#define gridDim (tilewright::device::sim::thread_view()->grid_dim)

// As much as the kernels of the text ask for. Kernels, whose linkage is that of C, declare it again.
extern "C" {
extern __thread __attribute__((aligned(1024))) unsigned char shared_memory[];
}

namespace tilewright::device::sim {

extern __thread const ThreadView* thread;
// Not watched: it lies beside the shared memory of the block.
#if defined(TW_SIM_CHECKED)
TW_SIM_UNCHECKED __attribute__((noinline)) inline const ThreadView* thread_view() { return thread; }
#else
inline const ThreadView* thread_view() { return thread; }
#endif

// A kernel by the addresses of its arguments.
template <class... A>
struct Arguments;
template <>
struct Arguments<> {
  template <class Kernel, class... Pointers>
  TW_SIM_UNCHECKED static void call(Kernel kernel, void* const*, Pointers... pointers) {
    kernel(*pointers...);
  }
};
template <class First, class... Rest>
struct Arguments<First, Rest...> {
  template <class Kernel, class... Pointers>
  TW_SIM_UNCHECKED static void call(Kernel kernel, void* const* at, Pointers... pointers) {
    Arguments<Rest...>::call(kernel, at + 1, pointers..., static_cast<First*>(*at));
  }
};
template <class... A>
TW_SIM_UNCHECKED void call(void (*kernel)(A...), void* const* at) {
  Arguments<A...>::call(kernel, at);
}

}  // namespace tilewright::device::sim

// ---- C library ----
extern "C" {
#define TW_SIM_1(name)           \
  float name##f(float) noexcept; \
  double name(double) noexcept;
#define TW_SIM_2(name)                  \
  float name##f(float, float) noexcept; \
  double name(double, double) noexcept;
TW_SIM_1(exp)
TW_SIM_1(exp2)
TW_SIM_1(exp10)
TW_SIM_1(expm1)
TW_SIM_1(log)
TW_SIM_1(log2)
TW_SIM_1(log10)
TW_SIM_1(log1p)
TW_SIM_1(sqrt)
TW_SIM_1(sin)
TW_SIM_1(cos)
TW_SIM_1(tan)
TW_SIM_1(sinh)
TW_SIM_1(cosh)
TW_SIM_1(tanh)
TW_SIM_1(asin)
TW_SIM_1(acos)
TW_SIM_1(atan)
TW_SIM_1(asinh)
TW_SIM_1(acosh)
TW_SIM_1(atanh)
TW_SIM_1(erf)
TW_SIM_1(floor)
TW_SIM_1(ceil)
TW_SIM_1(trunc)
TW_SIM_1(rint)
TW_SIM_1(fabs)
TW_SIM_2(atan2)
TW_SIM_2(pow)
TW_SIM_2(hypot)
TW_SIM_2(fmod)
TW_SIM_2(copysign)
TW_SIM_2(nextafter)
TW_SIM_2(fmin)
TW_SIM_2(fmax)
#undef TW_SIM_1
#undef TW_SIM_2
int ilogb(double) noexcept;
float ldexpf(float, int) noexcept;
double ldexp(double, int) noexcept;
float fmaf(float, float, float) noexcept;
double fma(double, double, double) noexcept;
}
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }

// ---- CUDA Math API: one rounding to nearest even, or towards zero (rz). Compiled without contraction. ----
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }

template <class To, class From>
inline To __tw_sim_bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  __builtin_memcpy(&out, &x, sizeof out);
  return out;
}
inline unsigned __float_as_uint(float x) { return __tw_sim_bits<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return __tw_sim_bits<float>(x); }
inline int __float_as_int(float x) { return __tw_sim_bits<int>(x); }
inline float __int_as_float(int x) { return __tw_sim_bits<float>(x); }
inline long long __double_as_longlong(double x) { return __tw_sim_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return __tw_sim_bits<double>(x); }
inline float __double2float_rz(double x) {
  const float near = float(x);
  const unsigned bits = __float_as_uint(near);
  const double magnitude = fabs(x);
  // One number towards zero, which leads from infinity to the largest finite one.
  return fabs(double(near)) > magnitude && magnitude != __builtin_inf() ? __uint_as_float(bits - 1) : near;
}
inline double __ull2double_rz(unsigned long long x) {
  const int above = x >> 53 ? 11 - __builtin_clzll(x) : 0;  // bits that a double cannot hold
  return double(x >> above << above);
}
inline unsigned long long __double2ull_rz(double x) {
  return x >= 0x1p64 ? ~0ull : x > 0 ? static_cast<unsigned long long>(x) : 0;
}
// 1 / sqrt(x), correctly rounded: the double is right to 2^-52, and its rounding differs from that of the exact value
// only within so much of the middle between two floats; there squares decide.
inline float __frsqrt_rn(float x) {
  const double near = 1.0 / sqrt(double(x));
  const float f = float(near);
  const unsigned bits = __float_as_uint(f);
  if (!(x > 0) || x == __builtin_inff()) return f;
  const float other = __uint_as_float(double(f) < near ? bits + 1 : bits - 1);
  const double middle = (double(f) + double(other)) / 2;
  if (fabs(near - middle) > near * 0x1p-50) return f;
  const bool above = __extension__(static_cast<__float128>(middle)) * middle * x < 1;  // 1 / sqrt(x) > middle
  return above == (other > f) ? other : f;
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __brev(unsigned x) {
  unsigned out = 0;
  for (int i = 0; i < 32; ++i) out |= (x >> i & 1) << (31 - i);
  return out;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = a | static_cast<unsigned long long>(b) << 32;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned digit = selector >> 4 * i;
    out |= unsigned(bytes >> 8 * (digit & 7) & 0xff) << 8 * i;
  }
  return out;
}

// ---- Threads ----
inline unsigned long long __cvta_generic_to_shared(const void* p) {
  return static_cast<unsigned long long>(static_cast<const unsigned char*>(p) - shared_memory);
}

#define TW_SIM_LINE int line = __builtin_LINE()
// The same where a number could be taken for it.
#define TW_SIM_PLACE tilewright::device::sim::Place place = {__builtin_LINE()}

namespace tilewright::device::sim {
struct Place {
  int line;
};
inline unsigned vote(BlockVote kind, unsigned x, int line) { return hooks->barrier(0, 0, kind, x, line); }
inline unsigned in_warp(WarpOp op, unsigned mask, unsigned x, unsigned n, unsigned width, int line) {
  Lane lane{mask, x, n, width};
  hooks->warp(op, &lane, line);
  return lane.result;
}
// Shuffles move words of 32 bits; wider values two of them.
template <class T>
inline T shuffle(WarpOp op, unsigned mask, T x, unsigned n, unsigned width, int line) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  unsigned words[sizeof(T) / 4];
  __builtin_memcpy(words, &x, sizeof(T));
  for (unsigned& word : words) word = in_warp(op, mask, word, n, width, line);
  __builtin_memcpy(&x, words, sizeof(T));
  return x;
}
}  // namespace tilewright::device::sim

inline void __syncthreads(TW_SIM_LINE) {
  tilewright::device::sim::vote(tilewright::device::sim::BlockVote::none, 0, line);
}
inline int __syncthreads_or(int x, TW_SIM_LINE) {
  return int(tilewright::device::sim::vote(tilewright::device::sim::BlockVote::any, x != 0, line));
}
inline int __syncthreads_and(int x, TW_SIM_LINE) {
  return int(tilewright::device::sim::vote(tilewright::device::sim::BlockVote::all, x != 0, line));
}
inline int __syncthreads_count(int x, TW_SIM_LINE) {
  return int(tilewright::device::sim::vote(tilewright::device::sim::BlockVote::count, x != 0, line));
}
inline void __syncwarp(unsigned mask = 0xffffffffu, TW_SIM_LINE) {
  tilewright::device::sim::in_warp(tilewright::device::sim::WarpOp::sync, mask, 0, 0, 32, line);
}
inline unsigned __activemask(TW_SIM_LINE) { return tilewright::device::sim::hooks->active_mask(line); }
template <class T>
inline T __shfl_sync(unsigned mask, T x, int from, int width = 32, TW_SIM_LINE) {
  return tilewright::device::sim::shuffle(tilewright::device::sim::WarpOp::shuffle_index, mask, x, unsigned(from),
                                          unsigned(width), line);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T x, int lanes, int width = 32, TW_SIM_LINE) {
  return tilewright::device::sim::shuffle(tilewright::device::sim::WarpOp::shuffle_xor, mask, x, unsigned(lanes),
                                          unsigned(width), line);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T x, unsigned by, int width = 32, TW_SIM_LINE) {
  return tilewright::device::sim::shuffle(tilewright::device::sim::WarpOp::shuffle_up, mask, x, by, unsigned(width),
                                          line);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T x, unsigned by, int width = 32, TW_SIM_LINE) {
  return tilewright::device::sim::shuffle(tilewright::device::sim::WarpOp::shuffle_down, mask, x, by, unsigned(width),
                                          line);
}
inline int __any_sync(unsigned mask, int x, TW_SIM_LINE) {
  return int(tilewright::device::sim::in_warp(tilewright::device::sim::WarpOp::any, mask, x != 0, 0, 32, line));
}
inline int __all_sync(unsigned mask, int x, TW_SIM_LINE) {
  return int(tilewright::device::sim::in_warp(tilewright::device::sim::WarpOp::all, mask, x != 0, 0, 32, line));
}
inline unsigned __ballot_sync(unsigned mask, int x, TW_SIM_LINE) {
  return tilewright::device::sim::in_warp(tilewright::device::sim::WarpOp::ballot, mask, x != 0, 0, 32, line);
}
inline unsigned __match_any_sync(unsigned mask, unsigned x, TW_SIM_LINE) {
  return tilewright::device::sim::in_warp(tilewright::device::sim::WarpOp::match, mask, x, 0, 32, line);
}
inline unsigned long long atomicCAS(unsigned long long* at, unsigned long long expected, unsigned long long x,
                                    TW_SIM_LINE) {
  using namespace tilewright::device::sim;
  return hooks->atomic(AtomicOp::compare_exchange, Number::u64, at, x, expected, line);
}
inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long x, TW_SIM_LINE) {
  using namespace tilewright::device::sim;
  return hooks->atomic(AtomicOp::add, Number::u64, at, x, 0, line);
}
// Memory is one for all threads of the host process, and blocks synchronise by atomics alone.
TW_SIM_UNCHECKED inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
TW_SIM_UNCHECKED inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
TW_SIM_UNCHECKED inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// What a module of simulated kernels has once, behind its text, and for each kernel. `shared_memory`, which the text
// declares, stands in the middle of a larger array: between two margins where accesses beside it are seen.
#define TW_SIM_MODULE(SHARED_BYTES, MARGIN_BYTES)                                                                    \
  extern "C" {                                                                                                       \
  extern __thread unsigned char tw_sim_shared_memory[];                                                              \
  __thread                                                                                                           \
      __attribute__((aligned(1024))) unsigned char tw_sim_shared_memory[MARGIN_BYTES + SHARED_BYTES + MARGIN_BYTES]; \
  }                                                                                                                  \
  asm(".globl shared_memory\n.type shared_memory, @tls_object\n"                                                     \
      ".set shared_memory, tw_sim_shared_memory + " #MARGIN_BYTES "\n");                                             \
  namespace tilewright::device::sim {                                                                                \
  __thread const ThreadView* thread;                                                                                 \
  }                                                                                                                  \
  extern "C" {                                                                                                       \
  __attribute__((visibility("hidden"))) tilewright::device::sim::Hooks tw_sim_hook_table;                            \
  TW_SIM_UNCHECKED __global__ void tw_sim_attach(const tilewright::device::sim::Hooks* hooks) {                      \
    tw_sim_hook_table = *hooks;                                                                                      \
  }                                                                                                                  \
  TW_SIM_UNCHECKED __global__ unsigned char* tw_sim_shared() { return tw_sim_shared_memory + MARGIN_BYTES; }         \
  TW_SIM_UNCHECKED __global__ const tilewright::device::sim::ThreadView** tw_sim_thread() {                          \
    return &tilewright::device::sim::thread;                                                                         \
  }                                                                                                                  \
  }
#define TW_SIM_ENTRY(KERNEL)                                                           \
  extern "C" TW_SIM_UNCHECKED __global__ void tw_sim_enter_##KERNEL(void* const* at) { \
    tilewright::device::sim::call(&KERNEL, at);                                        \
  }
