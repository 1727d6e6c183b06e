"""Values of names: what an assignment binds, and which conditions Python knows.

Only scalar variables (``T.alloc_var``) carry values out of loops and branches of the kernel; other names that are
assigned there become ``Lost``.
"""

from __future__ import annotations

import operator

from .. import _core
from ..error import fail
from . import state
from .buffers import Buffer, Element, Var
from .symbols import Symbol

_NO_LET_BELOW = 64  # nodes of an integer expression that is not worth a variable


class Lost:
    """A name without a value; using it is an error that says why."""

    __slots__ = ("_message", "_hint", "_notes")

    def __init__(self, message, hint, notes=()):
        object.__setattr__(self, "_message", message)
        object.__setattr__(self, "_hint", hint)
        object.__setattr__(self, "_notes", notes)

    def _refuse(self, *_args, **_kwargs):
        fail(
            object.__getattribute__(self, "_message"),
            object.__getattribute__(self, "_hint"),
            notes=object.__getattribute__(self, "_notes"),
        )

    def __getattribute__(self, name):
        if name in ("__tw_expr__", "__tw_operand__"):
            return object.__getattribute__(self, "_refuse")
        if name in ("_refuse", "__class__"):
            return object.__getattribute__(self, name)
        object.__getattribute__(self, "_refuse")()

    __setattr__ = __call__ = __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = _refuse
    __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
    __neg__ = __pos__ = __invert__ = __abs__ = __int__ = __float__ = __str__ = __repr__ = __format__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __hash__ = __enter__ = __exit__ = _refuse


def _is_lost(value):
    return type(value) is Lost


def look(thunk):
    """The value of a name, or None and False where it has none yet."""
    try:
        value = thunk()
    except NameError:
        return None, False
    return value, not _is_lost(value)


# ---- values ----


def runs_later(value):
    """Whether a value is one of the kernel, which Python does not know."""
    if isinstance(value, _core.Expr):
        return value.constant() is None or not value.is_literal
    return isinstance(value, (_core.Access, Symbol))


def bind(name, value):
    """What ``name = value`` makes of a value."""
    if _is_lost(value):
        value._refuse()
    if isinstance(value, Var):
        if value.is_new:
            value.is_new = False
            return value
        return _core.let(value, state.readable(name))
    if isinstance(value, Element):
        return _core.let(value, state.readable(name)) if value.is_element else value
    if not isinstance(value, _core.Expr):
        return value
    constant = value.constant()
    if constant is not None and value.dtype_name in ("i64", "i32"):
        return constant
    trace = state.current()
    if trace is None or not trace.kernel_open or value.is_literal:
        return value
    is_index = value.dtype_name in ("i64", "i32", "bool")
    if is_index and not value.reads_tile() and value.size(_NO_LET_BELOW) < _NO_LET_BELOW:
        return value
    return _core.let(value, state.readable(name))


def assign(name, value, previous=None):
    """``name = value``: a store where the name is a scalar variable."""
    if previous is not None:
        old, known = look(previous)
        if known and isinstance(old, Var) and not (isinstance(value, Var) and value.is_new):
            if _is_lost(value):
                value._refuse()
            _core.store(old, value)
            return old
    return bind(name, value)


def want(name):
    """The author's name for a tile that is allocated next."""
    trace = state.current()
    if trace is not None:
        trace.wanted_name = name


def keep(value):
    """A value for several targets: what it reads is read now, before the first of them is stored."""
    if isinstance(value, (tuple, list)):
        kept = list(map(keep, value))
        is_same = type(value) not in (tuple, list) or all(new is old for new, old in zip(kept, value))
        return value if is_same else type(value)(kept)
    is_variable = isinstance(value, Var) and not value.is_new
    is_element = isinstance(value, Element) and value.is_element
    if is_variable or is_element or (isinstance(value, _core.Expr) and value.reads_tile()):
        return _core.let(value, "x")
    return value


def _check_parts(items, owners):
    """Parts are copied when they are stored; what an earlier target stores could have changed a later one's."""
    for place, value in enumerate(items):
        is_part = isinstance(value, Buffer) or (isinstance(value, Element) and not value.is_element)
        stores = [isinstance(look(owner)[0], Buffer) for owner in owners[: place + 1] if owner] if is_part else []
        if len(stores) > 1 and owners[place] and stores[-1] and any(stores[:-1]):
            fail("parts of tiles are assigned together with others", "an assignment of its own for each part")


def unpack(value, count, owners=()):
    """The values of several targets. ``count``: None where a starred target takes any number. ``owners``: for each
    target that is an element or part, a function that gives its tile; None for others."""
    if isinstance(value, (Buffer, _core.Expr, _core.Access)) and count == 1:
        return (value,)
    items = tuple(value)
    if count is not None and len(items) != count:
        fail(f"{len(items)} values are assigned to {count} names", "as many names as values")
    if len(owners) == len(items):
        _check_parts(items, owners)
    return items if len(items) == 1 else tuple(map(keep, items))


def set_attribute(owner, name, value):
    old = getattr(owner, name, None)
    if isinstance(old, Var) and not (isinstance(value, Var) and value.is_new):
        _core.store(old, value)
    else:
        setattr(owner, name, bind(name, value))


_IN_PLACE = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
    "<<": operator.ilshift,
    ">>": operator.irshift,
    "@": operator.imatmul,
}


def augment(sign, name, old, value):
    """``name += value``."""
    if isinstance(old, Buffer):
        fail(f"{name} {sign}= of a whole tile", f"write the elements in a T.Parallel loop: {name}[i, j] {sign}= ...")
    return assign(name, _IN_PLACE[sign](old, value), lambda: old)


# ---- conditions ----


def condition(value):
    """A Python bool, or an expression of the kernel."""
    if _is_lost(value):
        value._refuse()
    if isinstance(value, Buffer):
        fail(f"{value.name} is used as a condition", "compare an element of it with 0, or use T.any_of")
    if not runs_later(value):
        return bool(value.constant()) if isinstance(value, _core.Expr) else bool(value)
    expr = _core.to_expr(value)
    constant = expr.constant()
    if constant is not None:
        return bool(constant)
    return expr if expr.dtype_name == "bool" else expr != 0


def _both(a, b):
    """a and b, where b is evaluated only if a holds: it may be a read that a guards."""
    if b.reads_tile():
        return _core.if_then_else(a, b, False)
    return _core.logical_and(a, b)


def _either(a, b):
    if b.reads_tile():
        return _core.if_then_else(a, True, b)
    return _core.logical_or(a, b)


def _maybe(thunk):
    """The value of a part of an expression that the kernel may leave out: it records no statement, which would not be
    left out."""
    trace = state.current()
    before = _core.num_statements() - trace.harmless
    value = thunk()
    if _core.num_statements() - trace.harmless != before:
        fail(
            "a statement of the kernel stands in a part of an expression that is evaluated only under a condition",
            "write an if statement, or give the value a name before",
        )
    return value


def _join(values, stop, combine):
    """``and`` and ``or``: Python's where Python knows a value, the kernel's from the first that it does not."""
    result = None
    for index, thunk in enumerate(values):
        value = thunk() if result is None else _maybe(thunk)
        if result is None and not runs_later(value):
            if bool(condition(value)) == stop or index + 1 == len(values):
                return value
            continue
        term = condition(value)
        if isinstance(term, bool):
            if term == stop:
                return stop if result is None else combine(result, _core.to_expr(term))
            continue
        result = term if result is None else combine(result, term)
    return (not stop) if result is None else result


def and_(*values):
    return _join(values, False, _both)


def or_(*values):
    return _join(values, True, _either)


def not_(value):
    known = condition(value)
    return not known if isinstance(known, bool) else _core.logical_not(known)


def if_expression(test, then, otherwise):
    """``a if c else b``."""
    known = condition(test)
    if isinstance(known, bool):
        return then() if known else otherwise()
    return _core.if_then_else(known, _maybe(then), _maybe(otherwise))


_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


def compare(signs, *values):
    """``a < b < c``: each value is evaluated once, and none behind a comparison that Python knows to be false."""
    left = values[0]()
    result = True
    for sign, thunk in zip(signs, values[1:]):
        right = thunk() if result is True else _maybe(thunk)
        term = condition(_COMPARE[sign](left, right))
        if term is False:
            return False
        if term is not True:
            result = term if result is True else _both(result, term)
        left = right
    return result


def check(test, message):
    """``assert``."""
    known = condition(test)
    if isinstance(known, bool):
        if not known:
            raise AssertionError(*([message()] if message else []))
        return
    _core.device_assert(known, str(message()) if message else "")
