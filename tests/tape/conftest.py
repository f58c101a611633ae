import gc

import pytest

from .build import leaf


@pytest.fixture
def no_collector():
    """Disable the garbage collector, so that only reference counting frees memory."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def x():
    """A leaf of two numbers."""
    return leaf(1.0, 2.0)
