"""How warps divide a product."""

from ..language.operations import GemmWarpPolicy

__all__ = ["GemmWarpPolicy"]
