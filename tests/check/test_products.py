"""Backward passes that are right for some cotangents alone, and gradients that remember; with right twins."""

import numpy as np
import pytest
import scipy.sparse

import gradcli
from gradcli import check_gradient

from .hunt import product

X = np.array([0.3, 1.2, -0.7])


def vjp_report(vjp, x=X):
    return check_gradient(np.sin, at={"x": x}, vjp=vjp)


WRONG = {
    "ones alone": lambda w, x: (w == 1) * np.cos(x),
    "whole numbers": lambda w, x: w.astype(int) * np.cos(x),
    "one decimal": lambda w, x: np.round(w, 1) * np.cos(x),
    "clipped cotangents": lambda w, x: np.clip(w, -5, 5) * np.cos(x),
    "clipped gradients": lambda w, x: np.clip(w * np.cos(x), -10, 10),
    "small ones dropped": lambda w, x: np.where(np.abs(w) > 1e-2, w, 0) * np.cos(x),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_backward_that_is_not_linear_fails(name):
    report = vjp_report(WRONG[name])
    assert report.verdict == "fail"
    assert report.diagnosis[0].kind == "nonlinear"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_right_backward_passes_in_its_type(kind):
    report = vjp_report(lambda w, x: w * np.cos(x), X.astype(kind))
    assert report.verdict == "pass"
    assert report.inputs[0].resolution < {np.float32: 1e-4, np.float64: 1e-7}[kind]


def test_cotangents_in_float16_coarsen_what_would_have_been_seen():
    report = vjp_report(lambda w, x: w.astype(np.float16).astype(float) * np.cos(x))
    assert report.verdict == "fail" or report.inputs[0].resolution > 4e-4


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


@pytest.mark.parametrize("make", [first_point, one_call_behind])
def test_a_gradient_that_remembers_fails(make):
    assert check_gradient(lambda x: np.sin(x).sum(), make(), at={"x": X}).verdict == "fail"


def test_the_first_point_is_named():
    report = check_gradient(lambda x: np.sin(x).sum(), first_point(), at={"x": X})
    assert report.diagnosis[0].kind == "unsteady" and "another point" in report.diagnosis[0].text


def test_a_gradient_that_is_the_same_everywhere_may_be_right():
    assert check_gradient(lambda x: (x @ X).sum(), lambda x: X, at={"x": X + 1}).verdict == "pass"
    assert check_gradient(lambda x: np.sin(x).sum(), lambda x: np.cos(X), at={"x": X}).verdict == "pass"


def test_claims_may_be_sparse():
    def jac(x):
        return scipy.sparse.diags(2 * x).tocsr()

    assert check_gradient(lambda x: x**2, jac, at={"x": X}).verdict == "pass"
    report = check_gradient(lambda x: x**2, lambda x: jac(x) @ scipy.sparse.diags([1, 1, 0]), at={"x": X})
    assert report.verdict == "fail"
    assert (report.inputs[0].worst.output, report.inputs[0].worst.place) == ((2,), (2,))


def test_a_gradient_may_be_a_tuple_of_numbers():
    report = check_gradient(lambda x: x[0] * x[1] ** 2, lambda x: (x[1] ** 2, 2 * x[0] * x[1]), at={"x": [1.5, 2.0]})
    assert report.verdict == "pass"


def test_where_nothing_is_decidable_the_check_is_inconclusive():
    report = check_gradient(lambda x: 1e17 + np.sin(x).sum(), np.cos, at={"x": X})
    assert report.verdict == "inconclusive"


def test_gradients_of_some_inputs_alone_are_tried():
    apply = product(gradcli.autograd.Function, wrong=True)
    report = check_gradient(lambda x, y: apply(x, y) * 1.0, at={"x": X, "y": 2 * X})
    assert report.verdict == "fail"
    assert [finding.kind for finding in report.diagnosis] == ["partial gradients"]
    assert check_gradient(lambda x, y: x * y, at={"x": X, "y": 2 * X}).verdict == "pass"


class Sine(gradcli.autograd.Function):
    """sin, with a backward for cotangents of ones alone."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return (g == 1).to(gradcli.float64) * ctx.saved_tensors[0].cos()


def test_a_function_of_our_engine_is_tried_with_other_cotangents():
    assert check_gradient(lambda x: Sine.apply(x) * 1.0, at={"x": X}).verdict == "fail"


@pytest.mark.parametrize("act", [lambda y: y.register_hook(lambda g: g), lambda y: y.retain_grad()])
def test_functions_may_register_hooks_and_retain_gradients(act):
    def f(x):
        y = x.sin()
        act(y)
        return (y * y).sum()

    assert check_gradient(f, at={"x": X}).verdict == "pass"


def test_a_gradient_that_is_rounding_alone_is_not_held_against_products():
    """softmax does not change where all its arguments are shifted."""

    def f(x, y):
        z = np.exp(x + y.sum())
        return z / z.sum()

    def vjp(w, x, y):
        p = f(x, y)
        slope = p * (w - (p * w).sum())
        return slope, np.full_like(y, slope.sum())

    assert check_gradient(f, at={"x": X, "y": np.array([0.1, 0.2])}, vjp=vjp).verdict == "pass"


def test_a_backward_pass_that_keeps_the_first_point_fails():
    grad = first_point()
    assert vjp_report(lambda w, x: w * grad(x)).verdict == "fail"
