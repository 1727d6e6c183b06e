// gather: rows of a tile chosen by a vector of indices.
#pragma once

#include "ir/op.h"
#include "ops/operand.h"

namespace tilewright::ops {

// tiles = {src [n, ...], index [m] of integers, dst [m, ...]}: dst[i, ...] = cast(src[index[i], ...]). The region of
// src has all of its first dimension; the other dimensions of src and dst agree, extent by extent. An index outside [0,
// n) reads a tensor's safe value; on chip it is an error at run time, as for an element. dst shares no storage with the
// others. Elements in any order.
const ir::OpDef& gather_op();
ir::Stmt make_gather(const Operand& src, const Operand& index, const Operand& dst, const ir::Kernel& kernel,
                     const Loc& loc);

}  // namespace tilewright::ops
