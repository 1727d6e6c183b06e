// Scans: dst[i] = combine(src[0], ..., src[i]) along one dimension of a region.
#pragma once

#include "ir/op.h"
#include "ops/combine.h"
#include "ops/operand.h"

#include <span>

namespace tilewright::ops {

// Rows of the table in scan.cc.
enum class ScanKind : uint8_t { sum, max };

// Attributes: dim, reverse, nan_propagate, accumulate.
struct ScanAttrs {
  int64_t dim = 0;       // of src; negative counts from the end, in a statement it is 0 or more
  bool reverse = false;  // dst[i] = combine(src[i], ..., src[n - 1])
  CombineAttrs combine = {};

  static ScanAttrs from(const ir::Attrs& attrs);
  ir::Attrs to_attrs() const;
};

// tiles = {src, dst}, in any spaces; their extents other than 1 agree in order. dst is another tile, or the same region
// of the same tile. Element i is the reduction of the elements up to i: the same accumulation (not rounded to dst
// between elements), the same rule for NaN, the same identity (a maximum of NaNs alone is -inf). Lines are independent;
// along a line sums may be formed in any order.
const ir::OpDef& scan_op(ScanKind kind);
std::span<const ir::OpDef> scan_ops();
bool is_scan(const ir::OpStmt& op);

ir::Stmt make_scan(ScanKind kind, const Operand& src, const Operand& dst, const ScanAttrs& attrs,
                   const ir::Kernel& kernel, const Loc& loc);

}  // namespace tilewright::ops
