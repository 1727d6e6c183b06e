"""Arrays of numpy, torch and others: what they are, and new ones of the same kind."""

from __future__ import annotations

import sys

from .dtypes import dtype as make_dtype, numpy_dtype
from .error import fail


def is_array(value) -> bool:
    """Whether a launch takes ``value`` as a tensor."""
    if isinstance(value, (int, float, bool, str, bytes)) or value is None:
        return False
    if _is_numpy_scalar(value):  # which has shape () too
        return False
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__") or hasattr(value, "data_ptr"):
        return getattr(value, "shape", None) is not None
    return isinstance(value, (memoryview, bytearray))


def _is_numpy_scalar(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def plain_number(value):
    """A scalar of numpy as the same number of Python; other values as they are."""
    return value.item() if _is_numpy_scalar(value) else value


def package_of(array) -> str:
    return type(array).__module__.split(".")[0]


def strides_of(array):
    """In elements."""
    if package_of(array) == "torch":
        return tuple(array.stride())
    steps = getattr(array, "strides", None)
    if steps is None:
        return None
    return tuple(step // array.itemsize for step in steps)


def copy_of(value):
    """A copy of an array, in its package; other values as they are."""
    if not is_array(value):
        return value
    if package_of(value) == "torch":
        return value.clone()
    return value.copy() if hasattr(value, "copy") else to_numpy(value).copy()


def empty_like_package(shape, dtype, example=None):
    """A new array with the element type ``dtype``, of the package and on the device of ``example``."""
    dtype = make_dtype(dtype)
    package = package_of(example) if example is not None else "numpy"
    if package == "torch":
        import torch

        return torch.empty(tuple(shape), dtype=dtype.as_torch(), device=example.device)
    if package == "cupy":
        import cupy

        return cupy.empty(tuple(shape), dtype=numpy_dtype(dtype))
    if package not in ("numpy", "ml_dtypes", "builtins", "array"):
        fail(
            f"no output can be allocated as an array of {package}",
            "arrays of this package cannot be written in place: pass an output of numpy or torch",
            kind="invalid_argument",
        )
    import numpy

    return numpy.empty(tuple(shape), dtype=numpy_dtype(dtype))


def default_package(target: str) -> str:
    """torch where it is installed and the target needs its memory, else numpy."""
    if target.startswith("cuda"):
        try:
            import torch

            if torch.cuda.is_available():
                return "torch"
        except ImportError:
            pass
    return "numpy"


def to_numpy(array):
    """For comparisons: as numpy, on the host, narrow floats widened."""
    import numpy

    if package_of(array) == "torch":
        import torch

        array = array.detach()
        if array.dtype in (torch.bfloat16, getattr(torch, "float8_e4m3fn", None), getattr(torch, "float8_e5m2", None)):
            array = array.float()
        return array.cpu().numpy()
    if package_of(array) == "cupy":
        return array.get()
    made = numpy.asarray(array)
    return made.astype(numpy.float32) if made.dtype.kind == "V" or made.dtype.name.startswith(("bfloat", "float8")) \
        else made
