"""Fixtures of the Python tests. They run on the CPU with numpy; the package is found through PYTHONPATH."""

import numpy
import pytest


@pytest.fixture
def rng():
    return numpy.random.default_rng(20)
