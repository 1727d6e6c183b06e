"""``tilewright.jit`` and ``tilewright.compile``."""

from __future__ import annotations

import ast
import functools
import inspect
import numbers

from .arrays import is_array, plain_number, strides_of
from .error import fail
from .kernel import JITKernel
from .language.eager import EagerFunction
from .language.program import PrimFunc, caller_names, has_texts
from .language.rewrite import Source, mentions
from .language.symbols import solve
from .pass_config import check_pass_configs


def compile(func, out_idx=None, execution_backend=None, target=None, target_host=None, verbose=None,
            pass_configs=None, compile_flags=None):
    """Compiles a program for a target, or loads it from the cache."""
    return JITKernel(func, out_idx=out_idx, target=target or "auto", pass_configs=check_pass_configs(pass_configs),
                     compile_flags=compile_flags)


def par_compile(funcs, out_idx=None, target=None, num_workers=None, ignore_error=False, **options):
    """Compiles several programs at once."""
    from concurrent.futures import ThreadPoolExecutor

    def one(func):
        try:
            return compile(func, out_idx=out_idx, target=target, **options)
        except Exception:
            if ignore_error:
                return None
            raise

    with ThreadPoolExecutor(max_workers=num_workers) as workers:
        return list(workers.map(one, funcs))


class _Same:
    """Equal for one object. It holds the object, whose id another one could have later."""

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self):
        return id(self._value)


def key_of_argument(value):
    """Something hashable that is equal for equal arguments, which 1, 1.0 and True are not, nor 0.0 and -0.0."""
    if isinstance(value, dict):
        return ("dict", frozenset((key_of_argument(k), key_of_argument(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return (type(value), tuple(map(key_of_argument, value)))
    if isinstance(value, (set, frozenset)):
        return (type(value), frozenset(map(key_of_argument, value)))
    if isinstance(value, numbers.Number):
        return (type(value), repr(value))
    try:
        hash(value)
    except TypeError:
        return _Same(value)
    return (type(value), value)


class JITImpl:
    """A decorated function. One that gives programs (lazy) is compiled and returns kernels; one that declares its
    tensors in its body (eager) is compiled for its arguments, and run."""

    def __init__(self, func, out_idx=None, target=None, pass_configs=None, compile_flags=None, around=None):
        self.func = func
        self.out_idx = out_idx
        self.target = target
        self.pass_configs = check_pass_configs(pass_configs)
        self.compile_flags = compile_flags
        self.signature = inspect.signature(func)
        self._kernels = {}
        self._mode = None
        self._eager = None
        self._around = around or {}  # names for annotations that are strings
        functools.update_wrapper(self, func)

    # ---- lazy or eager ----

    @property
    def mode(self):
        """``lazy`` or ``eager``."""
        if self._mode is None:
            self._mode = self._find_mode()
            if self._mode == "eager":
                if self.out_idx is not None:
                    fail(f"out_idx of the eager function {self.func.__name__}", "return tensors of T.empty",
                         kind="invalid_argument")
                self._eager = EagerFunction(self.func, self._around)
        return self._mode

    def _find_mode(self):
        node = Source(self.func).node
        inner = [part for part in ast.walk(node) if isinstance(part, ast.FunctionDef) and part is not node]
        if any(mentions(decorator, {"prim_func"}) for part in inner for decorator in part.decorator_list):
            return "lazy"
        outside = ast.Module([part for part in node.body if not isinstance(part, ast.FunctionDef)], [])
        return "eager" if mentions(outside, {"Kernel", "const", "empty"}) else "lazy"

    # ---- calls ----

    def __call__(self, *args, **kwargs):
        if self.mode == "lazy":
            return self._lazy_kernel(args, kwargs)
        kernel, arguments = self._eager_kernel(args, kwargs)
        return kernel(*arguments)

    def compile(self, *args, **kwargs):
        """The kernel for these arguments, without running it."""
        if self.mode == "lazy":
            return self._lazy_kernel(args, kwargs)
        return self._eager_kernel(args, kwargs, complete=False)[0]

    def get_tir(self, *args, **kwargs):
        """The program for these arguments."""
        if self.mode == "lazy":
            return self._program(args, kwargs)
        return self._eager_kernel(args, kwargs, complete=False)[0].prim_func

    def get_kernel_source(self, *args, **kwargs):
        return self.compile(*args, **kwargs).get_kernel_source()

    def par_compile(self, configs, num_workers=None, ignore_error=False):
        """Kernels for several sets of arguments: dicts, or tuples."""
        programs = [self.get_tir(**c) if isinstance(c, dict) else self.get_tir(*c) for c in configs]
        return par_compile(programs, out_idx=self.out_idx, target=self.target, num_workers=num_workers,
                           ignore_error=ignore_error, pass_configs=self.pass_configs)

    def _program(self, args, kwargs):
        program = self.func(*args, **kwargs)
        if not isinstance(program, PrimFunc):
            fail(f"{self.func.__name__} returns {type(program).__name__}, which is no program",
                 "return a function decorated with @T.prim_func, or declare tensors with T.const and T.empty",
                 kind="invalid_argument",
                 place=(self.func.__code__.co_filename, self.func.__code__.co_firstlineno, 0))
        return program

    def _make(self, program):
        return JITKernel(program, out_idx=self.out_idx, target=self.target or "auto", pass_configs=self.pass_configs,
                         compile_flags=self.compile_flags)

    def _lazy_kernel(self, args, kwargs):
        key = (key_of_argument(args), key_of_argument(kwargs))
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._make(self._program(args, kwargs))
        return kernel

    # ---- eager ----

    def _bound(self, args, kwargs, complete=True):
        """Values of the parameters, and numbers for constants that are given by name."""
        own = {name: value for name, value in kwargs.items() if name in self.signature.parameters}
        constants = {name: value for name, value in kwargs.items() if name not in own}
        bound = self.signature.bind(*args, **own) if complete else self.signature.bind_partial(*args, **own)
        bound.apply_defaults()
        return {name: plain_number(value) for name, value in bound.arguments.items()}, constants

    def _split(self, values):
        """The arrays among the values, and the others."""
        tensors = {name: value for name, value in values.items() if is_array(value)}
        return tensors, {name: value for name, value in values.items() if name not in tensors}

    def key_of(self, args, kwargs):
        """Equal for calls of an eager function that the same program serves."""
        values, constants = self._bound(args, kwargs, complete=False)
        return self._key(*self._split(values), constants)

    def _key(self, tensors, fixed, constants):
        shapes = tuple((name, tuple(map(int, a.shape)), strides_of(a)) for name, a in tensors.items())
        return (key_of_argument(self._static(fixed)), shapes, key_of_argument(constants))

    def passed_values(self, args, kwargs):
        """What a kernel of an eager function is called with, in the order of its parameters; None where tensors are
        missing."""
        values, _ = self._bound(args, kwargs, complete=False)
        if any(name not in values for name in self.signature.parameters):
            return None
        return list(self._eager.scalars_and_tensors(values).values())

    def _eager_kernel(self, args, kwargs, complete=True):
        """The kernel for these arguments, and what it is called with. Tensors may be missing where constants are given
        by name."""
        values, constants = self._bound(args, kwargs, complete)
        tensors, fixed = self._split(values)
        key = self._key(tensors, fixed, constants)
        kernel = self._kernels.get(key)
        if kernel is None:
            missing = {name: None for name in self.signature.parameters if name not in values}
            parameters, names = self._eager.find_signature({**values, **missing}, {**tensors, **missing})
            known = self._solve(parameters, names, tensors, constants)
            # Other strides of the same extents are the same program.
            own = (key_of_argument(self._static(fixed)), tuple(sorted(known.items())))
            kernel = self._kernels.get(own)
            if kernel is None:
                program = self._eager.build({**values, **missing}, {**tensors, **missing}, known)
                kernel = self._kernels[own] = self._make(program)
            self._kernels[key] = kernel
        names = [p.name for k, p in enumerate(kernel.prim_func.parameters) if k not in kernel.out_idx]
        return kernel, [values.get(name) for name in names]

    def _static(self, fixed):
        scalars = self._eager.scalars(fixed, {})
        return {name: value for name, value in fixed.items() if name not in scalars}

    def _solve(self, parameters, names, tensors, constants):
        known = {name: int(value) for name, value in constants.items() if name in names}
        unknown = [name for name in constants if name not in names]
        if unknown:
            fail(f"{self.func.__name__} has no parameter or constant {unknown[0]}", kind="invalid_argument")
        for parameter in parameters:
            array = tensors.get(parameter.name)
            if array is None or not parameter.is_tensor:
                continue
            for extent, actual in zip(parameter.shape, array.shape):
                solve(extent, int(actual), known)
            for step, actual in zip(parameter.type.strides or (), strides_of(array) or ()):
                solve(step, int(actual), known)
        return known


def jit(func=None, *, out_idx=None, target=None, target_host=None, execution_backend=None, verbose=False,
        pass_configs=None, debug_root_path=None, compile_flags=None):
    """Decorates a kernel function, or a function that makes one."""

    def decorate(function, around=None):
        if isinstance(function, PrimFunc):
            return compile(function, out_idx=out_idx, target=target, pass_configs=pass_configs,
                           compile_flags=compile_flags)
        names = caller_names(2) if around is None else around
        return JITImpl(function, out_idx, target, pass_configs, compile_flags, names if has_texts(function) else {})

    return decorate if func is None else decorate(func, caller_names(2))
