#pragma once
// The words that every atom is written in. Nothing here or beside it needs a header of the CUDA toolkit.
//
// Conventions of the atoms in this folder:
//   - One atom is one PTX instruction (or, where said, the shortest sequence that means the same on an older
//     architecture). It adds no synchronisation of its own. "PTX: X" names the entry X of the instruction set manual
//     (PTX ISA), whose semantics hold.
//   - 16-bit and 8-bit floats are bits: packed two or four in a u32, the element of the lower index in the lower bits.
//   - A fragment is a pointer to registers: an array that the compiler sees whole, indexed by constants.
//   - Shared memory is named by its 32-bit address in the block's window (shared_address); an address in the cluster's
//     window (mapa) names a peer's shared memory.
//   - Atoms are volatile and order memory for the compiler, so that none moves across a barrier.
//   - An atom that an architecture lacks is not declared for it.
#if !defined(__CUDACC__)
#error "the CUDA atoms are compiled by NVRTC, nvcc or clang for CUDA"
#endif

#define TW_ATOM __device__ __forceinline__

// The architecture in tens, 900 for sm_90; on the host pass of nvcc that of the newest atoms, so that calls parse.
#if defined(__CUDA_ARCH__)
#define TW_CUDA_ARCH __CUDA_ARCH__
#else
#define TW_CUDA_ARCH 900
#endif
// Whether instructions that exist for sm_90a alone are compiled: wgmma, setmaxnreg.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
#define TW_CUDA_SM90A 1
#else
#define TW_CUDA_SM90A 0
#endif

namespace tilewright::device {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);

// Enumerators, because NVRTC puts a constant of namespace scope into every module.
enum : u32 { kWarpSize = 32, kFullMask = 0xffffffff };

// The address of an object in shared memory, within the block's window. (PTX: cvta)
TW_ATOM u32 shared_address(const void* p) { return u32(__cvta_generic_to_shared(p)); }

TW_ATOM u32 bits_of(float x) { return __float_as_uint(x); }
TW_ATOM float float_of(u32 bits) { return __uint_as_float(bits); }
TW_ATOM u64 bits_of(double x) { return u64(__double_as_longlong(x)); }
TW_ATOM double double_of(u64 bits) { return __longlong_as_double(i64(bits)); }

// Two 16-bit words in one register and back. (PTX: mov)
TW_ATOM u32 pack16(u16 low, u16 high) { return u32(low) | u32(high) << 16; }
TW_ATOM u16 low16(u32 x) { return u16(x); }
TW_ATOM u16 high16(u32 x) { return u16(x >> 16); }
TW_ATOM u64 pack32(u32 low, u32 high) { return u64(low) | u64(high) << 32; }
TW_ATOM u32 low32(u64 x) { return u32(x); }
TW_ATOM u32 high32(u64 x) { return u32(x >> 32); }

// Hides where a value comes from, so that what is computed from it is not hoisted out of a loop or kept in registers
// across it: 72 loop-invariant descriptors of an unrolled chain of products cost 824 bytes of spills (hopper,
// ptxas 13.0).
TW_ATOM void opaque(u32& x) { asm volatile("" : "+r"(x)); }
TW_ATOM void opaque(u64& x) { asm volatile("" : "+l"(x)); }

}  // namespace tilewright::device
