"""Arithmetic on Python's integers that kernels' callers need."""

from __future__ import annotations


def cdiv(a, b):
    """a / b, rounded up."""
    return -(-a // b)


def next_power_of_2(n):
    """The smallest power of two that is not below n."""
    return 1 if n <= 1 else 1 << (n - 1).bit_length()


def prev_power_of_2(n):
    """The largest power of two that is not above n."""
    return 1 << (n.bit_length() - 1)
