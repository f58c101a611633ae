import gc

import pytest

from .build import leaf


@pytest.fixture
def no_collector():
    """Switch the garbage collector off: what is freed is freed without it."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def x():
    """A leaf of two numbers."""
    return leaf(1.0, 2.0)
