"""Scripts that import tilelang, run by Tilewright: ``python -m tilewright.compat script.py``, or
``tilewright.compat.install()`` before the import."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys

_THEIRS, _OURS = "tilelang", "tilewright"


class _Loader(importlib.abc.Loader):
    """Hands out our module under their name."""

    def __init__(self, module):
        self._module = module
        self._spec = module.__spec__

    def create_module(self, _spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec  # importlib has written the other name there


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, _path=None, _target=None):
        if name != _THEIRS and not name.startswith(_THEIRS + "."):
            return None
        own = _OURS + name[len(_THEIRS) :]
        try:
            module = importlib.import_module(own)
        except ModuleNotFoundError as error:
            if error.name and (own == error.name or own.startswith(error.name + ".")):
                raise ModuleNotFoundError(f"{own}, which stands for {name}, is not built yet: see docs/status.md",
                                          name=name) from None
            raise
        return importlib.machinery.ModuleSpec(name, _Loader(module), is_package=hasattr(module, "__path__"))


def install():
    """From now on ``import tilelang`` gives Tilewright."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder())
    # What is loaded is not imported again, which would replace names of the package: `jit`, the decorator, by `jit`,
    # the module.
    if _THEIRS not in sys.modules:
        for name in [n for n in sys.modules if n == _OURS or n.startswith(_OURS + ".")]:
            sys.modules[_THEIRS + name[len(_OURS) :]] = sys.modules[name]


def uninstall():
    """Undoes ``install``; what is imported stays."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name in [n for n in sys.modules if n == _THEIRS or n.startswith(_THEIRS + ".")]:
        del sys.modules[name]
