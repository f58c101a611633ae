"""Derivatives by hand of functions that return complex numbers: never a right one accused."""

import numpy as np
import pytest

import gradcli
from gradcli.check.declare import check_gradient
from gradcli.render.checks import headline

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


class Half(gradcli.autograd.Function):
    """Two complex outputs; the backward of the second lacks a factor 2 beyond 1.5."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (1 + 0j), x**2 * 2j

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g.real + (h.conj() * 2j).real * x * gradcli.where(x > 1.5, 1.0, 2.0)


NESTED = {
    "a tuple": (Half.apply, (1, 2)),
    "a list in a tuple": (lambda x: (x, [*Half.apply(x)]), (1, 1, 2)),
    "a dict": (lambda x: dict(zip("ab", Half.apply(x), strict=True)), ("b", 2)),
    "a dict of lists": (lambda x: {"sum": [Half.apply(x)[1].sum(), x]}, ("sum", 0)),
    "parts": (lambda x: (x, Half.apply(x)[1].imag), (1, 2)),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_wrong_part_of_one_of_several_outputs_is_named(name):
    f, path = NESTED[name]
    report = check_gradient(f, at={"x": REAL})
    worst = report.inputs[0].worst
    part = "" if name == "parts" else "im"
    assert (report.verdict, worst.output, worst.output_part, worst.place) == ("fail", path, part, (2,))
    words = f"{'the imaginary part of ' if part else ''}out{list(path)}"
    assert any(words in finding.text for finding in report.diagnosis)
    assert headline(report).startswith(f"d {'imaginary part of ' if part else ''}out{list(path)}/d x[2]: claimed 4, ")


def test_a_single_complex_output_of_the_engine_is_named_by_its_part():
    report = check_gradient(lambda x: Half.apply(x)[1], at={"x": REAL})
    worst = report.inputs[0].worst
    assert (report.verdict, worst.output, worst.output_part) == ("fail", (2,), "im")


def test_forward_mode_through_a_backward_that_takes_real_parts_is_complex():
    x = gradcli.tensor(REAL)
    _, (first, second) = gradcli.func.jvp(Half.apply, (x,), (gradcli.ones(3),))
    assert first.dtype == second.dtype == gradcli.complex128
    assert np.allclose(first.numpy(), np.ones(3)) and np.allclose(second.numpy(), [2j, 4j, 4j])
