"""Layouts of tiles, for ``T.annotate_layout``."""

from .language.layouts import (
    Fragment,
    Layout,
    make_full_bank_swizzled_layout,
    make_fully_replicated_layout_fragment,
    make_half_bank_swizzled_layout,
    make_linear_layout,
    make_padded_layout,
    make_quarter_bank_swizzled_layout,
    make_swizzled_layout,
)

__all__ = [
    "Fragment",
    "Layout",
    "make_full_bank_swizzled_layout",
    "make_fully_replicated_layout_fragment",
    "make_half_bank_swizzled_layout",
    "make_linear_layout",
    "make_padded_layout",
    "make_quarter_bank_swizzled_layout",
    "make_swizzled_layout",
]
