#include "ops/ops.h"

#include "ops/assume.h"
#include "ops/atomic.h"
#include "ops/copy.h"
#include "ops/gather.h"
#include "ops/gemm.h"
#include "ops/raster.h"
#include "ops/reduce.h"
#include "ops/scan.h"
#include "ops/report.h"
#include "ops/transpose.h"

#include <vector>

namespace tilewright::ops {

std::span<const ir::OpDef* const> all_ops() {
  static const std::vector<const ir::OpDef*> kOps = [] {
    std::vector<const ir::OpDef*> ops = {&copy_op(),  &fill_op(),   &transpose_op(), &gather_op(),     &gemm_op(),
                                         &print_op(), &report_op(), &assume_op(),    &use_swizzle_op()};
    for (const ir::AtomicKind kind : {ir::AtomicKind::add, ir::AtomicKind::max, ir::AtomicKind::min,
                                      ir::AtomicKind::bit_and, ir::AtomicKind::bit_or, ir::AtomicKind::bit_xor}) {
      ops.push_back(&atomic_op(kind));
    }
    for (const std::span<const ir::OpDef> family : {reduce_ops(), scan_ops()}) {
      for (const ir::OpDef& op : family) ops.push_back(&op);
    }
    return ops;
  }();
  return kOps;
}

}  // namespace tilewright::ops
