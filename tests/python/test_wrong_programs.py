"""Programs, arguments and options."""

import numpy
import pytest
from wrong_kernels import cases, check, wrong

import tilewright
import tilewright.language as T


@wrong(
    "a block has -1 threads, but 1 to 1024 are possible",
    hint="the nearest is 1",
)
def negative_number_of_threads():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(8, threads=-1) as b:  # here
            A[b] = 1


@wrong(
    "a grid of 4 dimensions",
    hint="1 to 3 extents: T.Kernel(x, y, z, threads=128)",
)
def four_dimensions_of_blocks():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1, 1, 1, 8):  # here
            A[0] = 1


@wrong(
    "the parameter A of f has no annotation",
    hint="A: T.Tensor((m, n), dtype), or a dtype for a scalar",
)
def parameter_without_annotation():
    @T.prim_func  # here
    def f(A):
        with T.Kernel(1):
            A[0] = 1


@wrong(
    "f has no kernel",
    hint="open one with T.Kernel",
)
def program_without_a_kernel():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        pass


@wrong(
    "T.alloc_shared is used outside of a kernel function",
    hint="words of the language stand in a function decorated with @T.prim_func, @T.macro or @tilewright.jit",
)
def word_outside_of_a_function():
    T.alloc_shared((8,), "int32")  # here


@wrong(
    "f returns a value, but a @T.prim_func has none",
    hint="write results into tensors; @tilewright.jit functions return tensors of T.empty",
)
def program_that_returns():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            A[0] = 1
        return A


@wrong(
    "f: the extent n does not follow from the arguments",
    hint="use n alone as a dimension of some tensor",
    kind="invalid_argument",
    note="n  extent",
)
def dynamic_extent_that_no_tensor_gives():
    n = T.dynamic("n")

    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(n) as b:
            A[b] = 1

    tilewright.compile(f)(numpy.zeros(8, numpy.int32))


def fill(A: T.Tensor((8,), "int32"), n: T.int32):
    with T.Kernel(8) as b:
        A[b] = n


def call_fill(*arguments):
    tilewright.compile(T.prim_func(fill))(*arguments)


@wrong(
    "fill takes 2 arguments (A, n), but 1 was passed",
    hint="pass tensors and scalars in the order of their declarations",
    kind="invalid_argument",
    note="fill  program",
)
def too_few_arguments():
    call_fill(numpy.zeros(8, numpy.int32))


@wrong(
    "argument 1 (A): dtype is i64, but i32 is expected",
    hint="convert the tensor to i32",
    kind="invalid_argument",
    note="A  i32[8]",
)
def other_dtype():
    call_fill(numpy.zeros(8, numpy.int64), 1)


@wrong(
    "argument 1 (A): dimension 0 is 7, but 8 is expected",
    hint="pass a tensor with extent 8 there",
    kind="invalid_argument",
    note="A  i32[8]",
)
def other_extent():
    call_fill(numpy.zeros(7, numpy.int32), 1)


@wrong(
    "argument 1 is read-only, but the kernel writes it",
    hint="pass a copy of it",
    kind="invalid_argument",
)
def read_only_output():
    array = numpy.zeros(8, numpy.int32)
    array.flags.writeable = False
    call_fill(array, 1)


@wrong(
    "a value of the Python type str is passed to a kernel",
    hint="pass numbers, and arrays of numpy, torch, cupy or jax, or what else speaks DLPack",
    kind="invalid_argument",
)
def argument_that_is_no_array():
    call_fill("text", 1)


@wrong(
    "there is no target 'tpu'",
    hint="targets are auto, cpu, cpu:x86-64, cpu:avx2, cpu:avx512, cpu:generic, cuda, cuda:sm_NN or sim:sm_NN",
    kind="invalid_argument",
)
def unknown_target():
    tilewright.compile(T.prim_func(fill), target="tpu")


@wrong(
    "out_idx 2 of a kernel with 2 parameters",
    hint="parameters count from 0, or from -1 backwards",
    kind="invalid_argument",
)
def output_that_is_no_parameter():
    tilewright.compile(T.prim_func(fill), out_idx=2)


@wrong(
    "there is no option 'fast' of compilation",
    hint="tilewright.PassConfigKey lists them",
    kind="invalid_argument",
)
def unknown_option():
    tilewright.compile(T.prim_func(fill), pass_configs={"fast": True})


@wrong(
    "fill is a program, and called as a function",
    hint="tilewright.compile(program) makes a kernel that can be called",
    kind="invalid_argument",
)
def program_that_is_called():
    T.prim_func(fill)(1, 2)


@wrong(
    "factory returns int, which is no program",
    hint="return a function decorated with @T.prim_func, or declare tensors with T.const and T.empty",
    kind="invalid_argument",
)
def function_that_makes_no_program():
    @tilewright.jit  # here
    def factory(n):
        return n

    factory(3)


@wrong(
    "the constant m is the extent of no tensor",
    hint="use m as an extent or stride of a T.Tensor",
)
def eager_constant_of_no_tensor():
    @tilewright.jit
    def f(A):
        n, m = T.const("n, m")  # here
        A: T.Tensor[[n], "int32"]
        with T.Kernel(n) as b:
            A[b] = m

    f(numpy.zeros(4, numpy.int32))


@wrong(
    "f does not return B, which T.empty declares",
    hint="return all tensors of T.empty",
)
def eager_output_that_is_not_returned():
    @tilewright.jit
    def f(A):
        n = T.const("n")
        A: T.Tensor[[n], "int32"]
        B = T.empty((n,), "int32")
        with T.Kernel(n) as b:
            B[b] = A[b]

    f(numpy.zeros(4, numpy.int32))


@wrong(
    "3 values are assigned to 2 names",
    hint="as many names as values",
)
def unpacking_of_another_count():
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as b:
            x, y = (b, b, b)  # here
            A[x] = y


@pytest.mark.parametrize("function, message, hint, kind, note", cases(__name__))
def test_wrong_kernel(function, message, hint, kind, note):
    check(function, message, hint, kind, note)
