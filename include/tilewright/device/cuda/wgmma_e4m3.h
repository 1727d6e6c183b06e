#pragma once
// Products of e4m3 with e4m3 and e5m2, f32 accumulators, k 32, n from 8 to 256 in steps of 8. Operands are K-major.
// Sums keep about 14 bits: add them to f32 accumulators every 128 k where that is too few. See wgmma.h.
#include <tilewright/device/cuda/wgmma_forms.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

TW_WGMMA_K_MAJOR(m64k32_f32_e4m3, "k32.f32.e4m3.e4m3", float, "+f", TW_WGMMA_ROWS_32, ", 1, 1")
TW_WGMMA_K_MAJOR(m64k32_f32_e4m3_e5m2, "k32.f32.e4m3.e5m2", float, "+f", TW_WGMMA_ROWS_32, ", 1, 1")

}  // namespace tilewright::device
#endif
