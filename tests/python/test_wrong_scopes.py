"""Names that lost their value."""

import pytest
from wrong_kernels import cases, check, wrong

import tilewright.language as T


@wrong(
    "x is used outside of the if that assigns it",
    hint="x = T.alloc_var(dtype, init) before the if keeps a value that changes in it",
    note="the if",
)
def lost_behind_a_branch():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            x = 0
            if b < 2:
                x = 1
            A[b] = x  # here


@wrong(
    "x would have to carry its value from one turn of the loop to the next",
    hint="x = T.alloc_var(dtype, init) before the loop is a variable that changes in it",
    note="the loop",
)
def carried_through_a_loop():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            x = 0
            for k in T.serial(4):
                x = x + k  # here
                A[k] = x


@wrong(
    "x is used outside of the loop that assigns it",
    hint="x = T.alloc_var(dtype, init) before the loop keeps a value that changes in it",
    note="the loop",
)
def lost_behind_a_loop():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for k in T.serial(4):
                x = A[k]
            A[0] = x  # here


@wrong(
    "k is used outside the loop that defines it",
    hint="keep the value in a tile of rank 0 (alloc_var) if it is needed later",
    note="k  defined",
)
def loop_variable_behind_its_loop():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for k in T.serial(4):
                A[k] = 0
            A[k] = 1  # here


@wrong(
    "t would have to carry its value from one turn of the loop to the next",
    hint="give a tile one more dimension and index it: s[k % 2, i, j]",
    note="the loop",
)
def swapped_tiles_in_a_loop():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((4,), "int32")
            t = T.alloc_shared((4,), "int32")
            T.clear(s)
            T.clear(t)
            for k in T.serial(4):
                s, t = t, s  # here
            T.copy(s, A)


@wrong(
    "x is used, but nothing has been assigned to it",
    hint="assign x first",
)
def nothing_assigned():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for k in T.serial(4):
                A[k] = x  # here
                x = A[k]


@pytest.mark.parametrize("function, message, hint, kind, note", cases(__name__))
def test_wrong_kernel(function, message, hint, kind, note):
    check(function, message, hint, kind, note)
