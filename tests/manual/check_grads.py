"""A test of the gradient in grads.py."""

import numpy as np
from grads import f, g


def test_gradient():
    x, e = np.array([1.0, 2.0]), 1e-6
    numeric = [(f(x + e * d) - f(x - e * d)) / (2 * e) for d in np.eye(2)]
    np.testing.assert_allclose(g(x), numeric, rtol=1e-6)
