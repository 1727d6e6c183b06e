"""Places on this machine."""

from __future__ import annotations

import os

TILELANG_CACHE_DIR = os.environ.get("TILEWRIGHT_CACHE_DIR") or os.path.expanduser("~/.cache/tilewright")


def is_cache_enabled():
    return os.environ.get("TILEWRIGHT_DISABLE_CACHE") not in ("1", "true")


def enable_cache():
    """Kernels are kept on disk, as without this call. To be called before the first one is compiled."""
    os.environ.pop("TILEWRIGHT_DISABLE_CACHE", None)


def disable_cache():
    """Kernels are not kept on disk. To be called before the first one is compiled."""
    os.environ["TILEWRIGHT_DISABLE_CACHE"] = "1"
