"""Monte-Carlo estimators in PyTorch and JAX: gradients, losses, generators and keys, one by one and vectorized."""

import numpy as np
import pytest

from gradcli import check_gradient

TORCH, JAX = pytest.mark.framework("torch"), pytest.mark.framework("jax")
W = np.array([1.0, -2.0, 0.5, 3.0])
AT = {"theta": np.array([0.5, -0.4, 1.0, 0.3])}
NOISE = 0.1  # standard deviation of the samples, whose mean is the input
DRAWS = 5_000
COMPILED = 1 << 17  # for JAX, whose compiled calls return 1024 samples


def in_torch():
    """Return an objective, and estimators of its gradient, in PyTorch."""
    import torch

    w = torch.tensor(W)

    def objective(theta):
        return (w * (theta**2 + NOISE**2)).sum()

    def pathwise(theta, rng, n):
        return 2 * w * (theta + NOISE * torch.randn(n, 4, generator=rng))

    def with_numpy(theta, rng: np.random.Generator, n):
        return 2 * w * (theta + NOISE * torch.as_tensor(rng.standard_normal((n, 4))))

    def loss(theta):
        return (w * (theta + NOISE * torch.randn(4)) ** 2).sum()

    def twice(theta):
        return 2 * loss(theta)

    def inside(theta):
        theta = theta.detach().requires_grad_()
        return torch.autograd.grad(loss(theta), theta)[0]

    return locals()


def in_jax():
    """Return the same in JAX."""
    import jax
    import jax.numpy as jnp

    w = jnp.array(W)

    def objective(theta):
        return (w * (theta**2 + NOISE**2)).sum()

    def pathwise(theta, rng, n):
        return 2 * w * (theta + NOISE * jax.random.normal(rng, (n, 4)))

    def loss(theta, key):
        return (w * (theta + NOISE * jax.random.normal(key, (4,))) ** 2).sum()

    def twice(theta, key):
        return 2 * loss(theta, key)

    def inside(theta, key):
        return jax.grad(loss)(theta, key)

    def batch_mean(theta, key, n):
        samples = pathwise(theta, key, n)
        return samples - samples.mean(axis=0) * 0.5

    return locals()


def check(made, name, **more):
    draws = COMPILED if "jax" in made else DRAWS
    return check_gradient(made["objective"], at=AT, stochastic=made[name], draws=draws, **more)


@pytest.mark.parametrize(
    ("make", "name", "verdict"),
    [
        *(pytest.param(in_torch, name, "pass", marks=TORCH) for name in ("pathwise", "with_numpy", "loss", "inside")),
        pytest.param(in_torch, "twice", "fail", marks=TORCH),
        *(pytest.param(in_jax, name, "pass", marks=JAX) for name in ("pathwise", "loss", "inside")),
        pytest.param(in_jax, "twice", "fail", marks=JAX),
        pytest.param(in_jax, "batch_mean", "fail", marks=JAX),
    ],
)
def test_verdicts(make, name, verdict):
    report = check(make(), name)
    assert report.verdict == verdict, report.message
    if name == "twice":
        assert report.diagnosis[0].text == "the mean is twice the derivative"
    if name in ("loss", "twice"):
        assert any(note.startswith(f"{name} is a loss: the samples are its gradients") for note in report.notes)


@pytest.mark.parametrize("make", [pytest.param(in_torch, marks=TORCH), pytest.param(in_jax, marks=JAX)])
def test_the_seed_makes_a_run_repeatable(make):
    made = make()
    first, again, other = (check(made, "loss", seed=seed).inputs[0].worst for seed in (1, 1, 2))
    assert first == again
    assert first != other


@TORCH
def test_losses_are_vectorized_and_equal_those_one_by_one():
    """vmap and a loop draw different numbers, so only their means are compared, at 6 standard errors."""
    from gradcli.claims.adapters.torch_samples import Samples
    from gradcli.claims.random_function import AsGradients
    from gradcli.program.arguments import Arguments

    made, arguments = in_torch(), Arguments(AT, None)
    means = []
    for maps in (None, False):
        samples = Samples(made["loss"], arguments, "loss", AsGradients("loss", arguments, ["theta"]))
        samples.maps = maps
        samples.settle()
        assert samples.is_loop == (maps is False)
        drawn = samples.samples(arguments.arrays, 5, 3000)
        means.append((drawn.mean(axis=0), drawn.std(axis=0) / 3000**0.5))
    (a, e), (b, f) = means
    assert (abs(a - b) < 6 * np.hypot(e, f)).all()
