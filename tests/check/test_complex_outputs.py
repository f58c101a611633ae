"""Derivatives by hand of functions that return complex numbers: never a right one accused."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.check.declare import check_gradient

POINTS = {"one": 1.5 - 0.5j, "two": np.array([1 + 1j, 2 - 1j])}
REAL = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize("x", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize(
    ("f", "vjp", "wrong"),
    [
        (np.square, lambda g, x: g * np.conj(2 * x), lambda g, x: g * 2 * x),
        (np.conj, lambda g, x: np.conj(g), lambda g, x: g),
        (lambda x: x * abs(x) ** 2, lambda g, x: 2 * abs(x) ** 2 * g + x**2 * np.conj(g), lambda g, x: g * x),
    ],
    ids=["square", "conj", "mixed"],
)
def test_a_backward_of_complex_inputs(f, vjp, wrong, x):
    assert check_gradient(f, at={"x": x}, vjp=vjp).verdict == "pass"
    assert check_gradient(f, at={"x": x}, vjp=wrong).verdict == "fail"


def test_a_gradient_of_complex_inputs_cannot_be_checked_and_says_how():
    report = check_gradient(np.square, lambda x: 2 * x, {"x": 1j})
    assert report.verdict == "error"
    assert "a backward by hand can be checked (vjp)" in report.message


@pytest.mark.parametrize(
    ("f", "grad"),
    [
        (lambda x: x * 1j, lambda x: 1j * np.eye(len(x))),
        (lambda x: np.exp(1j * x), lambda x: np.diag(1j * np.exp(1j * x))),
        (lambda x: (x**2 + 1j * x).sum(), lambda x: 2 * x + 1j),
    ],
    ids=["line", "circle", "sum"],
)
def test_a_gradient_of_real_inputs(f, grad):
    assert check_gradient(f, grad, {"x": REAL}).verdict == "pass"
    assert check_gradient(f, lambda x: np.conj(grad(x)), {"x": REAL}).verdict == "fail"


def test_a_backward_of_real_inputs_may_leave_its_imaginary_part():
    def vjp(g, x):
        return g * np.conj(1j * np.exp(1j * x))

    assert check_gradient(lambda x: np.exp(1j * x), at={"x": REAL}, vjp=vjp).verdict == "pass"
    assert check_gradient(lambda x: np.exp(1j * x), at={"x": REAL}, vjp=lambda g, x: -vjp(g, x)).verdict == "fail"
