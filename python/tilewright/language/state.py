"""The program that is being built: one for each thread."""

from __future__ import annotations

import threading

from .. import _core
from ..error import fail

# Words that generated C++ cannot use as names.
_CPP_WORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval "
    "constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true "
    "try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq".split()
)
_LONGEST_NAME = 48


class Frame:
    """A loop or branch that is open while its body is traced. ``runs``: it is one of the kernel, not of Python."""

    __slots__ = ("kind", "runs", "place")

    def __init__(self, kind, runs):
        self.kind = kind
        self.runs = runs
        self.place = _core.author_place()


class Trace:
    """What the package knows about the open program beyond what the builder knows."""

    def __init__(self, name):
        self.name = name
        self.names = set()  # of tensors and tiles
        self.wanted_name = None  # what the author assigns the next tile to
        self.frames = []
        self.kernel_open = False
        self.harmless = 0  # statements that may stand where their result is not asked for
        self.dynamic = {}  # name -> the builder's expression
        self.eager = None  # the state of an eager function, see eager.py

    def name_for(self, name: str) -> str:
        """``name`` as the generated source can have it, and used once."""
        text = readable(name)
        unique, count = text, 0
        while unique in self.names:
            count += 1
            unique = f"{text}_{count}"
        self.names.add(unique)
        return unique

    def take_wanted_name(self) -> str:
        name, self.wanted_name = self.wanted_name, None
        return self.name_for(name) if name else ""


def readable(name: str) -> str:
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)[:_LONGEST_NAME]
    text = text.lstrip("_") or "x"
    if text[0].isdigit():
        text = f"x{text}"
    text = text.replace("__", "_")
    return f"{text}_" if text in _CPP_WORDS else text


_open = threading.local()


def current():
    """The open trace, or None."""
    return getattr(_open, "trace", None)


def require(word: str) -> Trace:
    trace = current()
    if trace is None:
        fail(
            f"{word} is used outside of a kernel function",
            "words of the language stand in a function decorated with @T.prim_func, @T.macro or @tilewright.jit",
        )
    return trace


class tracing:
    """Opens a program of the function with this code; the block builds it and ends it with ``_core.end_program()``."""

    def __init__(self, name, code):
        self._name = name
        self._code = code

    def __enter__(self):
        if current() is not None:
            fail("a @T.prim_func inside of another one", "build one program at a time; @T.macro makes parts of kernels")
        _core.begin_program(readable(self._name), self._code.co_filename, self._code.co_firstlineno)
        _open.trace = Trace(self._name)
        return _open.trace

    def __exit__(self, *_error):
        _open.trace = None
        _core.abandon_program()
        return False
