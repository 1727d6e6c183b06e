// Operations that are one call of include/tilewright/device/cpu/. The lowering for CPUs makes them; they carry
// everything the call needs, so that the emitter only writes it down. They exist after lowering only: no verify, no
// expand.
#pragma once

#include "ir/op.h"

namespace tilewright::passes {

// tiles = {src: global, dst: on chip}; scalars = {row_stride, col_stride, valid_rows, valid_cols} of src;
// attrs rows, cols, ld: extents and leading dimension of dst.
const ir::OpDef& cpu_copy_in();
// tiles = {src: on chip, dst: global}; scalars and attrs as above, strides and valid extents of dst, ld of src.
const ir::OpDef& cpu_copy_out();
// tiles = {A, B, C}; attrs m, n, k, lda, ldb, ldc, transpose_A, transpose_B, padded. C += op(A) op(B).
const ir::OpDef& cpu_gemm();
// tiles = {src row, dst element}; attrs n, max. dst = combine(dst, reduce(src)), accumulated in dst's storage type or
// f32; rounds to dst.
const ir::OpDef& cpu_reduce_row();

}  // namespace tilewright::passes
