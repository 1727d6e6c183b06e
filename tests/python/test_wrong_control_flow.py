"""Control flow that kernels do not have."""

import contextlib

import pytest
from wrong_kernels import cases, check, wrong

import tilewright.language as T


@wrong(
    "Python asks whether an expression of the kernel is true while the kernel is built",
    hint=(
        "its value is known only when the kernel runs: use if, and, or, not inside a @T.prim_func "
        "or @T.macro, or T.if_then_else"
    ),
)
def truth_of_an_expression_in_plain_python():
    def helper(b):
        return 1 if b > 2 else 0  # here

    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            A[b] = helper(b)


@wrong(
    "s is used as a condition",
    hint="compare an element of it with 0, or use T.any_of",
)
def tile_as_a_condition():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((4,), "bool")
            T.fill(s, True)
            if s:  # here
                A[0] = 1


@wrong(
    "this loop never ends: its condition is always true and nothing breaks out of it",
    hint="leave it with T.loop_break(), or use a condition that can become false",
)
def infinite_while():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            while True:  # here
                A[0] = 1


@wrong(
    "return inside of an if that the kernel runs",
    hint="return at the end of the function; T.alloc_var carries a value out of loops and branches",
    note="the if",
)
def return_in_a_branch():
    @T.macro
    def early(b):
        if b < 2:
            return 1  # here
        return 2

    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            A[b] = early(b)


@wrong(
    "break under a condition that only the kernel knows leaves a loop that Python runs",
    hint="loop with T.serial or range, which the kernel runs",
    note="the condition",
)
def break_of_a_python_loop():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            for k in [0, 1, 2]:
                if b < k:
                    break  # here
                A[b] = k


@wrong(
    "try in a kernel function",
    hint="a kernel raises nothing; T.device_assert ends a launch",
)
def try_statement():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            try:  # here
                A[0] = 1
            except ValueError:
                pass


@wrong(
    "global in a kernel function",
    hint="T.alloc_var and tiles carry values",
)
def global_statement():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        global counter  # here
        with T.Kernel(1):
            A[0] = 1


@wrong(
    "a loop with an else part",
    hint="use a T.alloc_var as a flag",
)
def loop_with_an_else_part():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for k in T.serial(4):
                A[k] = 1
            else:
                A[0] = 2  # here


@wrong(
    "break outside a loop",
    hint="it leaves or continues a serial or while loop",
)
def break_outside_of_a_loop():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            A[0] = 1
            T.loop_break()  # here


@wrong(
    "a for loop over a number",
    hint="for i in T.serial(n)",
)
def loop_over_a_number():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32"), n: T.int32):
        with T.Kernel(1):
            for k in n:  # here
                A[k] = 1


@wrong(
    "a loop with step 0",
    hint="give a positive or negative step",
)
def step_of_a_loop_is_zero():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for k in range(0, 4, 0):  # here
                A[k] = 1


@wrong(
    "fill inside a parallel loop",
    hint="a parallel loop assigns elements; tile operations stand outside of it",
    note="the parallel loop",
)
def operation_inside_parallel():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((4,), "int32")
            for k in T.Parallel(4):
                T.clear(s)  # here
            T.copy(s, A)


@wrong(
    "a statement of the kernel stands in a part of an expression that is evaluated only under a condition",
    hint="write an if statement, or give the value a name before",
)
def update_under_a_condition():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            B[b] = T.atomic_add(A[0], 1, return_prev=True) if b < 2 else 0  # here


@wrong(
    "a statement of the kernel stands in a part of an expression that is evaluated only under a condition",
    hint="write an if statement, or give the value a name before",
)
def macro_on_the_right_of_and():
    @T.macro
    def bump(A):
        A[0] = A[0] + 1
        return A[0]

    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            if b < 2 and bump(A) > 3:  # here
                A[b] = 0


@wrong(
    "a statement of the kernel stands in a part of an expression that is evaluated only under a condition",
    hint="write an if statement, or give the value a name before",
)
def macro_behind_a_comparison():
    @T.macro
    def bump(A):
        A[0] = A[0] + 1
        return A[0]

    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            if 1 < b < bump(A):  # here
                A[b] = 0


@wrong(
    "parts of tiles are assigned together with others",
    hint="an assignment of its own for each part",
)
def exchange_of_parts():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            A[0:4], A[4:8] = A[4:8], A[0:4]  # here


@wrong(
    "with opens a value of the Python type nullcontext in a kernel function",
    hint="with T.Kernel(n, threads=128) as b: is the only one; open others around the function",
)
def with_of_something_else():
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            with contextlib.nullcontext():  # here
                A[b] = 0


@pytest.mark.parametrize("function, message, hint, kind, note", cases(__name__))
def test_wrong_kernel(function, message, hint, kind, note):
    check(function, message, hint, kind, note)
