"""Kinks, jumps and poles of curves are located, and smooth curves have none."""

import math

import numpy as np
import pytest

from gradcli.analysis.plot import find_breaks

CURVES = {
    "abs": (lambda x: abs(x - 0.3), lambda x: np.sign(x - 0.3), [("kink", 0.3)]),
    "relu6": (lambda x: np.clip(x, 0, 2), lambda x: ((x > 0) & (x < 2)) * 1.0, [("kink", 0.0), ("kink", 2.0)]),
    "small kink": (lambda x: 1e3 + x + 1e-3 * abs(x), lambda x: 1 + 1e-3 * np.sign(x), [("kink", 0.0)]),
    "cusp": (lambda x: abs(x) ** 0.5, lambda x: np.sign(x) / 2 / abs(x) ** 0.5, [("kink", 0.0)]),
    "floor": (lambda x: np.floor(x / 4), lambda x: 0 * x, [("jump", -4.0), ("jump", 0.0), ("jump", 4.0)]),
    "tan": (np.tan, lambda x: np.cos(x) ** -2, [("pole", k * math.pi / 2) for k in (-3, -1, 1, 3)]),
    "odd pole": (lambda x: 1 / x, lambda x: -1 / x**2, [("pole", 0.0)]),
    "even pole": (lambda x: (x - 1) ** -2.0, lambda x: -2 * (x - 1) ** -3.0, [("pole", 1.0)]),
    "logarithm": (lambda x: np.log(abs(x)), lambda x: 1 / x, [("pole", 0.0)]),
    "sine": (np.sin, np.cos, []),
    "line": (lambda x: 3 * x, lambda x: 3 + 0 * x, []),
    "constant": (lambda x: 5 + 0 * x, lambda x: 0 * x, []),
    "sharp bend": (lambda x: np.sqrt(x**2 + 1e-6), lambda x: x / np.sqrt(x**2 + 1e-6), []),
    "steep": (lambda x: np.tanh(100 * x), lambda x: 100 / np.cosh(100 * x) ** 2, []),
    "narrow": (lambda x: np.exp(-1e4 * x * x), lambda x: -2e4 * x * np.exp(-1e4 * x * x), []),
    "kink of the slope": (lambda x: x * abs(x), lambda x: 2 * abs(x), []),
    "vertical tangent": (np.cbrt, lambda x: np.cbrt(x) ** -2 / 3, []),
    "end of the domain": (np.sqrt, lambda x: 0.5 / np.sqrt(x), []),
    "wild": (lambda x: np.sin(1 / x), lambda x: -np.cos(1 / x) / x**2, []),
}


@pytest.mark.parametrize("points", [40, 200, 201])  # 201 points include 0
@pytest.mark.parametrize("name", CURVES)
def test_breaks(name, points):
    value, slope, expected = CURVES[name]
    x = np.linspace(-6, 6, points)
    calls = 0

    def evaluate(at):
        nonlocal calls
        calls += len(at)
        return value(at), slope(at)

    with np.errstate(all="ignore"):
        found = find_breaks(x, value(x), slope(x), evaluate)
    assert [each.kind for each in found] == [kind for kind, _ in expected]
    np.testing.assert_allclose([each.at for each in found], [at for _, at in expected], atol=1e-8)
    assert calls <= 50 * max(len(expected), 3)
