"""Choosing among configurations."""

import numpy
import pytest

import tilewright
import tilewright.language as T
from tilewright.autotuner import AutoTuner, set_autotune_inputs

N = 1024


def add(block, wrong=0):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, block)) as b:
            if block == 3:
                T.alloc_shared((4, 4), "int4")
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] + 1 + wrong

    return main


def make(configs, **options):
    @tilewright.autotune(configs=configs, warmup=1, rep=1, **options)
    @tilewright.jit(out_idx=-1)
    def factory(block=64, wrong=0):
        return add(block, wrong)

    return factory


def test_candidates_that_do_not_compile_are_left_out(rng):
    factory = make([{"block": 3}, {"block": 64}, {"block": 100}])
    kernel = factory()
    a = rng.standard_normal(N).astype(numpy.float32)
    numpy.testing.assert_array_equal(kernel(a), a + numpy.float32(1))
    assert kernel.config["block"] in (64, 100) and kernel.latency > 0
    (config, reason), = factory.tune().refused
    assert config == {"block": 3} and "int4" in reason
    assert factory() is kernel


def test_candidates_with_wrong_results_are_left_out():
    factory = make([{"block": 64, "wrong": 1}, {"block": 32, "wrong": 0}], ref_prog=lambda a: a + 1)
    result = factory.tune()
    assert result.config == {"block": 32, "wrong": 0} and result.ref_latency > 0
    assert "elements differ" in result.refused[0][1]


def test_results_that_are_written_are_compared():
    """Without out_idx the kernel returns nothing; its second parameter is what it writes."""

    @tilewright.autotune(configs=[{"wrong": 1}, {"wrong": 0}], warmup=1, rep=1, ref_prog=lambda a, b: a + 1)
    @tilewright.jit
    def factory(wrong=0):
        return add(64, wrong)

    result = factory.tune()
    assert result.config == {"wrong": 0}
    assert "elements differ" in result.refused[0][1]


def test_references_have_as_many_results_as_kernels():
    with pytest.raises(tilewright.Error, match="none of the 1 configurations") as caught:
        make([{"block": 64}], ref_prog=lambda a: (a + 1, a))()
    assert "the kernel has 1 results, but the reference 2" in caught.value.notes[0][0]


def test_when_nothing_works_all_reasons_are_given():
    with pytest.raises(tilewright.Error, match="none of the 2 configurations of factory works") as caught:
        make([{"block": 3}, {"block": 0}])()
    assert len(caught.value.notes) == 2
    with pytest.raises(tilewright.Error, match="tuned over no configuration"):
        make([])()


def test_given_parameters_are_not_tuned():
    factory = make([{"block": 3}])
    assert factory(block=16).config is None


def test_configurations_are_asked_for_once_a_call():
    asked = []

    def configs(n):
        asked.append(n)
        return [{"block": n}]

    @tilewright.autotune(configs=configs, warmup=1, rep=1)
    @tilewright.jit(out_idx=[-1])
    def factory(n, block=0):
        return add(block)

    factory(8)
    factory(8)
    assert asked == [8, 8]


def test_configurations_from_the_arguments():
    @tilewright.autotune(configs=lambda n: [{"block": n}, {"block": 2 * n}], warmup=1, rep=1)
    @tilewright.jit(out_idx=[-1])
    def factory(n, block=0):
        return add(block)

    assert factory(8).config["block"] in (8, 16)


def test_eager_functions_are_tuned_on_their_arguments(rng):
    @tilewright.autotune(configs=[{"block": 8}, {"block": 32}], warmup=1, rep=1)
    @tilewright.jit
    def double(X, block: int = 4):
        n = T.const("n")
        X: T.Tensor[[n], "float32"]
        Y = T.empty((n,), "float32")
        with T.Kernel(T.ceildiv(n, block)) as b:
            for i in T.Parallel(block):
                Y[b * block + i] = X[b * block + i] * 2
        return Y

    x = rng.standard_normal(50).astype(numpy.float32)
    numpy.testing.assert_array_equal(double(x), x * 2)
    assert double.tune(x).config["block"] in (8, 32)


def test_the_object_and_given_inputs(rng):
    a = rng.standard_normal(N).astype(numpy.float32)
    with set_autotune_inputs(a):
        result = (
            AutoTuner.from_kernel(add, [{"block": 16}, {"block": 3}])
            .set_compile_args(out_idx=[-1])
            .set_profile_args(ref_prog=lambda x: x + 1, warmup=1, rep=1)
            .run()
        )
    assert result.config == {"block": 16} and len(result.refused) == 1
    numpy.testing.assert_array_equal(result.kernel(a), a + numpy.float32(1))
