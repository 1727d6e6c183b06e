"""The quickstart product as authors write it: lazy, unchanged but for the imports, and through compat."""

import os
import subprocess
import sys
import textwrap

import numpy
import pytest
from bounds import worst_product_error

import tilewright
import tilewright.language as T

KERNEL = textwrap.dedent(
    '''
    import {package}
    import {package}.language as T


    @{package}.jit
    def matmul(M, N, K, block_M, block_N, block_K, dtype="float16", accum_dtype="float"):
        @T.prim_func
        def main(
            A: T.Tensor((M, K), dtype),
            B: T.Tensor((K, N), dtype),
            C: T.Tensor((M, N), dtype),
        ):
            with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
                A_shared = T.alloc_shared((block_M, block_K), dtype)
                B_shared = T.alloc_shared((block_K, block_N), dtype)
                C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
                T.use_swizzle(panel_size=4, order="col")
                T.clear(C_local)
                for ko in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                    T.copy(A[by * block_M, ko * block_K], A_shared)
                    T.copy(B[ko * block_K, bx * block_N], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
                for i, j in T.Parallel(block_M, block_N):
                    C_local[i, j] = T.max(C_local[i, j], 0)
                T.copy(C_local, C[by * block_M, bx * block_N])

        return main
    '''
)

CHECK = textwrap.dedent(
    """
    import numpy

    kernel = matmul(96, 80, 72, 32, 48, 16)
    generator = numpy.random.default_rng(1)
    a = generator.standard_normal((96, 72)).astype(numpy.float16)
    b = generator.standard_normal((72, 80)).astype(numpy.float16)
    c = numpy.empty((96, 80), numpy.float16)
    kernel(a, b, c)
    exact = numpy.maximum(a.astype(float) @ b.astype(float), 0)
    assert numpy.allclose(c, exact, rtol=2e-3, atol=2e-3), abs(c - exact).max()
    assert "main" in kernel.get_kernel_source()
    profiler = kernel.get_profiler(tensor_supply_type=tilelang.TensorSupplyType.Normal)
    assert 0 < profiler.do_bench(rep=5) < 1e5
    print("checked")
    """
)


def define(tmp_path, package):
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL.format(package=package))
    names = {"__name__": "kernels"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["matmul"]


@pytest.mark.parametrize("shape", [(64, 64, 64), (96, 80, 72), (100, 33, 47), (1, 1, 1), (65, 1, 130), (30, 50, 0)])
def test_every_extent(tmp_path, rng, shape):
    m, n, k = shape
    kernel = define(tmp_path, "tilewright")(m, n, k, 32, 48, 16)
    a = rng.standard_normal((m, k)).astype(numpy.float16)
    b = rng.standard_normal((k, n)).astype(numpy.float16)
    c = numpy.full((m, n), numpy.nan, numpy.float16)
    kernel(a, b, c)
    assert worst_product_error(c, a, b, relu=True) <= 1


def test_source_names_the_lines_of_python(tmp_path):
    kernel = define(tmp_path, "tilewright")(64, 64, 64, 32, 32, 16)
    gemm_line = KERNEL.splitlines().index("                T.gemm(A_shared, B_shared, C_local)") + 1
    assert f"kernels.py:{gemm_line}" in kernel.get_kernel_source()


def test_the_same_arguments_give_the_same_kernel(tmp_path):
    matmul = define(tmp_path, "tilewright")
    assert matmul(64, 64, 64, 32, 32, 16) is matmul(64, 64, 64, 32, 32, 16)
    assert matmul(64, 64, 64, 32, 32, 16) is not matmul(64, 64, 64, 32, 32, 32)


def run_compat(arguments, tmp_path):
    return subprocess.run([sys.executable, "-m", "tilewright.compat", *arguments], cwd=tmp_path, text=True,
                          capture_output=True, env=dict(os.environ), timeout=300)


def test_compat_runs_a_script_unchanged(tmp_path):
    (tmp_path / "script.py").write_text(KERNEL.format(package="tilelang") + CHECK)
    end = run_compat(["script.py"], tmp_path)
    assert end.returncode == 0, end.stderr
    assert end.stdout.endswith("checked\n")


def test_compat_says_what_is_missing(tmp_path):
    (tmp_path / "script.py").write_text("import tilelang.no_such_module\n")
    end = run_compat(["script.py"], tmp_path)
    assert end.returncode != 0
    assert "tilelang.no_such_module, is not built yet: see docs/status.md" in end.stderr.replace("which stands for ", "")


def test_out_idx_allocates_what_is_returned(rng):
    @tilewright.jit(out_idx=[-1])
    def scaled(M, N):
        @T.prim_func
        def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
            with T.Kernel(T.ceildiv(M, 8)) as bx:
                for i, j in T.Parallel(8, N):
                    B[bx * 8 + i, j] = A[bx * 8 + i, j] * 2

        return main

    a = rng.standard_normal((13, 7)).astype(numpy.float32)
    b = scaled(13, 7)(a)
    assert b.dtype == numpy.float32
    numpy.testing.assert_array_equal(b, a * 2)
