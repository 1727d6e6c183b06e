"""Inputs and comparisons."""

from ..profiler import TensorSupplyType, get_tensor_supply
from ..testing import torch_assert_close

__all__ = ["TensorSupplyType", "get_tensor_supply", "torch_assert_close"]
