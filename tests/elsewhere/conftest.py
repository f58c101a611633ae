"""Tests with optional frameworks: @pytest.mark.framework("torch") names the one that a test needs."""

import os
from importlib.util import find_spec

import pytest

os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # compiling takes longer than it saves here


def pytest_configure(config: pytest.Config) -> None:
    """Ignore that PyTorch's modules use what it deprecates: whichever test needs them first imports them."""
    config.addinivalue_line("filterwarnings", "ignore:`torch.jit.script:DeprecationWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests whose framework is not installed; `make test-elsewhere` installs them all."""
    for item in items:
        for mark in item.iter_markers("framework"):
            if find_spec(mark.args[0]) is None:
                item.add_marker(pytest.mark.skip(reason=f"needs {mark.args[0]}: run make test-elsewhere"))
