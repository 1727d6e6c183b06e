"""The 8-bit float of the device."""

from __future__ import annotations


def determine_fp8_type(fp8_format="e4m3"):
    """The name of the type: ``float8_e4m3fn`` or ``float8_e5m2``."""
    return {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}[fp8_format]


def determine_torch_fp8_type(fp8_format="e4m3"):
    """torch's type."""
    import torch

    return getattr(torch, determine_fp8_type(fp8_format))
