import gc

import pytest


@pytest.fixture
def no_collector():
    """Switch the garbage collector off: what is freed is freed without it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
