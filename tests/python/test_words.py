"""The words of the language from Python against numpy in float64."""

import math

import numpy
import pytest

import tilewright
import tilewright.language as T


def run(function, *arrays, **options):
    tilewright.compile(function, **options)(*arrays)


@pytest.mark.parametrize("stages", [0, 2])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(rng, causal, stages):
    """One head of attention, as authors write it: online softmax over blocks of keys."""
    m, n, d, block_m, block_n = 40, 56, 16, 16, 32
    scale = 1.0 / math.sqrt(d) * 1.44269504  # log2(e)

    @T.prim_func
    def attention(
        Q: T.Tensor((m, d), "float16"),
        K: T.Tensor((n, d), "float16"),
        V: T.Tensor((n, d), "float16"),
        Output: T.Tensor((m, d), "float32"),
    ):
        with T.Kernel(T.ceildiv(m, block_m), threads=128) as bx:
            Q_shared = T.alloc_shared([block_m, d], "float16")
            K_shared = T.alloc_shared([block_n, d], "float16")
            V_shared = T.alloc_shared([block_n, d], "float16")
            acc_s = T.alloc_fragment([block_m, block_n], "float")
            acc_s_cast = T.alloc_fragment([block_m, block_n], "float16")
            acc_o = T.alloc_fragment([block_m, d], "float")
            scores_max = T.alloc_fragment([block_m], "float")
            scores_max_prev = T.alloc_fragment([block_m], "float")
            scores_scale = T.alloc_fragment([block_m], "float")
            scores_sum = T.alloc_fragment([block_m], "float")
            logsum = T.alloc_fragment([block_m], "float")
            T.copy(Q[bx * block_m : (bx + 1) * block_m, :], Q_shared)
            T.fill(acc_o, 0)
            T.fill(logsum, 0)
            T.fill(scores_max, -T.infinity("float"))
            loop_range = (
                T.min(T.ceildiv(n, block_n), T.ceildiv((bx + 1) * block_m, block_n)) if causal else T.ceildiv(n, block_n)
            )
            for k in T.Pipelined(loop_range, num_stages=stages):
                T.copy(K[k * block_n : (k + 1) * block_n, :], K_shared)
                for i, j in T.Parallel(block_m, block_n):
                    if causal:
                        acc_s[i, j] = T.if_then_else(
                            (bx * block_m + i >= k * block_n + j) & (k * block_n + j < n), 0, -T.infinity("float")
                        )
                    else:
                        acc_s[i, j] = T.if_then_else(k * block_n + j < n, 0, -T.infinity(acc_s.dtype))
                T.gemm(Q_shared, K_shared, acc_s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(V[k * block_n : (k + 1) * block_n, :], V_shared)
                T.copy(scores_max, scores_max_prev)
                T.reduce_max(acc_s, scores_max, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    scores_scale[i] = T.exp2(scores_max_prev[i] * scale - scores_max[i] * scale)
                for i, j in T.Parallel(block_m, block_n):
                    acc_s[i, j] = T.exp2(acc_s[i, j] * scale - scores_max[i] * scale)
                T.reduce_sum(acc_s, scores_sum, dim=1)
                for i in T.Parallel(block_m):
                    logsum[i] = logsum[i] * scores_scale[i] + scores_sum[i]
                T.copy(acc_s, acc_s_cast)
                for i, j in T.Parallel(block_m, d):
                    acc_o[i, j] *= scores_scale[i]
                T.gemm(acc_s_cast, V_shared, acc_o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_m, d):
                acc_o[i, j] /= logsum[i]
            T.copy(acc_o, Output[bx * block_m : (bx + 1) * block_m, :])

    q, k, v = (rng.standard_normal((rows, d)).astype(numpy.float16) for rows in (m, n, n))
    out = numpy.empty((m, d), numpy.float32)
    run(attention, q, k, v, out)
    scores = q.astype(float) @ k.astype(float).T / math.sqrt(d)
    if causal:
        scores[numpy.arange(m)[:, None] < numpy.arange(n)] = -numpy.inf
    weights = numpy.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    expected = weights @ v.astype(float)
    # A weight relative to the largest is rounded to float16 (2^-11), the scores' sums in float32 move exponents by
    # (d + 4) 2^-24 |score|; both act on weights that sum to 1 and on |v|.
    bound = (weights @ abs(v.astype(float))) * (2.0**-11 + 2 * (d + n) * 2.0**-22 * (1 + abs(q.astype(float)).max()))
    # Weights below the normal numbers of float16 lose half of its smallest step each.
    bound += n * 2.0**-25 * abs(v.astype(float)).max()
    assert (abs(out - expected) <= bound).all()


def test_reductions(rng):
    words = {
        "reduce_sum": lambda x: x.sum(1),
        "reduce_max": lambda x: x.max(1),
        "reduce_min": lambda x: x.min(1),
        "reduce_abssum": lambda x: abs(x).sum(1),
        "reduce_absmax": lambda x: abs(x).max(1),
    }

    def make(word):
        @T.prim_func
        def kernel(A: T.Tensor((7, 13), "float32"), B: T.Tensor((7,), "float32")):
            with T.Kernel(1):
                a = T.alloc_fragment((7, 13), "float32")
                b = T.alloc_fragment((7,), "float32")
                T.copy(A, a)
                getattr(T, word)(a, b, dim=1)
                T.copy(b, B)

        return kernel

    a = rng.standard_normal((7, 13)).astype(numpy.float32)
    for word, reference in words.items():
        b = numpy.empty(7, numpy.float32)
        run(make(word), a, b)
        expected = reference(a.astype(float))
        assert (abs(b - expected) <= 13 * 2.0**-24 * abs(a.astype(float)).sum(1)).all(), word


def test_bit_reductions_and_clear(rng):
    @T.prim_func
    def kernel(A: T.Tensor((4, 9), "int32"), B: T.Tensor((4, 4), "int32")):
        with T.Kernel(1):
            a = T.alloc_shared((4, 9), "int32")
            b = T.alloc_fragment((4,), "int32")
            T.copy(A, a)
            T.reduce_bitand(a, b)
            T.copy(b, B[0, :])
            T.reduce_bitor(a, b, dim=-1)
            T.copy(b, B[1, :])
            T.reduce_bitxor(a, b)
            T.copy(b, B[2, :])
            T.reduce(a, b, "max", dim=1, clear=False)
            T.copy(b, B[3, :])

    a = rng.integers(0, 1000, (4, 9)).astype(numpy.int32)
    b = numpy.empty((4, 4), numpy.int32)
    run(kernel, a, b)
    xor = numpy.bitwise_xor.reduce(a, 1)
    expected = [numpy.bitwise_and.reduce(a, 1), numpy.bitwise_or.reduce(a, 1), xor, numpy.maximum(xor, a.max(1))]
    numpy.testing.assert_array_equal(b, expected)


def test_scans(rng):
    @T.prim_func
    def kernel(A: T.Tensor((5, 6), "float32"), B: T.Tensor((3, 5, 6), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((5, 6), "float32")
            b = T.alloc_shared((5, 6), "float32")
            T.copy(A, a)
            T.cumsum(a, b, dim=1)
            T.copy(b, B[0, :, :])
            T.cumsum(a, b, dim=0, reverse=True)
            T.copy(b, B[1, :, :])
            T.cummax(a, dim=1)
            T.copy(a, B[2, :, :])

    a = rng.integers(-50, 50, (5, 6)).astype(numpy.float32)  # sums are exact
    b = numpy.empty((3, 5, 6), numpy.float32)
    run(kernel, a, b)
    expected = [numpy.cumsum(a, 1), numpy.cumsum(a[::-1], 0)[::-1], numpy.maximum.accumulate(a, 1)]
    numpy.testing.assert_array_equal(b, expected)


UNARY = {
    "exp": numpy.exp, "exp2": numpy.exp2, "log": numpy.log, "log2": numpy.log2, "log1p": numpy.log1p,
    "sqrt": numpy.sqrt, "rsqrt": lambda x: 1 / numpy.sqrt(x), "sin": numpy.sin, "cos": numpy.cos, "tan": numpy.tan,
    "tanh": numpy.tanh, "sinh": numpy.sinh, "cosh": numpy.cosh, "floor": numpy.floor, "ceil": numpy.ceil,
    "trunc": numpy.trunc, "round": numpy.rint, "abs": abs, "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "erf": lambda x: numpy.array([math.erf(v) for v in x]), "__exp": numpy.exp, "__log2": numpy.log2,
    "fast_rcp": lambda x: 1 / x,
}


def test_functions_of_one_number(rng):
    """4 units of the last place, as docs/language.md promises, half a unit of the reference's own rounding more."""
    names = list(UNARY)

    @T.prim_func
    def kernel(A: T.Tensor((50,), "float32"), B: T.Tensor((len(names), 50), "float32")):
        with T.Kernel(1):
            for k, name in enumerate(names):
                for i in T.Parallel(50):
                    B[k, i] = getattr(T, name)(A[i])

    a = (rng.random(50) * 3 + 0.1).astype(numpy.float32)
    b = numpy.empty((len(names), 50), numpy.float32)
    run(kernel, a, b)
    for k, name in enumerate(names):
        expected = UNARY[name](a.astype(float))
        unit = numpy.spacing(abs(expected).astype(numpy.float32)).astype(float)
        assert (abs(b[k] - expected) <= 4.5 * unit).all(), name


def test_functions_of_several_numbers(rng):
    cases = [
        (lambda x, y: T.max(x, y), numpy.maximum),
        (lambda x, y: T.min(x, 0.5, y), lambda x, y: numpy.minimum(numpy.minimum(x, 0.5), y)),
        (lambda x, y: T.clamp(x, -0.5, 0.5), lambda x, y: numpy.clip(x, -0.5, 0.5)),
        (lambda x, y: T.if_then_else(T.And(x > 0, y > 0), x, y), lambda x, y: numpy.where((x > 0) & (y > 0), x, y)),
        (lambda x, y: T.Select(T.Or(x > 0, T.Not(y > 0)), x, y), lambda x, y: numpy.where((x > 0) | ~(y > 0), x, y)),
        (lambda x, y: T.copysign(x, y), numpy.copysign),
        (lambda x, y: T.cast(T.cast(x * 100, "int8"), "float32"), lambda x, y: numpy.trunc(x * 100)),
        (lambda x, y: T.float32(T.reinterpret(x, "uint32") >> 31), lambda x, y: (x < 0).astype(float)),
        (lambda x, y: T.float32(T.popcount(T.int32(x * 10))), lambda x, y: numpy.array(
            [bin(int(v * 10) & 0xFFFFFFFF).count("1") for v in x])),
        (lambda x, y: T.ieee_add(x, y), lambda x, y: x + y),
    ]

    @T.prim_func
    def kernel(A: T.Tensor((40,), "float32"), B: T.Tensor((40,), "float32"), C: T.Tensor((len(cases), 40), "float32")):
        with T.Kernel(1):
            for k, case in enumerate(cases):
                for i in T.Parallel(40):
                    C[k, i] = case[0](A[i], B[i])

    a = (rng.integers(-120, 120, 40) / 128).astype(numpy.float32)  # products and sums are exact
    b = (rng.integers(-120, 120, 40) / 128).astype(numpy.float32)
    c = numpy.empty((len(cases), 40), numpy.float32)
    run(kernel, a, b, c)
    for k, (_, reference) in enumerate(cases):
        numpy.testing.assert_array_equal(c[k], reference(a.astype(float), b.astype(float)), err_msg=str(k))


def test_atomics():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32"), F: T.Tensor((4,), "float32"), P: T.Tensor((6,), "int32")):
        with T.Kernel(6) as b:
            T.atomic_add(X[0], b)
            T.atomic_max(X[1], b * 3)
            T.atomic_min(X[2], -b)
            T.atomic_or(X[3], T.shift_left(1, b))
            P[b] = T.atomic_add(X[4], 1, return_prev=True)
            part = T.alloc_shared((4,), "float32")
            T.fill(part, 0.5)
            T.atomic_add(F, part)

    x, f, p = numpy.zeros(8, numpy.int32), numpy.zeros(4, numpy.float32), numpy.zeros(6, numpy.int32)
    run(kernel, x, f, p)
    assert x.tolist() == [15, 15, -5, 63, 6, 0, 0, 0]
    assert f.tolist() == [3.0] * 4
    assert sorted(p.tolist()) == list(range(6))


def test_loads_and_stores_of_atomics():
    @T.prim_func
    def kernel(X: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            v = T.atomic_load(X[0])
            T.atomic_store(X[1], v + 1)
            pair = T.alloc_shared((2,), "float32")
            T.fill(pair, 2)
            T.atomic_addx2(X[2], pair[0])

    x = numpy.array([5, 0, 1, 2], numpy.float32)
    run(kernel, x)
    assert x.tolist() == [5, 6, 3, 4]


def test_views_transpose_and_gather(rng):
    @T.prim_func
    def kernel(A: T.Tensor((4, 6), "float32"), B: T.Tensor((6, 4), "float32"), C: T.Tensor((24,), "uint32"),
               D: T.Tensor((3, 6), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((4, 6), "float32")
            b = T.alloc_shared((6, 4), "float32")
            T.copy(A, a)
            T.transpose(a, b)
            T.copy(b, B)
            T.copy(T.view(T.reshape(a, [24]), dtype="uint32"), C)
            rows = T.alloc_shared((3,), "int32")
            for i in T.Parallel(3):
                rows[i] = 3 - i
            T.gather(A, rows, D)

    a = rng.standard_normal((4, 6)).astype(numpy.float32)
    b, c, d = numpy.empty((6, 4), numpy.float32), numpy.empty(24, numpy.uint32), numpy.empty((3, 6), numpy.float32)
    run(kernel, a, b, c, d)
    numpy.testing.assert_array_equal(b, a.T)
    numpy.testing.assert_array_equal(c, a.reshape(-1).view(numpy.uint32))
    numpy.testing.assert_array_equal(d, a[[3, 2, 1]])


def test_loops(rng):
    @T.prim_func
    def kernel(A: T.Tensor((6, 40), "int32")):
        with T.Kernel(2, 3, threads=(32, 2)) as (bx, by):
            if bx == 0 and by == 0:
                for i in T.serial(10, 0, -3):
                    A[0, i] = i
                for i in T.unroll(4):
                    A[1, i] = i
                for i in T.Unroll(0, 8, unroll_factor=2):
                    A[1, 8 + i] = i
                for i in T.vectorized(16):
                    A[2, i] = i
                for i, j in T.grid(3, 4):
                    A[3, i * 4 + j] = i + j
                for (i,) in [(7,), (8,)]:
                    A[4, i] = i
            for i, j in T.Persistent([4, 5], 6, by * 2 + bx, group_size=2):
                A[5, i * 5 + j] = i * 100 + j

    a = numpy.zeros((6, 40), numpy.int32)
    run(kernel, a)
    expected = numpy.zeros((6, 40), numpy.int32)
    for i in range(10, 0, -3):
        expected[0, i] = i
    expected[1, :4] = range(4)
    expected[1, 8:16] = range(8)
    expected[2, :16] = range(16)
    expected[3, :12] = [i + j for i in range(3) for j in range(4)]
    expected[4, 7:9] = [7, 8]
    expected[5, :20] = [i * 100 + j for i in range(4) for j in range(5)]
    numpy.testing.assert_array_equal(a, expected)


def test_layouts_change_no_result(rng):
    @T.prim_func
    def kernel(A: T.Tensor((16, 32), "float32"), B: T.Tensor((16, 32), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((16, 32), "float32")
            b = T.alloc_shared((16, 32), "float32")
            c = T.alloc_fragment((16, 32), "float32")
            T.annotate_layout({
                a: tilewright.layout.make_swizzled_layout(a),
                b: T.Layout((16, 32), lambda i, j: (i // 8, i % 8, j ^ (i % 8) * 4)),
                c: T.Fragment((16, 32), lambda i, j: (j, i)),
            })
            T.copy(A, a)
            T.copy(a, b)
            T.copy(b, c)
            T.copy(c, B)

    a = rng.standard_normal((16, 32)).astype(numpy.float32)
    for target in ("cpu", "sim:sm_80"):
        b = numpy.empty((16, 32), numpy.float32)
        run(kernel, a, b, target=target)
        numpy.testing.assert_array_equal(a, b)


def test_a_layout_with_a_conditional_changes_no_result(rng):
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32"), B: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((8, 8), "float32")
            T.annotate_layout({a: T.Layout((8, 8), lambda i, j: i * 8 + j if i < 4 else i * 8 + j)})
            T.copy(A, a)
            T.copy(a, B)

    a = rng.standard_normal((8, 8)).astype(numpy.float32)
    b = numpy.empty((8, 8), numpy.float32)
    run(kernel, a, b)
    numpy.testing.assert_array_equal(a, b)


def test_print_goes_to_the_standard_output_of_python(capsys):
    @T.prim_func
    def kernel(A: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            T.print(A[1], msg="second")
            T.print("done")

    run(kernel, numpy.array([3, 4], numpy.int32))
    out = capsys.readouterr().out
    assert "second" in out and "4" in out and "done" in out


def test_safe_value():
    @T.prim_func
    def kernel(A: T.Tensor((3,), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            T.annotate_safe_value({A: -1.0})
            a = T.alloc_shared((4,), "float32")
            T.copy(A[0], a)
            T.copy(a, B)

    b = numpy.empty(4, numpy.float32)
    run(kernel, numpy.ones(3, numpy.float32), b)
    assert b.tolist() == [1, 1, 1, -1]


def test_two_kernels_and_a_workspace(rng):
    @T.prim_func
    def kernel(A: T.Tensor((10,), "float32"), B: T.Tensor((10,), "float32")):
        W = T.alloc_global((10,), "float32")
        with T.Kernel(10) as b:
            W[b] = A[b] * 2
        with T.Kernel(10) as b:
            B[b] = W[9 - b]

    a = rng.standard_normal(10).astype(numpy.float32)
    b = numpy.empty(10, numpy.float32)
    run(kernel, a, b)
    numpy.testing.assert_array_equal(b, a[::-1] * 2)
