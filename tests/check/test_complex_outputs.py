"""Derivatives by hand of functions that return complex numbers: never a right one accused."""

import numpy as np
import pytest

import gradcli
from gradcli.check.declare import check_gradient
from gradcli.show.checks import headline
from tests.tape.build import function

REAL = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize("x", [1.5 - 0.5j, np.array([1 + 1j, 2 - 1j])], ids=["one", "two"])
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


@pytest.mark.parametrize(("sign", "verdict"), [(1, "pass"), (-1, "fail")])
def test_a_backward_of_real_inputs_may_leave_its_imaginary_part(sign, verdict):
    found = check_gradient(
        lambda x: np.exp(1j * x), at={"x": REAL}, vjp=lambda g, x: sign * g * np.conj(1j * np.exp(1j * x))
    )
    assert found.verdict == verdict


def half_backward(ctx, g, h):
    (x,) = ctx.saved_tensors
    return g.real + (h.conj() * 2j).real * x * gradcli.where(x > 1.5, 1.0, 2.0)


@function(half_backward)
def half(ctx, x):
    """Two complex outputs; the backward of the second lacks a factor 2 beyond 1.5."""
    ctx.save_for_backward(x)
    return x * (1 + 0j), x**2 * 2j


NESTED = {
    "a tuple": (half.apply, (1, 2), "im"),
    "one of two": (lambda x: half.apply(x)[1], (2,), "im"),
    "a list in a tuple": (lambda x: (x, [*half.apply(x)]), (1, 1, 2), "im"),
    "a dict": (lambda x: dict(zip("ab", half.apply(x), strict=True)), ("b", 2), "im"),
    "a dict of lists": (lambda x: {"sum": [half.apply(x)[1].sum(), x]}, ("sum", 0), "im"),
    "parts": (lambda x: (x, half.apply(x)[1].imag), (1, 2), ""),
}


@pytest.mark.parametrize(("f", "path", "part"), NESTED.values(), ids=NESTED)
def test_a_wrong_part_of_one_of_several_outputs_is_named(f, path, part):
    report = check_gradient(f, at={"x": REAL})
    worst = report.inputs[0].worst
    assert (report.verdict, worst.output, worst.output_part, worst.place) == ("fail", path, part, (2,))
    words = f"{'the imaginary part of ' if part else ''}out{list(path)}"
    assert any(words in finding.text for finding in report.diagnosis)
    assert headline(report).startswith(f"d {'imaginary part of ' if part else ''}out{list(path)}/d x[2]: claimed 4, ")


def test_forward_mode_through_a_backward_that_takes_real_parts_is_complex():
    x = gradcli.tensor(REAL)
    _, (first, second) = gradcli.func.jvp(half.apply, (x,), (gradcli.ones(3),))
    assert first.dtype == second.dtype == gradcli.complex128
    assert np.allclose(first.numpy(), np.ones(3)) and np.allclose(second.numpy(), [2j, 4j, 4j])
