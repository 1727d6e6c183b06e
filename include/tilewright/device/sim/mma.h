#pragma once
// PTX: mma.sync. The simulator holds which lane has which element.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

namespace sim {
inline void multiply(void* d, const void* a, const void* b, const Product& product, int line) {
  Lane lane{kFullMask};
  lane.a = a;
  lane.b = b;
  lane.d = d;
  lane.product = product;
  hooks->warp(WarpOp::multiply, &lane, line);
}
}  // namespace sim

#define TW_MMA(NAME, M, N, K, D_TYPE, AB_TYPE, A, B, D)                                         \
  TW_ATOM void NAME(D_TYPE* d, const AB_TYPE* a, const AB_TYPE* b, TW_SIM_LINE) {               \
    sim::multiply(d, a, b, {M, N, K, sim::Element::A, sim::Element::B, sim::Element::D}, line); \
  }
TW_MMA(mma_m16n8k8_f32_f16, 16, 8, 8, float, u32, f16, f16, f32)
TW_MMA(mma_m16n8k8_f16_f16, 16, 8, 8, u32, u32, f16, f16, f16)
#if TW_CUDA_ARCH >= 800
TW_MMA(mma_m16n8k16_f32_f16, 16, 8, 16, float, u32, f16, f16, f32)
TW_MMA(mma_m16n8k16_f32_bf16, 16, 8, 16, float, u32, bf16, bf16, f32)
TW_MMA(mma_m16n8k8_f32_bf16, 16, 8, 8, float, u32, bf16, bf16, f32)
TW_MMA(mma_m16n8k16_f16_f16, 16, 8, 16, u32, u32, f16, f16, f16)
TW_MMA(mma_m16n8k8_f32_tf32, 16, 8, 8, float, u32, tf32, tf32, f32)
TW_MMA(mma_m8n8k4_f64, 8, 8, 4, double, double, f64, f64, f64)
TW_MMA(mma_m16n8k32_s32_s8, 16, 8, 32, i32, u32, s8, s8, s32)
TW_MMA(mma_m16n8k32_s32_u8, 16, 8, 32, i32, u32, u8, u8, s32)
TW_MMA(mma_m16n8k32_s32_s8_u8, 16, 8, 32, i32, u32, s8, u8, s32)
TW_MMA(mma_m16n8k32_s32_u8_s8, 16, 8, 32, i32, u32, u8, s8, s32)
TW_MMA(mma_m16n8k16_s32_s8, 16, 8, 16, i32, u32, s8, s8, s32)
TW_MMA(mma_m16n8k16_s32_u8, 16, 8, 16, i32, u32, u8, u8, s32)
#endif
#if TW_CUDA_ARCH >= 890
TW_MMA(mma_m16n8k32_f32_e4m3, 16, 8, 32, float, u32, e4m3, e4m3, f32)
TW_MMA(mma_m16n8k32_f32_e5m2, 16, 8, 32, float, u32, e5m2, e5m2, f32)
TW_MMA(mma_m16n8k32_f32_e4m3_e5m2, 16, 8, 32, float, u32, e4m3, e5m2, f32)
TW_MMA(mma_m16n8k32_f32_e5m2_e4m3, 16, 8, 32, float, u32, e5m2, e4m3, f32)
#endif
#undef TW_MMA

}  // namespace tilewright::device
