"""Questions about the GPU, as scripts ask them of the NVIDIA compiler."""

from __future__ import annotations

from ..target import cuda_capability


def get_target_compute_version(target=None):
    """Such as "9.0"; that of the first GPU."""
    capability = cuda_capability()
    if capability is None:
        from ..error import invalid_argument

        invalid_argument("there is no NVIDIA GPU whose compute capability could be told")
    return f"{capability[0]}.{capability[1]}"


def parse_compute_version(version):
    """(9, 0) of "9.0"."""
    major, minor = str(version).split(".")
    return int(major), int(minor)


def have_tma(target=None):
    """Whether the GPU has bulk copies of tensors."""
    capability = cuda_capability()
    return capability is not None and capability >= (9, 0)


def have_fp16(_version=None):
    return True
