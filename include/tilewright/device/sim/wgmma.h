#pragma once
// PTX: wgmma.fence, wgmma.commit_group, wgmma.wait_group, descriptors. The simulator reads descriptors as the manual
// lays them out.
#include <tilewright/device/cuda/types.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

TW_ATOM void wgmma_fence(TW_SIM_LINE) { sim::in_warp(sim::WarpOp::wgmma_fence, kFullMask, 0, 0, 32, line); }
TW_ATOM void wgmma_commit(TW_SIM_LINE) { sim::in_warp(sim::WarpOp::wgmma_commit, kFullMask, 0, 0, 32, line); }
template <u32 kPending>
TW_ATOM void wgmma_wait(TW_SIM_LINE) {
  sim::hooks->wgmma_wait(kPending, line);
}

template <u32 kCount>
TW_ATOM void pin(float*) {}
template <u32 kCount>
TW_ATOM void pin(u32*) {}
template <u32 kCount>
TW_ATOM void pin(i32*) {}

enum class SharedLayout : u32 { plain = 0, span128 = 1, span64 = 2, span32 = 3 };

// PTX ISA, "Matrix Descriptor Format": bits 0-13 start, 16-29 leading, 32-45 stride, all without their lowest 4 bits;
// 62-63 the swizzle.
TW_ATOM u64 wgmma_descriptor(u32 address, u32 leading_bytes, u32 stride_bytes, SharedLayout layout) {
  const auto field = [](u32 x) { return u64(x >> 4 & 0x3fff); };
  return field(address) | field(leading_bytes) << 16 | field(stride_bytes) << 32 | u64(layout) << 62;
}
TW_ATOM u64 advance(u64 descriptor, u32 bytes) { return descriptor + bytes / 16; }

}  // namespace tilewright::device
#endif
