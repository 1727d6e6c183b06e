"""What the machine has."""

from ..target import determine_target

__all__ = ["determine_target"]
