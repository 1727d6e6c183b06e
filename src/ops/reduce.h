// Reductions of one dimension of a region.
#pragma once

#include "ir/op.h"
#include "ops/combine.h"
#include "ops/operand.h"

#include <span>
#include <string_view>

namespace tilewright::ops {

// Attributes: dim, clear, batch, nan_propagate, accumulate.
struct ReduceAttrs {
  int64_t dim = -1;  // of src; negative counts from the end, in a statement it is 0 or more
  bool clear = true;
  int64_t batch = 1;  // results that share one synchronisation, where threads reduce together
  CombineAttrs combine = {};

  static ReduceAttrs from(const ir::Attrs& attrs, size_t rank);
  ir::Attrs to_attrs() const;
};

// tiles = {src, dst}, two tiles in any spaces. The extents of dst other than 1 are those of src without `dim`, in
// order. With clear, dst = reduce(src); without, dst = combine(dst, reduce(src)).
//
// reduce(src) starts from the identity of its operation, so that is what no elements give (docs/language.md,
// Reductions). Each element is cast to the dtype of accumulation, then (abssum, absmax) made positive, then combined,
// in any order; the result is cast to dst once. max, min and absmax ignore NaN, or with nan_propagate give NaN for it.
//
// Each row of the table in reduce.cc is one of them; `name` is that of a row.
const ir::OpDef& reduce_op(std::string_view name);
std::span<const ir::OpDef> reduce_ops();
bool is_reduce(const ir::OpStmt& op);

// How a verified reduction combines elements, for passes that write it otherwise than its expansion.
struct ReduceMeaning {
  Combine combine;
  DType accumulate = DType::f32;
  bool nan_propagate = false;
};
ReduceMeaning reduce_meaning(const ir::OpStmt& op, const ir::Kernel& kernel);

// Operands as in a copy: a head address of dst takes the extents of src without `dim`; src has to be a tile or a slice.
ir::Stmt make_reduce(std::string_view name, const Operand& src, const Operand& dst, const ReduceAttrs& attrs,
                     const ir::Kernel& kernel, const Loc& loc);

// A sum or maximum between on-chip tiles in its default form, where dimension d of dst belongs to dimension d of src
// for all but the last one: what a loop over rows can do without further questions than strides and dtypes.
bool reduces_rows(const ir::OpStmt& op, const ir::Kernel& kernel);

}  // namespace tilewright::ops
