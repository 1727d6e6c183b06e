"""Choosing among configurations by measuring them: ``@tilewright.autotune(configs=...)`` above ``@tilewright.jit``.

A candidate that does not compile, does not run or gives another result than the reference is left out, with its
reason; when none is left, the error has all reasons.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from .error import Error, fail
from .jit import JITImpl, key_of_argument
from .kernel import JITKernel
from .pass_config import check_pass_configs
from .profiler import Profiler, TensorSupplyType, _listed, do_bench

__all__ = ["AutoTuner", "AutotuneResult", "autotune", "set_autotune_inputs", "get_autotune_inputs"]

_given = threading.local()


@contextlib.contextmanager
def set_autotune_inputs(*args):
    """Inside of the block, candidates are measured on these tensors."""
    before = get_autotune_inputs()
    _given.inputs = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    try:
        yield
    finally:
        _given.inputs = before


def get_autotune_inputs():
    return getattr(_given, "inputs", None)


class AutotuneResult:
    """The fastest candidate: ``latency`` in milliseconds, ``config``, ``kernel``; ``ref_latency`` of the reference."""

    def __init__(self, latency, config, ref_latency, kernel, refused):
        self.latency = latency
        self.config = config
        self.ref_latency = ref_latency
        self.kernel = kernel
        self.refused = refused  # (config, reason) of candidates that were left out
        self.libcode = kernel.get_kernel_source()

    def __repr__(self):
        return f"AutotuneResult(latency={self.latency}, config={self.config})"


class _Measure:
    """How candidates are measured and checked."""

    def __init__(self, warmup=25, rep=100, supply_type=TensorSupplyType.Auto, ref_prog=None, supply_prog=None,
                 rtol=1e-2, atol=1e-2, max_mismatched_ratio=0.01, skip_check=False, manual_check_prog=None):
        self.warmup, self.rep = warmup, rep
        self.supply_type = supply_type
        self.ref_prog = None if skip_check else ref_prog
        self.supply_prog = supply_prog
        self.tolerance = (rtol, atol, max_mismatched_ratio)
        self.manual_check_prog = manual_check_prog

    def inputs(self, kernel):
        given = get_autotune_inputs()
        if given is not None:
            return given
        if self.supply_prog is not None:
            return _listed(self.supply_prog(kernel.params))
        return Profiler(kernel, self.supply_type).inputs()

    def __call__(self, kernel, inputs):
        """Milliseconds of one launch; raises where the result is not that of the reference."""
        profiler = Profiler(kernel, self.supply_type)
        if self.ref_prog is not None:
            if self.manual_check_prog is not None:
                profiler.manual_assert_close(self.ref_prog, inputs, self.manual_check_prog)
            else:
                rtol, atol, share = self.tolerance
                profiler.assert_allclose(self.ref_prog, inputs, atol, rtol, share)
        return profiler.do_bench(warmup=self.warmup, rep=self.rep, input_tensors=inputs)


def _progress(done, total, name):
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{name}: {done} of {total} candidates measured", end=end, file=sys.stderr, flush=True)


def _reason(error):
    return error.message if isinstance(error, Error) else f"{type(error).__name__}: {error}"


def tune(name, configs, compile_one, measure, inputs=None):
    """Compiles and measures all candidates. ``compile_one`` gives the kernel of a configuration."""
    if not configs:
        fail(f"{name} is tuned over no configuration", "configs is a list of dicts", kind="invalid_argument")

    def attempt(config):
        try:
            return compile_one(config), None
        except Exception as error:  # a candidate may fail in any way that its author's code can
            return None, _reason(error)

    with ThreadPoolExecutor(max_workers=1) as worker:  # building uses the interpreter; one compiles while one runs
        compiled = [worker.submit(attempt, config) for config in configs]
        best, refused = None, []
        for done, (config, pending) in enumerate(zip(configs, compiled), 1):
            kernel, reason = pending.result()
            if kernel is not None:
                try:
                    latency = measure(kernel, inputs if inputs is not None else measure.inputs(kernel))
                    if best is None or latency < best[0]:
                        best = (latency, config, kernel)
                except Exception as error:  # as above
                    reason = _reason(error)
            if reason is not None:
                refused.append((config, reason))
            _progress(done, len(configs), name)
    if best is None:
        fail(f"none of the {len(configs)} configurations of {name} works", kind="invalid_argument",
             notes=[(f"{config}: {reason}", None) for config, reason in refused])
    latency, config, kernel = best
    kernel.latency, kernel.config = latency, config
    return AutotuneResult(latency, config, None, kernel, refused)


def _time_reference(result, measure, inputs):
    if measure.ref_prog is not None:
        result.ref_latency = do_bench(lambda: measure.ref_prog(*inputs), warmup=measure.warmup, rep=measure.rep)
        result.kernel.ref_latency = result.ref_latency


class AutoTuneImpl:
    """A jitted function whose parameters named in the configurations are chosen when it is called."""

    def __init__(self, jitted, configs, measure):
        self.jit_impl = jitted if isinstance(jitted, JITImpl) else JITImpl(jitted)
        self.configs = configs
        self.measure = measure
        self._results = {}
        functools.update_wrapper(self, self.jit_impl.func)

    def _candidates(self, args, kwargs):
        configs = self.configs(*args, **kwargs) if callable(self.configs) else self.configs
        return [dict(config) for config in configs]

    def _is_chosen(self, args, kwargs, candidates):
        """Whether the caller gives the tuned parameters himself."""
        names = {name for config in candidates for name in config}
        signature = self.jit_impl.signature
        given = signature.bind_partial(*args, **{k: v for k, v in kwargs.items() if k in signature.parameters}).arguments
        return bool(names) and names <= set(given)

    def tune(self, *args, **kwargs):
        """The result for these arguments; measured once."""
        return self._tuned(self._candidates(args, kwargs), args, kwargs)

    def _tuned(self, candidates, args, kwargs):
        eager = self.jit_impl.mode == "eager"
        key = self.jit_impl.key_of(args, kwargs) if eager else (key_of_argument(args), key_of_argument(kwargs))
        if key not in self._results:
            inputs = self.jit_impl.passed_values(args, kwargs) if eager else None
            result = tune(self.jit_impl.func.__name__, candidates,
                          lambda config: self.jit_impl.compile(*args, **{**kwargs, **config}), self.measure, inputs)
            _time_reference(result, self.measure, inputs if inputs is not None else self.measure.inputs(result.kernel))
            self._results[key] = result
        return self._results[key]

    def __call__(self, *args, **kwargs):
        candidates = self._candidates(args, kwargs)
        if self._is_chosen(args, kwargs, candidates):
            return self.jit_impl(*args, **kwargs)
        result = self._tuned(candidates, args, kwargs)
        if self.jit_impl.mode == "lazy":
            return result.kernel
        return self.jit_impl(*args, **{**kwargs, **result.config})

    def compile(self, *args, **kwargs):
        candidates = self._candidates(args, kwargs)
        if self._is_chosen(args, kwargs, candidates):
            return self.jit_impl.compile(*args, **kwargs)
        return self._tuned(candidates, args, kwargs).kernel

    def __getattr__(self, name):
        return getattr(self.jit_impl, name)


def autotune(func=None, *, configs=None, warmup=25, rep=100, timeout=100, supply_type=TensorSupplyType.Auto,
             ref_prog=None, supply_prog=None, rtol=1e-2, atol=1e-2, max_mismatched_ratio=0.01, skip_check=False,
             manual_check_prog=None, cache_input_tensors=False, **_options):
    """Decorates a jitted function: its parameters named in ``configs`` are chosen by measuring."""
    measure = _Measure(warmup, rep, supply_type, ref_prog, supply_prog, rtol, atol, max_mismatched_ratio, skip_check,
                       manual_check_prog)

    def decorate(jitted):
        return AutoTuneImpl(jitted, configs, measure)

    return decorate if func is None else decorate(func)


class AutoTuner:
    """``AutoTuner.from_kernel(kernel, configs).set_compile_args(out_idx=[-1]).set_profile_args(...).run()``, where
    ``kernel(**config)`` gives a program."""

    def __init__(self, make, configs):
        self.fn = make
        self.configs = configs
        self._compile_args = {}
        self._measure = {}

    @classmethod
    def from_kernel(cls, kernel, configs):
        return cls(kernel, configs)

    def set_compile_args(self, out_idx=None, target="auto", execution_backend=None, target_host=None, verbose=False,
                         pass_configs=None, **_options):
        self._compile_args = {"out_idx": out_idx, "target": target, "pass_configs": pass_configs}
        return self

    def set_profile_args(self, warmup=25, rep=100, timeout=30, supply_type=TensorSupplyType.Auto, ref_prog=None,
                         supply_prog=None, rtol=1e-2, atol=1e-2, max_mismatched_ratio=0.01, skip_check=False,
                         manual_check_prog=None, cache_input_tensors=False, **_options):
        self._measure = {
            "warmup": warmup, "rep": rep, "supply_type": supply_type, "ref_prog": ref_prog, "supply_prog": supply_prog,
            "rtol": rtol, "atol": atol, "max_mismatched_ratio": max_mismatched_ratio, "skip_check": skip_check,
            "manual_check_prog": manual_check_prog,
        }
        return self

    def run(self, warmup=None, rep=None, timeout=30, **_options):
        """Measures all candidates; the result has the kernel."""
        options = dict(self._measure)
        options.update({k: v for k, v in (("warmup", warmup), ("rep", rep)) if v is not None})
        measure = _Measure(**options)

        def compile_one(config):
            options = dict(self._compile_args)
            config = dict(config)
            if "pass_configs" in config and "pass_configs" not in inspect.signature(self.fn).parameters:
                options["pass_configs"] = {**(options.get("pass_configs") or {}), **(config.pop("pass_configs") or {})}
            made = self.fn(**config)
            if not isinstance(made, JITKernel):
                options["pass_configs"] = check_pass_configs(options.get("pass_configs"))
                made = JITKernel(made, **options)
            return made

        result = tune(getattr(self.fn, "__name__", "kernel"), [dict(c) for c in self.configs], compile_one, measure)
        _time_reference(result, measure, measure.inputs(result.kernel))
        return result
