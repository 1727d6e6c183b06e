"""Inputs for kernels, comparisons of their results, and times."""

from __future__ import annotations

import enum
import sys
import time

from .arrays import copy_of, default_package, to_numpy
from .dtypes import numpy_dtype
from .error import fail


class TensorSupplyType(enum.Enum):
    """What inputs are filled with."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


def _numbers(shape, dtype, supply, generator):
    import numpy

    is_float = dtype.is_float
    if supply == TensorSupplyType.Auto:
        supply = TensorSupplyType.Normal if is_float else TensorSupplyType.Integer
    if supply == TensorSupplyType.Zero:
        return numpy.zeros(shape)
    if supply == TensorSupplyType.One:
        return numpy.ones(shape)
    if dtype == "bool":
        return generator.integers(0, 2, shape)
    if supply == TensorSupplyType.Integer or not is_float:
        low = 0 if dtype.startswith("uint") else -2
        return generator.integers(low, 3, shape)
    if supply == TensorSupplyType.Uniform:
        return generator.uniform(-1.0, 1.0, shape)
    return generator.standard_normal(shape)


def get_tensor_supply(supply_type=TensorSupplyType.Auto, seed=None, package="numpy", device="cpu"):
    """A function from a parameter to an array for it."""
    import numpy

    generator = numpy.random.default_rng(seed)

    def supply(parameter, shape=None):
        shape = tuple(parameter.shape) if shape is None else tuple(shape)
        if not all(isinstance(extent, int) for extent in shape):
            fail(f"the extents of {parameter.name} are known at launch only", "pass input_tensors",
                 kind="invalid_argument")
        values = _numbers(shape, parameter.dtype, supply_type, generator)
        if package == "torch":
            import torch

            return torch.from_numpy(numpy.ascontiguousarray(values)).to(device, parameter.dtype.as_torch())
        return values.astype(numpy_dtype(parameter.dtype))

    return supply


def assert_close(actual, expected, rtol=1e-2, atol=1e-2, max_mismatched_ratio=0.0, name="result"):
    """Compares arrays of any package; a share of mismatches may be allowed."""
    import numpy

    a, b = to_numpy(actual), to_numpy(expected)
    if a.shape != b.shape:
        raise AssertionError(f"{name} has shape {a.shape}, but {b.shape} is expected")
    close = numpy.isclose(a.astype(numpy.float64), b.astype(numpy.float64), rtol=rtol, atol=atol, equal_nan=True)
    wrong = int(close.size - numpy.count_nonzero(close))
    if wrong > max_mismatched_ratio * close.size:
        at = numpy.unravel_index(int(numpy.argmin(close)), close.shape) if close.size else ()
        raise AssertionError(
            f"{name}: {wrong} of {close.size} elements differ (rtol {rtol}, atol {atol}); "
            f"the first is {tuple(map(int, at))}: {a[at]} instead of {b[at]}"
        )


def _listed(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Profiler:
    """Runs a kernel on inputs that it makes."""

    def __init__(self, kernel, supply_type):
        self.kernel = kernel
        self.supply_type = supply_type
        package = default_package(kernel.target)
        self._supply = get_tensor_supply(supply_type, 0, package, "cuda" if package == "torch" else "cpu")

    def inputs(self):
        """An array for each tensor that the kernel is called with."""
        parameters = self.kernel.prim_func.parameters
        made = []
        for place in self.kernel._inputs:
            if not parameters[place].is_tensor:
                fail(f"the scalar {parameters[place].name} has no value to be supplied", "pass input_tensors",
                     kind="invalid_argument")
            made.append(self._supply(parameters[place]))
        return made

    _get_inputs = inputs

    @property
    def func(self):
        return self.kernel

    def run_once(self, func=None):
        return (func or self.kernel)(*self.inputs())

    def _results(self, reference_program, inputs):
        """Of the kernel, and of the reference on the same inputs. What a kernel that returns nothing writes, the
        reference has not seen, and the reference works on copies."""
        if self.kernel.out_idx:
            return _listed(self.kernel(*inputs)), _listed(reference_program(*inputs))
        expected = _listed(reference_program(*map(copy_of, inputs)))
        self.kernel(*inputs)
        return [inputs[k] for k, is_written in enumerate(self.kernel._written) if is_written], expected

    def assert_allclose(self, reference_program, input_tensors=None, atol=1e-2, rtol=1e-2, max_mismatched_ratio=0.01):
        """Calls kernel and reference with the same inputs and compares what they return. A kernel that returns
        nothing is compared by the arrays that it writes."""
        actual, expected = self._results(reference_program, _listed(input_tensors) or self.inputs())
        if len(actual) != len(expected):
            raise AssertionError(f"the kernel has {len(actual)} results, but the reference {len(expected)}")
        for index, (a, b) in enumerate(zip(actual, expected)):
            assert_close(a, b, rtol, atol, max_mismatched_ratio, f"result {index}")

    def manual_assert_close(self, reference_program, input_tensors=None, manual_check_prog=None):
        manual_check_prog(*self._results(reference_program, _listed(input_tensors) or self.inputs()))

    def assert_consistent(self, repeat=10):
        """The same inputs give the same bits, again and again."""
        inputs = self.inputs()
        first = [to_numpy(a).copy() for a in _listed(self.kernel(*inputs))]
        for _ in range(repeat):
            for a, b in zip(first, _listed(self.kernel(*inputs))):
                if a.tobytes() != to_numpy(b).tobytes():
                    raise AssertionError("two runs on the same inputs differ")

    def do_bench(self, func=None, warmup=25, rep=100, n_warmup=0, n_repeat=0, input_tensors=None, backend="event",
                 quantiles=None, return_mode="mean", dynamic_symbolic_constraints=None, device=None,
                 early_stop_baseline=None):
        """Milliseconds of one launch. ``warmup`` and ``rep`` are milliseconds too; the other two are counts."""
        if func is not None:
            inputs = _listed(input_tensors) or self.inputs()
            return do_bench(lambda: func(*inputs), warmup, rep, n_warmup, n_repeat, quantiles,
                            return_mode=return_mode)
        inputs = _listed(input_tensors) or self.inputs()
        arguments, _ = self.kernel._arguments(inputs, {})
        samples = _core_samples(self.kernel, arguments, rep, n_warmup, n_repeat)
        return _summary(samples, quantiles, return_mode)


def _core_samples(kernel, arguments, rep, n_warmup, n_repeat):
    repeats = n_repeat or 5
    return kernel._compiled.profile(arguments, kernel._written, n_warmup or 3, repeats,
                                    0.0 if n_repeat else rep / 1000, 60.0)


def _summary(samples, quantiles, return_mode):
    import numpy

    if quantiles:
        found = [float(q) for q in numpy.quantile(samples, quantiles)]
        return found[0] if len(found) == 1 else found
    modes = {"mean": numpy.mean, "min": numpy.min, "max": numpy.max, "median": numpy.median}
    if return_mode not in modes:
        fail(f"there is no return_mode '{return_mode}'", f"one of {', '.join(modes)}", kind="invalid_argument")
    return float(modes[return_mode](samples))


def _synchronize():
    """Waits for what torch has launched, whatever the timed function returns."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def do_bench(fn, warmup=25, rep=100, _n_warmup=0, _n_repeat=0, quantiles=None, fast_flush=True, backend="event",
             return_mode="mean", device=None, cache_size=None, early_stop_baseline=None):
    """Milliseconds of one call of any function."""
    fn()
    _synchronize()
    begin = time.perf_counter()
    fn()
    _synchronize()
    once = max(time.perf_counter() - begin, 1e-7)
    for _ in range(_n_warmup or min(1000, int(warmup / 1000 / once) + 1)):
        fn()
    _synchronize()
    samples = []
    for _ in range(_n_repeat or min(10000, int(rep / 1000 / once) + 1)):
        begin = time.perf_counter()
        fn()
        _synchronize()
        samples.append((time.perf_counter() - begin) * 1000)
    return _summary(samples, quantiles, return_mode)


