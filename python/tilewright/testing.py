"""What tests of kernels share: seeds, decorators that skip where a device is missing, and ``main``."""

from __future__ import annotations

import inspect
import random
import re
import sys

from .profiler import assert_close as _assert_close
from .target import cuda_capability


def set_random_seed(seed=42):
    """Seeds random, numpy and torch, those that are there."""
    random.seed(seed)
    for name, apply in (("numpy", lambda m: m.random.seed(seed)), ("torch", lambda m: m.manual_seed(seed))):
        module = sys.modules.get(name)
        if module is not None:
            apply(module)


def main():
    """Runs the tests of the calling file with pytest."""
    import pytest

    sys.exit(pytest.main([inspect.stack()[1].filename, *sys.argv[1:]]))


def _skip_unless(holds, reason):
    import pytest

    return pytest.mark.skipif(not holds, reason=reason)


def _version(major, minor):
    if isinstance(major, (tuple, list)):
        return tuple(major)
    return (major, minor)


def _requires(sign, compare):
    def requires(major, minor=0):
        wanted, found = _version(major, minor), cuda_capability()
        return _skip_unless(found is not None and compare(found, wanted),
                            f"needs an NVIDIA GPU of compute capability {sign} {wanted[0]}.{wanted[1]}")

    requires.__doc__ = f"Skips a test without a GPU of a compute capability {sign} major.minor."
    return requires


requires_cuda_compute_version_ge = _requires(">=", lambda a, b: a >= b)
requires_cuda_compute_version_gt = _requires(">", lambda a, b: a > b)
requires_cuda_compute_version_le = _requires("<=", lambda a, b: a <= b)
requires_cuda_compute_version_lt = _requires("<", lambda a, b: a < b)
requires_cuda_compute_version_eq = _requires("==", lambda a, b: a == b)


def requires_cuda_compute_version(major, minor=0, mode="ge"):
    """Skips a test without a GPU of such a compute capability."""
    return globals()[f"requires_cuda_compute_version_{mode}"](major, minor)


def requires_cuda(function=None):
    """Skips a test where there is no NVIDIA GPU."""
    mark = _skip_unless(cuda_capability() is not None, "needs an NVIDIA GPU")
    return mark if function is None else mark(function)


def _never(reason):
    def requires(function=None, *_args, **_options):
        mark = _skip_unless(False, reason)
        return mark(function) if callable(function) else mark

    return requires


requires_rocm = _never("needs an AMD GPU, which is no target here")
requires_metal = _never("needs Metal, which is no target here")
requires_cdna = requires_gfx950 = requires_rocm


def requires_llvm(function=None):
    """The CPU is always there."""
    return (lambda f: f) if function is None else function


def requires_package(*names):
    """Skips a test where a Python package is missing."""
    import importlib.util

    missing = [name for name in names if importlib.util.find_spec(re.sub(r"[<>=~!].*", "", name)) is None]
    return _skip_unless(not missing, f"needs {', '.join(missing)}")


def torch_assert_close(actual, expected, rtol=1e-2, atol=1e-3, max_mismatched_ratio=0.001, **_options):
    """Compares arrays, a share of whose elements may differ."""
    _assert_close(actual, expected, rtol, atol, max_mismatched_ratio)
    return True


_measured = []


def process_func(function, name=None, **options):
    """Keeps how long a function of a kernel takes: it returns milliseconds."""
    _measured.append((name or getattr(function, "__name__", "kernel"), function(**options)))


def regression(prefixes=None):
    """Prints what the functions regression_* of the calling module measure."""
    caller = sys._getframe(1).f_globals
    for name, function in list(caller.items()):
        if name.startswith("regression_") and callable(function):
            function()
    for name, milliseconds in _measured:
        print(f"{name}: {milliseconds} ms")
