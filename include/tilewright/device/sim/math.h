#pragma once
// PTX: rcp.approx. The correctly rounded number is one of those that the manual's bound admits.
#include <tilewright/device/cuda/types.h>

namespace tilewright::device {

TW_ATOM float rcp_approx(float x) { return __frcp_rn(x); }

}  // namespace tilewright::device
