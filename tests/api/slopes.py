"""Check a differentiable function: value, gradient and gradient of the gradient."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from ..rules import test_table as net
from ..rules.calls import Given


def check(function: Callable, arrays: Iterable, expected: Any = None) -> None:
    """Compare a function of Tensors with its expected value and, to second order, with finite differences."""
    call = Given(function, arrays)
    if expected is not None:
        out = call.plain(*call.arrays)
        assert out.shape == np.shape(expected)
        assert_allclose(out, expected, rtol=1e-12, atol=1e-14)
    net.test_gradients_match_differences.check(call)
    net.test_second_gradients_match_differences.check(call)
