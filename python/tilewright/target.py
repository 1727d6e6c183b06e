"""What the machine has."""

from __future__ import annotations

import functools

from . import _core


@functools.lru_cache(maxsize=None)
def cuda_capability():
    """(9, 0) for a Hopper GPU; None without one that kernels can run on."""
    found = _core.cuda_arch()
    return (found // 10, found % 10) if found else None


@functools.lru_cache(maxsize=None)
def num_sms():
    """Multiprocessors of the first GPU; without one, cores of the CPU."""
    found = _core.cuda_num_sms()
    if found:
        return found
    import os

    return len(os.sched_getaffinity(0))


def determine_target(target="auto", return_object=False):
    """The target that ``auto`` means here."""
    if target not in ("auto", None):
        return target
    capability = cuda_capability()
    return "cpu" if capability is None else f"cuda:sm_{capability[0]}{capability[1]}"
