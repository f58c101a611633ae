"""Monte-Carlo estimators of gradients. Is the mean of each one the gradient? Four are right, and four are wrong.

`gradcli gradcheck samples/estimators.py` checks those that are right. This command explains what a wrong one computes:

    gradcli gradcheck samples/estimators.py:reward --stochastic group_mean theta='[0.2, -0.5, 0.1]'

The others are `divergence` with `k1_loss` or `k3_loss`, and `cubed` with `straight_through`. An estimator takes the
inputs, random numbers, and the number of samples n. It returns n samples of the gradient. The function to check returns
the exact expectation.
"""

import numpy as np

import gradcli

POINT = {"theta": np.array([0.2, -0.5, 0.1])}
REWARDS = np.array([3.0, 1.0, 2.0])
OTHER = np.array([0.5, 0.3, 0.2])  # the probabilities of the policy to stay close to
GROUP = 8  # actions for each state
DRAWS = 1 << 16


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def draw(theta, rng, *shape):
    """Draw actions, and return the gradients of their log-probabilities: the scores."""
    p = softmax(theta)
    actions = rng.choice(len(p), shape, p=p)
    return actions, np.eye(len(p))[actions] - p


def check(estimator):
    """Declare a check of an estimator under its name, with few samples."""
    return gradcli.check(at=POINT, stochastic=estimator, name=estimator.__name__, draws=DRAWS)


# The expected reward of a policy. A baseline reduces the variance. If it contains the sample itself, it adds a bias.


def reinforce(theta, rng, n):
    actions, scores = draw(theta, rng, n)
    return REWARDS[actions][:, None] * scores


def leave_one_out(theta, rng, n):
    """The baseline of an action is the mean reward of the others."""
    actions, scores = draw(theta, rng, n, GROUP)
    rewards = REWARDS[actions]
    baseline = (rewards.sum(axis=1, keepdims=True) - rewards) / (GROUP - 1)
    return ((rewards - baseline)[..., None] * scores).mean(axis=1)


def group_mean(theta, rng, n):
    """Wrong: the baseline is the mean reward of all actions, so the mean is (GROUP - 1) / GROUP of the gradient."""
    actions, scores = draw(theta, rng, n, GROUP)
    rewards = REWARDS[actions]
    return ((rewards - rewards.mean(axis=1, keepdims=True))[..., None] * scores).mean(axis=1)


@check(reinforce)
@check(leave_one_out)
def reward(theta):
    return softmax(theta) @ REWARDS


# The divergence from another policy. Three estimators of its value are used as losses, and two have other gradients.


def ratios(theta, rng, n):
    """Return OTHER / p at random actions, and their scores."""
    actions, scores = draw(theta, rng, n)
    return (OTHER / softmax(theta))[actions][:, None], scores


def k1_loss(theta, rng, n):
    """Wrong: the gradient of log(p / OTHER) is the score, whose mean is 0."""
    _, scores = ratios(theta, rng, n)
    return scores


def k2_loss(theta, rng, n):
    """The gradient of log(p / OTHER)^2 / 2."""
    ratio, scores = ratios(theta, rng, n)
    return -np.log(ratio) * scores


def k3_loss(theta, rng, n):
    """Wrong: the gradient of ratio - 1 - log(ratio) is that of the divergence in the other direction."""
    ratio, scores = ratios(theta, rng, n)
    return (1 - ratio) * scores


def kl(p, q):
    return np.sum(p * np.log(p / q))


@check(k2_loss)
def divergence(theta):
    return kl(softmax(theta), OTHER)


# Units that are on or off. A straight-through estimator differentiates as if they were their probabilities.


def straight_through(theta, rng, n):
    p = 1 / (1 + np.exp(-theta))
    on = rng.random((n, len(p))) < p
    return 3 * on.sum(axis=1, keepdims=True) ** 2 * p * (1 - p)


def cubed(theta):
    """The mean cube of the number of units that are on, from its cumulants."""
    p = 1 / (1 + np.exp(-theta))
    mean, variance, third = p.sum(), (p * (1 - p)).sum(), (p * (1 - p) * (1 - 2 * p)).sum()
    return mean**3 + 3 * mean * variance + third


# A quantum circuit whose measurements are 1 or -1. Shifted angles give its exact derivative.


def expectation(theta):
    return np.cos(theta).prod(axis=-1)


def parameter_shift(theta, rng, n):
    shifts = np.pi / 2 * np.eye(len(theta))
    values = expectation(theta + np.stack([shifts, -shifts]))
    measured = np.where(rng.random((n, *values.shape)) < (1 + values) / 2, 1, -1)
    return (measured[:, 0] - measured[:, 1]) / 2


@check(parameter_shift)
def circuit(theta):
    return expectation(theta)
