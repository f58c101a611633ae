"""Densities, entropies, samples and divergences against formulas and SciPy."""

import math

import numpy as np
import pytest
import scipy.stats as st

import gradcli
from gradcli import distributions as d
from gradcli.check.pytorch import gradcheck


def t(*numbers):
    return gradcli.tensor(numbers, dtype=gradcli.float64)


LOC, SCALE, P = np.array([0.5, -1.0]), np.array([1.5, 0.7]), np.array([0.2, 0.3, 0.5])
COV = np.array([[2.0, 0.3], [0.3, 1.0]])
X = np.array([0.1, 0.4])
CASES = {
    "Normal": (lambda: d.Normal(t(*LOC), t(*SCALE)), X, st.norm(LOC, SCALE)),
    "Laplace": (lambda: d.Laplace(t(*LOC), t(*SCALE)), X, st.laplace(LOC, SCALE)),
    "Uniform": (lambda: d.Uniform(t(*(LOC - 2)), t(*(LOC + 2))), X, st.uniform(LOC - 2, 4)),
    "Exponential": (lambda: d.Exponential(t(*SCALE)), X, st.expon(scale=1 / SCALE)),
}


@pytest.mark.parametrize("name", CASES)
def test_continuous(name):
    make, x, expected = CASES[name]
    found = make()
    np.testing.assert_allclose(found.log_prob(t(*x)), expected.logpdf(x))
    np.testing.assert_allclose(found.entropy(), expected.entropy())
    np.testing.assert_allclose(found.mean, expected.mean())
    np.testing.assert_allclose(found.variance, expected.var())
    np.testing.assert_allclose(found.stddev, expected.std())
    gradcli.manual_seed(0)
    drawn = found.sample((4000,))
    assert drawn.shape == (4000, 2)
    np.testing.assert_allclose(drawn.mean(0), expected.mean(), atol=0.15)
    np.testing.assert_allclose(drawn.std(0), expected.std(), atol=0.15)


def test_gradients_flow_through_samples():
    loc, scale = t(0.5).requires_grad_(), t(2.0).requires_grad_()
    drawn = d.Normal(loc, scale).rsample()
    drawn.backward()
    assert loc.grad.item() == 1
    assert scale.grad.item() == pytest.approx((drawn.item() - 0.5) / 2)
    assert not d.Normal(loc, scale).sample().requires_grad


def test_normal():
    n = d.Normal(0.0, 1.0)
    assert n.cdf(gradcli.tensor(1.0)).item() == pytest.approx(st.norm.cdf(1), rel=1e-6)
    assert n.icdf(gradcli.tensor(0.3)).item() == pytest.approx(st.norm.ppf(0.3), rel=1e-5)
    assert repr(d.Normal(t(0, 1), t(1, 1))) == "Normal(loc: gradcli.Size([2]), scale: gradcli.Size([2]))"
    with pytest.raises(ValueError, match=r"Expected parameter scale .* to satisfy the constraint GreaterThan"):
        d.Normal(0.0, -1.0)


def test_multivariate_normal():
    loc = t(*LOC)
    expected = st.multivariate_normal(LOC, COV)
    for found in (
        d.MultivariateNormal(loc, gradcli.tensor(COV)),
        d.MultivariateNormal(loc, scale_tril=gradcli.tensor(np.linalg.cholesky(COV))),
        d.MultivariateNormal(loc, precision_matrix=gradcli.tensor(np.linalg.inv(COV))),
    ):
        assert found.log_prob(t(*X)).item() == pytest.approx(expected.logpdf(X))
        assert found.entropy().item() == pytest.approx(expected.entropy())
        np.testing.assert_allclose(found.variance, np.diag(COV))
    gradcli.manual_seed(0)
    np.testing.assert_allclose(np.cov(found.sample((4000,)).numpy().T), COV, atol=0.1)
    with pytest.raises(ValueError, match="Exactly one"):
        d.MultivariateNormal(loc)


@pytest.mark.parametrize("given", [{"probs": 4 * P}, {"logits": np.log(P) + 1}])
def test_categorical(given):
    found = d.Categorical(**{k: t(*v) for k, v in given.items()})
    np.testing.assert_allclose(found.probs, P)
    np.testing.assert_allclose(found.log_prob(gradcli.tensor([0, 2])), np.log(P[[0, 2]]))
    assert found.entropy().item() == pytest.approx(st.entropy(P))
    gradcli.manual_seed(0)
    drawn = found.sample((2, 3000))
    assert drawn.shape == (2, 3000)
    np.testing.assert_allclose(np.bincount(drawn.numpy().ravel()) / 6000, P, atol=0.03)
    assert d.Categorical(probs=gradcli.ones(4, 3)).sample((5,)).shape == (5, 4)


@pytest.mark.parametrize("given", [{"probs": 0.3}, {"logits": math.log(0.3 / 0.7)}])
def test_bernoulli(given):
    found = d.Bernoulli(**given)
    expected = st.bernoulli(0.3)
    for x in (0.0, 1.0):
        assert found.log_prob(gradcli.tensor(x)).item() == pytest.approx(expected.logpmf(int(x)), rel=1e-5)
    assert found.entropy().item() == pytest.approx(expected.entropy(), rel=1e-5)
    gradcli.manual_seed(0)
    assert found.sample((4000,)).mean().item() == pytest.approx(0.3, abs=0.03)


def test_independent_adds_up():
    base = d.Normal(t(*LOC), t(*SCALE))
    found = d.Independent(base, 1)
    assert (tuple(found.batch_shape), tuple(found.event_shape)) == ((), (2,))
    assert found.log_prob(t(*X)).item() == pytest.approx(st.norm(LOC, SCALE).logpdf(X).sum())
    assert d.kl_divergence(found, found).item() == 0


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (d.Normal(t(0.5), t(1.5)), d.Normal(t(0.0), t(1.0))),
        (d.Exponential(t(2.0)), d.Exponential(t(0.5))),
        (d.Categorical(t(*P)), d.Categorical(t(0.6, 0.3, 0.1))),
        (d.Bernoulli(t(0.3)), d.Bernoulli(t(0.6))),
    ],
)
def test_divergences_are_integrals(p, q):
    if isinstance(p, d.Categorical | d.Bernoulli):
        grid, weight = gradcli.arange(3 if isinstance(p, d.Categorical) else 2).double(), 1
    else:
        grid = gradcli.linspace(1e-6 if isinstance(p, d.Exponential) else -15, 15, 60_001, dtype=gradcli.float64)
        weight = (grid[1] - grid[0]).item()
    log_p, log_q = p.log_prob(grid), q.log_prob(grid)
    integral = (log_p.exp() * (log_p - log_q)).sum() * weight
    assert d.kl_divergence(p, q).item() == pytest.approx(integral.item(), rel=2e-3)


def test_log_prob_has_gradients():
    assert gradcheck(
        lambda loc, scale, x: d.Normal(loc, scale).log_prob(x),
        (t(*LOC).requires_grad_(), t(*SCALE).requires_grad_(), t(*X).requires_grad_()),
    )
    assert gradcheck(lambda p: d.Categorical(p).entropy(), (t(*P).requires_grad_(),))


def test_missing():
    with pytest.raises(NotImplementedError, match="No KL"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.Exponential(1.0))
    with pytest.raises(AttributeError, match=r"gradcli has no distributions\.Normall; nearest: Normal"):
        _ = d.Normall


def test_multinomial():
    gradcli.manual_seed(0)
    counts = np.bincount(gradcli.multinomial(t(1, 0, 3), 4000, True).numpy(), minlength=3) / 4000
    np.testing.assert_allclose(counts, [0.25, 0, 0.75], atol=0.03)
    assert sorted(gradcli.multinomial(gradcli.ones(2, 3), 3)[1].tolist()) == [0, 1, 2]
    for weights, count, message in (
        (t(-1, 1), 1, "element < 0"),
        (t(1, 1), 3, "without replacement"),
        (t(0, 0), 1, "sum"),
    ):
        with pytest.raises(RuntimeError, match=message):
            gradcli.multinomial(weights, count)
