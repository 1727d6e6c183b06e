#pragma once
// Products of s8 with s8 and u8, k 32, n 8, 16, 24 and from 32 to 256 in steps of 16. Operands are K-major. Sums wrap
// around. See wgmma.h.
#include <tilewright/device/cuda/wgmma_forms.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

TW_WGMMA_K_MAJOR(m64k32_s32_s8, "k32.s32.s8.s8", i32, "+r", TW_WGMMA_ROWS_INT, "")
TW_WGMMA_K_MAJOR(m64k32_s32_s8_u8, "k32.s32.s8.u8", i32, "+r", TW_WGMMA_ROWS_INT, "")

}  // namespace tilewright::device
#endif
