"""Runs one script as ``python -m tilewright.compat one_example.py SCRIPT`` and records what happened: how many kernels
were launched, and how many comparisons with a reference were made. Writes them as JSON to $EXAMPLE_RECORD.

With EXAMPLE_DEVICE=cpu kernels are compiled for the CPU target, torch's device "cuda" means the CPU, and benchmarks run
once.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
import threading

# Functions whose call is a comparison with a reference. They are counted by name, wherever they are defined, because
# examples bring their own.
CHECKS = frozenset(
    """
    assert_close assert_allclose allclose assert_equal assert_array_equal assert_almost_equal torch_assert_close equal
    assert_similar assert_tensors_similar calc_diff calc_sim compare_results check_close
    """.split()
)

record = {"launches": 0, "checks": 0}


def _write():
    with open(os.environ["EXAMPLE_RECORD"], "w", encoding="utf-8") as out:
        json.dump(record, out)


def _count_check(frame, event, argument):
    if event == "call":
        if frame.f_code.co_name in CHECKS:
            record["checks"] += 1
    elif event == "c_call" and argument.__name__ in CHECKS:
        record["checks"] += 1


def _count_launches():
    """Every way to a launch goes through a kernel's runner or a bound launch."""
    from tilewright import _core
    from tilewright.kernel import JITKernel

    def counting(function):
        def launch(*args, **kwargs):
            result = function(*args, **kwargs)
            record["launches"] += 1  # after: a launch that raised did not happen
            return result

        return launch

    make, bind = JITKernel.__init__, _core.bind

    def init(self, *args, **kwargs):
        make(self, *args, **kwargs)
        self._run = counting(self._run)

    JITKernel.__init__ = init
    _core.bind = lambda *args, **kwargs: counting(bind(*args, **kwargs))


def _cuda_is_cpu():
    """What is done on the GPU by torch and Tilewright is done on the CPU."""
    import torch
    from torch.overrides import TorchFunctionMode

    import tilewright.kernel
    import tilewright.profiler
    import tilewright.target
    import tilewright.testing

    def place(value):
        if isinstance(value, torch.device):
            return torch.device("cpu") if value.type == "cuda" else value
        return "cpu" if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")) else value

    class CudaIsCpu(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = {name: place(value) for name, value in (kwargs or {}).items()}
            if getattr(function, "__name__", "") == "cuda":
                return args[0]
            return function(*map(place, args), **kwargs)

    CudaIsCpu().__enter__()

    class Generator(torch.Generator):  # a class, for annotations name it
        def __new__(cls, device="cpu"):
            return super().__new__(cls, place(device))

    torch.Generator = Generator
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.set_device = torch.cuda.empty_cache = torch.cuda.manual_seed = lambda *_: None
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_capability = lambda *_: (9, 0)

    name_of = tilewright.kernel.target_name

    def cpu_target(target):
        name = name_of(target)
        return "cpu" if name == "auto" or name.startswith("cuda") else name

    def run_once(function, *_args, **_kwargs):
        function()
        return 1.0

    tilewright.kernel.target_name = cpu_target
    tilewright.kernel._example_for = lambda _target: torch.empty(0)
    tilewright.profiler.do_bench = run_once
    if hasattr(tilewright.profiler, "default_package"):
        tilewright.profiler.default_package = lambda _target: "torch"
    for module in (tilewright.target, tilewright.testing):
        module.cuda_capability = lambda *_: (9, 0)


def main():
    script = os.path.abspath(sys.argv[1])
    atexit.register(_write)
    if os.environ.get("EXAMPLE_DEVICE") == "cpu":
        _cuda_is_cpu()
    _count_launches()
    sys.argv = [script, *sys.argv[2:]]
    sys.path[0] = os.path.dirname(script)
    sys.setprofile(_count_check)
    threading.setprofile(_count_check)
    if os.path.basename(script).startswith("test_"):
        import pytest

        sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", script]))
    runpy.run_path(script, run_name="__main__")


main()
