#pragma once
// PTX: ld, st. What the caches are told means nothing here.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

enum class LoadHint { normal, no_l1, read_only, stream, stream_256 };
enum class StoreHint { normal, stream, no_l1 };
enum : u64 {
  kEvictNormal = 0x1000000000000000,
  kEvictFirst = 0x12f0000000000000,
  kEvictLast = 0x14f0000000000000,
};
TW_ATOM u64 policy_evict_first() { return kEvictFirst; }
TW_ATOM u64 policy_evict_last() { return kEvictLast; }

namespace sim {
// One access of so many bytes.
template <u32 kBytes>
struct alignas(kBytes) Piece {
  u8 at[kBytes];
};
template <u32 kBytes>
TW_ATOM void check_alignment(const void* at, int line) {
  if (reinterpret_cast<unsigned long long>(at) % kBytes != 0) hooks->misaligned(at, kBytes, line);
}
// To or from registers, whose alignment is that of an element.
template <u32 kBytes>
TW_ATOM void load(void* to, const void* from, int line) {
  check_alignment<kBytes>(from, line);
  const Piece<kBytes> piece = *static_cast<const Piece<kBytes>*>(from);
  __builtin_memcpy(to, &piece, kBytes);
}
template <u32 kBytes>
TW_ATOM void store(void* to, const void* from, int line) {
  check_alignment<kBytes>(to, line);
  Piece<kBytes> piece;
  __builtin_memcpy(&piece, from, kBytes);
  *static_cast<Piece<kBytes>*>(to) = piece;
}
template <u32 kBytes>
TW_ATOM void load_shared(void* to, u32 from, int line) {
  __builtin_memcpy(to, hooks->shared(from, kBytes, Access::read, line), kBytes);
}
template <u32 kBytes>
TW_ATOM void store_shared(u32 to, const void* x, int line) {
  __builtin_memcpy(hooks->shared(to, kBytes, Access::write, line), x, kBytes);
}
}  // namespace sim

template <LoadHint kHint = LoadHint::normal>
TW_ATOM u8 load_global_u8(const void* from) {
  return *static_cast<const u8*>(from);
}
template <LoadHint kHint = LoadHint::normal>
TW_ATOM u16 load_global_u16(const void* from, TW_SIM_LINE) {
  sim::check_alignment<2>(from, line);
  return *static_cast<const u16*>(from);
}
template <LoadHint kHint = LoadHint::normal>
TW_ATOM void load_global_v1(u32* to, const void* from, TW_SIM_LINE) {
  sim::load<4>(to, from, line);
}
template <LoadHint kHint = LoadHint::normal>
TW_ATOM void load_global_v2(u32* to, const void* from, TW_SIM_LINE) {
  sim::load<8>(to, from, line);
}
template <LoadHint kHint = LoadHint::normal>
TW_ATOM void load_global_v4(u32* to, const void* from, TW_SIM_LINE) {
  sim::load<16>(to, from, line);
}
TW_ATOM void load_global_v4(u32* to, const void* from, u64, TW_SIM_LINE) { sim::load<16>(to, from, line); }

template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_u8(void* to, u8 x) {
  *static_cast<u8*>(to) = x;
}
template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_u16(void* to, u16 x, TW_SIM_LINE) {
  sim::check_alignment<2>(to, line);
  *static_cast<u16*>(to) = x;
}
template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_v1(void* to, const u32* x, TW_SIM_LINE) {
  sim::store<4>(to, x, line);
}
template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_v2(void* to, const u32* x, TW_SIM_LINE) {
  sim::store<8>(to, x, line);
}
template <StoreHint kHint = StoreHint::normal>
TW_ATOM void store_global_v4(void* to, const u32* x, TW_SIM_LINE) {
  sim::store<16>(to, x, line);
}
TW_ATOM void store_global_v4(void* to, const u32* x, u64, TW_SIM_LINE) { sim::store<16>(to, x, line); }
TW_ATOM void prefetch_l2(const void*) {}

TW_ATOM u8 load_shared_u8(u32 from, TW_SIM_LINE) {
  u8 out;
  sim::load_shared<1>(&out, from, line);
  return out;
}
TW_ATOM u16 load_shared_u16(u32 from, TW_SIM_LINE) {
  u16 out;
  sim::load_shared<2>(&out, from, line);
  return out;
}
TW_ATOM void load_shared_v1(u32* to, u32 from, TW_SIM_LINE) { sim::load_shared<4>(to, from, line); }
TW_ATOM void load_shared_v2(u32* to, u32 from, TW_SIM_LINE) { sim::load_shared<8>(to, from, line); }
TW_ATOM void load_shared_v4(u32* to, u32 from, TW_SIM_LINE) { sim::load_shared<16>(to, from, line); }
TW_ATOM void store_shared_u8(u32 to, u8 x, TW_SIM_LINE) { sim::store_shared<1>(to, &x, line); }
TW_ATOM void store_shared_u16(u32 to, u16 x, TW_SIM_LINE) { sim::store_shared<2>(to, &x, line); }
TW_ATOM void store_shared_v1(u32 to, const u32* x, TW_SIM_LINE) { sim::store_shared<4>(to, x, line); }
TW_ATOM void store_shared_v2(u32 to, const u32* x, TW_SIM_LINE) { sim::store_shared<8>(to, x, line); }
TW_ATOM void store_shared_v4(u32 to, const u32* x, TW_SIM_LINE) { sim::store_shared<16>(to, x, line); }

// The PTX manual's swizzling modes: 16-byte pieces of a row of 128 bytes are exchanged by the row's number modulo 8, 4
// or 2.
template <u32 kSpanBytes>
TW_ATOM u32 swizzle(u32 offset) {
  static_assert(kSpanBytes == 128 || kSpanBytes == 64 || kSpanBytes == 32);
  const u32 row = offset / 128, piece = offset / 16;
  return (piece ^ row % (kSpanBytes / 16)) * 16 + offset % 16;
}

}  // namespace tilewright::device
