#pragma once
// Products of u8 with u8 and s8, k 32, n 8, 16, 24 and from 32 to 256 in steps of 16. Operands are K-major. Sums wrap
// around. See wgmma.h.
#include <tilewright/device/cuda/wgmma_forms.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

TW_WGMMA_K_MAJOR(m64k32_s32_u8, "k32.s32.u8.u8", i32, "+r", TW_WGMMA_ROWS_INT, "")
TW_WGMMA_K_MAJOR(m64k32_s32_u8_s8, "k32.s32.u8.s8", i32, "+r", TW_WGMMA_ROWS_INT, "")

}  // namespace tilewright::device
#endif
