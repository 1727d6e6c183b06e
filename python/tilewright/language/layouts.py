"""Where elements of tiles lie, as authors say it."""

from __future__ import annotations

import itertools

from .. import _core
from ..error import fail
from . import state
from .buffers import Buffer


def _numbers(value):
    return [int(v) for v in value] if isinstance(value, (list, tuple)) else [int(value)]


class Layout:
    """The place of each element: ``T.Layout([m, n], lambda i, j: i * n + j)``; the function may give several
    coordinates, which lie in row-major order."""

    def __init__(self, shape, forward_fn):
        self.shape = [int(extent) for extent in shape]
        self.forward = forward_fn
        self._core = None

    def map_forward_index(self, indices):
        return _numbers(self.forward(*indices))

    @property
    def core(self):
        if self._core is None:
            self._core = _core.make_layout(self.shape, self._offset())
        return self._core

    def _offset(self):
        """The function from coordinates to one number."""
        places = {}
        for at in itertools.product(*map(range, self.shape)):
            places[at] = self.map_forward_index(at)
        dims = len(next(iter(places.values()), [0]))
        extents = [1 + max((place[d] for place in places.values()), default=0) for d in range(dims)]

        def offset(*at):
            number = 0
            for extent, coordinate in zip(extents, places[at]):
                number = number * extent + coordinate
            return number

        return offset

    @property
    def notation(self):
        return self.core.notation

    def __repr__(self):
        return f"T.Layout {self.notation}"


class Fragment:
    """Who holds each element: ``forward_fn(i, j)`` gives thread and register; or one function for each."""

    def __init__(self, shape, forward_fn=None, forward_thread_fn=None, replicate=1, forward_index_fn=None):
        self.shape = [int(extent) for extent in shape]
        self.replicate_count = int(replicate)
        if forward_fn is None and forward_thread_fn is None:
            fail("T.Fragment without a function", "T.Fragment(shape, lambda i, j: (thread, register))")
        self._both, self._thread, self._index = forward_fn, forward_thread_fn, forward_index_fn
        self._core = None

    def _call(self, function, at, replica):
        return function(*at, replica) if self.replicate_count > 1 else function(*at)

    def _held(self, *args):
        at, replica = args[:-1], args[-1]
        if self._both is not None:
            thread, register = self._call(self._both, at, replica)
            return int(thread), _numbers(register)[0]
        if self._index is None:
            fail("T.Fragment without the register of an element", "pass forward_index_fn, or forward_fn for both")
        return int(self._call(self._thread, at, replica)), _numbers(self._index(*at))[0]

    @property
    def core(self):
        if self._core is None:
            self._core = _core.make_fragment(self.shape, self._held, self.replicate_count, 0)
        return self._core

    @property
    def notation(self):
        return self.core.notation

    def __repr__(self):
        return f"T.Fragment {self.notation}"


class _Made:
    """A layout that the library made."""

    def __init__(self, core):
        self.core = core

    @property
    def notation(self):
        return self.core.notation

    def __repr__(self):
        return self.notation


def _tile(word, tile):
    state.require(word)
    if not isinstance(tile, Buffer):
        fail(f"{word} of something that is no tile", "pass a tile of alloc_shared or alloc_fragment")
    return tile


def make_linear_layout(tile):
    return _Made(_core.make_linear_layout(_tile("make_linear_layout", tile)))


def make_padded_layout(tile, padding):
    return _Made(_core.make_padded_layout(_tile("make_padded_layout", tile), padding))


def make_swizzled_layout(tile, k_major=True, allow_pad=True):
    """Pieces of 16 bytes exchanged by the row's number, so that eight rows begin in different memory banks."""
    return _Made(_core.make_swizzled_layout(_tile("make_swizzled_layout", tile), 0))


def make_full_bank_swizzled_layout(tile):
    return _Made(_core.make_swizzled_layout(_tile("make_full_bank_swizzled_layout", tile), 128))


def make_half_bank_swizzled_layout(tile):
    return _Made(_core.make_swizzled_layout(_tile("make_half_bank_swizzled_layout", tile), 64))


def make_quarter_bank_swizzled_layout(tile):
    return _Made(_core.make_swizzled_layout(_tile("make_quarter_bank_swizzled_layout", tile), 32))


def make_fully_replicated_layout_fragment(tile, *_threads):
    return _Made(_core.make_fully_replicated_fragment(_tile("make_fully_replicated_layout_fragment", tile)))


def annotate_layout(layouts, **_options):
    """``T.annotate_layout({A_shared: layout, C_local: fragment})``."""
    state.require("T.annotate_layout")
    for tile, layout in layouts.items():
        if callable(layout) and not isinstance(layout, (Layout, Fragment, _Made)):
            layout = Layout(tile.shape, layout)
        core = layout.core
        if isinstance(core, _core.Fragment):
            _core.annotate_fragment(tile, core)
        else:
            _core.annotate_layout(tile, core)
