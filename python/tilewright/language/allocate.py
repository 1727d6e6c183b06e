"""Tiles and scalar variables."""

from __future__ import annotations

from .. import _core
from ..dtypes import core_name, from_core, is_dtype
from ..error import fail
from . import state
from .buffers import Buffer, Var, _extents
from .buffers import view as make_view


def _tile(word, space, shape, dtype):
    trace = state.require(f"T.{word}")
    shape = _extents(shape)
    name = trace.take_wanted_name()
    handle = _core.add_tile(space, name, shape, core_name(dtype))
    return Buffer(handle, name or f"{space} tile", _plain(handle, shape), dtype, space)


def _plain(handle, shape):
    """Extents as Python ints, where they are constants."""
    if all(isinstance(extent, int) for extent in shape):
        return shape
    return tuple(_core.shape_of(_core.Tile(handle)))


def alloc_shared(shape, dtype, scope="shared.dyn"):
    """A tile of the block, seen by all its threads."""
    return _tile("alloc_shared", "shared", shape, dtype)


def alloc_fragment(shape, dtype, scope="local.fragment"):
    """A tile in registers, divided among the threads of the block."""
    return _tile("alloc_fragment", "fragment", shape, dtype)


def alloc_local(shape, dtype, scope="local"):
    """A private array."""
    return _tile("alloc_local", "local", shape, dtype)


def alloc_var(dtype, *args, init=None, scope="local.var"):
    """A scalar that changes: ``v = T.alloc_var("int32", 0)``; then ``v = v + 1`` stores."""
    trace = state.require("T.alloc_var")
    for value in args:
        if isinstance(value, str) and not is_dtype(value):
            continue  # a scope by position
        if init is not None:
            fail("T.alloc_var with two first values", "T.alloc_var(dtype, init)")
        init = value
    name = trace.take_wanted_name()
    handle = _core.add_tile("local", name, (), core_name(dtype))
    made = Var(Buffer(handle, name or "variable", (), dtype, "local.var"))
    if init is not None:
        _core.store(made, init)
    return made


def alloc_global(shape, dtype):
    """A workspace that the runtime allocates, between the kernels of one program."""
    state.require("T.alloc_global")
    shape = _extents(shape)
    return Buffer(_core.add_workspace(shape, core_name(dtype)), "workspace", shape, dtype, "global")


def reshape(tile, shape):
    """Another name for a tile or tensor: the same elements by another shape."""
    return make_view(tile, shape, None, "reshape")


def view(tile, shape=None, dtype=None):
    """The same bits by another shape, dtype or both."""
    return make_view(tile, shape, dtype)


def dtype_of(value):
    """The element type of a number of the kernel."""
    return from_core(_core.to_expr(value).dtype_name)
