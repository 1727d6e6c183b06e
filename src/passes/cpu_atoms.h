// Operations that are one call of include/tilewright/device/cpu/. The lowering for CPUs makes them; they carry
// everything the call needs, so that the emitter only writes it down. They exist after lowering only: no verify, no
// expand.
#pragma once

#include "ir/op.h"

namespace tilewright::passes {

// tiles = {src: global, dst: on chip}; scalars = {row_stride, col_stride, valid_rows, valid_cols} of src;
// attrs rows, cols, ld: extents and leading dimension of dst.
const ir::OpDef& cpu_copy_in();
// tiles = {src: on chip, dst: global}; scalars = {row_stride, col_stride, valid_rows, valid_cols, streams}, strides and
// valid extents of dst, and whether it is written past the caches, which single rows are; attrs as above, ld of src. Of
// single rows maybe also stream and ragged: rows with one number go through one RowStream, with ragged even where they
// do not begin with a line.
const ir::OpDef& cpu_copy_out();
// tiles = {on-chip tile}: for the rest of the enclosing loop body it lies in a variable of its own, which the host
// compiler may keep in registers, instead of in scratch.
const ir::OpDef& cpu_row_tile();
// tiles = {global}; scalars = {ahead}; attrs cols, level. Fetches the lines of `cols` elements, `ahead` elements after
// the region's first one, into the cache of that level. One for the first level goes with statements that only compute,
// and is left out where there are none. No effect on results; the address may lie anywhere.
const ir::OpDef& cpu_prefetch();
// tiles = {A, B, C}; attrs m, n, k, lda, ldb, ldc, transpose_A, transpose_B, padded. C += op(A) op(B).
const ir::OpDef& cpu_gemm();
// tiles = {src row, dst element}; attrs op (a functor of device/cpu/reduce.h), n, keeps, padded (the row's
// storage goes on to the end of a cache line). dst = reduce(src), combined
// with what dst held if it keeps that; computed in the storage type and rounded to dst once.
const ir::OpDef& cpu_reduce_row();
// cpu_reduce_row in parts that take the row piece by piece. Attr accumulator: a number that is unique in the program.
// begin and end: tiles and attrs as of cpu_reduce_row; between them tiles = {part of the row}; attrs n, accumulator.
// Parts after the first may read what lies in front of them.
const ir::OpDef& cpu_begin_accumulate();
const ir::OpDef& cpu_accumulate();
const ir::OpDef& cpu_end_accumulate();
// tiles = {src, dst}: n rows of `cols` contiguous elements, row_stride apart, and one such row; attrs op, n, keeps,
// row_stride, cols. dst[c] = reduce(column c of src), likewise.
const ir::OpDef& cpu_reduce_columns();

}  // namespace tilewright::passes
