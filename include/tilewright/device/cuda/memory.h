#pragma once
// Loads and stores of global and shared memory, 1 to 16 bytes a thread, with what the caches are told.
//
// An access of 2, 4, 8 or 16 bytes needs an address that is a multiple of its size. v1, v2, v4: so many registers.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

// What a load of global memory tells the caches.
enum class LoadHint {
  normal,
  no_l1,       // not worth a place in L1
  read_only,   // nobody writes it while the kernel runs: may come from the read-only path (PTX: ld.global.nc)
  stream,      // the same, and not worth a place in L1
  stream_256,  // the same, and L2 fetches 256 bytes at once
};
// What a store tells them.
enum class StoreHint {
  normal,
  stream,  // not read again soon (PTX: st.global.cs)
  no_l1,   // not worth a place in L1
};

// A 64-bit policy says how long L2 keeps a line. (PTX: createpolicy)
enum : u64 {
  kEvictNormal = 0x1000000000000000,
  kEvictFirst = 0x12f0000000000000,
  kEvictLast = 0x14f0000000000000,
};

TW_ATOM u64 policy_evict_first() {
  u64 out;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(out));
  return out;
}
TW_ATOM u64 policy_evict_last() {
  u64 out;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(out));
  return out;
}

// ---- Global loads ----

#define TW_BY_LOAD_HINT(LOAD)                          \
  if constexpr (kHint == LoadHint::normal) {           \
    LOAD("ld.global");                                 \
  } else if constexpr (kHint == LoadHint::no_l1) {     \
    LOAD("ld.global.L1::no_allocate");                 \
  } else if constexpr (kHint == LoadHint::read_only) { \
    LOAD("ld.global.nc");                              \
  } else if constexpr (kHint == LoadHint::stream) {    \
    LOAD("ld.global.nc.L1::no_allocate");              \
  } else {                                             \
    LOAD("ld.global.nc.L1::no_allocate.L2::256B");     \
  }

template <LoadHint kHint = LoadHint::normal>
TW_ATOM u8 load_global_u8(const void* from) {
  u32 out;
#define TW_LOAD(OP) asm volatile(OP ".u8 %0, [%1];" : "=r"(out) : "l"(from) : "memory")
  TW_BY_LOAD_HINT(TW_LOAD)
#undef TW_LOAD
  return u8(out);
}
template <LoadHint kHint = LoadHint::normal>
TW_ATOM u16 load_global_u16(const void* from) {
  u16 out;
#define TW_LOAD(OP) asm volatile(OP ".u16 %0, [%1];" : "=h"(out) : "l"(from) : "memory")
  TW_BY_LOAD_HINT(TW_LOAD)
#undef TW_LOAD
  return out;
}
template <LoadHint kHint = LoadHint::normal>
TW_ATOM void load_global_v1(u32* to, const void* from) {
#define TW_LOAD(OP) asm volatile(OP ".b32 %0, [%1];" : "=r"(to[0]) : "l"(from) : "memory")
  TW_BY_LOAD_HINT(TW_LOAD)
#undef TW_LOAD
}
template <LoadHint kHint = LoadHint::normal>
TW_ATOM void load_global_v2(u32* to, const void* from) {
#define TW_LOAD(OP) asm volatile(OP ".v2.b32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "l"(from) : "memory")
  TW_BY_LOAD_HINT(TW_LOAD)
#undef TW_LOAD
}
template <LoadHint kHint = LoadHint::normal>
TW_ATOM void load_global_v4(u32* to, const void* from) {
#define TW_LOAD(OP)                                                 \
  asm volatile(OP ".v4.b32 {%0, %1, %2, %3}, [%4];"                 \
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) \
               : "l"(from)                                          \
               : "memory")
  TW_BY_LOAD_HINT(TW_LOAD)
#undef TW_LOAD
}
#undef TW_BY_LOAD_HINT

// The same past L1, L2 by a policy.
TW_ATOM void load_global_v4(u32* to, const void* from, u64 policy) {
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "l"(from), "l"(policy)
               : "memory");
}

// Sees what other blocks released before (a flag, a counter). (PTX: ld.acquire.gpu)
TW_ATOM u32 load_acquire(const void* from) {
  u32 out;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(out) : "l"(from) : "memory");
  return out;
}

// ---- Global stores ----

#define TW_BY_STORE_HINT(STORE)                      \
  if constexpr (kHint == StoreHint::normal) {        \
    STORE("st.global");                              \
  } else if constexpr (kHint == StoreHint::stream) { \
    STORE("st.global.cs");                           \
  } else {                                           \
    STORE("st.global.L1::no_allocate");              \
  }

template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_u8(void* to, u8 x) {
#define TW_STORE(OP) asm volatile(OP ".u8 [%0], %1;" : : "l"(to), "r"(u32(x)) : "memory")
  TW_BY_STORE_HINT(TW_STORE)
#undef TW_STORE
}
template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_u16(void* to, u16 x) {
#define TW_STORE(OP) asm volatile(OP ".u16 [%0], %1;" : : "l"(to), "h"(x) : "memory")
  TW_BY_STORE_HINT(TW_STORE)
#undef TW_STORE
}
template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_v1(void* to, const u32* x) {
#define TW_STORE(OP) asm volatile(OP ".b32 [%0], %1;" : : "l"(to), "r"(x[0]) : "memory")
  TW_BY_STORE_HINT(TW_STORE)
#undef TW_STORE
}
template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_v2(void* to, const u32* x) {
#define TW_STORE(OP) asm volatile(OP ".v2.b32 [%0], {%1, %2};" : : "l"(to), "r"(x[0]), "r"(x[1]) : "memory")
  TW_BY_STORE_HINT(TW_STORE)
#undef TW_STORE
}
template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_v4(void* to, const u32* x){
#define TW_STORE(OP)                                                 \
  asm volatile(OP ".v4.b32 [%0], {%1, %2, %3, %4};"                  \
               :                                                     \
               : "l"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) \
               : "memor"                                             \
                 "y")
    TW_BY_STORE_HINT(TW_STORE)
#undef TW_STORE
}
#undef TW_BY_STORE_HINT

TW_ATOM void store_global_v4(void* to, const u32* x, u64 policy) {
  asm volatile("st.global.L1::no_allocate.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;"
               :
               : "l"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(policy)
               : "memory");
}

// What this thread wrote before is seen by whoever acquires the value. (PTX: st.release.gpu)
TW_ATOM void store_release(void* to, u32 x) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(to), "r"(x) : "memory");
}

// Brings a line into L2. (PTX: prefetch)
TW_ATOM void prefetch_l2(const void* from) { asm volatile("prefetch.global.L2 [%0];" : : "l"(from) : "memory"); }

// ---- Shared memory ----

TW_ATOM u8 load_shared_u8(u32 from) {
  u32 out;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(out) : "r"(from) : "memory");
  return u8(out);
}
TW_ATOM u16 load_shared_u16(u32 from) {
  u16 out;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(out) : "r"(from) : "memory");
  return out;
}
TW_ATOM void load_shared_v1(u32* to, u32 from) {
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(to[0]) : "r"(from) : "memory");
}
TW_ATOM void load_shared_v2(u32* to, u32 from) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(from) : "memory");
}
TW_ATOM void load_shared_v4(u32* to, u32 from) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}

TW_ATOM void store_shared_u8(u32 to, u8 x) {
  asm volatile("st.shared.u8 [%0], %1;" : : "r"(to), "r"(u32(x)) : "memory");
}
TW_ATOM void store_shared_u16(u32 to, u16 x) { asm volatile("st.shared.u16 [%0], %1;" : : "r"(to), "h"(x) : "memory"); }
TW_ATOM void store_shared_v1(u32 to, const u32* x) {
  asm volatile("st.shared.b32 [%0], %1;" : : "r"(to), "r"(x[0]) : "memory");
}
TW_ATOM void store_shared_v2(u32 to, const u32* x) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" : : "r"(to), "r"(x[0]), "r"(x[1]) : "memory");
}
TW_ATOM void store_shared_v4(u32 to, const u32* x) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
}

// The offset of a byte in a tile whose rows have 128, 64 or 32 bytes and whose 16-byte pieces are exchanged so that a
// column of them spreads over all banks: piece ^= row of 128 bytes, in the lowest 3, 2 or 1 bits. The tensor memory
// accelerator, wgmma descriptors and this agree where the tile starts at a multiple of 1024, 512 or 256 bytes.
template <u32 kSpanBytes>
TW_ATOM u32 swizzle(u32 offset) {
  static_assert(kSpanBytes == 128 || kSpanBytes == 64 || kSpanBytes == 32);
  return offset ^ (offset >> 3 & (kSpanBytes - 16));
}

}  // namespace tilewright::device
