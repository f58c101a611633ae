"""Hand-written gradients called with other memory layouts, and those that modify their arguments."""

import numpy as np
import pytest

from gradcli.check.check import Check

X = np.array([[0.3, -1.2, 2.1], [0.5, 0.6, 0.7]])


def f(x):
    return (x**3).sum()


def overwrites(x):
    x **= 2
    return 3 * x


def in_memory_order(x):
    return 3 * x.ravel(order="K").reshape(x.shape) ** 2


def of_the_buffer(x):
    buffer = x if x.base is None else x.base
    return 3 * np.resize(buffer, x.shape) ** 2


def centred(x):
    """Return zero up to rounding, which depends on the memory layout."""
    return (x - x.mean(axis=1, keepdims=True)).sum()


def report(function, **claim):
    return Check(function, {"x": X}, name="f", **claim).run()


@pytest.mark.parametrize(
    ("grad", "rule"),
    [
        (lambda x: 3 * x**2, None),
        (lambda x: 3 * np.square(x.copy()), None),
        (lambda x: 3 * np.multiply(*np.ascontiguousarray([x, x])), None),
        (overwrites, "writes-into"),
        (in_memory_order, "layout"),
        (of_the_buffer, "layout"),
    ],
)
def test_gradients_must_not_depend_on_the_memory_layout(grad, rule):
    found = report(f, grad=grad)
    assert found.verdict == ("fail" if rule else "pass"), found.message
    assert [finding.kind for finding in found.diagnosis[:1]] == ([rule] if rule else [])


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


def test_rounding_and_refused_layouts_are_not_differences():
    assert report(centred, grad=np.zeros_like).verdict in ("pass", "inconclusive")

    def refuses(x):
        assert x.flags.c_contiguous
        return 3 * x**2

    assert report(f, grad=refuses).verdict == "pass"
    noise = np.random.default_rng(0)
    assert report(lambda x: (x**3).sum() + noise.normal(), grad=lambda x: 3 * x**2).verdict == "inconclusive"


def test_a_random_difference_is_not_blamed_on_the_layout():
    """The first calls agree, as can happen by chance."""
    for first_other in range(1, 40):
        calls = iter(range(1000))

        def grad(x, calls=calls, first_other=first_other):
            return 3 * x**2 * (1.0 if next(calls) < first_other else 1 + np.random.default_rng().uniform(0.1, 1))

        assert "layout" not in [finding.kind for finding in report(f, grad=grad).diagnosis]
