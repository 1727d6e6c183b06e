#include "ops/ops.h"

#include "ops/assume.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/raster.h"
#include "ops/reduce.h"

#include <array>

namespace tilewright::ops {

std::span<const ir::OpDef* const> all_ops() {
  static const std::array<const ir::OpDef*, 7> kOps = {
      &copy_op(),        &fill_op(),  &gemm_op(), &reduce_op(ReduceKind::sum), &reduce_op(ReduceKind::max),
      &use_swizzle_op(), &assume_op()};
  return kOps;
}

}  // namespace tilewright::ops
