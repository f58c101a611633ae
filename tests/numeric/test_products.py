"""Hand-written backward passes and forward derivatives with mistakes, stateful gradients, and right counterparts."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from scipy.special import softmax

import gradcli
from gradcli import check_gradient
from gradcli.claims.hand_written import HandWritten
from gradcli.numeric.flat import Flat
from gradcli.numeric.products import other_value
from tests.tape.build import function

from ..bank.hunt import product

X = np.array([0.3, 1.2, -0.7])


def vjp_report(vjp, x=X):
    return check_gradient(np.sin, at={"x": x}, vjp=vjp)


WRONG = {
    "rounded to one decimal": lambda w, x: np.round(w, 1) * np.cos(x),
    "clipped gradients": lambda w, x: np.clip(w * np.cos(x), -10, 10),
    "small cotangents dropped": lambda w, x: np.where(np.abs(w) > 1e-2, w, 0) * np.cos(x),
    "ignores its cotangent": lambda w, x: np.cos(x),
    "uses its absolute value": lambda w, x: np.cos(x) * np.abs(w),
    "right for positive cotangents": lambda w, x: np.cos(x) * np.maximum(w, 0),
}
"""In addition to those of hunt.py."""


@pytest.mark.parametrize("vjp", WRONG.values(), ids=WRONG)
def test_a_backward_that_is_not_linear_fails(vjp):
    report = vjp_report(vjp)
    assert report.verdict == "fail"
    assert report.diagnosis[0].kind == "nonlinear"


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e-15])
def test_an_ignored_cotangent_is_found_at_any_scale(size):
    report = check_gradient(lambda x: size * (x**2).sum(), at={"x": X}, vjp=lambda g, x: 2 * size * x)
    assert [finding.kind for finding in report.diagnosis] == ["nonlinear"]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_right_backward_passes_in_both_dtypes(kind):
    report = vjp_report(lambda w, x: w * np.cos(x), X.astype(kind))
    assert report.verdict == "pass"
    assert report.inputs[0].resolution < {np.float32: 1e-4, np.float64: 1e-7}[kind]


def first_point():
    kept: list = []

    def grad(x):
        if not kept:
            kept.append(x.copy())
        return np.cos(kept[0])

    return grad


def one_call_behind():
    last: list = []

    def grad(x):
        seen = last[-1] if last else x
        last.append(x.copy())
        return np.cos(seen)

    return grad


def test_a_gradient_that_depends_on_earlier_calls_fails():
    behind, first = (
        check_gradient(lambda x: np.sin(x).sum(), make(), at={"x": X}) for make in (one_call_behind, first_point)
    )
    assert (behind.verdict, first.verdict) == ("fail", "fail")
    assert (
        first.diagnosis[0].kind == "unsteady" and "the claim is the same at several points" in first.diagnosis[0].text
    )
    grad = first_point()
    assert vjp_report(lambda w, x: w * grad(x)).verdict == "fail"


@pytest.mark.parametrize("options", [{}, {"calls": 100}])
def test_a_gradient_that_accumulates_over_calls_fails(options):
    total = np.zeros(3)

    def gradient(x):
        total[:] += 2 * x
        return total.copy()

    report = check_gradient(lambda x: x @ x, at={"x": np.array([1.0, 2, 4])}, grad=gradient, **options)
    assert report.verdict == "fail"
    assert report.diagnosis[0].kind == "accumulated"


@pytest.mark.parametrize("keeps", [True, False])
def test_a_value_kept_outside_ctx_is_stale(keeps):
    @function(lambda ctx, g: 2 * g * (ctx.saved_tensors[0] if keeps else square.kept))
    def square(ctx, x):
        square.kept = x.detach()
        ctx.save_for_backward(x)
        return x**2

    report = check_gradient(square.apply, at={"x": X})
    assert report.verdict == ("pass" if keeps else "fail")
    assert [finding.kind for finding in report.diagnosis] == ([] if keeps else ["unsteady"])


def jac(x):
    return scipy.sparse.diags(2 * x).tocsr()


def bounded(x):
    if (x.detach().numpy() > 2.2).any():
        raise ValueError("out of range")
    return x**2


class Sine(gradcli.autograd.Function):
    """sin, with a backward that is right only for cotangents of ones."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return (g == 1).to(gradcli.float64) * ctx.saved_tensors[0].cos()


def acting(act):
    """Return a function that calls `act` on an intermediate result."""

    def f(x):
        y = x.sin()
        act(y)
        return (y * y).sum()

    return f


Z = np.array([0.3 + 1j, -0.4 + 0.2j])
FORMS = {
    "constant": ("pass", lambda x: (x @ X).sum(), {"grad": lambda x: X}, {"x": X + 1}),
    "constant, right at the point": ("pass", lambda x: np.sin(x).sum(), {"grad": lambda x: np.cos(X)}, {"x": X}),
    "sparse": ("pass", lambda x: x**2, {"grad": jac}, {"x": X}),
    "a tuple of numbers": (
        "pass",
        lambda x: x[0] * x[1] ** 2,
        {"grad": lambda x: (x[1] ** 2, 2 * x[0] * x[1])},
        {"x": [1.5, 2.0]},
    ),
    "nothing is decidable": ("inconclusive", lambda x: 1e17 + np.sin(x).sum(), {"grad": np.cos}, {"x": X}),
    "our product": ("pass", lambda x, y: x * y, {}, {"x": X, "y": 2 * X}),
    "our engine, other cotangents": ("fail", lambda x: Sine.apply(x) * 1.0, {}, {"x": X}),
    "a limited domain": ("pass", bounded, {}, {"x": np.array([0.3, -1.2, 2.1])}),
    "a hook": ("pass", acting(lambda y: y.register_hook(lambda g: g)), {}, {"x": X}),
    "a retained gradient": ("pass", acting(lambda y: y.retain_grad()), {}, {"x": X}),
    "complex tangents": ("pass", lambda z: z * z, {"jvp": lambda t, z: 2 * z * t[0]}, {"z": Z}),
    "conjugated tangents": ("fail", lambda z: z * z, {"jvp": lambda t, z: 2 * z * np.conj(t[0])}, {"z": Z}),
    "a tangent of a scalar": ("pass", lambda x: x**3, {"jvp": lambda t, x: 3 * x**2 * t[0]}, {"x": 2.0}),
}


@pytest.mark.parametrize(("verdict", "f", "claims", "at"), FORMS.values(), ids=FORMS)
def test_forms_of_claims(verdict, f, claims, at):
    assert check_gradient(f, at=at, **claims).verdict == verdict


def test_a_wrong_element_of_a_sparse_claim_is_named():
    report = check_gradient(lambda x: x**2, lambda x: jac(x) @ scipy.sparse.diags([1.0, 1.0, 0.0]), at={"x": X})
    assert report.verdict == "fail"
    assert (report.inputs[0].worst.output, report.inputs[0].worst.place) == ((2,), (2,))


def test_gradients_of_single_inputs_are_checked():
    apply = product(gradcli.autograd.Function, wrong=True)
    report = check_gradient(lambda x, y: apply(x, y) * 1.0, at={"x": X, "y": 2 * X})
    assert report.verdict == "fail"
    assert [finding.kind for finding in report.diagnosis] == ["partial gradients"]


def total(x):
    """Return the sums of two softmaxes, which are 1 everywhere."""
    return np.stack([softmax(x).sum(), softmax(2 * x).sum()])


def total_vjp(g, x):
    s, t = softmax(x), softmax(2 * x)
    return s * (g[0] - s @ np.full(4, g[0])) + 2 * t * (g[1] - t @ np.full(4, g[1]))


def total_jvp(tangents, x):
    (v,) = tangents
    s, t = softmax(x), softmax(2 * x)
    return np.stack([(s * (v - s @ v)).sum(), (2 * t * (v - t @ v)).sum()])


@pytest.mark.parametrize("claims", [{"vjp": total_vjp}, {"jvp": total_jvp}, {"vjp": total_vjp, "jvp": total_jvp}])
def test_products_that_are_only_rounding_do_not_fail(claims):
    report = check_gradient(total, at={"x": np.array([0.3, -1.2, 2.1, 0.7])}, **claims)
    assert report.verdict != "fail", report
    assert report.verdict != "fail"


AT = {"x": np.array([0.3, -1.2, 2.0]), "y": np.array([1.5, 0.4, -0.7])}


def f(x, y):
    return np.sin(x) * y


def j(tangents, x, y):
    u, v = tangents
    return np.cos(x) * y * u + np.sin(x) * v


def b(g, x, y):
    return g * np.cos(x) * y, g * np.sin(x)


WRONG_FORWARD = {
    "sign": lambda t, x, y: -j(t, x, y),
    "factor": lambda t, x, y: 1.01 * j(t, x, y),
    "forgotten term": lambda t, x, y: np.cos(x) * y * t[0],
    "ignored tangents": lambda t, x, y: np.cos(x) * y + np.sin(x),
    "reversed": lambda t, x, y: j(t, x, y)[::-1],
}


def test_right_forward_derivatives_pass():
    assert check_gradient(f, at=AT, jvp=j).verdict == "pass"
    both = check_gradient(f, at=AT, jvp=j, vjp=b)
    assert both.verdict == "pass"
    assert dict(both.cross_checks)["forward mode"] > 12


@pytest.mark.parametrize(("name", "wrong"), WRONG_FORWARD.items(), ids=WRONG_FORWARD)
def test_wrong_forward_derivatives_fail(name, wrong):
    assert check_gradient(f, at=AT, jvp=wrong).verdict == "fail"
    both = check_gradient(f, at=AT, jvp=wrong, vjp=b)
    assert both.verdict == "fail"
    if name == "ignored tangents":
        assert both.diagnosis[0].kind == "nonlinear"
    else:
        assert "the values confirm reverse mode, so forward mode (jvp) is wrong" in both.message


def test_a_wrong_backward_with_a_right_forward_derivative_fails():
    both = check_gradient(f, at=AT, jvp=j, vjp=lambda g, x, y: (g * np.cos(x), g * np.sin(x)))
    assert both.verdict == "fail"
    assert "modes disagree" in [finding.kind for finding in both.diagnosis]


def test_a_result_of_another_shape_fails():
    report = check_gradient(lambda x: x.sum(), at={"x": AT["x"]}, jvp=lambda t, x: t[0])
    assert report.verdict == "fail"
    assert "tuple of tangents" in report.hint


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "pass"), (1.5, "fail")])
def test_tangents_of_many_inputs_and_outputs(factor, verdict):
    """The Jacobian has many rows and columns, so the claim is only called for products with tangents."""
    weights = np.random.default_rng(3).normal(size=(70, 300)) / 17

    def jvp(tangents, x):
        matrix = np.cos(weights @ x)[:, None] * weights
        matrix[3, 7] *= factor
        return matrix @ tangents[0]

    x = np.random.default_rng(4).normal(size=300)
    report = check_gradient(lambda x: np.sin(weights @ x), at={"x": x}, jvp=jvp)
    assert report.verdict == verdict
    if verdict == "fail":
        assert (report.inputs[0].worst.output, report.inputs[0].worst.place) == ((3,), (7,))
        assert "times the derivative" not in str(report)


def test_many_outputs_that_are_all_zero():
    matrix = np.random.default_rng(5).normal(size=(100, 1))
    for factor, verdict in ((1.0, "pass"), (1.1, "fail")):
        vjp = lambda g, x, factor=factor: factor * (g * (1 - np.tanh(matrix @ x) ** 2)) @ matrix  # noqa: E731
        assert check_gradient(lambda x: np.tanh(matrix @ x), at={"x": np.zeros(1)}, vjp=vjp).verdict == verdict


@pytest.mark.parametrize(
    ("value", "unit", "seen"),
    [
        (np.sin(X), 0.0, False),
        (np.sin(X) * 1.01, 0.0, True),
        (np.sin(X) * (1 + 1e-4), 0.0, True),
        (np.sin(X) * (1 + 1e-4), 2.0**-24, False),
        (np.sin(X) * 1.01, 2.0**-24, True),
        (np.sin(X[:2]), 0.0, False),
        (None, 0.0, False),
    ],
)
def test_a_backward_pass_that_computes_another_value_is_reported(value, unit, seen):
    claim = HandWritten(np.sin, {"x": X}, vjp=lambda g, x: g * np.cos(x))
    claim.capabilities = replace(claim.capabilities, claim_unit=unit)
    claim.recorded = value
    found = other_value(Flat(claim))
    assert (found is not None and found.kind == "other value") is seen
