"""Eager functions: tensors are declared in the body, extents come from the arguments, outputs are returned."""

from __future__ import annotations

import inspect

from .. import _core
from ..arrays import is_array
from ..dtypes import core_name, dtype as make_dtype, is_dtype
from ..error import fail
from . import state
from .buffers import Buffer, TensorType
from .program import Parameter, PrimFunc, declare, resolved_where_known
from .rewrite import rewrite
from .symbols import Const, names_of


class SignatureFound(Exception):
    """The body of the first kernel begins: all tensors are declared."""


class Eager:
    """What an eager function declares while it is traced."""

    def __init__(self, constants=None):
        self.constants = constants  # name -> number; None while the signature is looked for
        self.parameters = []
        self.outputs = []  # (tensor of T.empty, its place among the parameters)
        self.used_constants = []

    def begin_kernel(self):
        if self.constants is None:
            raise SignatureFound

    def declare(self, name, annotation, thunk):
        current = thunk()
        if not isinstance(annotation, TensorType):
            if is_dtype(annotation):
                return current
            fail(f"{name} is annotated with {annotation!r}", "annotate tensors with T.Tensor[[m, n], dtype]")
        if not isinstance(current, Pending):
            fail(f"{name} is annotated as a tensor, but is no parameter that a tensor is passed for",
                 "annotate parameters of the function; T.empty declares outputs")
        self.parameters.append(Parameter(name, annotation))
        return current if self.constants is None else annotation.declare(name)


class Pending:
    """A tensor parameter before its annotation."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        fail(f"the tensor {self.name} is used before it is declared", f"{self.name}: T.Tensor[[m, n], dtype] first")

    def __getitem__(self, _index):
        self.use


def const(names, dtype="int32"):
    """Extents that are read from the arguments' shapes when an eager function is called: ``M, N = T.const("M, N")``."""
    trace = state.require("T.const")
    if trace.eager is None:
        fail("T.const outside of an eager function", "@tilewright.jit functions have them; T.dynamic is for others")
    out = []
    for name in names_of(names):
        if name not in trace.eager.used_constants:
            trace.eager.used_constants.append(name)
        known = trace.eager.constants
        if known is not None and name not in known:
            fail(f"the constant {name} is the extent of no tensor", f"use {name} as an extent or stride of a T.Tensor")
        out.append(Const(name) if known is None else known[name])
    return out[0] if len(out) == 1 else tuple(out)


def empty(*shape, dtype="float32"):
    """A tensor that is allocated at each call and returned: ``C = T.empty((M, N), "float16")``."""
    trace = state.require("T.empty")
    if trace.eager is None:
        fail("T.empty outside of an eager function", "a @T.prim_func takes its outputs as parameters; see out_idx")
    if len(shape) == 2 and isinstance(shape[0], (tuple, list)) and is_dtype(shape[1]):
        shape, dtype = shape[0], shape[1]
    elif len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    wanted = trace.wanted_name or f"output_{len(trace.eager.outputs)}"
    trace.wanted_name = None
    if trace.eager.constants is None:
        return Pending(wanted)
    parameter = Parameter(wanted, TensorType(tuple(shape), make_dtype(dtype)))
    buffer = parameter.type.declare(wanted)
    trace.eager.outputs.append((buffer, len(trace.eager.parameters)))
    trace.eager.parameters.append(parameter)
    return buffer


class EagerFunction:
    """A function that is traced for the arguments it is called with."""

    def __init__(self, function, around):
        self.function = function
        signature = inspect.signature(function)
        self.signature = signature.replace(parameters=[
            p.replace(annotation=resolved_where_known(function, p.annotation, around))
            for p in signature.parameters.values()
        ])
        self._rewritten = None

    def _body(self):
        if self._rewritten is None:
            self._rewritten = rewrite(self.function)
        return self._rewritten

    def scalars(self, values, tensors):
        """Parameters annotated with a dtype become scalars of the kernel."""
        out = {}
        for name, parameter in self.signature.parameters.items():
            annotation = parameter.annotation
            is_scalar = annotation is not parameter.empty and not isinstance(annotation, TensorType)
            if is_scalar and name not in tensors and is_kernel_dtype(annotation):
                out[name] = Parameter(name, make_dtype(annotation))
        return out

    def _annotated_tensors(self):
        return {n: p.annotation for n, p in self.signature.parameters.items() if isinstance(p.annotation, TensorType)}

    def scalars_and_tensors(self, values):
        """Those of the values that a kernel takes."""
        tensors = {name: value for name, value in values.items() if is_array(value)}
        scalars = self.scalars(values, tensors)
        return {name: value for name, value in values.items() if name in tensors or name in scalars}

    def find_signature(self, values, tensors):
        """Tensors with extents in terms of constants, and the constants' names."""
        eager = Eager()
        with state.tracing(self.function.__name__, self.function.__code__) as trace:
            trace.eager = eager
            try:
                self._body()(**self._arguments(values, tensors, eager))
            except SignatureFound:
                pass
        return eager.parameters, eager.used_constants

    def _arguments(self, values, tensors, eager):
        given = {}
        annotated = self._annotated_tensors()
        scalars = self.scalars(values, tensors)
        for name, value in values.items():
            if name in annotated:
                parameter = Parameter(name, annotated[name])
                eager.parameters.append(parameter)
                given[name] = Pending(name) if eager.constants is None else declare(parameter)
            elif name in tensors:
                given[name] = Pending(name)
            elif name in scalars:
                eager.parameters.append(scalars[name])
                given[name] = declare(scalars[name])
            else:
                given[name] = value
        return given

    def build(self, values, tensors, constants):
        """The program for these values of the constants."""
        eager = Eager(constants)
        with state.tracing(self.function.__name__, self.function.__code__) as trace:
            trace.eager = eager
            result = self._body()(**self._arguments(values, tensors, eager))
            _check_outputs(self.function, result, eager.outputs)
            program = _core.end_program()
        made = PrimFunc(self.function.__name__, program, eager.parameters)
        made.output_positions = [_place(value, eager.outputs) for value in _listed(result)]
        return made


def is_kernel_dtype(annotation):
    """A dtype of the language; Python's int, float and bool mean numbers that the function is traced for."""
    if isinstance(annotation, make_dtype):  # T.int32 is equal to "int"
        return core_name(annotation) is not None
    if not isinstance(annotation, str) or annotation in ("int", "float", "bool", "str"):
        return False
    return is_dtype(annotation) and core_name(annotation) is not None


def _listed(result):
    if result is None:
        return []
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _check_outputs(function, result, outputs):
    returned = _listed(result)
    for value in returned:
        if not isinstance(value, Buffer) or _place(value, outputs) is None:
            fail(f"{function.__name__} returns something that is no tensor of T.empty",
                 "return the tensors that T.empty declares")
    for output, _ in outputs:
        if not any(output is value for value in returned):
            fail(f"{function.__name__} does not return {output.name}, which T.empty declares",
                 "return all tensors of T.empty")


def _place(value, outputs):
    """The place of an output among the parameters; None for what is no output."""
    return next((place for buffer, place in outputs if buffer is value), None)
