"""The words of the language: ``import tilewright.language as T``."""

from __future__ import annotations

from .. import dtypes as _dtypes
from ..dtypes import dtype
from ..error import unsupported as _unsupported
from . import mathematics as _mathematics
from .allocate import alloc_fragment, alloc_global, alloc_local, alloc_shared, alloc_var, dtype_of, reshape, view
from .buffers import Buffer_ as Buffer
from .buffers import FragmentBuffer, LocalBuffer, Ref, SharedBuffer, StridedTensor, Tensor
from .eager import const, empty
from .layouts import (
    Fragment,
    Layout,
    annotate_layout,
    make_fully_replicated_layout_fragment,
    make_linear_layout,
    make_padded_layout,
    make_swizzled_layout,
)
from .loops import (
    Kernel,
    Parallel,
    Persistent,
    Pipelined,
    get_block_binding,
    get_block_bindings,
    get_block_extent,
    get_thread_extent,
    get_thread_extents,
    grid,
    loop_break,
    serial,
    unroll,
    vectorized,
)
from .mathematics import *  # noqa: F403
from .mathematics import Cast, Select, abs, all, any, max, min  # noqa: A004
from .operations import (
    GemmWarpPolicy,
    all_of,
    annotate_safe_value,
    any_of,
    assume,
    atomic_add,
    atomic_addx2,
    atomic_addx4,
    atomic_and,
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_store,
    atomic_xor,
    clear,
    copy,
    cummax,
    cumsum,
    device_assert,
    fill,
    gather,
    gemm,
    reduce,
    reduce_absmax,
    reduce_all,
    reduce_any,
    reduce_prod,
    reduce_abssum,
    reduce_bitand,
    reduce_bitor,
    reduce_bitxor,
    reduce_max,
    reduce_min,
    reduce_sum,
    transpose,
    use_swizzle,
)
from .operations import WISHES as _WISHES
from .operations import print_ as print  # noqa: A001
from .program import Macro, PrimFunc, macro, prim_func
from .symbols import dynamic, symbolic

Serial, Unroll, Vectorized, parallel = serial, unroll, vectorized, Parallel
globals().update(_mathematics.FAST)
globals().update(_dtypes.TYPES)
globals().update(_WISHES)
globals().update(_dtypes.VECTORS)
float = _dtypes.TYPES["float32"]  # noqa: A001
int = _dtypes.TYPES["int32"]  # noqa: A001
bool = _dtypes.TYPES["bool"]  # noqa: A001

__tilelang_dialect__ = "cuda"


def __getattr__(name):
    """Words of the language that are missing say so."""
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .unbuilt import UNBUILT

    if name in UNBUILT:
        return _Missing(name)
    raise AttributeError(f"the language has no word T.{name}: docs/language.md lists those that there are")


class _Missing:
    """A word that is not built yet: using it is an error, having it is not."""

    def __init__(self, name):
        self._name = name

    def __call__(self, *_args, **_kwargs):
        _unsupported(f"T.{self._name} is not built yet", "see docs/status.md")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self()

    def __getitem__(self, _item):
        self()

    def __enter__(self):
        self()

    def __exit__(self, *_error):
        return False

    def __repr__(self):
        return f"T.{self._name} (not built yet)"
