"""Forward derivatives by hand, alone and beside a backward pass."""

import numpy as np
import pytest

from gradcli.check.declare import check_gradient

AT = {"x": np.array([0.3, -1.2, 2.0]), "y": np.array([1.5, 0.4, -0.7])}


def f(x, y):
    return np.sin(x) * y


def j(tangents, x, y):
    u, v = tangents
    return np.cos(x) * y * u + np.sin(x) * v


def b(g, x, y):
    return g * np.cos(x) * y, g * np.sin(x)


WRONG = {
    "sign": lambda t, x, y: -j(t, x, y),
    "factor": lambda t, x, y: 1.01 * j(t, x, y),
    "forgotten term": lambda t, x, y: np.cos(x) * y * t[0],
    "ignored tangents": lambda t, x, y: np.cos(x) * y + np.sin(x),
    "reversed": lambda t, x, y: j(t, x, y)[::-1],
}


def test_right():
    assert check_gradient(f, at=AT, jvp=j).verdict == "pass"
    both = check_gradient(f, at=AT, jvp=j, vjp=b)
    assert both.verdict == "pass"
    assert dict(both.witnesses)["forward mode"] > 12


@pytest.mark.parametrize(("name", "wrong"), WRONG.items(), ids=WRONG)
def test_wrong(name, wrong):
    assert check_gradient(f, at=AT, jvp=wrong).verdict == "fail"
    both = check_gradient(f, at=AT, jvp=wrong, vjp=b)
    assert both.verdict == "fail"
    if name == "ignored tangents":
        assert both.diagnosis[0].kind == "nonlinear"
    else:
        assert "the values confirm reverse mode, so forward mode (jvp) is wrong" in both.message


def test_a_wrong_backward_beside_a_right_forward_derivative_fails():
    both = check_gradient(f, at=AT, jvp=j, vjp=lambda g, x, y: (g * np.cos(x), g * np.sin(x)))
    assert both.verdict == "fail"
    assert "modes disagree" in [finding.kind for finding in both.diagnosis]


def test_complex_numbers_and_numbers():
    z = np.array([0.3 + 1j, -0.4 + 0.2j])
    square = check_gradient(lambda z: z * z, at={"z": z}, jvp=lambda t, z: 2 * z * t[0])
    assert square.verdict == "pass", square
    assert check_gradient(lambda z: z * z, at={"z": z}, jvp=lambda t, z: 2 * z * np.conj(t[0])).verdict == "fail"
    assert check_gradient(lambda x: x**3, at={"x": 2.0}, jvp=lambda t, x: 3 * x**2 * t[0]).verdict == "pass"


def test_a_result_of_another_shape_fails():
    report = check_gradient(lambda x: x.sum(), at={"x": AT["x"]}, jvp=lambda t, x: t[0])
    assert report.verdict == "fail"
    assert "tuple of tangents" in report.message
