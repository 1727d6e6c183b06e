"""Tiles, tensors, indices and element types."""

import pytest
from wrong_kernels import cases, check, wrong

import tilewright.language as T


@wrong(
    "A has 2 dimensions but 1 indices are given",
    hint="give one index or slice per dimension; ... stands for all that are not named",
    note="A global int32[4, 8]",
)
def rank_of_a_slice():
    @T.prim_func
    def f(A: T.Tensor((4, 8), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((4,), "int32")
            T.copy(A[0:4], s)  # here


@wrong(
    "a slice of A has step 2",
    hint="slices are of neighbours; use a loop for strides",
)
def step_of_a_slice():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((4,), "int32")
            T.copy(A[0:8:2], s)  # here


@wrong(
    "A is indexed with more than one ...",
    hint="one ... stands for all dimensions that are not named",
)
def two_ellipses():
    @T.prim_func
    def f(A: T.Tensor((8, 8), "int32")):
        with T.Kernel(1):
            A[..., ...] = 1  # here


@wrong(
    "index 4 of dimension 0 of s is outside its extent 4",
    hint="indices are 0 to 3",
    note="s  shared i32[4]",
)
def index_outside():
    @T.prim_func
    def f(A: T.Tensor((8, 8), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((4,), "int32")
            s[4] = 1  # here


@wrong(
    "an index has dtype f64",
    hint="use an integer; T.cast(x, T.i32) truncates",
)
def index_of_a_float():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            A[1.5] = 1  # here


@wrong(
    "the whole tile s shared int32[8] is used as a number",
    hint="name an element: one index per dimension",
)
def whole_tile_as_a_number():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "int32")
            T.clear(s)
            A[0] = s  # here


@wrong(
    "s += of a whole tile",
    hint="write the elements in a T.Parallel loop: s[i, j] += ...",
)
def augmented_assignment_of_a_tile():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "int32")
            T.clear(s)
            s += 1  # here


@wrong(
    "s is read here but nothing wrote it before",
    hint="tiles start undefined; write s first, for instance with T.copy or T.fill",
    note="s  shared i32[8]",
)
def tile_read_before_it_is_written():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "int32")
            T.copy(s, A)  # here


@wrong(
    "tile s has an extent that is not a constant",
    hint="on-chip tiles have constant extents; only tensors may have dynamic ones",
)
def dynamic_tile():
    n = T.dynamic("n")

    @T.prim_func
    def f(A: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((n,), "int32")  # here
            T.copy(A, s)


@wrong(
    "a shared tile is allocated outside a kernel",
    hint="allocate it after T.Kernel; T.alloc_global makes a workspace between kernels",
)
def tile_outside_of_a_kernel():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        s = T.alloc_shared((8,), "int32")  # here
        with T.Kernel(1):
            T.copy(A, s)


@wrong(
    "a tile of another kernel is used here",
    hint="on-chip tiles live in one kernel; pass data on through T.alloc_global",
    note="this kernel",
)
def tile_of_another_kernel():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "int32")
            T.copy(A, s)
        with T.Kernel(1):
            T.copy(s, A)  # here


@wrong(
    "there is no element type 'int33'",
    hint=(
        "one of bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, "
        "float32, float64, tfloat32, float8_e4m3fn, float8_e5m2"
    ),
)
def unknown_dtype():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            T.alloc_shared((8,), "int33")  # here


@wrong(
    "the element type int4 is not built yet",
    hint="docs/status.md lists what is not built yet",
    kind="unsupported",
)
def dtype_that_is_not_built():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            T.alloc_shared((8,), "int4")  # here


@wrong(
    "reshape: s has 256 bits but i32[3, 3] has 288",
    hint="a view names the same bits: the product of its extents and the bits of its dtype stay",
    note="s  shared i32[8]",
)
def view_of_other_size():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "int32")
            T.reshape(s, (3, 3))  # here


@pytest.mark.parametrize("function, message, hint, kind, note", cases(__name__))
def test_wrong_kernel(function, message, hint, kind, note):
    check(function, message, hint, kind, note)
