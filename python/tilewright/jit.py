"""``tilewright.jit`` and ``tilewright.compile``."""

from __future__ import annotations

import ast
import functools
import inspect

from .arrays import is_array, strides_of
from .error import fail
from .kernel import JITKernel
from .language.eager import EagerFunction
from .language.program import PrimFunc
from .language.rewrite import Source, mentions
from .language.symbols import solve
from .pass_config import check_pass_configs


def compile(func, out_idx=None, execution_backend=None, target=None, target_host=None, verbose=None,
            pass_configs=None, compile_flags=None):
    """Compiles a program for a target, or loads it from the cache."""
    return JITKernel(func, out_idx=out_idx, target=target or "auto", pass_configs=check_pass_configs(pass_configs),
                     compile_flags=compile_flags, verbose=bool(verbose))


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


def _key(value):
    """Something hashable that is equal for equal arguments."""
    if isinstance(value, dict):
        return ("dict", tuple(sorted((repr(k), _key(v)) for k, v in value.items())))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(map(_key, value)))
    if isinstance(value, set):
        return ("set", tuple(sorted(map(repr, value))))
    try:
        hash(value)
    except TypeError:
        return ("id", id(value))
    return (type(value).__name__, value)


class JITImpl:
    """A decorated function. One that gives programs (lazy) is compiled and returns kernels; one that declares its
    tensors in its body (eager) is compiled for its arguments, and run."""

    def __init__(self, func, out_idx, target, verbose, pass_configs, compile_flags):
        self.func = func
        self.out_idx = out_idx
        self.target = target
        self.verbose = verbose
        self.pass_configs = check_pass_configs(pass_configs)
        self.compile_flags = compile_flags
        self.signature = inspect.signature(func)
        self._kernels = {}
        self._mode = None
        self._eager = None
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
                self._eager = EagerFunction(self.func)
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
                         compile_flags=self.compile_flags, verbose=self.verbose)

    def _lazy_kernel(self, args, kwargs):
        key = (_key(args), _key(kwargs))
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
        return dict(bound.arguments), constants

    def _split(self, values):
        """The arrays among the values, and the others."""
        tensors = {name: value for name, value in values.items() if is_array(value)}
        return tensors, {name: value for name, value in values.items() if name not in tensors}

    def key_of(self, args, kwargs):
        """Equal for calls of an eager function that the same program serves."""
        values, constants = self._bound(args, kwargs, complete=False)
        tensors, fixed = self._split(values)
        shapes = tuple((name, tuple(map(int, a.shape)), strides_of(a)) for name, a in tensors.items())
        return (_key(self._static(fixed)), shapes, _key(constants))

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
        key = self.key_of(args, kwargs)
        values, constants = self._bound(args, kwargs, complete)
        kernel = self._kernels.get(key)
        if kernel is None:
            tensors, fixed = self._split(values)
            missing = {name: None for name in self.signature.parameters if name not in values}
            parameters, names = self._eager.find_signature({**values, **missing}, {**tensors, **missing})
            known = self._solve(parameters, names, tensors, constants)
            # Other strides of the same extents are the same program.
            own = (_key(self._static(fixed)), tuple(sorted(known.items())))
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

    def decorate(function):
        if isinstance(function, PrimFunc):
            return compile(function, out_idx=out_idx, target=target, pass_configs=pass_configs,
                           compile_flags=compile_flags)
        return JITImpl(function, out_idx, target, verbose, pass_configs, compile_flags)

    return decorate if func is None else decorate(func)
