"""Element types, by the names that authors know: ``T.float16``, ``"float16"``, ``T.dtype("half")``."""

from __future__ import annotations

import functools
import re

from . import _core
from .error import fail, unsupported

# The name here -> the name in the compiler.
_CORE_NAMES = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "tfloat32": "tf32",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
}
_AUTHOR_NAMES = {core: name for name, core in _CORE_NAMES.items()}

_ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "uint": "uint32",
    "short": "int16",
    "long": "int64",
    "float8_e4m3": "float8_e4m3fn",
    "e4m3_float8": "float8_e4m3fn",
    "e5m2_float8": "float8_e5m2",
    "bool_": "bool",
    "boolean": "bool",
    "custom[tfloat32]": "tfloat32",
}

# Types of the language that the compiler does not have.
_MISSING = {
    "int4": 4,
    "uint4": 4,
    "int2": 2,
    "uint2": 2,
    "int1": 1,
    "uint1": 1,
    "float4_e2m1fn": 4,
    "float4_e2m1_unpacked": 8,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float8_e3m4": 8,
    "float8_e4m3b11fnuz": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
    "handle": 64,
}

_BITS = {"bool": 8, "bfloat16": 16, "tfloat32": 32, "float8_e4m3fn": 8, "float8_e5m2": 8, **_MISSING}


def _canonical(name: str) -> str:
    name = name.rsplit(".", 1)[-1] if name.startswith(("torch.", "numpy.", "jax.")) else name
    return _ALIASES.get(name, name)


class dtype(str):
    """An element type. Equal to every name of it; called with a value, a cast."""

    def __new__(cls, name):
        return super().__new__(cls, _name_of(name))

    def __eq__(self, other):
        return str.__eq__(self, _canonical(other)) if isinstance(other, str) else NotImplemented

    def __ne__(self, other):
        return not self == other if isinstance(other, str) else NotImplemented

    __hash__ = str.__hash__

    def __repr__(self):
        return f"T.{str(self)}"

    def __call__(self, *values):
        if len(values) != 1:
            unsupported(f"{self} of {len(values)} values: vectors are not built yet")
        return _core.cast(values[0], core_name(self))

    @property
    def lanes(self) -> int:
        found = re.fullmatch(r"\w+?x(\d+)", str(self))
        return int(found.group(1)) if found else 1

    @property
    def bits(self) -> int:
        """Bits of one element (of one lane, for vectors)."""
        base = re.sub(r"x\d+$", "", str(self))
        if base in _BITS:
            return _BITS[base]
        return int(re.search(r"(\d+)$", base).group(1))

    @property
    def bytes(self) -> int:
        return (self.bits * self.lanes + 7) // 8

    itemsize = bytes

    def as_torch(self):
        import torch

        if self == "float8_e4m3fnuz" or self == "float8_e8m0fnu":
            return getattr(torch, str(self))
        name = {"tfloat32": "float32", "int4": "int8", "float4_e2m1fn": "int8"}.get(str(self), str(self))
        return getattr(torch, name)

    def as_numpy(self):
        return numpy_dtype(self)

    @property
    def is_float(self) -> bool:
        return "float" in str(self)


def _name_of(name) -> str:
    if isinstance(name, dtype):
        return str(name)
    if isinstance(name, str):
        text = _canonical(name)
        base = re.sub(r"x\d+$", "", text)
        if base in _CORE_NAMES or base in _MISSING:
            return text
        fail(f"there is no element type '{name}'", f"one of {', '.join(_CORE_NAMES)}")
    if name is bool:
        return "bool"
    if name is int:
        return "int32"
    if name is float:
        return "float32"
    text = getattr(name, "__name__", None) or getattr(name, "name", None) or str(name)
    return _name_of(str(text))


def is_dtype(value) -> bool:
    """Whether ``value`` names an element type: a name, one of ours, or one of numpy's or torch's."""
    if isinstance(value, dtype) or value is bool or value is int or value is float:
        return True
    if isinstance(value, str):
        base = re.sub(r"x\d+$", "", _canonical(value))
        return base in _CORE_NAMES or base in _MISSING
    own = value if isinstance(value, type) else type(value)
    if own.__module__.split(".")[0] not in ("torch", "numpy", "ml_dtypes", "jax", "jaxlib"):
        return False
    if isinstance(value, type):  # numpy.float32
        return is_dtype(value.__name__)
    return "dtype" in f"{type(value)}{value}"


def core_name(name) -> str:
    """The compiler's name of a type; refused where it has none."""
    text = _name_of(name)
    core = _CORE_NAMES.get(text)
    if core is None:
        unsupported(f"the element type {text} is not built yet")
    return core


def from_core(name: str) -> dtype:
    return dtype(_AUTHOR_NAMES[name])


@functools.lru_cache(maxsize=None)
def numpy_dtype(name):
    """numpy's type; the narrow floats come from the package ml_dtypes."""
    import numpy

    text = _name_of(name)
    if text == "tfloat32":
        text = "float32"
    if text in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        try:
            import ml_dtypes
        except ImportError:
            fail(
                f"numpy has no {text} of its own",
                "pip install ml_dtypes, or pass tensors of torch",
                kind="toolchain",
            )
        return numpy.dtype(getattr(ml_dtypes, text))
    core_name(text)
    return numpy.dtype(text)


def _torch_names():
    import torch

    return {getattr(torch, name): name for name in _CORE_NAMES if hasattr(torch, name)}


def __getattr__(name):
    if name == "_TORCH_DTYPE_TO_STR":  # scripts look their tensors' types up there
        return _torch_names()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


NAMES = [
    *_CORE_NAMES,
    *[n for n in _MISSING if n != "handle"],
    *["half", "double", "short", "long", "uint", "float8_e4m3"],
]
TYPES = {name: dtype(name) for name in NAMES}
VECTORS = {
    f"{name}x{lanes}": dtype(f"{name}x{lanes}")
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32", "float64",
                 "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "int4")
    for lanes in (2, 4, 8, 16, 32, 64)
}
globals().update({n: t for n, t in TYPES.items() if n not in ("bool",)})
