"""Order statistics, running extremes, norms, integrals and differences."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gradcli as gc
from gradcli.rules.numpy_functions import QUANTILE_METHODS
from gradcli.tape.backward import grad

from .slopes import check

X = np.array([[3.0, -1.0, 2.0, 0.5, 1.5], [0.2, 4.0, -2.0, 1.0, -0.7]])
N = np.where(X == 2.0, np.nan, X)
T = np.array([0.0, 0.4, 1.0, 1.1, 2.0])


def ordered(k, axis):
    return np.take(np.sort(X, axis), k, axis)


VALUES = [
    ("sort", lambda x: x.sort(0, descending=True), (X,), -np.sort(-X, 0)),
    ("topk", lambda x: x.topk(2), (X,), -np.sort(-X)[:, :2]),
    ("topk smallest", lambda x: x.topk(3, largest=False), (X,), np.sort(X)[:, :3]),
    ("median dim", lambda x: x.median(0, keepdim=True), (X,), X.min(0, keepdims=True)),
    ("nanmedian dim", lambda x: x.nanmedian(1), (X,), np.median(X, 1)),
    ("trapezoid", gc.trapezoid, (X, T), np.trapezoid(X, T)),
    ("diff", lambda x, y: gc.diff(x, 2, prepend=y), (X, X[:, :1]), np.diff(X, 2, prepend=X[:, :1])),
    (
        "gradient at places",
        lambda x, t: gc.gradient(x, spacing=(t,), dim=1, edge_order=2),
        (X, T),
        np.gradient(X, T, axis=1, edge_order=2),
    ),
    ("quantiles", lambda x: x.quantile(gc.tensor([0.1, 0.8]), 1, True), (X,), None),
    ("slope in q", lambda x, q: x.quantile(q, 1), (X, [0.1, 0.6]), np.quantile(X, [0.1, 0.6], axis=1)),
    *(
        (f"quantile {cut}", lambda x, cut=cut: x.quantile(0.3, 1, interpolation=cut), (X,), None)
        for cut in ("lower", "midpoint")
    ),
]


@pytest.mark.parametrize(("call", "arrays", "expected"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES])
def test_values_and_gradients(call, arrays, expected):
    check(call, arrays, expected)


@pytest.mark.parametrize("cut", QUANTILE_METHODS)
@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_quantiles_match_numpy(cut, q, dim):
    x = gc.tensor(X)
    assert_allclose(x.quantile(q, dim, interpolation=cut).numpy(), np.quantile(X, q, axis=dim, method=cut))
    x = gc.tensor(N)
    got = x.nanquantile(q, dim, True, interpolation=cut).numpy()
    if dim is not None:
        assert_allclose(got, np.nanquantile(N, q, axis=dim, keepdims=True, method=cut))


NAN = [("median", None, math.nan), ("nanmedian", None, 0.5)]


@pytest.mark.parametrize(("name", "dim", "expected"), NAN)
def test_medians_with_nan(name, dim, expected):
    got = getattr(gc, name)(gc.tensor(N), *(() if dim is None else (dim,)))
    assert_allclose((got[0] if isinstance(got, tuple) else got).numpy(), expected)


SHARES = [("nanmedian", [math.nan, 2.0, 2.0], [0, 0.5, 0.5])]


@pytest.mark.parametrize("row", SHARES, ids=lambda row: row[0])
def test_gradients_at_ties(row):
    name, values, expected, *arguments = row
    x = gc.tensor(values, requires_grad=True)
    out = getattr(gc, name)(x, *arguments)
    assert_allclose(grad((out[0] if isinstance(out, tuple) else out).sum(), x)[0].numpy(), expected)


def test_positions_of_equal_elements():
    x = gc.tensor([2.0, 1.0, 2.0, 1.0])
    assert x.sort(stable=True)[1].tolist() == [1, 3, 0, 2]
    assert x.sort(descending=True, stable=True)[1].tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize("name", ["sort", "median", "topk"])
def test_a_single_number(name):
    x = gc.tensor(3.0, requires_grad=True)
    values, indices = getattr(x, name)(1 if name == "topk" else 0)
    assert (values.item(), indices.item(), values.shape) == (3.0, 0, ())
    assert grad(values, x)[0].item() == 1.0


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_by_dim_are_one_node_and_not_views(name):
    x = gc.tensor(X, requires_grad=True)
    pick = getattr(x, name)
    values, indices = pick(dim=1)
    assert values.grad_fn.name().startswith(f"{name.title()}Backward")
    assert values._base is None and indices._base is None
