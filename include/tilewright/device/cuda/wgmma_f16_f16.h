#pragma once
// Products of f16 with f16 accumulators, two in a register, k 16, n from 8 to 256 in steps of 8. See wgmma.h.
#include <tilewright/device/cuda/wgmma_forms.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

TW_WGMMA_16BIT(m64k16_f16_f16, "k16.f16.f16.f16", u32, "+r", TW_WGMMA_ROWS_16)

}  // namespace tilewright::device
#endif
