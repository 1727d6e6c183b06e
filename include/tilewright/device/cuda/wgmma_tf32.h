#pragma once
// Products of tf32, k 8, n from 8 to 256 in steps of 8. Operands are K-major. See wgmma.h.
#include <tilewright/device/cuda/wgmma_forms.h>

#if TW_CUDA_SM90A
namespace tilewright::device {

TW_WGMMA_K_MAJOR(m64k8_f32_tf32, "k8.f32.tf32.tf32", float, "+f", TW_WGMMA_ROWS_32, ", 1, 1")

}  // namespace tilewright::device
#endif
