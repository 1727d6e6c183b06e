"""Operations on tiles."""

from .base import GemmWarpPolicy

__all__ = ["GemmWarpPolicy"]
