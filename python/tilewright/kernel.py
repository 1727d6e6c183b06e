"""Compiled kernels: calling them, their outputs, their source."""

from __future__ import annotations

import sys

from . import _core
from .arrays import empty_like_package, is_array
from .error import fail, unsupported
from .language.program import PrimFunc
from .language.symbols import solve, value_of


def _write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def _output_places(out_idx, count):
    """Places of outputs among the parameters, from an int or a list; negative ones count from the end."""
    if out_idx is None:
        return []
    listed = list(out_idx) if isinstance(out_idx, (list, tuple)) else [out_idx]
    places = []
    for index in listed:
        place = index + count if index < 0 else index
        if not 0 <= place < count:
            fail(f"out_idx {index} of a kernel with {count} parameters", "parameters count from 0, or from -1 backwards",
                 kind="invalid_argument")
        if place in places:
            fail(f"out_idx names parameter {place} twice", "each output once", kind="invalid_argument")
        places.append(place)
    return places


class JITKernel:
    """A program compiled for a target. Called with arrays and numbers; outputs of ``out_idx`` are returned."""

    def __init__(self, func, out_idx=None, target="auto", pass_configs=None, compile_flags=None, optimize=3):
        if not isinstance(func, PrimFunc):
            fail(f"{func!r} is compiled, which is no program", "pass a function decorated with @T.prim_func",
                 kind="invalid_argument")
        if out_idx is not None and func.output_positions is not None:
            fail("out_idx of a function with T.empty", "its outputs are those that it returns", kind="invalid_argument")
        self.prim_func = func
        self.pass_configs = pass_configs or {}
        self.compile_flags = compile_flags
        self._outputs = func.output_positions
        if self._outputs is None:
            self._outputs = _output_places(out_idx, len(func.parameters))
        self._inputs = [k for k in range(len(func.parameters)) if k not in self._outputs]
        self.out_idx = list(self._outputs)
        self._compiled = _core.compile(func.program, target_name(target), 0, optimize, _write)
        launch = func.program.parameters()
        self._written = [is_written for _, _, _, is_written in launch]
        self._run = self._compiled.runner(self._written)
        self._on_gpu = self._compiled.target.startswith("cuda")
        self.latency = self.config = self.ref_latency = None

    @property
    def target(self):
        """Such as ``cpu:avx512``."""
        return self._compiled.target

    @property
    def params(self):
        return self.prim_func.parameters

    # ---- calling ----

    def __call__(self, *args, **kwargs):
        if self._on_gpu:
            wait_for_streams()
        if not kwargs and not self._outputs:
            return self._run(args)
        arguments, outputs = self._arguments(args, kwargs)
        self._run(arguments)
        if not outputs:
            return None
        return outputs[0] if len(outputs) == 1 else outputs

    def bind(self, *args, **kwargs):
        """The arguments checked once: a launch that costs little, and the outputs that it writes."""
        arguments, outputs = self._arguments(args, kwargs)
        launch = _core.bind(self._compiled, arguments, self._written)
        launch = LaunchAfterStreams(launch) if self._on_gpu else launch
        return (launch, *outputs) if outputs else launch

    def _arguments(self, args, kwargs):
        """Arguments of the launch, and the outputs among them."""
        parameters = self.prim_func.parameters
        if kwargs:
            args = self._by_name(args, kwargs)
        if not self._outputs:
            return args, []
        if len(args) == len(parameters):
            return args, [args[k] for k in self._outputs]
        if len(args) != len(self._inputs):
            names = ", ".join(parameters[k].name for k in self._inputs)
            fail(f"{self.prim_func.name} takes {len(self._inputs)} arguments ({names}), but {len(args)} were passed",
                 "outputs are allocated and returned; they are not passed", kind="invalid_argument")
        full = [None] * len(parameters)
        for place, value in zip(self._inputs, args):
            full[place] = value
        outputs = self._allocate(full)
        for place, array in zip(self._outputs, outputs):
            full[place] = array
        return full, outputs

    def _by_name(self, args, kwargs):
        names = [self.prim_func.parameters[k].name for k in self._inputs]
        full = list(args)
        for name in names[len(args):]:
            if name in kwargs:
                full.append(kwargs.pop(name))
        if kwargs:
            fail(f"{self.prim_func.name} has no parameter {next(iter(kwargs))} left to pass",
                 f"its parameters are {', '.join(names)}", kind="invalid_argument")
        return full

    def _allocate(self, full):
        parameters = self.prim_func.parameters
        known, example = {}, None
        for place in self._inputs:
            value = full[place]
            if parameters[place].is_tensor and is_array(value):
                example = value if example is None else example
                for extent, actual in zip(parameters[place].shape, value.shape):
                    solve(extent, int(actual), known)
        if example is None:
            example = _example_for(self.target)
        return [self._new_output(parameters[place], known, example) for place in self._outputs]

    def _new_output(self, parameter, known, example):
        if not parameter.is_tensor:
            fail(f"out_idx names the scalar {parameter.name}", "outputs are tensors", kind="invalid_argument")
        try:
            shape = [int(value_of(extent, known)) for extent in parameter.shape]
        except KeyError as missing:
            fail(f"the extent {missing.args[0]} of the output {parameter.name} follows from no input",
                 "pass the output yourself: compile without out_idx", kind="invalid_argument")
        return empty_like_package(shape, parameter.dtype, example)

    # ---- looking ----

    def get_kernel_source(self, kernel_only=True):
        """The generated source, with the author's lines as comments."""
        return self._compiled.source

    @property
    def kernel_source(self):
        return self._compiled.source

    def get_host_source(self):
        """There is none: the library checks arguments and launches."""
        return "// Arguments are checked and kernels launched by the library; no host code is generated.\n"

    host_source = property(get_host_source)

    def show_source(self, which="kernel"):
        if which in ("kernel", "both"):
            print(self.get_kernel_source())
        if which in ("host", "both"):
            print(self.get_host_source())

    def print_source_code(self, which="kernel"):
        self.show_source(which)

    def export_sources(self, kernel_path=None, host_path=None):
        for path, text in ((kernel_path, self.get_kernel_source()), (host_path, self.get_host_source())):
            if path is not None:
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)

    def report(self):
        """Target, choices and remarks."""
        return self._compiled.report()

    def remarks(self):
        """(kind, text, place) of each slower path that was taken."""
        return self._compiled.remarks()

    def get_profiler(self, tensor_supply_type=None):
        """Times the kernel and compares its results on inputs of its own."""
        from .profiler import Profiler, TensorSupplyType

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)

    def run_once(self, func=None):
        return self.get_profiler().run_once(func)

    def export_library(self, path):
        unsupported("export_library is not built yet")

    def show_ptx(self):
        unsupported("show_ptx is not built yet")

    def show_sass(self):
        unsupported("show_sass is not built yet")


class LaunchAfterStreams:
    """A bound launch on a GPU: each call waits for other streams first, as a call of the kernel does."""

    def __init__(self, launch):
        self._launch = launch
        self.wait = launch.wait
        self.remarks = launch.remarks

    def __call__(self):
        wait_for_streams()
        self._launch()


def wait_for_streams():
    """Launches go to the default stream, and return when they are done. What another current stream of torch or cupy
    still has to do comes first."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        if torch.cuda.is_current_stream_capturing():
            unsupported("a kernel called while a CUDA graph is captured is not built yet")
        stream = torch.cuda.current_stream()
        if stream.cuda_stream != 0:
            stream.synchronize()
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        stream = cupy.cuda.get_current_stream()
        if stream.ptr != 0:
            stream.synchronize()


def _example_for(target):
    from .arrays import default_package

    if default_package(target) == "torch":
        import torch

        return torch.empty(0, device="cuda")
    return None


def target_name(target):
    """Our name of a target: of a name that others use, or a dictionary with kind and arch."""
    if target is None:
        return "auto"
    if isinstance(target, dict):
        kind, arch = target.get("kind", "auto"), target.get("arch")
        return f"{kind}:{arch}" if arch else kind
    text = str(target)
    return {"llvm": "cpu", "c": "cpu"}.get(text, text)
