"""Operations on tiles, atomics and reports."""

from __future__ import annotations

import enum

from .. import _core
from ..error import fail, unsupported
from . import state
from .buffers import Buffer, Element, Var


class GemmWarpPolicy(enum.IntEnum):
    """How warps divide a product."""

    Square = 0
    FullRow = 1
    FullCol = 2


_EVICTIONS = (None, "evict_normal", "evict_first", "evict_last")
_INSTRUCTIONS = (None, "tma", "cp_async", "sync")


def copy(src, dst, *, coalesced_width=None, disable_tma=False, eviction_policy=None, prefer_instruction=None,
         annotations=None, loop_layout=None):
    """dst = cast(src). The options are wishes and change no result."""
    state.require("T.copy")
    if eviction_policy not in _EVICTIONS and not isinstance(eviction_policy, int):
        fail(f"T.copy: there is no eviction policy {eviction_policy!r}", "evict_normal, evict_first or evict_last")
    if prefer_instruction not in _INSTRUCTIONS:
        fail(f"T.copy: there is no instruction {prefer_instruction!r}", "tma, cp_async or sync")
    both = isinstance(src, (Element, Var)) and isinstance(dst, (Element, Var)) and src.is_element and dst.is_element
    if both:
        _core.store(dst, src)
    else:
        _core.copy(src, dst)


def fill(dst, value):
    """Every element of a tile or a part of one becomes ``value``."""
    state.require("T.fill")
    if isinstance(dst, Var):
        _core.store(dst, value)
    else:
        _core.fill(dst, value)


def clear(dst):
    """Every element becomes 0."""
    fill(dst, 0)


def transpose(src, dst):
    """dst[..., j, i] = cast(src[..., i, j])."""
    state.require("T.transpose")
    _core.transpose(src, dst)


def gather(src, index, dst):
    """dst[i, ...] = cast(src[index[i], ...])."""
    state.require("T.gather")
    _core.gather(src, index, dst)


def gemm(A, B, C, transpose_A=False, transpose_B=False, policy=GemmWarpPolicy.Square, clear_accum=False, k_pack=1,
         mbar=None, annotations=None, wg_wait=0):
    """C[m, n] += op(A)[m, k] op(B)[k, n] over on-chip tiles."""
    state.require("T.gemm")
    if mbar is not None:
        unsupported("T.gemm with mbar needs sm_100")
    from .tracing import condition

    _core.gemm(A, B, C, bool(transpose_A), bool(transpose_B), int(policy), condition(clear_accum), int(k_pack))


def _reduce(word, src, dst, dim, clear, batch, nan_propagate):
    state.require(f"T.{word}")
    _core.reduce(word, src, dst, dim, clear, batch, nan_propagate, None)


def reduce_sum(buffer, out, dim=-1, clear=True, batch=1, annotations=None):
    """out = the sum of buffer along dim; added to out without ``clear``."""
    _reduce("reduce_sum", buffer, out, dim, clear, batch, False)


def reduce_max(buffer, out, dim=-1, clear=True, batch=1, nan_propagate=False, annotations=None):
    """out = the largest along dim."""
    _reduce("reduce_max", buffer, out, dim, clear, batch, nan_propagate)


def reduce_min(buffer, out, dim=-1, clear=True, batch=1, nan_propagate=False, annotations=None):
    """out = the smallest along dim."""
    _reduce("reduce_min", buffer, out, dim, clear, batch, nan_propagate)


def reduce_abssum(buffer, out, dim=-1, batch=1, annotations=None):
    """out = the sum of magnitudes along dim."""
    _reduce("reduce_abssum", buffer, out, dim, True, batch, False)


def reduce_absmax(buffer, out, dim=-1, clear=True, batch=1, nan_propagate=False, annotations=None):
    """out = the largest magnitude along dim."""
    _reduce("reduce_absmax", buffer, out, dim, clear, batch, nan_propagate)


def reduce_bitand(buffer, out, dim=-1, clear=True, batch=1, annotations=None):
    _reduce("reduce_bitand", buffer, out, dim, clear, batch, False)


def reduce_bitor(buffer, out, dim=-1, clear=True, batch=1, annotations=None):
    _reduce("reduce_bitor", buffer, out, dim, clear, batch, False)


def reduce_bitxor(buffer, out, dim=-1, clear=True, batch=1, annotations=None):
    _reduce("reduce_bitxor", buffer, out, dim, clear, batch, False)


_REDUCTIONS = {"sum": reduce_sum, "max": reduce_max, "min": reduce_min, "abssum": reduce_abssum,
               "absmax": reduce_absmax, "bitand": reduce_bitand, "bitor": reduce_bitor, "bitxor": reduce_bitxor}


def reduce(buffer, out, reduce_type, dim=-1, clear=True):
    """A reduction by name: ``T.reduce(src, dst, "sum", dim=1)``."""
    if reduce_type not in _REDUCTIONS:
        fail(f"T.reduce: there is no reduction {reduce_type!r}", f"one of {', '.join(_REDUCTIONS)}")
    if reduce_type == "abssum":
        return reduce_abssum(buffer, out, dim)
    return _REDUCTIONS[reduce_type](buffer, out, dim, clear)


def cumsum(src, dst=None, dim=0, reverse=False):
    """Each element is the sum of those up to its place."""
    state.require("T.cumsum")
    _core.scan(False, src, dst, dim, reverse, False, None)


def cummax(src, dst=None, dim=0, reverse=False):
    """Each element is the largest of those up to its place."""
    state.require("T.cummax")
    _core.scan(True, src, dst, dim, reverse, False, None)


def _truth(word, region):
    trace = state.require(f"T.{word}")
    before = _core.num_statements()
    result = getattr(_core, word)(region)
    trace.harmless += _core.num_statements() - before  # loops that only set a variable of their own
    return result


def any_of(region):
    """Whether some element of a tile or part is not 0."""
    return _truth("any_of", region)


def all_of(region):
    """Whether every element of a tile or part is not 0."""
    return _truth("all_of", region)


# ---- atomics ----

_ORDERS = {None: "relaxed"}


def _atomic(word, dst, value, memory_order, return_prev):
    state.require(f"T.atomic_{word}")
    return _core.atomic(word, dst, value, _ORDERS.get(memory_order, memory_order), bool(return_prev))


def atomic_add(dst, value, memory_order=None, return_prev=False, use_tma=False):
    """dst += value, and no other thread or block in between."""
    return _atomic("add", dst, value, memory_order, return_prev)


def atomic_max(dst, value, memory_order=None, return_prev=False):
    return _atomic("max", dst, value, memory_order, return_prev)


def atomic_min(dst, value, memory_order=None, return_prev=False):
    return _atomic("min", dst, value, memory_order, return_prev)


def atomic_or(dst, value, memory_order=None, return_prev=False):
    return _atomic("or", dst, value, memory_order, return_prev)


def atomic_and(dst, value, memory_order=None, return_prev=False):
    return _atomic("and", dst, value, memory_order, return_prev)


def atomic_xor(dst, value, memory_order=None, return_prev=False):
    return _atomic("xor", dst, value, memory_order, return_prev)


def atomic_addx2(dst, value, return_prev=False, memory_order=None):
    """Two neighbours in the last dimension, each one ``atomic_add``."""
    state.require("T.atomic_addx2")
    _core.atomic_neighbours(2, dst, value, _ORDERS.get(memory_order, memory_order), bool(return_prev))


def atomic_addx4(dst, value, return_prev=False, memory_order=None):
    """Four neighbours in the last dimension, each one ``atomic_add``."""
    state.require("T.atomic_addx4")
    _core.atomic_neighbours(4, dst, value, _ORDERS.get(memory_order, memory_order), bool(return_prev))


def atomic_load(src, memory_order="seq_cst"):
    state.require("T.atomic_load")
    return _core.atomic_load(src, memory_order)


def atomic_store(dst, value, memory_order="seq_cst"):
    state.require("T.atomic_store")
    _core.atomic_store(dst, value, memory_order)


# ---- reports and hints ----


def print_(obj=None, msg="", warp_group_id=0, warp_id=0):
    """Writes a number, or the first elements of a tile, when the kernel runs."""
    state.require("T.print")
    if isinstance(obj, str) and not msg:
        obj, msg = None, obj
    if obj is None:
        _core.print_message(str(msg))
    else:
        _core.print_value(obj, str(msg))


def device_assert(condition, msg="", no_stack_info=False):
    """Ends the launch with an error where the condition is false."""
    from .tracing import condition as as_condition

    state.require("T.device_assert")
    _core.device_assert(as_condition(condition), str(msg))


def assume(condition):
    """The condition holds from here to the end of the block; checked where it stands."""
    from .tracing import condition as as_condition

    state.require("T.assume")
    _core.assume(as_condition(condition))


def use_swizzle(panel_size, order="row", enable=True):
    """Visits blocks in panels; results do not change."""
    state.require("T.use_swizzle")
    if order not in ("row", "col", "column"):
        if order == "mlx":
            unsupported("T.use_swizzle with order 'mlx' is not built yet")
        fail(f"T.use_swizzle: there is no order {order!r}", "row or column")
    _core.use_swizzle(panel_size, order != "row", bool(enable))


def annotate_safe_value(values):
    """What reads of tensors outside their shapes yield: ``{A: -1.0}``."""
    state.require("T.annotate_safe_value")
    for tensor, value in values.items():
        if not isinstance(tensor, Buffer):
            fail("T.annotate_safe_value of something that is no tensor", "T.annotate_safe_value({A: 0.0})")
        _core.annotate_safe_value(tensor, float(value))


# ---- wishes that change nothing here ----


def _wish(name):
    def wish(*_args, **_options):
        state.require(f"T.{name}")

    wish.__name__ = name
    wish.__doc__ = f"{name}: accepted; the compiler chooses by itself."
    return wish


WISHES = {name: _wish(name) for name in (
    "disable_warp_group_reg_alloc", "no_set_max_nreg", "annotate_producer_reg_dealloc", "annotate_consumer_reg_alloc",
    "annotate_l2_hit_ratio", "annotate_restrict_buffers", "annotate_min_blocks_per_sm", "annotate_compile_flags",
    "annotate_pass_configs",
)}


def reduce_prod(buffer, out, dim=-1, clear=True, batch=1):
    """out = the product along dim."""
    _reduce("reduce_prod", buffer, out, dim, clear, batch, False)


def reduce_any(buffer, out, dim=-1, clear=True, batch=1):
    """out = whether some element along dim is not 0, into booleans."""
    _reduce("reduce_any", buffer, out, dim, clear, batch, False)


def reduce_all(buffer, out, dim=-1, clear=True, batch=1):
    """out = whether every element along dim is not 0, into booleans."""
    _reduce("reduce_all", buffer, out, dim, clear, batch, False)
