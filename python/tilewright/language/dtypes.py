"""Element types, by their place among the words."""

from ..dtypes import *  # noqa: F403
from ..dtypes import dtype, is_dtype

__all__ = ["dtype", "is_dtype"]


def __getattr__(name):
    from .. import dtypes

    return getattr(dtypes, name)
