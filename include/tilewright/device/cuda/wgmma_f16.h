#pragma once
// Products of f16 with f32 accumulators, k 16, n from 8 to 256 in steps of 8. See wgmma.h.
#include <tilewright/device/cuda/wgmma_forms.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

TW_WGMMA_16BIT(m64k16_f32_f16, "k16.f32.f16.f16", float, "+f", TW_WGMMA_ROWS_32)

}  // namespace tilewright::device
#endif
