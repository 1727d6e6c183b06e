// RMSNorm and SiLU in one kernel: y = silu(x / sqrt(mean(x^2) + eps) w) along rows of any width.
#pragma once

#include "rows/normalize.h"

namespace examples {

namespace T = tilewright::lang;

// x, y [rows, width], w [width], all of `dtype`. How rows are divided is the rule's, unless `plan` says so.
inline T::Program rms_norm_silu(int64_t rows, int64_t width, double eps = 1e-6, tilewright::DType dtype = T::f32,
                                tilewright::RowPlan plan = {}) {
  if (plan.block_width == 0) plan = tilewright::suggest_row_plan(rows, width, dtype);
  return T::prim_func("rms_norm_silu", [&] {
    auto x = T::tensor("x", {rows, width}, dtype);
    auto w = T::tensor("w", {width}, dtype);
    auto y = T::tensor("y", {rows, width}, dtype);
    examples::rows::rms_norm_silu(x, w, y, rows, width, eps, plan);
  });
}

}  // namespace examples
