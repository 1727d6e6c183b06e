// reduce_sum and reduce_max along one dimension.
#pragma once

#include "ir/op.h"
#include "ops/operand.h"

namespace tilewright::ops {

enum class ReduceKind : uint8_t { sum, max };

// tiles = {src, dst}; attrs: dim (0-based, of src), clear. dst has the extents of src without `dim`, or with 1 there.
// With clear, dst = reduce(src); without, dst = combine(dst, reduce(src)). Sums are accumulated in at least f32 and
// rounded to dst once, in any order. max ignores NaN; the reduction of no elements is 0 for sum, -inf (or the
// smallest integer) for max.
const ir::OpDef& reduce_op(ReduceKind kind);
ir::Stmt make_reduce(ReduceKind kind, const Operand& src, const Operand& dst, int64_t dim, bool clear,
                     const ir::Kernel& kernel, const Loc& loc);

}  // namespace tilewright::ops
