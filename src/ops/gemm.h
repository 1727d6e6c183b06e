// gemm: C[m, n] (+)= op(A) op(B).
#pragma once

#include "ir/op.h"
#include "ops/operand.h"

#include <string>

namespace tilewright::ops {

// How the warps of a block divide C: by rows first, by columns first, or near to square.
enum class WarpPolicy : uint8_t { square, full_row, full_col };

struct GemmAttrs {
  bool transpose_A = false;
  bool transpose_B = false;
  WarpPolicy policy = WarpPolicy::square;
  int64_t k_pack = 1;

  static GemmAttrs from(const ir::Attrs& attrs);
  ir::Attrs to_attrs() const;
};

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
};

// tiles = {A [m, k] or, transposed, [k, m]; B [k, n] or [n, k]; C [m, n]}, leading dimensions of extent 1 allowed.
// scalars = {clear_accum: bool; true zeroes C first}. A and B have one dtype, or are both 8-bit floats or both integers
// of one width; C is of the same family (float or integer). Products and sums are done in C's dtype, at least f32,
// rounded to C once; k in any order. tf32 operands hold rounded numbers, whose products f32 holds exactly.
const ir::OpDef& gemm_op();
ir::Stmt make_gemm(const Operand& a, const Operand& b, const Operand& c, const GemmAttrs& attrs, ir::Expr clear_accum,
                   const ir::Kernel& kernel, const Loc& loc);

// Extents of a verified gemm.
GemmShape gemm_shape(const ir::OpStmt& op);

}  // namespace tilewright::ops
