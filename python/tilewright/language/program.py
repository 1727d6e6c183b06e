"""``@T.prim_func`` and ``@T.macro``: from a Python function to a program, or to a part of one."""

from __future__ import annotations

import copy
import functools
import inspect
import sys

from .. import _core
from ..dtypes import core_name, dtype as make_dtype, is_dtype
from ..error import fail
from . import state, tracing
from .buffers import Buffer, Element, Ref, TensorType, Var
from .rewrite import rewrite


class Parameter:
    """A parameter of a program: a tensor with its type, or a scalar of a dtype."""

    def __init__(self, name, type_):
        self.name = name
        self.type = type_

    @property
    def is_tensor(self):
        return isinstance(self.type, TensorType)

    @property
    def dtype(self):
        return self.type.dtype if self.is_tensor else self.type

    @property
    def shape(self):
        return self.type.shape if self.is_tensor else ()

    def __repr__(self):
        return f"{self.name}: {self.type!r}"


class PrimFunc:
    """A program: what ``tilewright.compile`` takes. ``script()`` prints it."""

    def __init__(self, name, program, parameters):
        self.name = name
        self.program = program
        self.parameters = parameters
        self.output_positions = None  # of the tensors of T.empty, in the order in which they are returned
        self.attrs = {}

    __name__ = property(lambda self: self.name)

    @property
    def params(self):
        return self.parameters

    def script(self):
        return self.program.print()

    def with_attr(self, key, value):
        made = copy.copy(self)
        made.attrs = {**self.attrs, key: value}
        return made

    def __repr__(self):
        return self.script()

    def __call__(self, *_args, **_kwargs):
        fail(
            f"{self.name} is a program, and called as a function",
            "tilewright.compile(program) makes a kernel that can be called",
            kind="invalid_argument",
        )


def caller_names(depth):
    """Local names around a decorator, for annotations that are strings."""
    frame = sys._getframe(depth)
    return {**frame.f_locals}


def resolved(function, annotation, around):
    """What an annotation that is a string means where the function is written; names of dtypes stay."""
    if not isinstance(annotation, str) or is_dtype(annotation):
        return annotation
    own = {n: c.cell_contents for n, c in zip(function.__code__.co_freevars, function.__closure__ or ()) if _is_set(c)}
    return eval(annotation, function.__globals__, {**around, **own})  # noqa: S307: the author's own annotation


def _is_set(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def has_texts(function):
    """Whether some annotation is a string, as all are after ``from __future__ import annotations``."""
    return any(isinstance(value, str) for value in getattr(function, "__annotations__", {}).values())


def resolved_where_known(function, annotation, around):
    """The same, and the string itself where its names are not known: annotations of parameters may be for readers."""
    try:
        return resolved(function, annotation, around)
    except (AttributeError, NameError, SyntaxError, TypeError):
        return annotation


def _annotation(function, name, value, around):
    if value is inspect.Parameter.empty:
        fail(
            f"the parameter {name} of {function.__name__} has no annotation",
            f"{name}: T.Tensor((m, n), dtype), or a dtype for a scalar",
            place=(function.__code__.co_filename, function.__code__.co_firstlineno, 0),
        )
    value = resolved(function, value, around)
    if isinstance(value, TensorType):
        return value
    if is_dtype(value):
        return make_dtype(value)
    if callable(value):
        return _annotation(function, name, value(), around)
    fail(
        f"the parameter {name} of {function.__name__} is annotated with {value!r}",
        "annotate parameters with T.Tensor((m, n), dtype) or a dtype",
        place=(function.__code__.co_filename, function.__code__.co_firstlineno, 0),
    )


def declare(parameter):
    """Adds a parameter to the open program."""
    if parameter.is_tensor:
        return parameter.type.declare(parameter.name)
    trace = state.current()
    return _core.add_scalar(trace.name_for(parameter.name), core_name(parameter.type))


def annotated_parameters(function, around):
    out = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            fail(f"the parameter {name} of {function.__name__} is of a kind that kernels do not have",
                 "plain parameters only: no *args, **kwargs, or positional-only ones")
        out.append(Parameter(name, _annotation(function, name, parameter.annotation, around)))
    return out


def build(function, parameters, name=None):
    """The program of a function whose parameters are all annotated."""
    rewritten = rewrite(function)
    name = name or function.__name__
    with state.tracing(name, function.__code__):
        result = rewritten(**{p.name: declare(p) for p in parameters})
        if result is not None:
            fail(
                f"{function.__name__} returns a value, but a @T.prim_func has none",
                "write results into tensors; @tilewright.jit functions return tensors of T.empty",
            )
        program = _core.end_program()
    return PrimFunc(name, program, parameters)


def prim_func(function=None, **_options):
    """A function over tensors and scalars as a program, built at once."""
    if function is None:
        return lambda f: _prim_func(f, caller_names(2))
    return _prim_func(function, caller_names(2))


def _prim_func(function, around):
    return build(function, annotated_parameters(function, around))


class Macro:
    """Code that is put in where it is called. Numbers are passed by value, ``T.Ref`` parameters by reference."""

    def __init__(self, function, around, owner=None):
        self._function = function
        self._around = around  # names for annotations that are strings
        self._owner = owner
        self._rewritten = None
        functools.update_wrapper(self, function)

    def __get__(self, owner, _type=None):
        if owner is None:
            return self
        bound = Macro(self._function, self._around, owner)
        bound._rewritten = self._body()
        return bound

    def _body(self):
        if self._rewritten is None:
            self._rewritten = rewrite(self._function)
        return self._rewritten

    def _annotation(self, parameter):
        annotation = parameter.annotation
        if isinstance(annotation, str) and annotation in ("T.Ref", "Ref", "T.Var"):
            return Ref
        return resolved_where_known(self._function, annotation, self._around)

    def __call__(self, *args, **kwargs):
        state.require(f"the macro {self._function.__name__}")
        body = self._body()
        if self._owner is not None:
            args = (self._owner, *args)
        bound = inspect.signature(self._function).bind(*args, **kwargs)
        bound.apply_defaults()
        for name, parameter in inspect.signature(self._function).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            bound.arguments[name] = _passed(name, bound.arguments[name], self._annotation(parameter))
        return body(*bound.args, **bound.kwargs)


def _passed(name, value, annotation):
    if annotation is Ref:
        if isinstance(value, Element) and value.is_element:
            made = Var(value.buffer, value.indices)
            made.is_new = False
            return made
        return value
    if isinstance(value, Buffer):
        return value
    return tracing.bind(name, value)


def macro(function=None, **_options):
    """Decorates a function that is put in where it is called."""
    if function is None:
        return lambda f: _macro(f, caller_names(2))
    return _macro(function, caller_names(2))


def _macro(function, around):
    return Macro(function, around if has_texts(function) else {})
