#pragma once
// Products of e5m2 with e5m2 and e4m3, f32 accumulators, k 32, n from 8 to 256 in steps of 8. Operands are K-major.
// Sums keep about 14 bits: add them to f32 accumulators every 128 k where that is too few. See wgmma.h.
#include <tilewright/device/cuda/wgmma_forms.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

TW_WGMMA_K_MAJOR(m64k32_f32_e5m2, "k32.f32.e5m2.e5m2", float, "+f", TW_WGMMA_ROWS_32, ", 1, 1")
TW_WGMMA_K_MAJOR(m64k32_f32_e5m2_e4m3, "k32.f32.e5m2.e4m3", float, "+f", TW_WGMMA_ROWS_32, ", 1, 1")

}  // namespace tilewright::device
#endif
