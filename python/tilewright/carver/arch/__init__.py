"""The device that kernels run on."""

from __future__ import annotations

from ...error import unsupported
from ...target import cuda_capability
from . import driver

__all__ = ["CDNA", "CPU", "CUDA", "driver", "get_arch", "is_cuda_arch"]


class CUDA:
    """The first NVIDIA GPU."""

    platform = "CUDA"

    def __init__(self, target="cuda"):
        self.target = target
        self.capability = cuda_capability()
        self.compute_max_core = driver.get_num_sms()


class CPU:
    """The processor."""

    platform = "CPU"

    def __init__(self, target="cpu"):
        self.target = target
        self.compute_max_core = driver.get_num_sms()


class CDNA:
    """AMD's GPUs are no target here."""

    def __init__(self, target="hip"):
        unsupported("AMD GPUs are no target yet")


def get_arch(target="cuda"):
    return CUDA(target) if str(target).startswith("cuda") else CPU(target)


def is_cuda_arch(arch):
    return isinstance(arch, CUDA)
