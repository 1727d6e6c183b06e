"""What rewritten functions call, under the name ``_tw_``: assignments, branches and loops decide whether they belong to
Python, which runs them now, or to the kernel, which records them."""

from __future__ import annotations

from ..error import fail
from . import loops, state
from .branches import Branch, Loop, While, break_, continue_, nested, with_article
from .values import (
    and_,
    assign,
    augment,
    bind,
    check,
    compare,
    condition,
    if_expression,
    keep,
    not_,
    or_,
    set_attribute,
    unpack,
    want,
)

__all__ = [
    "Branch",
    "Loop",
    "While",
    "and_",
    "assign",
    "augment",
    "bind",
    "break_",
    "check",
    "compare",
    "condition",
    "continue_",
    "declare",
    "enter",
    "if_expression",
    "keep",
    "kernel_range",
    "leave",
    "nested",
    "not_",
    "opened",
    "or_",
    "set_attribute",
    "single",
    "unpack",
    "want",
]


def enter():
    """Called where a rewritten function begins."""
    return len(state.require("a kernel function").frames)


def leave(depth, value):
    """``return value``."""
    frames = state.current().frames[depth:]
    for frame in frames:
        if frame.runs:
            fail(
                f"return inside of {with_article(frame.kind)} that the kernel runs",
                "return at the end of the function; T.alloc_var carries a value out of loops and branches",
                notes=[(f"the {frame.kind}", frame.place)],
            )
    del state.current().frames[depth:]
    return value


def opened(value):
    """What ``with`` opens: kernels."""
    from . import _Missing

    if isinstance(value, _Missing):
        value()
    if not isinstance(value, loops.KernelWord):
        fail(f"with opens a value of the Python type {type(value).__name__} in a kernel function",
             "with T.Kernel(n, threads=128) as b: is the only one; open others around the function")
    return value


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
