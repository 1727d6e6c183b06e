"""Annotations that are strings, as all of a file are after this import, mean what they say."""

from __future__ import annotations

import numpy

import tilewright
import tilewright.language as L


def test_tensors_and_scalars_of_a_program():
    n = 5

    @L.prim_func
    def ramp(X: L.Tensor((n,), "int32"), step: L.int32):
        with L.Kernel(n) as b:
            X[b] = b * step

    x = numpy.zeros(n, numpy.int32)
    tilewright.compile(ramp)(x, 3)
    assert x.tolist() == [0, 3, 6, 9, 12]


def test_references_of_a_macro():
    Reference = L.Ref

    @L.macro
    def bump(x: L.Ref, y: Reference, by: L.int32):
        x += by
        y += by

    @L.prim_func
    def kernel(A: L.Tensor((3,), "int32")):
        with L.Kernel(1):
            v = L.alloc_var("int32", 1)
            bump(v, A[1], 10)
            A[0] = v

    a = numpy.array([0, 20, 30], numpy.int32)
    tilewright.compile(kernel)(a)
    assert a.tolist() == [11, 30, 30]


def test_annotations_for_readers_only():
    @L.macro
    def fill(tile: SomeBuffer, value: SomeNumber):  # noqa: F821
        for i in L.Parallel(4):
            tile[i] = value

    @L.prim_func
    def kernel(A: L.Tensor((4,), "int32")):
        with L.Kernel(1):
            fill(A, 7)

    a = numpy.zeros(4, numpy.int32)
    tilewright.compile(kernel)(a)
    assert a.tolist() == [7] * 4


def test_scalars_of_an_eager_function():
    """A scalar is an argument of the launch: one kernel serves all its values. An int is part of the kernel."""
    number = L.float32

    @tilewright.jit
    def scaled(X: L.Tensor((6,), "float32"), factor: number, block: int):
        Y = L.empty((6,), "float32")
        with L.Kernel(L.ceildiv(6, block)) as b:
            for i in L.Parallel(block):
                Y[b * block + i] = X[b * block + i] * factor
        return Y

    x = numpy.arange(6, dtype=numpy.float32)
    for factor in (2.0, 0.5):
        assert scaled(x, factor, 4).tolist() == [factor * k for k in range(6)]
    assert scaled.compile(x, 2.0, 4) is scaled.compile(x, 3.0, 4)
    assert scaled.compile(x, 2.0, 4) is not scaled.compile(x, 2.0, 2)
