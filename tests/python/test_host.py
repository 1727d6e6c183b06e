"""Calling kernels: arguments of several packages, outputs, profiles, interrupts, threads."""

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types

import numpy
import pytest

import tilewright
import tilewright.language as T


@T.prim_func
def add(A: T.Tensor((6, 5), "float32"), B: T.Tensor((6, 5), "float32"), scale: T.float32):
    with T.Kernel(6) as b:
        for j in T.Parallel(5):
            B[b, j] = A[b, j] * scale


class Foreign:
    """An array of another package, which only speaks DLPack."""

    def __init__(self, array):
        self._array = array
        self.shape = array.shape
        self.dtype = array.dtype

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Torchlike:
    """What the package takes torch's tensors by."""

    class Device:
        type, index = "cpu", None

    class Dtype:
        """Torch's are no texts, but print as one."""

        def __init__(self, name):
            self._name = name

        def __str__(self):
            return f"torch.{self._name}"

    device = Device()

    def __init__(self, array):
        self._array = array
        self.shape = array.shape
        self.dtype = self.Dtype(array.dtype)

    def data_ptr(self):
        return self._array.ctypes.data

    def stride(self):
        return tuple(step // self._array.itemsize for step in self._array.strides)


@pytest.mark.parametrize("wrap", [lambda a: a, Foreign, Torchlike, memoryview])
def test_arrays_of_several_packages(rng, wrap):
    a = rng.standard_normal((6, 5)).astype(numpy.float32)
    b = numpy.zeros((6, 5), numpy.float32)
    tilewright.compile(add)(wrap(a), wrap(b), 2)
    numpy.testing.assert_array_equal(b, a * 2)


def test_arguments_by_name(rng):
    a = rng.standard_normal((6, 5)).astype(numpy.float32)
    b = numpy.zeros((6, 5), numpy.float32)
    tilewright.compile(add)(a, scale=numpy.float32(3), B=b)
    numpy.testing.assert_array_equal(b, a * 3)


def test_every_dtype_of_numpy(rng):
    names = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
             "bool"]
    for name in names:
        def copy(A: T.Tensor((9,), name), B: T.Tensor((9,), name)):
            with T.Kernel(9) as b:
                B[b] = A[b]

        a = rng.integers(0, 100, 9).astype(name)
        b = numpy.zeros(9, name)
        tilewright.compile(T.prim_func(copy))(a, b)
        numpy.testing.assert_array_equal(a, b)


def test_other_orders_of_bytes_are_refused():
    kernel = tilewright.compile(add)
    b = numpy.zeros((6, 5), numpy.float32)
    with pytest.raises(tilewright.Error, match="bytes are in the order of other machines") as caught:
        kernel(numpy.ones((6, 5), numpy.dtype(numpy.float32).newbyteorder()), b, 2)
    assert caught.value.kind == "invalid_argument" and "newbyteorder('=')" in caught.value.hint


@pytest.mark.parametrize("number", [numpy.longdouble(1), numpy.clongdouble(1)])
def test_numbers_wider_than_those_of_python_are_refused(number):
    a, b = numpy.ones((6, 5), numpy.float32), numpy.zeros((6, 5), numpy.float32)
    with pytest.raises(tilewright.Error, match="a value of the Python type c?longdouble is passed to a kernel"):
        tilewright.compile(add)(a, b, number)


class Elsewhere(Foreign):
    """An array of DLPack that says to lie on a device of another kind."""

    def __init__(self, array, kind):
        super().__init__(array)
        self._kind = kind

    def __dlpack__(self, **_options):
        capsule = self._array.__dlpack__()
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # DLTensor begins with the pointer to the data; the kind of the device follows.
        place = pointer_of(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
        ctypes.c_int32.from_address(place).value = self._kind
        return capsule

    def __dlpack_device__(self):
        return (self._kind, 0)


def test_devices_of_dlpack():
    """3 is memory of the host that CUDA has pinned, 10 ROCm's, 7 Vulkan's."""
    kernel = tilewright.compile(add)
    a, b = numpy.ones((6, 5), numpy.float32), numpy.zeros((6, 5), numpy.float32)
    kernel(Elsewhere(a, 3), b, 2)
    numpy.testing.assert_array_equal(b, numpy.full((6, 5), 2))
    for kind in (7, 10):
        with pytest.raises(tilewright.Error, match=f"an array lies on a device of DLPack's kind {kind}"):
            kernel(Elsewhere(a, kind), b, 2)


def test_read_only_inputs_are_fine(rng):
    a = rng.standard_normal((6, 5)).astype(numpy.float32)
    a.flags.writeable = False
    b = numpy.zeros((6, 5), numpy.float32)
    tilewright.compile(add)(a, b, 1)
    numpy.testing.assert_array_equal(a, b)


def test_read_only_arrays_that_are_read_atomically():
    @T.prim_func
    def copy(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            B[b] = T.atomic_load(A[b])

    a, b = numpy.arange(4, dtype=numpy.int32), numpy.zeros(4, numpy.int32)
    a.flags.writeable = False
    tilewright.compile(copy)(a, b)
    assert b.tolist() == [0, 1, 2, 3]


def test_bound_launch(rng):
    a = rng.standard_normal((6, 5)).astype(numpy.float32)
    b = numpy.zeros((6, 5), numpy.float32)
    launch = tilewright.compile(add).bind(a, b, 2)
    launch()
    numpy.testing.assert_array_equal(b, a * 2)
    a += 1
    launch()
    numpy.testing.assert_array_equal(b, a * 2)


def test_launches_on_a_gpu_wait_for_the_current_stream(monkeypatch):
    """Called or bound, each launch first waits for the stream of torch that the author has made current."""

    class Stream:
        cuda_stream = 7

        def synchronize(self):
            a.fill(next(values))

    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_available=lambda: True, is_current_stream_capturing=lambda: False,
                                       current_stream=Stream)
    kernel = tilewright.compile(add, target="cpu")
    kernel._on_gpu = True  # the order of things is the same there
    a, b, values = numpy.zeros((6, 5), numpy.float32), numpy.zeros((6, 5), numpy.float32), iter((1, 2, 3))
    monkeypatch.setitem(sys.modules, "torch", torch)
    kernel(a, b, 10)
    assert (b == 10).all()
    launch = kernel.bind(a, b, 10)
    launch()
    assert (b == 20).all()
    launch()
    launch.wait()
    assert (b == 30).all() and launch.remarks() == []


def test_profiler(rng):
    kernel = tilewright.compile(add)
    inputs = [rng.standard_normal((6, 5)).astype(numpy.float32), numpy.zeros((6, 5), numpy.float32), 2.0]
    profiler = kernel.get_profiler(tensor_supply_type=tilewright.TensorSupplyType.Normal)
    assert 0 < profiler.do_bench(input_tensors=inputs, rep=2) < 1000
    low, high = profiler.do_bench(input_tensors=inputs, rep=2, quantiles=[0.2, 0.8])
    assert 0 < low <= high

    def reference(a, b, scale):
        return a * scale

    profiler.assert_allclose(reference, input_tensors=inputs)
    with pytest.raises(AssertionError, match="elements differ"):
        profiler.assert_allclose(lambda a, b, scale: a * scale + 1, input_tensors=inputs)


def test_references_do_not_see_what_the_kernel_writes(rng):
    """Kernel and reference both double X in place, from the same values."""

    @T.prim_func
    def double(X: T.Tensor((5,), "float32")):
        with T.Kernel(5) as b:
            X[b] = X[b] * 2

    def in_place(factor):
        def reference(x):
            x *= factor
            return x

        return reference

    profiler = tilewright.compile(double).get_profiler()
    x = rng.standard_normal(5).astype(numpy.float32) + 10
    profiler.assert_allclose(in_place(2), input_tensors=[x.copy()])
    with pytest.raises(AssertionError, match="elements differ"):
        profiler.assert_allclose(in_place(3), input_tensors=[x.copy()])


def test_times_wait_for_torch(monkeypatch):
    """Whatever a function returns, what it launched is waited for: before the first time, and for each."""
    from tilewright.profiler import do_bench

    events = []
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, synchronize=lambda: events.append("wait"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    do_bench(lambda: events.append("call"), _n_warmup=1, _n_repeat=3)
    assert events == ["call", "wait"] * 6


@pytest.mark.parametrize("supply, check", [
    ("Zero", lambda x: (x == 0).all()),
    ("One", lambda x: (x == 1).all()),
    ("Integer", lambda x: (x == numpy.rint(x)).all() and abs(x).max() <= 2),
    ("Uniform", lambda x: -1 <= x.min() < 0 < x.max() <= 1),
    ("Normal", lambda x: x.std() > 0.5),
])
def test_supplied_inputs(supply, check):
    from tilewright.profiler import get_tensor_supply

    parameter = add.parameters[0]
    array = get_tensor_supply(tilewright.TensorSupplyType[supply], 0)(parameter)
    assert array.shape == (6, 5) and array.dtype == numpy.float32 and check(array)


def test_other_threads_run_while_a_kernel_does():
    """The interpreter is released: a thread counts while the kernel spins."""

    @T.prim_func
    def spin(X: T.Tensor((1,), "int64"), turns: T.int64):
        with T.Kernel(1):
            v = T.alloc_var("int64", 0)
            while v < turns:
                v = v + 1 + X[0] * 0
            X[0] = v

    kernel = tilewright.compile(spin)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    x, turns = numpy.zeros(1, numpy.int64), 1 << 22
    seconds = 0.0
    while seconds < 0.2:
        before, begin = counted[0], time.perf_counter()
        turns *= 2
        x[0] = 0
        kernel(x, turns)
        seconds = time.perf_counter() - begin
    done.set()
    thread.join()
    assert x[0] == turns
    assert counted[0] - before >= 10


@pytest.mark.parametrize("launch", [
    "kernel(x)",
    "kernel.bind(x)()",
    "kernel.get_profiler().do_bench(input_tensors=[x])",
])
def test_an_interrupt_ends_a_kernel(tmp_path, launch):
    script = tmp_path / "endless.py"
    script.write_text(textwrap.dedent(
        """
        import numpy
        import tilewright
        import tilewright.language as T

        @T.prim_func
        def endless(X: T.Tensor((1,), "int32")):
            with T.Kernel(1):
                while X[0] == 0:
                    X[0] = 0

        kernel = tilewright.compile(endless)
        x = numpy.zeros(1, numpy.int32)
        print("begins", flush=True)
        try:
            LAUNCH
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    ).replace("LAUNCH", launch))
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out == "interrupted\n"
    assert process.returncode == 0


def test_programs_are_built_in_several_threads():
    """Each thread has a program of its own."""
    texts = []

    def build():
        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32")):
            with T.Kernel(1):
                for k in range(4):
                    time.sleep(0.01)
                    A[k] = k

        texts.append(kernel.script())

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 4 and len(set(texts)) == 1


def test_kernels_are_compiled_in_parallel():
    def make(k):
        @T.prim_func
        def kernel(A: T.Tensor((1,), "int32")):
            with T.Kernel(1):
                A[0] = k

        return kernel

    kernels = tilewright.par_compile([make(k) for k in range(3)])
    for k, kernel in enumerate(kernels):
        a = numpy.zeros(1, numpy.int32)
        kernel(a)
        assert a[0] == k


def test_pass_configs_are_accepted_and_said_once():
    from tilewright import pass_config

    pass_config._said.clear()
    key = tilewright.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED
    with pytest.warns(UserWarning, match="tl.disable_warp_specialized' has no effect"):
        tilewright.compile(add, pass_configs={key: True})
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilewright.compile(add, pass_configs={"tl.disable_warp_specialized": True})


def test_import_is_quick_and_needs_no_numpy():
    text = "import sys, tilewright; assert 'numpy' not in sys.modules and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", text], check=True, env=dict(os.environ), timeout=60)


def test_dtype_names():
    assert T.float32 == "float" == T.float == T.dtype("float32") and T.float16 == "half"
    assert T.is_dtype(numpy.float32) and T.is_dtype(numpy.dtype("int8")) and not T.is_dtype(numpy.ndarray)
    assert T.dtype(numpy.float16) == "float16" and T.dtype(numpy.dtype("int8")) == T.int8
    assert T.dtype(int) == T.int32 and T.dtype(bool) == T.bool and str(T.bfloat16) == "bfloat16"
    assert T.float16.bits == 16 and T.bool.bits == 8 and T.dtype("int4").bits == 4 and T.float8_e4m3fn.bits == 8
    assert {T.float16: 1}["float16"] == 1


def test_scripts_that_import_tilelang():
    """`tilelang.jit` stays the decorator when its module is imported by that name."""
    text = textwrap.dedent(
        """
        import tilewright, tilewright.compat
        tilewright.compat.install()
        from tilelang.jit import JITImpl
        from tilelang.autotuner import AutoTuner
        import tilelang, tilelang.language as T
        assert tilelang is tilewright and T is tilewright.language
        assert isinstance(tilelang.jit(lambda: None), JITImpl) and callable(tilelang.autotune)
        """
    )
    subprocess.run([sys.executable, "-c", text], check=True, env=dict(os.environ), timeout=60)


def test_attributes_of_a_program_leave_its_outputs():
    @tilewright.jit
    def ramp(n: int):
        Y = T.empty((n,), "int32")
        with T.Kernel(n) as b:
            Y[b] = b
        return Y

    program = ramp.get_tir(3).with_attr("name", 1)
    assert program.attrs == {"name": 1} and ramp.get_tir(3).attrs == {}
    assert tilewright.compile(program)().tolist() == [0, 1, 2]


def test_missing_words_say_so():
    with pytest.raises(tilewright.Error, match="T.tma_copy is not built yet"):
        T.tma_copy(None, None)
    with pytest.raises(AttributeError, match="no word T.tma_copi"):
        T.tma_copi
