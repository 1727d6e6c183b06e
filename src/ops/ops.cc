#include "ops/ops.h"

#include "ops/atomic.h"
#include "ops/copy.h"
#include "ops/gather.h"
#include "ops/gemm.h"
#include "ops/raster.h"
#include "ops/reduce.h"
#include "ops/report.h"
#include "ops/transpose.h"

#include <array>

namespace tilewright::ops {

std::span<const ir::OpDef* const> all_ops() {
  static const std::array<const ir::OpDef*, 16> kOps = {&copy_op(),
                                                        &fill_op(),
                                                        &transpose_op(),
                                                        &gather_op(),
                                                        &gemm_op(),
                                                        &reduce_op(ReduceKind::sum),
                                                        &reduce_op(ReduceKind::max),
                                                        &atomic_op(ir::AtomicKind::add),
                                                        &atomic_op(ir::AtomicKind::max),
                                                        &atomic_op(ir::AtomicKind::min),
                                                        &atomic_op(ir::AtomicKind::bit_and),
                                                        &atomic_op(ir::AtomicKind::bit_or),
                                                        &atomic_op(ir::AtomicKind::bit_xor),
                                                        &print_op(),
                                                        &report_op(),
                                                        &use_swizzle_op()};
  return kOps;
}

}  // namespace tilewright::ops
