"""Random tensors: a seed reproduces the numbers, which have the expected distribution."""

import numpy as np
import pytest

import gradcli as gc
from gradcli.nn import init

N = 20_000


def square():
    return gc.empty(200, 200)


# name -> (draw, distribution of scipy.stats, its parameters)
DISTRIBUTIONS = {
    "rand": (lambda: gc.rand(N), "uniform", ()),
    "randn": (lambda: gc.randn(N, dtype=gc.float32), "norm", ()),
    "complex": (lambda: gc.randn(N, dtype=gc.complex128).imag, "norm", (0, 0.5**0.5)),
    "normal": (lambda: gc.normal(2.0, 3.0, (N,)), "norm", (2, 3)),
    "normal of tensors": (lambda: gc.normal(gc.full((N,), 2.0), gc.tensor(3.0)), "norm", (2, 3)),
    "normal_": (lambda: gc.empty(N).normal_(2, 3), "norm", (2, 3)),
    "uniform_": (lambda: gc.empty(N).uniform_(-1, 3), "uniform", (-1, 4)),
    "uniform_ of init": (lambda: init.uniform_(square(), -1, 3), "uniform", (-1, 4)),
    "normal_ of init": (lambda: init.normal_(square(), 2, 0.5), "norm", (2, 0.5)),
    "xavier_uniform_": (lambda: init.xavier_uniform_(square(), 2), "uniform", (-(0.06**0.5), 2 * 0.06**0.5)),
    "xavier_normal_": (lambda: init.xavier_normal_(square()), "norm", (0, (2 / 400) ** 0.5)),
    "kaiming_uniform_": (lambda: init.kaiming_uniform_(square(), 5**0.5), "uniform", (-(0.005**0.5), 2 * 0.005**0.5)),
    "kaiming_normal_": (
        lambda: init.kaiming_normal_(square(), mode="fan_out", nonlinearity="relu"),
        "norm",
        (0, (2 / 200) ** 0.5),
    ),
}
# name -> (draw, expected share of each number)
SHARES = {
    "randint": (lambda: gc.randint(2, 5, (N,)), {2: 1 / 3, 3: 1 / 3, 4: 1 / 3}),
    "randint_like": (lambda: gc.randint_like(gc.zeros(N), 2), {0: 0.5, 1: 0.5}),
    "randperm": (lambda: gc.randperm(4), dict.fromkeys(range(4), 0.25)),
}


@pytest.mark.parametrize(("draw", "name", "parameters"), DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_distributions(draw, name, parameters):
    stats = pytest.importorskip("scipy.stats")  # takes 1 s, too long for collection in every worker
    gc.manual_seed(3)
    first = draw().numpy().ravel()
    assert stats.kstest(first, getattr(stats, name)(*parameters).cdf).pvalue > 1e-3
    gc.manual_seed(3)
    assert (draw().numpy().ravel() == first).all()


@pytest.mark.parametrize(("draw", "expected"), SHARES.values(), ids=SHARES)
def test_shares(draw, expected):
    gc.manual_seed(3)
    values, counts = np.unique(draw().numpy(), return_counts=True)
    assert dict(zip(values, counts / counts.sum(), strict=True)) == pytest.approx(expected, abs=0.02)


def test_bad_ranges_are_refused():
    with pytest.raises(RuntimeError, match="low >= high"):
        gc.randint(3, 3, (2,))
    with pytest.raises(TypeError, match="generator"):
        gc.rand(2, generator=3)
