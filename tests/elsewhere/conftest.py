"""Tests beside engines that gradcli does not need: @pytest.mark.framework("torch") says which one a test needs."""

import os
from importlib.util import find_spec

import pytest

os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # compiling takes longer than what is compiled


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a framework that is not installed: `make test-elsewhere` has them all."""
    for item in items:
        for mark in item.iter_markers("framework"):
            if find_spec(mark.args[0]) is None:
                item.add_marker(pytest.mark.skip(reason=f"needs {mark.args[0]}: run make test-elsewhere"))
