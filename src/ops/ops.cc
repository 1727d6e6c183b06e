#include "ops/ops.h"

#include "ops/assume.h"
#include "ops/copy.h"
#include "ops/gemm.h"
#include "ops/raster.h"
#include "ops/reduce.h"
#include "ops/scan.h"

#include <vector>

namespace tilewright::ops {

std::span<const ir::OpDef* const> all_ops() {
  static const std::vector<const ir::OpDef*> kOps = [] {
    std::vector<const ir::OpDef*> ops = {&copy_op(), &fill_op(), &gemm_op(), &use_swizzle_op(), &assume_op()};
    for (const std::span<const ir::OpDef> family : {reduce_ops(), scan_ops()}) {
      for (const ir::OpDef& op : family) ops.push_back(&op);
    }
    return ops;
  }();
  return kOps;
}

}  // namespace tilewright::ops
