"""Hand-written gradients that modify their arguments."""

import numpy as np
import pytest

from gradcli.check.check import Check

X = np.array([[0.3, -1.2, 2.1], [0.5, 0.6, 0.7]])


def f(x):
    return (x**3).sum()


def overwrites(x):
    x **= 2
    return 3 * x


def report(function, **claim):
    return Check.of(function, {"x": X}, name="f", **claim).run()


@pytest.mark.parametrize(
    ("grad", "rule"),
    [
        (lambda x: 3 * x**2, None),
        (lambda x: 3 * np.square(x.copy()), None),
        (lambda x: 3 * np.multiply(*np.ascontiguousarray([x, x])), None),
        (overwrites, "writes-into"),
    ],
)
def test_a_gradient_must_not_write_into_its_arguments(grad, rule):
    found = report(f, grad=grad)
    assert found.verdict == ("fail" if rule else "pass"), found.message
    assert [finding.kind for finding in found.diagnosis[:1]] == ([rule] if rule else [])


SHORT = {
    "right": (lambda g, x: 3 * x**2 * g, None),
    "in the cotangent's type": (lambda g, x: (3 * x**2 * g).astype(g.dtype), None),  # only its rounding differs
    "refuses": (lambda g, x: 3 * x**2 * check_type(g), None),
    "reads memory": (lambda g, x: 3 * x**2 * np.resize(np.frombuffer(g.tobytes(), float), x.shape), "cotangent-type"),
    "scaled as if narrow": (lambda g, x: 3 * x**2 * (g if g.itemsize == 8 else g * 0), "cotangent-type"),
}


def normalizes(x):
    return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)


def normalizes_backward(g, x):
    s = np.sqrt(x.var(0) + 1e-5)
    h = (x - x.mean(0)) / s
    return (g - g.mean(0) - h * (g * h).mean(0)) / s


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 16)])
def test_rounding_of_terms_that_cancel_is_no_difference(shape):
    """The products of normalized columns are small, and the terms of their sums are not."""
    x = np.random.default_rng(0).standard_normal(shape)
    found = Check.of(normalizes, {"x": x}, name="f", vjp=normalizes_backward).run()
    assert found.verdict == "pass", found.message


def check_type(g):
    if g.dtype != float:
        raise TypeError("the gradient must be float64")
    return g


@pytest.mark.parametrize("name", SHORT)
def test_the_same_cotangent_in_a_short_type_gives_the_same_product(name):
    vjp, rule = SHORT[name]
    found = report(lambda x: x**3, vjp=vjp)
    assert found.verdict == ("fail" if rule else "pass"), found.message
    assert [finding.kind for finding in found.diagnosis[:1]] == ([rule] if rule else [])
    assert report(lambda x: x**3, vjp=vjp, no_as_called=True).verdict == "pass"


def test_writing_into_a_cotangent_or_an_input_fails():
    def backward(g, x):
        g *= 3 * x**2
        return g

    def writes(x):
        x[0] = np.abs(x[0])
        return (x**2).sum()

    assert [finding.kind for finding in report(lambda x: x**3, vjp=backward).diagnosis] == ["writes-into"]
    assert "writes-into" in [finding.kind for finding in report(writes, grad=lambda x: 2 * x).diagnosis]
    assert report(lambda x: x**3, vjp=backward, no_as_called=True).verdict == "pass"
