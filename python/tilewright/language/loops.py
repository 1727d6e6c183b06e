"""Kernels and loops: objects that rewritten functions open and close."""

from __future__ import annotations

from .. import _core
from ..error import fail, unsupported
from . import state

# As in the builder.
_SERIAL, _UNROLLED, _VECTORIZED, _PIPELINED = range(4)


class LoopWord:
    """``T.serial(n)`` and its relatives: opens when the loop begins."""

    def __init__(self, word, count, opener, nest=None):
        self.word = word
        self.count = count  # of variables
        self._opener = opener
        self.nest = nest  # extents and options of a parallel loop

    def open(self):
        """Opens the loop; returns its depth and its variables."""
        state.require(f"T.{self.word}")
        depth = self._opener()
        names = [_core.loop_var(depth, k) for k in range(self.count)]
        return depth, names[0] if self.count == 1 else tuple(names)

    def __iter__(self):
        """In a function that is not rewritten: the body is traced once."""
        depth, variables = self.open()
        trace = state.current()
        trace.frames.append(state.Frame("loop", True))
        yield variables
        trace.frames.pop()
        _core.close_loop(depth)


def _count(value, word, what):
    if isinstance(value, bool) or not isinstance(value, int):
        fail(f"T.{word}: {what} is {value!r}", f"{what} is a Python int")
    return value


def _range(word, kind, args, step=1, options=None):
    if len(args) not in (1, 2):
        fail(f"T.{word} with {len(args)} bounds", f"T.{word}(stop) or T.{word}(start, stop)")
    start, stop = (0, args[0]) if len(args) == 1 else args
    if step is None:
        step = 1
    step = _count(step, word, "the step")
    return LoopWord(word, 1, lambda: _core.open_range(kind, start, stop, step, options or {}))


def serial(start, stop=None, step=None, *, annotations=None):
    """A loop in order: ``T.serial(n)``, ``T.serial(start, stop, step)``; also ``range`` in a kernel function."""
    return _range("serial", _SERIAL, (start,) if stop is None else (start, stop), step)


def unroll(start, stop=None, step=None, *, explicit=False, unroll_factor=None, annotations=None):
    """As ``serial``, and asks for unrolling: whole (``explicit``) or by a factor."""
    if explicit and unroll_factor is not None:
        fail("T.unroll with explicit and unroll_factor", "pass one of them")
    options = {}
    if explicit:
        options["explicit"] = True
    if unroll_factor is not None:
        options["factor"] = _count(unroll_factor, "unroll", "unroll_factor")
    return _range("unroll", _UNROLLED, (start,) if stop is None else (start, stop), step, options)


def vectorized(start, stop=None, *, annotations=None):
    """As ``serial``, and asks for vector code."""
    return _range("vectorized", _VECTORIZED, (start,) if stop is None else (start, stop))


def Pipelined(start, stop=None, num_stages=0, order=None, stage=None, sync=None, group=None, annotations=None):
    """As ``serial``; a target may overlap iterations over ``num_stages`` buffers."""
    options = {"num_stages": max(0, _count(num_stages, "Pipelined", "num_stages"))}
    for name, value in (("order", order), ("stage", stage), ("sync", sync), ("group", group)):
        if value:
            options[name] = list(value)
    return _range("Pipelined", _PIPELINED, (start,) if stop is None else (start, stop), 1, options)


def Parallel(*extents, coalesced_width=None, loop_layout=None, prefer_async=None, annotations=None):
    """Independent iterations over all index tuples: ``for i, j in T.Parallel(m, n)``."""
    if not extents:
        fail("T.Parallel without extents", "T.Parallel(m, n)")
    options = {}
    if coalesced_width is not None:
        options["coalesced_width"] = _count(coalesced_width, "Parallel", "coalesced_width")
    opener = lambda: _core.open_parallel(extents, options)  # noqa: E731
    return LoopWord("Parallel", len(extents), opener, nest=(extents, options))


def nested(outer, inner):
    """Two parallel loops, one whole in the other, are one: ``for i in T.Parallel(m): for j in T.Parallel(n)``."""
    if outer.nest is None or inner.nest is None:
        fail(f"T.{inner.word} directly inside of T.{outer.word}", "T.Parallel(m, n) is one loop over both")
    extents = (*outer.nest[0], *inner.nest[0])
    joined = LoopWord("Parallel", len(extents), lambda: _core.open_parallel(extents, {**outer.nest[1], **inner.nest[1]}))

    class Pair:
        """Gives the variables of each loop apart, as both targets take them."""

        word = "Parallel"

        def open(self):
            depth, variables = joined.open()
            first, second = variables[: outer.count], variables[outer.count :]
            return depth, (first[0] if outer.count == 1 else first, second[0] if inner.count == 1 else second)

    return Pair()


def grid(*extents):
    """Serial loops, one in the other."""
    if not extents:
        fail("T.grid without extents", "T.grid(m, n)")
    return LoopWord("grid", len(extents), lambda: _core.open_grid(extents))


def Persistent(domain, wave_size, index, group_size=8):
    """The points of a domain that fall to one of ``wave_size`` blocks (docs/language.md)."""
    domain = list(domain)
    size = _count(group_size, "Persistent", "group_size")
    return LoopWord("Persistent", len(domain), lambda: _core.open_persistent(domain, wave_size, index, size))


def _threads(threads):
    if threads is None:
        return [128]
    listed = list(threads) if isinstance(threads, (list, tuple)) else [threads]
    if not 1 <= len(listed) <= 3:
        fail(f"a block has threads in {len(listed)} dimensions", "1 to 3 extents")
    return [_count(t, "Kernel", "threads") for t in listed]


class KernelWord:
    """``with T.Kernel(x, y, threads=128) as (bx, by)``."""

    def __init__(self, blocks, threads):
        if not 1 <= len(blocks) <= 3:
            fail(f"a grid of {len(blocks)} dimensions", "1 to 3 extents: T.Kernel(x, y, z, threads=128)")
        self._blocks = blocks
        self._threads = threads

    def __enter__(self):
        trace = state.require("T.Kernel")
        if trace.eager is not None:
            trace.eager.begin_kernel()
        self._depth = _core.open_kernel(self._blocks, self._threads)
        trace.kernel_open = True
        indices = [_core.block_var(d) for d in range(len(self._blocks))]
        return indices[0] if len(indices) == 1 else tuple(indices)

    def __exit__(self, kind, error, traceback):
        if kind is None:
            state.current().kernel_open = False
            _core.close_kernel(self._depth)
        return False


def Kernel(*blocks, threads=None, prelude=None, is_cpu=False):
    """A kernel over a grid of 1 to 3 extents; ``threads`` of a block: a number or up to 3 extents."""
    if prelude is not None:
        unsupported("T.Kernel with a prelude: foreign source is not built yet")
    if len(blocks) == 1 and isinstance(blocks[0], (list, tuple)):
        blocks = tuple(blocks[0])
    state.require("T.Kernel")
    return KernelWord(blocks, _threads(threads))


def get_block_binding(dim=0):
    """The block's index in a dimension of the grid."""
    state.require("T.get_block_binding")
    return _core.block_var(dim)


def get_block_bindings():
    state.require("T.get_block_bindings")
    return [_core.block_var(d) for d in range(3)]


def get_block_extent(dim=0):
    """The grid's extent in a dimension."""
    state.require("T.get_block_extent")
    extent = _core.block_extent(dim)
    constant = extent.constant()
    return extent if constant is None else constant


def get_thread_extent(dim=0):
    """Threads of a block in a dimension."""
    state.require("T.get_thread_extent")
    return _core.thread_extent(dim)


def get_thread_extents():
    return [get_thread_extent(d) for d in range(3)]


def loop_break():
    """Leaves the innermost loop that is not ``Parallel``; the same as ``break``."""
    state.require("T.loop_break")
    _core.loop_break()
