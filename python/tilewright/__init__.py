"""Tilewright: a language of tiles and its compiler. ``import tilewright.language as T`` has the words.

A kernel function becomes a program (``@T.prim_func``), a program a kernel (``tilewright.compile``), and
``@tilewright.jit`` does both. docs/language.md has the words, docs/errors.md the errors.
"""

from __future__ import annotations

import os as _os

from . import _core

_core.set_package_folder(_os.path.dirname(__file__) + _os.sep)

from . import dtypes, error, language  # noqa: E402
from .error import (  # noqa: E402
    Error,
    InternalError,
    InvalidArgumentError,
    InvalidKernelError,
    ToolchainError,
    UnsupportedError,
)
from .jit import JITImpl, compile, jit, par_compile  # noqa: A004, E402
from .kernel import JITKernel  # noqa: E402
from .language.layouts import Fragment, Layout  # noqa: E402
from .math import cdiv, next_power_of_2  # noqa: E402
from .pass_config import PassConfigKey  # noqa: E402

__version__ = "0.1.0"
DataType = dtypes.dtype


def set_log_level(level):
    """Accepted; Tilewright writes no log. Remarks say what is slow: ``kernel.report()``."""

_LAZY = {
    "Profiler": "profiler",
    "TensorSupplyType": "profiler",
    "do_bench": "profiler",
    "autotune": "autotuner",
    "disable_cache": "env",
    "enable_cache": "env",
    "is_cache_enabled": "env",
}
_MODULES = ("autotuner", "carver", "compat", "contrib", "env", "layout", "math", "profiler", "testing", "tileop", "transform", "utils")


def __getattr__(name):
    import importlib

    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
