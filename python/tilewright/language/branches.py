"""Loops and branches that rewritten functions open and close: Python's own, or recorded ones of the kernel.

A name that is assigned inside of one of the kernel has no value that Python could know behind it, or in the next
iteration: such names become ``Lost``, which refuses every use.
"""

from __future__ import annotations

import warnings

from .. import _core
from ..error import fail
from . import loops, state
from .buffers import Buffer, Var
from .symbols import Symbol
from .values import Lost, condition, look


def _left_behind(name, frame):
    return Lost(
        f"{name} is used outside of the {frame.kind} that assigns it",
        f"{name} = T.alloc_var(dtype, init) before the {frame.kind} keeps a value that changes in it",
        [(f"the {frame.kind}", frame.place)],
    )


def with_article(kind):
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
            self._saved[name] = look(thunk)

    def swap(self, name, thunk):
        """Called between the branches: the value of before, for the other side."""
        if not self._runs:
            return thunk_or_lost(name, thunk)
        self._then[name] = look(thunk)
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
        now, is_known = look(thunk)
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
        old, known = self._before[name] = look(thunk)
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
        now, is_known = look(thunk)
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


def nested(outer, inner):
    """The object that a loop runs over which has nothing but a parallel loop in it."""
    if isinstance(outer, loops.LoopWord) and isinstance(inner, loops.LoopWord):
        return loops.nested(outer, inner)
    fail("a parallel loop and another one directly in it", "T.Parallel(m, n) is one loop over both")
