"""Operations whose operands do not fit."""

import pytest
from wrong_kernels import cases, check, wrong

import tilewright.language as T


@wrong(
    "gemm: K of a is 32 but K of b is 64",
    hint="pass transpose_B if B is stored as [N, K], transpose_A if A is stored as [K, M]",
    note="a  shared f16[64, 32]",
)
def gemm_extents():
    @T.prim_func
    def f(A: T.Tensor((64, 64), "float16")):
        with T.Kernel(1):
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(a)
            T.clear(b)
            T.clear(c)
            T.gemm(a, b, c)  # here
            T.copy(c, A)


@wrong(
    "copy: [8, 8] elements of A do not fit [8, 4] elements of a",
    hint="extents other than 1 must agree in order; slice the larger side",
    note="A  global f16[8, 8]",
)
def copy_extents():
    @T.prim_func
    def f(A: T.Tensor((8, 8), "float16")):
        with T.Kernel(1):
            a = T.alloc_shared((8, 4), "float16")
            T.copy(A, a)  # here


@wrong(
    "a value of the Python type list is used as a tile",
    hint="an operand is a tile or tensor, a slice A[i:j, k:l], or the address of its first element A[i, k]",
)
def copy_of_something_else():
    @T.prim_func
    def f(A: T.Tensor((8, 8), "float16")):
        with T.Kernel(1):
            T.copy([1, 2], A)  # here


@wrong(
    "T.copy: there is no instruction 'dma'",
    hint="tma, cp_async or sync",
)
def copy_with_an_unknown_instruction():
    @T.prim_func
    def f(A: T.Tensor((8, 8), "float16")):
        with T.Kernel(1):
            a = T.alloc_shared((8, 8), "float16")
            T.copy(A, a, prefer_instruction="dma")  # here


def with_rows(extent, operation):
    """A program with a tile of [8, 8] and one of [extent]."""

    @T.prim_func
    def f(A: T.Tensor((8, 8), "float32")):
        with T.Kernel(1):
            a = T.alloc_fragment((8, 8), "float32")
            r = T.alloc_fragment((extent,), "float32")
            T.copy(A, a)
            operation(a, r)


@wrong(
    "reduce_sum: r does not have the extents of a without dimension 1",
    hint="the output keeps the other dimensions, in order; the reduced one may stay with extent 1",
    note="a  fragment f32[8, 8]",
)
def reduce_extents():
    with_rows(4, lambda a, r: T.reduce_sum(a, r, dim=1))  # here


@wrong(
    "reduce_max: dim is 2 but a has 2 dimensions",
    hint="dim counts from 0 to 1, or from -1 backwards",
    note="a  fragment f32[8, 8]",
)
def reduce_dimension():
    with_rows(8, lambda a, r: T.reduce_max(a, r, dim=2))  # here


@wrong(
    "T.reduce: there is no reduction 'mean'",
    hint="one of sum, max, min, abssum, absmax, bitand, bitor, bitxor",
)
def reduce_by_an_unknown_name():
    with_rows(8, lambda a, r: T.reduce(a, r, "mean", dim=1))  # here


@wrong(
    'atomic_add: there is no memory order "strict"',
    hint="the orders are relaxed, consume, acquire, release, acq_rel and seq_cst",
)
def atomic_order():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            T.atomic_add(A[0], 1, memory_order="strict")  # here


@wrong(
    "atomic_add: a is a fragment tile, which no two threads share",
    hint="atomics are for global and shared tiles; here plain assignments do",
    note="a  fragment i32[8]",
)
def atomic_in_registers():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            a = T.alloc_fragment((8,), "int32")
            T.clear(a)
            T.atomic_add(a[0], 1)  # here


@wrong(
    "300 does not fit i8",
    hint="use T.cast to wrap on purpose",
)
def literal_that_does_not_fit():
    @T.prim_func
    def f(A: T.Tensor((8,), "int8")):
        with T.Kernel(1):
            A[0] = 300  # here


@wrong(
    "exp is not defined on i64",
    hint="cast the operand to a float dtype with T.cast",
)
def exponential_of_an_integer():
    @T.prim_func
    def f(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as b:
            A[b] = T.exp(b)  # here


@wrong(
    "infinity is not defined on i32",
    hint="integers have no infinity",
)
def infinity_of_an_integer():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            A[0] = T.infinity("int32")  # here


@wrong(
    "order has 2 entries, but the body of this loop has 1 statements",
    hint="give each statement of the body a position, in the order of the text",
)
def pipeline_order_of_other_length():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for k in T.Pipelined(4, num_stages=2, order=[0, 1], stage=[0, 1]):  # here
                A[k] = 1


@wrong(
    "T.get_thread_binding is not built yet",
    hint="see docs/status.md",
    kind="unsupported",
)
def word_that_is_not_built():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding(0)  # here
            A[tx] = 1


@wrong(
    "T.use_swizzle: there is no order 'diagonal'",
    hint="row or column",
)
def swizzle_order():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(2, 4) as (bx, by):
            T.use_swizzle(2, order="diagonal")  # here
            A[bx * 4 + by] = 1


@wrong(
    "annotate_layout: elements [0] and [1] of s both lie at offset 0",
    hint="each element needs an offset of its own",
    note="s  shared i32[8]",
)
def layout_of_a_number():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "int32")
            T.annotate_layout({s: T.Layout([8], lambda i: 0)})  # here


@pytest.mark.parametrize("function, message, hint, kind, note", cases(__name__))
def test_wrong_kernel(function, message, hint, kind, note):
    check(function, message, hint, kind, note)
