"""What rewritten functions call: assignments, branches and loops decide here whether they belong to Python, which
runs them now, or to the kernel, which records them.

A name that is assigned inside a loop or branch of the kernel has no value that Python could know behind it, or in the
next iteration: such names become ``Lost``, which refuses every use. Only scalar variables (``T.alloc_var``) carry
values there.
"""

from __future__ import annotations

import operator
import warnings

from .. import _core
from ..error import fail
from . import loops, state
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


def _look(thunk):
    """The value of a name, or None and False where it has none yet."""
    try:
        value = thunk()
    except NameError:
        return None, False
    return value, not _is_lost(value)


def _left_behind(name, frame):
    return Lost(
        f"{name} is used outside of the {frame.kind} that assigns it",
        f"{name} = T.alloc_var(dtype, init) before the {frame.kind} keeps a value that changes in it",
        [(f"the {frame.kind}", frame.place)],
    )


def _an(kind):
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _carried(name, frame, value):
    hint = f"{name} = T.alloc_var(dtype, init) before the loop is a variable that changes in it"
    if isinstance(value, Buffer):
        hint = "give a tile one more dimension and index it: s[k % 2, i, j]"
    return Lost(
        f"{name} would have to carry its value from one turn of the loop to the next",
        hint,
        [("the loop", frame.place)],
    )


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
        old, known = _look(previous)
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


def unpack(value, count):
    if isinstance(value, (Buffer, _core.Expr, _core.Access)) and count == 1:
        return (value,)
    items = tuple(value)
    if len(items) != count:
        fail(f"{len(items)} values are assigned to {count} names", "as many names as values")
    return items


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


def _join(values, stop, combine):
    """``and`` and ``or``: Python's where Python knows a value, the kernel's from the first that it does not."""
    result = None
    for index, thunk in enumerate(values):
        value = thunk()
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
    return result


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
    return _core.if_then_else(known, then(), otherwise())


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
        right = thunk()
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


# ---- branches ----


class Branch:
    """An ``if``. Python takes one of its sides; the kernel gets both."""

    def __init__(self, test):
        self._known = condition(test)
        self._runs = not isinstance(self._known, bool)
        self._saved = {}
        self._then = {}

    def then(self):
        if not self._runs:
            return self._known
        _core.open_if(self._known)
        self._frame = state.Frame("if", True)
        state.current().frames.append(self._frame)
        return True

    def save(self, name, thunk):
        """Called before the branches, for each name that they assign."""
        if self._runs:
            self._saved[name] = _look(thunk)

    def swap(self, name, thunk):
        """Called between the branches: the value of before, for the other side."""
        if not self._runs:
            return thunk_or_lost(name, thunk)
        self._then[name] = _look(thunk)
        old, known = self._saved[name]
        return old if known else _left_behind(name, self._frame)

    def otherwise(self):
        if not self._runs:
            return not self._known
        _core.close_if()
        _core.open_else()
        return True

    def end(self):
        if self._runs:
            _core.close_if()
            state.current().frames.pop()

    def left(self, name, thunk):
        """Called behind the branches: a name that they changed is lost."""
        if not self._runs:
            return thunk_or_lost(name, thunk)
        old, was_known = self._saved[name]
        now, is_known = _look(thunk)
        values = [now] if name not in self._then else [now, self._then[name][0]]
        if was_known and is_known and all(value is old for value in values):
            return old
        if is_known and not was_known and isinstance(now, (Buffer, Var)) and len(values) == 1:
            return now
        return _left_behind(name, self._frame)


def thunk_or_lost(name, thunk):
    """The value of a name that Python alone handled; one that has none stays without."""
    try:
        return thunk()
    except NameError:
        return Lost(f"{name} is used, but nothing has been assigned to it", f"assign {name} first")


# ---- loops ----


class Loop:
    """A ``for`` over a loop of the kernel, whose body is traced once, or over something of Python."""

    def __init__(self, iterable):
        if isinstance(iterable, range):
            iterable = loops.serial(iterable.start, iterable.stop, iterable.step)
        if isinstance(iterable, (Symbol, _core.Expr, _core.Access)):
            fail("a for loop over a number", "for i in T.serial(n)")
        self._iterable = iterable
        self.runs = hasattr(iterable, "open") and hasattr(iterable, "word")
        self._before = {}
        self._depth = None

    def __iter__(self):
        if self.runs:
            self._depth, variables = self._iterable.open()
            self._push(self._iterable.word)
            yield variables
        else:
            self._push("for")
            yield from self._iterable

    def _push(self, word):
        kind = "loop" if self.runs else "for"
        self.frame = state.Frame(kind, self.runs)
        state.current().frames.append(self.frame)

    def carried(self, name, thunk):
        """Called first in the body, for each name that it assigns."""
        if not self.runs:
            return thunk_or_lost(name, thunk)
        old, known = self._before[name] = _look(thunk)
        if not known:
            return Lost(f"{name} is used, but nothing has been assigned to it", f"assign {name} first")
        return old if isinstance(old, Var) else _carried(name, self.frame, old)

    def end(self):
        trace = state.current()
        if trace.frames and trace.frames[-1] is getattr(self, "frame", None):
            trace.frames.pop()
            if self.runs:
                self._close()

    def _close(self):
        _core.close_loop(self._depth)

    def left(self, name, thunk):
        """Called behind the loop."""
        if not self.runs:
            return thunk_or_lost(name, thunk)
        old, was_known = self._before.get(name, (None, False))
        now, is_known = _look(thunk)
        if is_known and isinstance(now, Var) and (now is old or not was_known):
            return now
        if is_known and isinstance(now, Buffer) and not was_known:
            return now
        return _left_behind(name, self.frame)


class While(Loop):
    """A ``while``. ``calls``: the condition may record statements, so it is evaluated where the body begins."""

    def __init__(self, test, calls):
        super().__init__(())
        self.runs = True
        self._test = test
        self._calls = calls

    def __iter__(self):
        known = True if self._calls else condition(self._test())
        if known is False:
            warnings.warn("the condition of a while loop is constantly false", stacklevel=2)
            self.runs = False
            return
        _core.open_while(known)
        self._push("while")
        if self._calls:
            self._leave_unless(condition(self._test()))
        yield None

    def _leave_unless(self, known):
        if known is True:
            return
        if known is False:
            _core.loop_break()
            return
        _core.open_if(_core.logical_not(known))
        _core.loop_break()
        _core.close_if()

    def _close(self):
        _core.close_while()


def _innermost_loop(word):
    """The loop that ``break`` or ``continue`` belongs to; a branch of the kernel may not lie inside one of Python."""
    branch = None
    for frame in reversed(state.require(word).frames):
        if frame.kind == "if":
            branch = branch or frame
            continue
        if not frame.runs and branch is not None:
            fail(
                f"{word} under a condition that only the kernel knows leaves a loop that Python runs",
                "loop with T.serial or range, which the kernel runs",
                notes=[("the condition", branch.place), ("the loop", frame.place)],
            )
        return frame
    return None


def break_():
    """Whether Python's own loop is to be left; one of the kernel gets the statement."""
    frame = _innermost_loop("break")
    if frame is not None and not frame.runs:
        return True
    _core.loop_break()
    return False


def continue_():
    frame = _innermost_loop("continue")
    if frame is not None and not frame.runs:
        return True
    _core.loop_continue()
    return False


def enter():
    """Called where a rewritten function begins."""
    return len(state.require("a kernel function").frames)


def leave(depth, value):
    """``return value``."""
    frames = state.current().frames[depth:]
    for frame in frames:
        if frame.runs:
            fail(
                f"return inside of {_an(frame.kind)} that the kernel runs",
                "return at the end of the function; T.alloc_var carries a value out of loops and branches",
                notes=[(f"the {frame.kind}", frame.place)],
            )
    del state.current().frames[depth:]
    return value


def nested(outer, inner):
    """The object that a loop runs over which has nothing but a parallel loop in it."""
    if isinstance(outer, loops.LoopWord) and isinstance(inner, loops.LoopWord):
        return loops.nested(outer, inner)
    fail("a parallel loop and another one directly in it", "T.Parallel(m, n) is one loop over both")


def single(kernel):
    """``with T.Kernel(n) as (bx,)``."""

    class OneBlock:
        def __enter__(self):
            index = kernel.__enter__()
            return index if isinstance(index, tuple) else (index,)

        def __exit__(self, *error):
            return kernel.__exit__(*error)

    return OneBlock()


def kernel_range(*args):
    """``range`` in a kernel function."""
    if len(args) == 1:
        return loops.serial(args[0])
    if len(args) in (2, 3):
        return loops.serial(*args)
    fail(f"range with {len(args)} arguments", "range(stop), range(start, stop) or range(start, stop, step)")


def declare(name, annotation, thunk):
    """``A: T.Tensor[[M, N], dtype]`` in an eager function."""
    trace = state.current()
    if trace.eager is None:
        fail(f"{name} is annotated, but not assigned", "tensors are annotated in the parameter list of @T.prim_func")
    return trace.eager.declare(name, annotation, thunk)
