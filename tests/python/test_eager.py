"""Eager functions: extents from the arguments, outputs returned."""

import numpy
import pytest
from bounds import worst_product_error

import tilewright
import tilewright.language as T


@tilewright.jit
def gemm(A, B, block_M: int = 32, block_N: int = 32, block_K: int = 16):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], T.float16]
    B: T.Tensor[[K, N], T.float16]
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), T.float16)
        B_shared = T.alloc_shared((block_K, block_N), T.float16)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * block_M, bx * block_N])
    return C


@pytest.mark.parametrize("shape", [(64, 48, 32), (33, 20, 7)])
def test_product(rng, shape):
    m, n, k = shape
    a = rng.standard_normal((m, k)).astype(numpy.float16)
    b = rng.standard_normal((k, n)).astype(numpy.float16)
    c = gemm(a, b)
    assert c.shape == (m, n) and c.dtype == numpy.float16
    assert worst_product_error(c, a, b) <= 1
    assert gemm.mode == "eager"


def test_options_are_part_of_the_key(rng):
    a = rng.standard_normal((20, 24)).astype(numpy.float16)
    b = rng.standard_normal((24, 8)).astype(numpy.float16)
    assert gemm.compile(a, b) is gemm.compile(a.copy(), b)
    assert gemm.compile(a, b) is not gemm.compile(a, b, block_K=32)
    assert worst_product_error(gemm(a, b, block_K=32), a, b) <= 1


def test_several_outputs_and_scalars(rng):
    @tilewright.jit
    def split(X, factor: T.float32):
        n = T.const("n")
        X: T.Tensor[[n], "float32"]
        Y = T.empty((n,), "float32")
        Z = T.empty((n, 2), "float32")
        with T.Kernel(T.ceildiv(n, 4)) as b:
            for i in T.Parallel(4):
                Y[b * 4 + i] = X[b * 4 + i] * factor
                Z[b * 4 + i, 0] = X[b * 4 + i]
                Z[b * 4 + i, 1] = -X[b * 4 + i]
        return Z, Y

    x = rng.standard_normal(10).astype(numpy.float32)
    for factor in (2.0, 0.5):
        z, y = split(x, factor)
        numpy.testing.assert_array_equal(y, x * numpy.float32(factor))
        numpy.testing.assert_array_equal(z, numpy.stack([x, -x], 1))


def test_numbers_of_numpy_are_numbers(rng):
    @tilewright.jit
    def scaled(X, factor: T.float32, block: int = 4):
        n = T.const("n")
        X: T.Tensor[[n], "float32"]
        Y = T.empty((n,), "float32")
        with T.Kernel(T.ceildiv(n, block)) as b:
            for i in T.Parallel(block):
                Y[b * block + i] = X[b * block + i] * factor
        return Y

    x = rng.standard_normal(10).astype(numpy.float32)
    numpy.testing.assert_array_equal(scaled(x, numpy.float32(0.5)), x * numpy.float32(0.5))
    numpy.testing.assert_array_equal(scaled(x, 3, numpy.int64(8)), x * numpy.float32(3))


def test_constants_by_name():
    @tilewright.jit
    def ramp(X):
        n, scale = T.const("n"), 3
        X: T.Tensor[[n], "int32"]
        with T.Kernel(1):
            for i in T.serial(n):
                X[i] = i * scale

    x = numpy.zeros(5, numpy.int32)
    ramp(x)
    assert x.tolist() == [0, 3, 6, 9, 12]
    with pytest.raises(tilewright.Error, match="no parameter or constant m"):
        ramp(x, m=3)


class Config:
    """Options of a kernel; equal ones are equal, so that it has no hash."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value


def make_constant():
    @tilewright.jit(out_idx=-1)
    def constant(config):
        value = config.value if isinstance(config, Config) else config

        @T.prim_func
        def main(Y: T.Tensor((1,), "float32")):
            with T.Kernel(1):
                Y[0] = value

        return main

    return constant


def test_arguments_without_a_hash_have_kernels_of_their_own():
    """The objects die at once, so that the next one would have the same id."""
    constant = make_constant()
    assert [constant(Config(value))().item() for value in range(8)] == list(range(8))
    kept = Config(5)
    assert constant(kept) is constant(kept)


def test_zeros_of_both_signs_have_kernels_of_their_own():
    constant = make_constant()
    assert [bool(numpy.signbit(constant(zero)()[0])) for zero in (0.0, -0.0)] == [False, True]
    assert constant(0.0) is constant(0.0)


def test_dynamic_extents_share_one_kernel(rng):
    m = T.dynamic("m")

    @tilewright.jit(out_idx=-1)
    def double(n):
        @T.prim_func
        def main(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m * 2, n), "float32")):
            with T.Kernel(T.ceildiv(m, 4)) as b:
                for i, j in T.Parallel(4, n):
                    if b * 4 + i < m:
                        Y[b * 4 + i, j] = X[b * 4 + i, j]
                        Y[m + b * 4 + i, j] = X[b * 4 + i, j] + 1

        return main

    kernel = double(3)
    for rows in (1, 4, 9):
        x = rng.standard_normal((rows, 3)).astype(numpy.float32)
        numpy.testing.assert_array_equal(kernel(x), numpy.concatenate([x, x + numpy.float32(1)]))


def test_strides_of_an_input(rng):
    @tilewright.jit
    def gather_columns(X):
        m, n, s = T.const("m, n, s")
        X: T.StridedTensor[[m, n], [s, 1], "float32"]
        Y = T.empty((m, n), "float32")
        with T.Kernel(m) as b:
            for j in T.Parallel(n):
                Y[b, j] = X[b, j]
        return Y

    x = rng.standard_normal((6, 10)).astype(numpy.float32)
    numpy.testing.assert_array_equal(gather_columns(x[:, :7]), x[:, :7])
    numpy.testing.assert_array_equal(gather_columns(x), x)
