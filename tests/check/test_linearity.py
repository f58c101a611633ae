"""Products with a derivative that are nothing but rounding accuse nobody of not being linear."""

import numpy as np
import pytest
from scipy.special import softmax

from gradcli.check.declare import check_gradient

X = np.array([0.3, -1.2, 2.1, 0.7])


def total(x):
    """The sum of a softmax, twice over: 1 everywhere."""
    return np.stack([softmax(x).sum(), softmax(2 * x).sum()])


def total_vjp(g, x):
    s, t = softmax(x), softmax(2 * x)
    return s * (g[0] - s @ np.full(4, g[0])) + 2 * t * (g[1] - t @ np.full(4, g[1]))


def total_jvp(tangents, x):
    (v,) = tangents
    s, t = softmax(x), softmax(2 * x)
    return np.stack([(s * (v - s @ v)).sum(), (2 * t * (v - t @ v)).sum()])


@pytest.mark.parametrize("claims", [{"vjp": total_vjp}, {"jvp": total_jvp}, {"vjp": total_vjp, "jvp": total_jvp}])
def test_rounding_is_no_mistake(claims):
    report = check_gradient(total, at={"x": X}, **claims)
    assert report.verdict != "fail", report
    assert not report.diagnosis


def test_an_ignored_cotangent_of_any_size_is_one():
    for size in (1.0, 1e-9, 1e-15):
        report = check_gradient(
            lambda x, size=size: size * (x**2).sum(), at={"x": X}, vjp=lambda g, x, size=size: 2 * size * x
        )
        assert [finding.kind for finding in report.diagnosis] == ["nonlinear"]
