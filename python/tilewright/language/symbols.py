"""Extents that are known at launch only, and arithmetic on them outside of any program."""

from __future__ import annotations

import operator

from .. import _core
from ..error import fail
from . import state

_BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "ceildiv": lambda a, b: -(-a // b) if isinstance(a, int) and isinstance(b, int) else _core.ceildiv(a, b),
    "max": lambda a, b: max(a, b) if isinstance(a, int) and isinstance(b, int) else _core.max(a, b),
    "min": lambda a, b: min(a, b) if isinstance(a, int) and isinstance(b, int) else _core.min(a, b),
}


class Symbol:
    """A number that no one knows yet. In a program it is an expression; ``value`` computes it when all is known."""

    def __tw_expr__(self):
        raise NotImplementedError

    def value(self, known):
        raise NotImplementedError

    def __add__(self, other):
        return combine("+", self, other)

    def __radd__(self, other):
        return combine("+", other, self)

    def __sub__(self, other):
        return combine("-", self, other)

    def __rsub__(self, other):
        return combine("-", other, self)

    def __mul__(self, other):
        return combine("*", self, other)

    def __rmul__(self, other):
        return combine("*", other, self)

    def __floordiv__(self, other):
        return combine("//", self, other)

    def __rfloordiv__(self, other):
        return combine("//", other, self)

    def __mod__(self, other):
        return combine("%", self, other)

    def __rmod__(self, other):
        return combine("%", other, self)

    def __neg__(self):
        return combine("-", 0, self)

    def _in_program(self, apply, other):
        if state.current() is None:
            return NotImplemented
        return apply(_core.to_expr(self), other)

    def __truediv__(self, other):
        return self._in_program(operator.truediv, other)

    def __lt__(self, other):
        return self._in_program(operator.lt, other)

    def __le__(self, other):
        return self._in_program(operator.le, other)

    def __gt__(self, other):
        return self._in_program(operator.gt, other)

    def __ge__(self, other):
        return self._in_program(operator.ge, other)

    def __eq__(self, other):
        if self is other:
            return True
        return self._in_program(operator.eq, other)

    def __ne__(self, other):
        if self is other:
            return False
        return self._in_program(operator.ne, other)

    def __hash__(self):
        return id(self) >> 4

    def __bool__(self):
        fail(
            f"Python asks whether {self} is true, but it is known only at launch",
            "use if inside a kernel function, or pass the number as a Python argument",
        )


class Dynamic(Symbol):
    """``T.dynamic("m")``: solved from the shapes of the tensors that use it."""

    def __init__(self, name, dtype="int32"):
        self.name = name
        self.dtype = dtype

    def __tw_expr__(self):
        trace = state.require(f"the extent {self.name}")
        if self.name not in trace.dynamic:
            trace.dynamic[self.name] = _core.add_dynamic(trace.name_for(self.name))
        return trace.dynamic[self.name]

    def value(self, known):
        return known[self.name]

    def __repr__(self):
        return self.name


class Const(Symbol):
    """``T.const("M")`` while the signature of an eager function is looked for."""

    def __init__(self, name):
        self.name = name

    def __tw_expr__(self):
        fail(
            f"the constant {self.name} is used before a tensor has given it",
            "declare the tensors first: A: T.Tensor[[M, N], dtype]",
        )

    def value(self, known):
        return known[self.name]

    def __repr__(self):
        return self.name


class Combined(Symbol):
    def __init__(self, sign, a, b):
        self.sign, self.a, self.b = sign, a, b

    def __tw_expr__(self):
        return _core.to_expr(_BINARY[self.sign](_core.to_expr(self.a), _core.to_expr(self.b)))

    def value(self, known):
        return _BINARY[self.sign](value_of(self.a, known), value_of(self.b, known))

    def __repr__(self):
        if self.sign.isalpha():
            return f"{self.sign}({self.a}, {self.b})"
        return f"({self.a} {self.sign} {self.b})"


def combine(sign, a, b):
    """A symbol of two numbers; where one is an expression of the open program, an expression."""
    for side in (a, b):
        if not isinstance(side, (Symbol, int)):
            if state.current() is None:
                return NotImplemented
            return _BINARY[sign](_core.to_expr(a), _core.to_expr(b))
    return Combined(sign, a, b)


def value_of(extent, known):
    """The number that an extent is when ``known`` has those of the symbols."""
    if isinstance(extent, Symbol):
        return extent.value(known)
    return extent


def solve(extent, actual, known):
    """Adds to ``known`` what ``extent == actual`` says about a single symbol in it, where it is a linear form."""
    if isinstance(extent, (Dynamic, Const)):
        known.setdefault(extent.name, actual)
    elif isinstance(extent, Combined) and isinstance(extent.b, int):
        if extent.sign == "+":
            solve(extent.a, actual - extent.b, known)
        elif extent.sign == "-":
            solve(extent.a, actual + extent.b, known)
        elif extent.sign == "*" and extent.b != 0 and actual % extent.b == 0:
            solve(extent.a, actual // extent.b, known)
    elif isinstance(extent, Combined) and isinstance(extent.a, int):
        if extent.sign == "+":
            solve(extent.b, actual - extent.a, known)
        elif extent.sign == "*" and extent.a != 0 and actual % extent.a == 0:
            solve(extent.b, actual // extent.a, known)


def names_of(names):
    """The names in "M, N K" or ["M", "N"]."""
    if isinstance(names, str):
        return names.replace(",", " ").split()
    return list(names)


def dynamic(names, dtype="int32"):
    """Extents that are known at launch only: ``M = T.dynamic("m")``, ``M, N = T.dynamic("m, n")``."""
    made = [Dynamic(name, dtype) for name in names_of(names)]
    return made[0] if len(made) == 1 else tuple(made)


def symbolic(name, dtype="int32"):
    """Another name of ``T.dynamic``."""
    return dynamic(name, dtype)
