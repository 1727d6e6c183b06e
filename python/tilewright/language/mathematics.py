"""Functions of numbers. Of Python numbers alone, integer functions give Python numbers."""

from __future__ import annotations

import builtins
import functools

from .. import _core
from ..dtypes import core_name, is_dtype
from . import state
from .symbols import Combined, Symbol, combine


def _word(name, word=None):
    function = getattr(_core, word or name)

    def call(*args):
        return function(*args)

    call.__name__ = name
    call.__doc__ = f"{name} of numbers of the kernel (docs/language.md)."
    return call


_PLAIN = (
    "exp exp2 exp10 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh "
    "erf sigmoid floor ceil round nearbyint trunc isnan isinf isfinite likely popcount clz bitwise_not atan2 pow hypot "
    "fmod copysign nextafter ldexp fast_rcp"
).split()
globals().update({name: _word(name) for name in _PLAIN})

FAST = {f"__{name}": _word(f"__{name}", f"{name}_fast") for name in "exp exp10 log log2 log10 sin cos tan".split()}


def _python_numbers(*values):
    return builtins.all(isinstance(value, (int, float)) for value in values)


def _symbols(*values):
    return builtins.any(isinstance(v, Symbol) for v in values) and builtins.all(
        isinstance(v, (Symbol, int)) for v in values
    )


def ceildiv(a, b):
    """a / b, rounded up."""
    if _python_numbers(a, b):
        return -(-a // b)
    return Combined("ceildiv", a, b) if _symbols(a, b) else _core.ceildiv(a, b)


cdiv = ceildiv


def floordiv(a, b):
    """a / b, rounded down."""
    if _python_numbers(a, b):
        return a // b
    return combine("//", a, b) if _symbols(a, b) else _core.floordiv(a, b)


def floormod(a, b):
    """a - floordiv(a, b) * b."""
    if _python_numbers(a, b):
        return a % b
    return combine("%", a, b) if _symbols(a, b) else _core.floormod(a, b)


def truncdiv(a, b):
    """a / b, rounded towards zero."""
    if _python_numbers(a, b):
        return builtins.abs(a) // builtins.abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return _core.truncdiv(a, b)


def truncmod(a, b):
    """a - truncdiv(a, b) * b."""
    return a - truncdiv(a, b) * b if _python_numbers(a, b) else _core.truncmod(a, b)


def align_up(a, b):
    """The next multiple of b."""
    return ceildiv(a, b) * b


def _extreme(name, choose):
    function = getattr(_core, name)

    def extreme(a, *others):
        values = [a, *others]
        if _python_numbers(*values):
            return choose(values)
        if len(values) == 2 and _symbols(*values):
            return Combined(name, *values)
        return functools.reduce(function, values)

    extreme.__name__ = name
    extreme.__doc__ = f"The {name}imum of numbers; NaN is ignored."
    return extreme


max = _extreme("max", builtins.max)
min = _extreme("min", builtins.min)


def abs(x):
    """The magnitude."""
    return builtins.abs(x) if _python_numbers(x) else _core.abs(x)


def clamp(x, low, high):
    """min(max(x, low), high)."""
    return min(max(x, low), high) if _python_numbers(x, low, high) else _core.clamp(x, low, high)


def if_then_else(condition, then, otherwise):
    """Evaluates the chosen side only."""
    from .tracing import condition as as_condition

    known = as_condition(condition)
    if isinstance(known, bool):
        return then if known else otherwise
    return _core.if_then_else(known, then, otherwise)


def Select(condition, then, otherwise):
    """One of two numbers, both of which are evaluated."""
    from .tracing import condition as as_condition

    known = as_condition(condition)
    if isinstance(known, bool):
        return then if known else otherwise
    return _core.select(known, then, otherwise)


def cast(value, dtype):
    """A number as an element type."""
    if is_dtype(value) and not is_dtype(dtype):
        value, dtype = dtype, value
    return _core.cast(value, core_name(dtype))


def Cast(dtype, value):
    return cast(value, dtype)


def reinterpret(value, dtype):
    """The same bits as another element type of that size."""
    if is_dtype(value) and not is_dtype(dtype):
        value, dtype = dtype, value
    return _core.reinterpret(value, core_name(dtype))


def infinity(dtype):
    """Infinity of a float type; ``-T.infinity(dtype)`` is the other one."""
    return _core.infinity(core_name(dtype))


def max_value(dtype):
    """The largest finite number of a type."""
    return _core.max_value(core_name(dtype))


def min_value(dtype):
    """The lowest finite number of a type."""
    return _core.min_value(core_name(dtype))


def shift_left(a, b):
    return a << b


def shift_right(a, b):
    return a >> b


def bitwise_and(a, b):
    return a & b


def bitwise_or(a, b):
    return a | b


def bitwise_xor(a, b):
    return a ^ b


def all(*conditions):
    """Whether all conditions hold."""
    from .tracing import and_

    return and_(*[lambda c=c: c for c in conditions])


def any(*conditions):
    """Whether some condition holds."""
    from .tracing import or_

    return or_(*[lambda c=c: c for c in conditions])


def And(*conditions):
    return all(*conditions)


def Or(*conditions):
    return any(*conditions)


def Not(condition):
    from .tracing import not_

    return not_(condition)


def let(value):
    """A name for the value that an expression has here."""
    state.require("T.let")
    return _core.let(value, "x")


def _ieee(name, count):
    function = getattr(_core, name)

    def call(*args, rounding_mode="rn"):
        if len(args) == count + 1:
            args, rounding_mode = args[:-1], args[-1]
        return function(*args, rounding_mode)

    call.__name__ = name
    call.__doc__ = f"{name}: rounded once, and never fused with another operation."
    return call


ieee_add = _ieee("ieee_add", 2)
ieee_sub = _ieee("ieee_sub", 2)
ieee_mul = _ieee("ieee_mul", 2)
ieee_fdiv = _ieee("ieee_fdiv", 2)
ieee_fmaf = _ieee("ieee_fmaf", 3)
ieee_frcp = _ieee("ieee_frcp", 1)
ieee_fsqrt = _ieee("ieee_fsqrt", 1)
ieee_frsqrt = _ieee("ieee_frsqrt", 1)
