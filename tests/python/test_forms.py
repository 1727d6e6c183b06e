"""Forms that authors write, and what they mean."""

import numpy
import pytest

import tilewright
import tilewright.language as T


def run(function, *arrays):
    tilewright.compile(function)(*arrays)


def test_eager_functions_are_compiled_by_the_names_of_constants(rng):
    @tilewright.jit
    def double(X, block: int = 8):
        m, n = T.const("m, n")
        X: T.Tensor[[m, n], "float32"]
        Y = T.empty((m, n), "float32")
        with T.Kernel(T.ceildiv(m, block)) as b:
            for i, j in T.Parallel(block, n):
                Y[b * block + i, j] = X[b * block + i, j] * 2
        return Y

    kernel = double.compile(m=10, n=3, block=4)
    x = rng.standard_normal((10, 3)).astype(numpy.float32)
    numpy.testing.assert_array_equal(kernel(x), x * 2)
    assert double.compile(m=10, n=3, block=4) is kernel
    assert double.compile(x, block=4) is kernel
    with pytest.raises(TypeError, match="missing a required argument: 'X'"):
        double(m=10, n=3)
    with pytest.raises(tilewright.Error, match="the constant n is the extent of no tensor"):
        double.compile(m=10)


def test_nested_parallel_loops_are_one():
    @T.prim_func
    def kernel(A: T.Tensor((6, 8, 2), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(6):
                for j, k in T.Parallel(8, 2):
                    A[i, j, k] = i * 100 + j * 10 + k

    a = numpy.zeros((6, 8, 2), numpy.int32)
    run(kernel, a)
    i, j, k = numpy.indices((6, 8, 2))
    numpy.testing.assert_array_equal(a, i * 100 + j * 10 + k)


def test_slices_by_a_narrow_integer(rng):
    """The slice from n * 4 to (n + 1) * 4 has 4 elements, of an n that is read from a tensor of 32-bit integers."""

    @T.prim_func
    def kernel(A: T.Tensor((12, 3), "float32"), P: T.Tensor((3,), "int32"), B: T.Tensor((12, 3), "float32")):
        with T.Kernel(3) as b:
            s = T.alloc_shared((4, 3), "float32")
            n = P[b]
            T.copy(A[n * 4 : (n + 1) * 4, :], s)
            T.copy(s, B[b * 4 : b * 4 + 4, :])

    a = rng.standard_normal((12, 3)).astype(numpy.float32)
    b = numpy.empty_like(a)
    order = numpy.array([2, 0, 1], numpy.int32)
    run(kernel, a, order, b)
    numpy.testing.assert_array_equal(b, a.reshape(3, 4, 3)[order].reshape(12, 3))


def test_an_alias_of_memory(rng):
    @T.prim_func
    def kernel(A: T.Tensor((2, 3, 4), "float32"), B: T.Tensor((6, 4), "float32")):
        with T.Kernel(1):
            flat = T.Tensor((6, 4), "float32", A.data)
            T.copy(flat, B)

    a = rng.standard_normal((2, 3, 4)).astype(numpy.float32)
    b = numpy.empty((6, 4), numpy.float32)
    run(kernel, a, b)
    numpy.testing.assert_array_equal(b, a.reshape(6, 4))


def test_types_of_expressions():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float16"), B: T.Tensor((4,), "float32")):
        with T.Kernel(4) as b:
            x = A[b]
            assert x.dtype == "float16" and A.dtype == T.float16 and (x + 1).dtype == "float16"
            B[b] = x.astype("float32") * 0.5

    a, b = numpy.arange(4).astype(numpy.float16), numpy.zeros(4, numpy.float32)
    run(kernel, a, b)
    assert b.tolist() == [0, 0.5, 1, 1.5]


def test_names_that_other_languages_keep_to_themselves():
    @T.prim_func
    def kernel(new: T.Tensor((4,), "int32"), register: T.int32):
        with T.Kernel(4) as b:
            auto = T.alloc_var("int32", register)
            template = new[b] + 1
            auto = auto + template
            new[b] = auto

    a = numpy.arange(4, dtype=numpy.int32)
    run(kernel, a, 10)
    assert a.tolist() == [11, 12, 13, 14]


def test_tiles_have_the_names_of_the_author():
    @T.macro
    def part(A, value):
        staged = T.alloc_shared((4,), "int32")
        T.fill(staged, value)
        T.copy(staged, A)

    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            part(A, 1)
            part(B, 2)

    assert "tile staged:" in kernel.script() and "tile staged_1:" in kernel.script()
    a, b = numpy.zeros(4, numpy.int32), numpy.zeros(4, numpy.int32)
    run(kernel, a, b)
    assert a.tolist() == [1] * 4 and b.tolist() == [2] * 4


def test_string_annotations():
    n = 4
    namespace = {"T": T, "n": n}
    source = "from __future__ import annotations\n" \
             "def kernel(A: T.Tensor((n,), 'int32')):\n    with T.Kernel(1):\n        A[0] = 1\n"
    import linecache

    linecache.cache["<cell>"] = (len(source), None, source.splitlines(True), "<cell>")
    exec(compile(source, "<cell>", "exec"), namespace)
    a = numpy.zeros(4, numpy.int32)
    run(T.prim_func(namespace["kernel"]), a)
    assert a[0] == 1


def test_functions_without_a_source_are_refused():
    namespace = {"T": T}
    exec("def kernel(A: T.Tensor((4,), 'int32')):\n    pass\n", namespace)
    with pytest.raises(tilewright.Error, match="the source of kernel cannot be read"):
        T.prim_func(namespace["kernel"])


@pytest.mark.parametrize("target", ["cpu", "sim:sm_80", "sim:sm_90a"])
def test_targets(rng, target):
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float16"), B: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    a = rng.integers(-4, 5, (32, 32)).astype(numpy.float16)  # products and sums are exact
    b = rng.integers(-4, 5, (32, 32)).astype(numpy.float16)
    c = numpy.empty((32, 32), numpy.float32)
    compiled = tilewright.compile(kernel, target=target)
    compiled(a, b, c)
    assert compiled.target.startswith(target)
    numpy.testing.assert_array_equal(c, a.astype(float) @ b.astype(float))
