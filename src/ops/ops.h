// The list of all tile operations, for parsing.
#pragma once

#include "ir/op.h"

#include <span>

namespace tilewright::ops {

std::span<const ir::OpDef* const> all_ops();

}  // namespace tilewright::ops
