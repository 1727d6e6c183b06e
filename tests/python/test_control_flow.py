"""Assignments, loops, branches and macros against the same code run by Python."""

import numpy
import pytest

import tilewright
import tilewright.language as T


def run(function, *arrays):
    tilewright.compile(function)(*arrays)


def test_chained_comparison_of_python_numbers():
    @T.prim_func
    def kernel(X: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            X[0] = 0
            X[1] = 0
            if 1 < 5 < 3:
                X[0] = 1
            if 1 < 2 < 3:
                X[1] = 1

    x = numpy.full(2, 9, numpy.int32)
    run(kernel, x)
    assert x.tolist() == [0, 1]


def test_chained_comparison_of_the_kernel():
    @T.prim_func
    def kernel(X: T.Tensor((10,), "int32")):
        with T.Kernel(10) as b:
            X[b] = 0
            if 2 <= b < 7 != b:
                X[b] = 1

    x = numpy.empty(10, numpy.int32)
    run(kernel, x)
    assert x.tolist() == [int(2 <= b < 7 != b) for b in range(10)]


def test_and_or_not():
    @T.prim_func
    def kernel(X: T.Tensor((12,), "int32"), flag: T.int32):
        with T.Kernel(12) as b:
            X[b] = 0
            if (b > 3 and not b == 5) or (flag == 1 and b == 0):
                X[b] = 1

    for flag in (0, 1):
        x = numpy.empty(12, numpy.int32)
        run(kernel, x, flag)
        assert x.tolist() == [int((b > 3 and b != 5) or (flag == 1 and b == 0)) for b in range(12)]


def test_conditions_that_fold_to_a_constant():
    """T.int32(4) is an expression whose value is known while the kernel is built."""

    @T.prim_func
    def kernel(X: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for i in T.serial(4):
                X[i] = 0
            if 1 < 2 and T.int32(4) == 4:
                X[0] = 1
            if T.int32(4) == 4 and T.int32(4) > 3:
                X[1] = 1
            if T.int32(4) == 4 and T.int32(4) > 4:
                X[2] = 1
            if T.int32(4) == 3 or T.int32(4) > 4:
                X[3] = 1

    x = numpy.full(4, 9, numpy.int32)
    run(kernel, x)
    assert x.tolist() == [1, 1, 0, 0]


def test_and_guards_a_read():
    """The right side of `and` is read only where the left side holds: element b of 4 for b < 4."""

    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32")):
        with T.Kernel(8) as b:
            s = T.alloc_shared((4,), "int32")
            T.fill(s, 1)
            X[b] = 0
            if b < 4 and s[b] == 1:
                X[b] = 7

    x = numpy.empty(8, numpy.int32)
    run(kernel, x)
    assert x.tolist() == [7] * 4 + [0] * 4


def test_conditional_expression_guards_a_read():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32")):
        with T.Kernel(8) as b:
            s = T.alloc_shared((4,), "int32")
            T.fill(s, 3)
            X[b] = s[b] if b < 4 else -b

    x = numpy.empty(8, numpy.int32)
    run(kernel, x)
    assert x.tolist() == [3] * 4 + [-4, -5, -6, -7]


def test_while_break_continue():
    @T.prim_func
    def kernel(X: T.Tensor((3,), "int32"), n: T.int32):
        with T.Kernel(1):
            v = T.alloc_var("int32", 0)
            total = T.alloc_var("int32", init=0)
            while v < n:
                v += 1
                if v == 2:
                    continue
                if v == 6:
                    break
                total = total + v
            X[0] = v
            X[1] = total
            turns = T.alloc_var("int32", 0)
            for i in range(10, 0, -3):
                if i == 4:
                    break
                turns += i
            X[2] = turns

    for n in (0, 1, 4, 9):
        x = numpy.empty(3, numpy.int32)
        run(kernel, x, n)
        v = total = 0
        while v < n:
            v += 1
            if v == 2:
                continue
            if v == 6:
                break
            total += v
        assert x.tolist() == [v, total, 10 + 7]


def test_while_with_a_condition_that_reads_tiles():
    @T.prim_func
    def kernel(X: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            left = T.alloc_local((4,), "int32")
            for i in T.serial(4):
                left[i] = i
            rounds = T.alloc_var("int32", 0)
            while T.any_of(left):
                rounds += 1
                for i in T.serial(4):
                    left[i] = T.max(left[i] - 1, 0)
            X[0] = rounds

    x = numpy.zeros(4, numpy.int32)
    run(kernel, x)
    assert x[0] == 3


def test_a_name_is_the_value_of_then():
    """`x = A[0]` is the element as it is there; a later store does not change x."""

    @T.prim_func
    def kernel(A: T.Tensor((2,), "float32")):
        with T.Kernel(1):
            x = A[0]
            A[0] = 5
            A[1] = x + 1

    a = numpy.array([2, 0], numpy.float32)
    run(kernel, a)
    assert a.tolist() == [5, 3]


def test_swapping_and_many_targets():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            a, b = A[0], A[1]
            a, b = b, a
            A[0] = a
            A[1] = b
            c = d = A[2] + 1
            A[2] = c
            A[3] = d

    a = numpy.array([1, 2, 3, 4], numpy.int32)
    run(kernel, a)
    assert a.tolist() == [2, 1, 4, 4]


def test_elements_are_read_before_the_first_target_is_stored():
    def exchange(a):
        a[0], a[1] = a[1], a[0]
        (a[2], a[3]), a[4] = (a[3], a[4]), a[2]
        a[5], *a_rest = a[6], a[5], a[5] + a[6]
        a[6] = a_rest[0] + a_rest[1]
        a[7] = last = a[7] + 1
        a[8] = last

    @T.prim_func
    def kernel(A: T.Tensor((9,), "int32")):
        with T.Kernel(1):
            A[0], A[1] = A[1], A[0]
            (A[2], A[3]), A[4] = (A[3], A[4]), A[2]
            A[5], *rest = A[6], A[5], A[5] + A[6]
            A[6] = rest[0] + rest[1]
            A[7] = last = A[7] + 1
            A[8] = last

    a = numpy.arange(10, 19, dtype=numpy.int32)
    expected = a.tolist()
    exchange(expected)
    run(kernel, a)
    assert a.tolist() == expected


def test_reversal_in_place():
    @T.prim_func
    def kernel(A: T.Tensor((7,), "float32")):
        with T.Kernel(1):
            for i in T.serial(3):
                A[i], A[6 - i] = A[6 - i], A[i]

    a = numpy.arange(7, dtype=numpy.float32)
    run(kernel, a)
    assert a.tolist() == [6, 5, 4, 3, 2, 1, 0]


def test_variables_are_read_before_the_first_target_is_stored():
    """Fibonacci's numbers, and an exchange."""

    @T.prim_func
    def kernel(X: T.Tensor((12,), "int64")):
        with T.Kernel(1):
            v = T.alloc_var("int64", 0)
            w = T.alloc_var("int64", 1)
            for k in T.serial(10):
                X[k] = v
                v, w = w, v + w
            v, w = w, v
            X[10] = v
            X[11] = w

    x = numpy.zeros(12, numpy.int64)
    run(kernel, x)
    assert x.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 89, 55]


def test_branches_that_python_takes(rng):
    def make(double):
        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                factor = 1
                if double:
                    factor = 2
                elif double is None:
                    factor = 3
                for i in T.Parallel(4):
                    A[i] = A[i] * factor

        return kernel

    for double, factor in ((True, 2), (False, 1), (None, 3)):
        a = rng.standard_normal(4).astype(numpy.float32)
        b = a.copy()
        run(make(double), a)
        numpy.testing.assert_array_equal(a, b * factor)


def test_lists_of_python_are_unrolled():
    offsets = [1, 10, 100]

    @T.prim_func
    def kernel(A: T.Tensor((3, 2), "int32")):
        with T.Kernel(1):
            for k, offset in enumerate(offsets):
                if offset == 100:
                    break
                A[k, 0] = offset
                A[k, 1] = k

    a = numpy.zeros((3, 2), numpy.int32)
    run(kernel, a)
    assert a.tolist() == [[1, 0], [10, 1], [0, 0]]


def test_if_and_else_of_the_kernel_with_variables():
    @T.prim_func
    def kernel(A: T.Tensor((6,), "int32")):
        with T.Kernel(6) as b:
            v = T.alloc_var("int32", 0)
            if b < 2:
                v = b + 10
            elif b < 4:
                v = b + 20
            else:
                v = b + 30
            A[b] = v

    a = numpy.zeros(6, numpy.int32)
    run(kernel, a)
    assert a.tolist() == [10, 11, 22, 23, 34, 35]


def test_names_inside_of_branches_are_their_own():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            x = b * 2
            if b == 1:
                x = b + 100
                A[b] = x
            else:
                A[b] = x

    a = numpy.zeros(4, numpy.int32)
    run(kernel, a)
    assert a.tolist() == [0, 101, 4, 6]


def test_annotations_of_a_macro_inside_of_a_kernel():
    Reference = T.Ref

    @T.prim_func
    def kernel(A: T.Tensor((2,), "int32")):
        with T.Kernel(1):

            @T.macro
            def bump(x: Reference, y):
                x += y

            bump(A[0], 2)
            bump(A[1], 3)

    a = numpy.array([10, 20], numpy.int32)
    run(kernel, a)
    assert a.tolist() == [12, 23]


def test_macros_pass_values_and_references():
    @T.macro
    def bump(x: T.Ref, by):
        x += by
        by = by + 1
        return by

    @T.macro
    def fill_row(tile, value):
        for i in T.Parallel(4):
            tile[i] = value

    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((4,), "int32")
            fill_row(s, 5)
            v = T.alloc_var("int32", 1)
            w = bump(v, 10)
            u = bump(s[2], v)
            T.copy(s, A)
            B[0] = v
            B[1] = w
            B[2] = u

    a, b = numpy.zeros(4, numpy.int32), numpy.zeros(4, numpy.int32)
    run(kernel, a, b)
    assert a.tolist() == [5, 5, 16, 5]
    assert b.tolist() == [11, 11, 12, 0]


def test_macro_of_a_class_keeps_state():
    class Counter:
        def __init__(self):
            self.value = None

        @T.macro
        def begin(self):
            self.value = T.alloc_var("int32", 0)

        @T.macro
        def step(self, by):
            self.value = self.value + by

    @T.prim_func
    def kernel(A: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            counter = Counter()
            counter.begin()
            for k in T.serial(5):
                counter.step(k)
            A[0] = counter.value

    a = numpy.zeros(1, numpy.int32)
    run(kernel, a)
    assert a[0] == 10


def test_negative_indices_and_slices(rng):
    @T.prim_func
    def kernel(A: T.Tensor((5, 6), "float32"), B: T.Tensor((5, 6), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((2, 6), "float32")
            T.copy(A[-2:, :], s)
            T.copy(s, B[:2, ...])
            B[-1, -1] = A[0, 0]
            B[2:4, 1:3] = 7

    a = rng.standard_normal((5, 6)).astype(numpy.float32)
    b = numpy.zeros((5, 6), numpy.float32)
    expected = b.copy()
    expected[:2] = a[-2:]
    expected[-1, -1] = a[0, 0]
    expected[2:4, 1:3] = 7
    run(kernel, a, b)
    numpy.testing.assert_array_equal(b, expected)


def test_division_is_that_of_python():
    @T.prim_func
    def kernel(A: T.Tensor((6,), "float32"), n: T.int32, x: T.float32):
        with T.Kernel(1):
            A[0] = n / 2
            A[1] = n // 2
            A[2] = n % 3
            A[3] = x / 2
            A[4] = x // 2
            A[5] = x % 3

    for n, x in ((7, 7.5), (-7, -7.5)):
        a = numpy.zeros(6, numpy.float32)
        run(kernel, a, n, x)
        assert a.tolist() == [n / 2, n // 2, n % 3, x / 2, x // 2, x % 3]


def test_the_same_program_has_the_same_text_after_others():
    def make():
        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32")):
            with T.Kernel(1):
                s = T.alloc_shared((4,), "int32")
                T.fill(s, 1)
                T.copy(s, A)

        return kernel

    first = tilewright.compile(make()).get_kernel_source()
    test_swapping_and_many_targets()
    assert tilewright.compile(make()).get_kernel_source() == first


def test_assert_of_the_kernel():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            assert A[b] > 0, "positive"
            A[b] = A[b] + 1

    a = numpy.array([1, 2, 3, 4], numpy.int32)
    run(kernel, a)
    assert a.tolist() == [2, 3, 4, 5]
    with pytest.raises(tilewright.Error, match="positive"):
        run(kernel, numpy.zeros(4, numpy.int32))


def test_any_of_on_the_right_of_and():
    @T.prim_func
    def kernel(X: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            s = T.alloc_shared((4,), "int32")
            for i in T.Parallel(4):
                s[i] = i == b
            X[b] = 1 if b > 1 and T.any_of(s[2:4]) else 0

    x = numpy.empty(4, numpy.int32)
    run(kernel, x)
    assert x.tolist() == [0, 0, 1, 1]
