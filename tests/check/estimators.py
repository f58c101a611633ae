"""A bank of right and wrong Monte-Carlo estimators. All exact objectives are sums over outcomes or closed formulas.

A case has a name, an objective, an estimator, the point, the verdict, and the kind of finding that names the mistake.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln


class Case(NamedTuple):
    name: str
    objective: Any
    estimator: Any
    at: dict
    verdict: str
    kind: str | None = None


CASES: list[Case] = []


def case(objective, verdict="pass", kind=None, **at):
    """Add the decorated estimator of an objective's gradient to the bank."""

    def add(estimator):
        given = {name: np.array(x, float) for name, x in at.items()}
        CASES.append(Case(estimator.__name__, objective, estimator, given, verdict, kind))
        return estimator

    return add


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Normal distribution: E f(x) for x ~ N(theta, 1), f(x) = sum w x^2 + x_0 x_1

W = np.array([1.0, -0.5, 2.0, 0.7])
POINT = [0.5, -0.4, 1.0, 0.3]


def normal_cost(x):
    return (W * x**2).sum(axis=-1) + x[..., 0] * x[..., 1]


def normal_slope(x):
    g = 2 * W * x
    g[..., 0] += x[..., 1]
    g[..., 1] += x[..., 0]
    return g


def normal(theta):
    return float((W * (theta**2 + 1)).sum() + theta[0] * theta[1])


def normal_sampled(theta, rng, n):
    return normal_cost(theta + rng.standard_normal((n, 4)))


def normal_one(theta, rng):
    return normal_cost(theta + rng.standard_normal(4))


@case(normal, theta=POINT)
def reinforce(theta, rng, n):
    x = theta + rng.standard_normal((n, 4))
    return normal_cost(x)[:, None] * (x - theta)


@case(normal, theta=POINT)
def reinforce_constant_baseline(theta, rng, n):
    x = theta + rng.standard_normal((n, 4))
    return (normal_cost(x) - 3.0)[:, None] * (x - theta)


@case(normal, theta=POINT)
def reinforce_mean_baseline(theta, rng, n):
    x = theta + rng.standard_normal((n, 4))
    return (normal_cost(x) - normal(theta))[:, None] * (x - theta)


@case(normal, theta=POINT)
def reinforce_coordinate_baseline(theta, rng, n):
    """The baseline of a coordinate is a function of the others."""
    x = theta + rng.standard_normal((n, 4))
    others = (W * x**2).sum(axis=1, keepdims=True) - W * x**2
    return (normal_cost(x)[:, None] - others) * (x - theta)


@case(normal, "fail", theta=POINT)
def reinforce_baseline_of_own_sample(theta, rng, n):
    """The baseline is a regression that sees the sample itself."""
    x = theta + rng.standard_normal((n, 4))
    cost = normal_cost(x)
    return (cost - 0.6 * cost)[:, None] * (x - theta)


@case(normal, "fail", theta=POINT)
def reinforce_baseline_by_coordinate_wrong(theta, rng, n):
    """Subtracts the part of the cost that depends on the coordinate."""
    x = theta + rng.standard_normal((n, 4))
    return (normal_cost(x)[:, None] - W * x**2) * (x - theta)


K = 4


@case(normal, theta=POINT)
def leave_one_out(theta, rng, n):
    x = theta + rng.standard_normal((n, K, 4))
    cost = normal_cost(x)
    baseline = (cost.sum(axis=1, keepdims=True) - cost) / (K - 1)
    return ((cost - baseline)[..., None] * (x - theta)).mean(axis=1)


@case(normal, "fail", "factor", theta=POINT)
def batch_mean_baseline(theta, rng, n):
    """The baseline includes the sample itself: (K - 1) / K of the gradient."""
    x = theta + rng.standard_normal((n, K, 4))
    cost = normal_cost(x)
    return ((cost - cost.mean(axis=1, keepdims=True))[..., None] * (x - theta)).mean(axis=1)


@case(normal, "fail", "factor", theta=POINT)
def leave_one_out_sum(theta, rng, n):
    """A sum over the K samples instead of a mean."""
    x = theta + rng.standard_normal((n, K, 4))
    cost = normal_cost(x)
    baseline = (cost.sum(axis=1, keepdims=True) - cost) / (K - 1)
    return ((cost - baseline)[..., None] * (x - theta)).sum(axis=1)


@case(normal, "fail", "dependent samples", theta=POINT)
def mean_baseline_over_call(theta, rng, n):
    x = theta + rng.standard_normal((n, 4))
    cost = normal_cost(x)
    return (cost - cost.mean())[:, None] * (x - theta)


@case(normal, theta=POINT)
def leave_one_out_over_call(theta, rng, n):
    x = theta + rng.standard_normal((n, 4))
    cost = normal_cost(x)
    return (cost - (cost.sum() - cost) / (n - 1))[:, None] * (x - theta)


@case(normal, theta=POINT)
def reparametrized(theta, rng, n):
    return normal_slope(theta + rng.standard_normal((n, 4)))


@case(normal, theta=POINT)
def reparametrized_one(theta, rng):
    return normal_slope(theta + rng.standard_normal(4))


@case(normal_sampled, theta=POINT)
def reparametrized_of_samples(theta, rng, n):
    return normal_slope(theta + rng.standard_normal((n, 4)))


@case(normal_sampled, "fail", "factor", theta=POINT)
def half_of_samples(theta, rng, n):
    return 0.5 * normal_slope(theta + rng.standard_normal((n, 4)))


@case(normal_sampled, theta=POINT)
def reinforce_of_samples(theta, rng, n):
    x = theta + rng.standard_normal((n, 4))
    return (normal_cost(x) - 2.0)[:, None] * (x - theta)


@case(normal, theta=POINT)
def antithetic(theta, rng, n):
    eps = rng.standard_normal((n, 4))
    return (normal_slope(theta + eps) + normal_slope(theta - eps)) / 2


@case(normal, theta=POINT)
def antithetic_reinforce(theta, rng, n):
    eps = rng.standard_normal((n, 4))
    return (normal_cost(theta + eps) - normal_cost(theta - eps))[:, None] * eps / 2


@case(normal, "fail", "factor", theta=POINT)
def antithetic_without_half(theta, rng, n):
    eps = rng.standard_normal((n, 4))
    return (normal_cost(theta + eps) - normal_cost(theta - eps))[:, None] * eps


@case(normal, "fail", "zero", theta=POINT)
def antithetic_wrong_sign(theta, rng, n):
    eps = rng.standard_normal((n, 4))
    return (normal_cost(theta + eps) + normal_cost(theta - eps))[:, None] * eps


@case(normal, theta=POINT)
def control_variate(theta, rng, n):
    x = theta + rng.standard_normal((n, 4))
    score = x - theta
    linear = (score * normal_slope(np.array(theta)[None])).sum(axis=1)
    return (normal_cost(x) - linear)[:, None] * score + normal_slope(np.array(theta)[None])


@case(normal, "fail", theta=POINT)
def control_variate_without_its_mean(theta, rng, n):
    x = theta + rng.standard_normal((n, 4))
    score = x - theta
    linear = 0.5 * (score * normal_slope(np.array(theta)[None])).sum(axis=1)
    return (normal_cost(x) - linear)[:, None] * score


@case(normal, "fail", "sign", theta=POINT)
def ascent(theta, rng, n):
    return -normal_slope(theta + rng.standard_normal((n, 4)))


@case(normal, "fail", "zero", theta=POINT)
def one_element_detached(theta, rng, n):
    g = normal_slope(theta + rng.standard_normal((n, 4)))
    g[:, 2] = 0
    return g


@case(normal, "fail", theta=POINT)
def product_term_missing(theta, rng, n):
    return 2 * W * (theta + rng.standard_normal((n, 4)))


@case(normal, "fail", theta=POINT)
def clipped(theta, rng, n):
    return np.clip(normal_slope(theta + rng.standard_normal((n, 4))), -2, 2)


# Two inputs: a mean and the logarithm of a standard deviation


def location_scale(mu, log_sigma):
    return float((mu**2 + np.exp(2 * log_sigma)).sum() + (mu * np.array([1.0, -1.0])).sum())


TWO = {"mu": [0.3, -0.8], "log_sigma": [-0.2, 0.4]}


@case(location_scale, **TWO)
def location_scale_pathwise(mu, log_sigma, rng, n):
    eps = rng.standard_normal((n, 2))
    slope = 2 * (mu + np.exp(log_sigma) * eps) + np.array([1.0, -1.0])
    return slope, slope * eps * np.exp(log_sigma)


@case(location_scale, **TWO)
def location_scale_score(mu, log_sigma, rng, n):
    eps = rng.standard_normal((n, 2))
    x = mu + np.exp(log_sigma) * eps
    cost = (x**2 + x * np.array([1.0, -1.0])).sum(axis=1)[:, None]
    return {"mu": cost * eps / np.exp(log_sigma), "log_sigma": cost * (eps**2 - 1)}


@case(location_scale, "fail", "zero", **TWO)
def location_scale_detached(mu, log_sigma, rng, n):
    eps = rng.standard_normal((n, 2))
    slope = 2 * (mu + np.exp(log_sigma) * eps) + np.array([1.0, -1.0])
    return slope, np.zeros_like(slope)


@case(location_scale, "fail", **TWO)
def location_scale_without_chain(mu, log_sigma, rng, n):
    """The derivative by sigma, not by its logarithm."""
    eps = rng.standard_normal((n, 2))
    slope = 2 * (mu + np.exp(log_sigma) * eps) + np.array([1.0, -1.0])
    return slope, slope * eps


@case(location_scale, "fail", "factor", **TWO)
def location_scale_twice(mu, log_sigma, rng, n):
    eps = rng.standard_normal((n, 2))
    slope = 2 * (mu + np.exp(log_sigma) * eps) + np.array([1.0, -1.0])
    return slope, 2 * slope * eps * np.exp(log_sigma)


@case(location_scale, "fail", **TWO)
def score_without_minus_one(mu, log_sigma, rng, n):
    eps = rng.standard_normal((n, 2))
    x = mu + np.exp(log_sigma) * eps
    cost = (x**2 + x * np.array([1.0, -1.0])).sum(axis=1)[:, None]
    return cost * eps / np.exp(log_sigma), cost * eps**2


# Independent Bernoulli variables with logits: all 2^3 outcomes

BITS = np.array(list(itertools.product([0.0, 1.0], repeat=3)))


def bit_cost(b):
    return (b @ np.array([1.0, -2.0, 0.5]) + 0.3) ** 2


def bernoulli(logits):
    p = sigmoid(logits)
    return float((np.prod(np.where(BITS == 1, p, 1 - p), axis=1) * bit_cost(BITS)).sum())


def bernoulli_sampled(logits, rng, n):
    return bit_cost((rng.random((n, 3)) < sigmoid(logits)) * 1.0)


LOGITS = {"logits": [0.4, -0.3, 0.8]}


@case(bernoulli, **LOGITS)
def bernoulli_score(logits, rng, n):
    p = sigmoid(logits)
    b = (rng.random((n, 3)) < p) * 1.0
    return bit_cost(b)[:, None] * (b - p)


@case(bernoulli_sampled, **LOGITS)
def bernoulli_score_of_samples(logits, rng, n):
    p = sigmoid(logits)
    b = (rng.random((n, 3)) < p) * 1.0
    return bit_cost(b)[:, None] * (b - p)


@case(bernoulli_sampled, "fail", "factor", **LOGITS)
def bernoulli_twice_of_samples(logits, rng, n):
    p = sigmoid(logits)
    b = (rng.random((n, 3)) < p) * 1.0
    return 2 * bit_cost(b)[:, None] * (b - p)


@case(bernoulli, "fail", **LOGITS)
def straight_through(logits, rng, n):
    p = sigmoid(logits)
    b = (rng.random((n, 3)) < p) * 1.0
    return 2 * (b @ np.array([1.0, -2.0, 0.5]) + 0.3)[:, None] * np.array([1.0, -2.0, 0.5]) * p * (1 - p)


@case(bernoulli, "fail", **LOGITS)
def straight_through_identity(logits, rng, n):
    b = (rng.random((n, 3)) < sigmoid(logits)) * 1.0
    return 2 * (b @ np.array([1.0, -2.0, 0.5]) + 0.3)[:, None] * np.array([1.0, -2.0, 0.5])


@case(bernoulli, "fail", **LOGITS)
def concrete_relaxation(logits, rng, n):
    u = rng.random((n, 3))
    tau = 0.7
    y = sigmoid((logits + np.log(u) - np.log1p(-u)) / tau)
    slope = 2 * (y @ np.array([1.0, -2.0, 0.5]) + 0.3)[:, None] * np.array([1.0, -2.0, 0.5])
    return slope * y * (1 - y) / tau


@case(bernoulli, **LOGITS)
def arm(logits, rng, n):
    """Yin and Zhou, arXiv:1807.11143."""
    u = rng.random((n, 3))
    high, low = (u > sigmoid(-logits)) * 1.0, (u < sigmoid(logits)) * 1.0
    return (bit_cost(high) - bit_cost(low))[:, None] * (u - 0.5)


@case(bernoulli, "fail", "factor", **LOGITS)
def arm_halved(logits, rng, n):
    u = rng.random((n, 3))
    high, low = (u > sigmoid(-logits)) * 1.0, (u < sigmoid(logits)) * 1.0
    return (bit_cost(high) - bit_cost(low))[:, None] * (u - 0.5) / 2


@case(bernoulli, **LOGITS)
def local_expectation(logits, rng, n):
    """Sums over each bit, given the others."""
    p = sigmoid(logits)
    b = (rng.random((n, 3)) < p) * 1.0
    g = np.zeros((n, 3))
    for i in range(3):
        one, zero = b.copy(), b.copy()
        one[:, i], zero[:, i] = 1, 0
        g[:, i] = (bit_cost(one) - bit_cost(zero)) * p[i] * (1 - p[i])
    return g


@case(bernoulli, "fail", **LOGITS)
def local_expectation_by_probability(logits, rng, n):
    p = sigmoid(logits)
    b = (rng.random((n, 3)) < p) * 1.0
    g = np.zeros((n, 3))
    for i in range(3):
        one, zero = b.copy(), b.copy()
        one[:, i], zero[:, i] = 1, 0
        g[:, i] = bit_cost(one) - bit_cost(zero)
    return g


# A categorical variable with logits

COSTS = np.array([1.0, 3.0, -2.0, 0.5])


def categorical(theta):
    return float(softmax(theta) @ COSTS)


def draw(p, rng, n):
    return (rng.random((n, 1)) > np.cumsum(p)[:-1]).sum(axis=1)


SOFT = {"theta": [0.2, -0.5, 0.7, 0.1]}


@case(categorical, **SOFT)
def categorical_score(theta, rng, n):
    p = softmax(theta)
    k = draw(p, rng, n)
    return COSTS[k][:, None] * (np.eye(4)[k] - p)


@case(categorical, **SOFT)
def categorical_score_one(theta, rng):
    p = softmax(theta)
    k = rng.choice(4, p=p)
    return (COSTS[k] - 1.0) * (np.eye(4)[k] - p)


@case(categorical, "fail", **SOFT)
def categorical_without_normalizer(theta, rng, n):
    k = draw(softmax(theta), rng, n)
    return COSTS[k][:, None] * np.eye(4)[k]


@case(categorical, "fail", **SOFT)
def gumbel_softmax(theta, rng, n):
    y = softmax((theta - np.log(-np.log(rng.random((n, 4))))) / 0.5)
    return y * (COSTS - (y @ COSTS)[:, None]) / 0.5


@case(categorical, **SOFT)
def with_replacement_pairs(theta, rng, n):
    """Two samples, each the baseline of the other."""
    p = softmax(theta)
    a, b = draw(p, rng, n), draw(p, rng, n)
    return (COSTS[a] - COSTS[b])[:, None] * (np.eye(4)[a] - np.eye(4)[b]) / 2


@case(categorical, "fail", "factor", **SOFT)
def with_replacement_pairs_twice(theta, rng, n):
    p = softmax(theta)
    a, b = draw(p, rng, n), draw(p, rng, n)
    return (COSTS[a] - COSTS[b])[:, None] * (np.eye(4)[a] - np.eye(4)[b])


@case(categorical, **SOFT)
def top_and_rest(theta, rng, n):
    """Sums over the likeliest outcome, and samples from the others."""
    p = softmax(theta)
    top = int(p.argmax())
    rest = np.where(np.arange(4) == top, 0, p)
    k = draw(rest / rest.sum(), rng, n)
    exact = p[top] * COSTS[top] * (np.eye(4)[top] - p)
    return exact + (1 - p[top]) * COSTS[k][:, None] * (np.eye(4)[k] - p)


@case(categorical, "fail", **SOFT)
def top_only(theta, rng, n):
    p = softmax(theta)
    top = int(p.argmax())
    k = draw(p, rng, n)
    return COSTS[top] * (np.eye(4)[top] - p) + 0 * k[:, None]


# A Kullback-Leibler divergence from samples: k1, k2 and k3 (Schulman, "Approximating KL divergence", 2020)

PRIOR = np.array([0.1, 0.4, 0.3, 0.2])


def kl(theta):
    q = softmax(theta)
    return float((q * np.log(q / PRIOR)).sum())


def kl_parts(theta, rng, n):
    q = softmax(theta)
    k = draw(q, rng, n)
    return np.log(q / PRIOR)[k][:, None], np.eye(4)[k] - q


@case(kl, **SOFT)
def k1_in_reward(theta, rng, n):
    ratio, score = kl_parts(theta, rng, n)
    return ratio * score


@case(kl, "fail", "zero", **SOFT)
def k1_as_loss(theta, rng, n):
    _, score = kl_parts(theta, rng, n)
    return score


@case(kl, **SOFT)
def k2_as_loss(theta, rng, n):
    ratio, score = kl_parts(theta, rng, n)
    return ratio * score


@case(kl, "fail", "other function", **SOFT)
def k3_as_loss(theta, rng, n):
    """The gradient of the other direction."""
    ratio, score = kl_parts(theta, rng, n)
    return (1 - np.exp(-ratio)) * score


@case(kl, "fail", **SOFT)
def k3_in_reward(theta, rng, n):
    ratio, score = kl_parts(theta, rng, n)
    return (np.exp(-ratio) - 1) * score


def kl_normal(mu, log_sigma):
    """KL(N(mu, sigma^2), N(0, 1))."""
    s = np.exp(log_sigma)
    return float((-np.log(s) + (s**2 + mu**2) / 2 - 0.5).sum())


@case(kl_normal, **TWO)
def kl_normal_pathwise(mu, log_sigma, rng, n):
    s, eps = np.exp(log_sigma), rng.standard_normal((n, 2))
    z = mu + s * eps
    return z, z * s * eps - 1


@case(kl_normal, "fail", "other function", **TWO)
def kl_normal_reversed(mu, log_sigma, rng, n):
    """The gradient of KL(N(0, 1), N(mu, sigma^2)), with samples from the prior."""
    s, z = np.exp(log_sigma), rng.standard_normal((n, 2))
    return -(z - mu) / s**2, 1 - (z - mu) ** 2 / s**2


# Gamma, beta, Poisson, exponential and uniform distributions


def gamma_mean_log(theta):
    """E (log x)^2 for x ~ Gamma(shape exp(a), rate exp(b))."""
    from scipy.special import polygamma

    a, b = np.exp(theta)
    return float(polygamma(1, a) + (digamma(a) - np.log(b)) ** 2)


GAMMA = {"theta": [0.9, -0.2]}


@case(gamma_mean_log, **GAMMA)
def gamma_score(theta, rng, n):
    a, b = np.exp(theta)
    x = rng.gamma(a, 1 / b, n)
    cost = np.log(x) ** 2
    return np.stack([cost * (np.log(b) + np.log(x) - digamma(a)) * a, cost * (a - b * x)], axis=1)


@case(gamma_mean_log, "fail", **GAMMA)
def gamma_score_without_digamma(theta, rng, n):
    a, b = np.exp(theta)
    x = rng.gamma(a, 1 / b, n)
    cost = np.log(x) ** 2
    return np.stack([cost * (np.log(b) + np.log(x)) * a, cost * (a - b * x)], axis=1)


@case(gamma_mean_log, **GAMMA)
def gamma_pathwise(theta, rng, n):
    """Implicit reparametrization: dx/da = -(dF/da) / density, with a numeric dF/da."""
    from scipy.special import gammainc

    a, b = np.exp(theta)
    y = rng.gamma(a, 1.0, n)
    h = 1e-5
    dx_da = -(gammainc(a + h, y) - gammainc(a - h, y)) / (2 * h) / np.exp((a - 1) * np.log(y) - y - gammaln(a))
    slope = 2 * np.log(y / b)
    return np.stack([slope / y * dx_da * a, -slope], axis=1)


@case(gamma_mean_log, "fail", "zero", **GAMMA)
def gamma_pathwise_detached_shape(theta, rng, n):
    a, b = np.exp(theta)
    slope = 2 * np.log(rng.gamma(a, 1.0, n) / b)
    return np.stack([0 * slope, -slope], axis=1)


def beta_mean(theta):
    a, b = np.exp(theta)
    return float(a / (a + b) + 2 * a * (a + 1) / (a + b) / (a + b + 1))


@case(beta_mean, theta=[0.6, 0.9])
def beta_score(theta, rng, n):
    a, b = np.exp(theta)
    x = rng.beta(a, b, n)
    cost = x + 2 * x**2
    scores = np.log(x) - digamma(a) + digamma(a + b), np.log1p(-x) - digamma(b) + digamma(a + b)
    return np.stack([cost * scores[0] * a, cost * scores[1] * b], axis=1)


@case(beta_mean, "fail", theta=[0.6, 0.9])
def beta_score_without_normalizer(theta, rng, n):
    a, b = np.exp(theta)
    x = rng.beta(a, b, n)
    cost = x + 2 * x**2
    return np.stack([cost * np.log(x) * a, cost * np.log1p(-x) * b], axis=1)


def poisson_square(theta):
    lam = np.exp(theta)
    return float((lam + lam**2).sum())


@case(poisson_square, theta=[0.3, 1.1])
def poisson_score(theta, rng, n):
    x = rng.poisson(np.exp(theta), (n, 2))
    return (x**2).sum(axis=1)[:, None] * (x - np.exp(theta))


@case(poisson_square, "fail", theta=[0.3, 1.1])
def poisson_score_by_rate(theta, rng, n):
    x = rng.poisson(np.exp(theta), (n, 2))
    return (x**2).sum(axis=1)[:, None] * (x / np.exp(theta) - 1)


def exponential_square(theta):
    return float((2 / theta**2).sum())


@case(exponential_square, theta=[1.5, 0.8])
def exponential_pathwise(theta, rng, n):
    x = rng.exponential(1 / theta, (n, 2))
    return 2 * x * (-x / theta)


@case(exponential_square, theta=[1.5, 0.8])
def exponential_score(theta, rng, n):
    x = rng.exponential(1 / theta, (n, 2))
    return x**2 * (1 / theta - x)


@case(exponential_square, "fail", "sign", theta=[1.5, 0.8])
def exponential_score_of_mean(theta, rng, n):
    x = rng.exponential(1 / theta, (n, 2))
    return x**2 * (x - 1 / theta)


def uniform_tail(theta):
    """P(x > 0.4) for x uniform in (0, theta)."""
    return float(1 - 0.4 / theta)


@case(uniform_tail, "fail", "zero", theta=1.3)
def uniform_pathwise(theta, rng, n):
    """The indicator has no derivative."""
    return 0.0 * (theta * rng.random(n) > 0.4)


@case(uniform_tail, "fail", theta=1.3)
def uniform_score(theta, rng, n):
    """Without the term of the moving end."""
    return -1.0 * (theta * rng.random(n) > 0.4) / theta


@case(uniform_tail, theta=1.3)
def uniform_score_with_end(theta, rng, n):
    return (1.0 - (theta * rng.random(n) > 0.4)) / theta


# Importance sampling


def tilted(theta):
    """E x^2 for x ~ N(theta, 1)."""
    return float((theta**2 + 1).sum())


@case(tilted, theta=[0.3, -0.5])
def importance(theta, rng, n):
    x = 1.3 * rng.standard_normal((n, 2))
    log_weight = (-((x - theta) ** 2) / 2 + x**2 / (2 * 1.69) + np.log(1.3)).sum(axis=1)
    return (np.exp(log_weight) * (x**2).sum(axis=1))[:, None] * (x - theta)


@case(tilted, "fail", "factor", theta=[0.3, -0.5])
def importance_without_normalizer(theta, rng, n):
    x = 1.3 * rng.standard_normal((n, 2))
    log_weight = (-((x - theta) ** 2) / 2 + x**2 / (2 * 1.69)).sum(axis=1)
    return (np.exp(log_weight) * (x**2).sum(axis=1))[:, None] * (x - theta)


@case(tilted, "inconclusive", "heavy tail", theta=[0.3, -0.5])
def importance_narrow(theta, rng, n):
    x = 0.6 * rng.standard_normal((n, 2))
    log_weight = (-((x - theta) ** 2) / 2 + x**2 / (2 * 0.36) + np.log(0.6)).sum(axis=1)
    return (np.exp(log_weight) * (x**2).sum(axis=1))[:, None] * (x - theta)


@case(tilted, "inconclusive", "heavy tail", theta=[0.3, -0.5])
def cauchy_control(theta, rng, n):
    x = theta + rng.standard_normal((n, 2))
    return 2 * x + rng.standard_cauchy((n, 2))


@case(tilted, theta=[0.3, -0.5])
def student_noise(theta, rng, n):
    return 2 * (theta + rng.standard_t(4, (n, 2)))


# Quantum circuits: <Z> = cos(theta), measured with shots

SHOTS = 10


def circuit(theta):
    return float(np.cos(theta[0]) * np.cos(theta[1]) + 0.5 * np.cos(theta[1]))


def measured(theta, rng, n):
    """The mean of SHOTS outcomes, -1 or 1, of two observables."""
    first, second = np.cos(theta[0]) * np.cos(theta[1]), np.cos(theta[1])
    up = rng.binomial(SHOTS, [(1 + first) / 2, (1 + second) / 2], (n, 2))
    return (2 * up / SHOTS - 1) @ np.array([1.0, 0.5])


def shifted(theta, rng, n, shift, factor):
    g = np.zeros((n, 2))
    for i in range(2):
        e = np.eye(2)[i] * shift
        g[:, i] = factor * (measured(theta + e, rng, n) - measured(theta - e, rng, n))
    return g


ANGLES = {"theta": [0.7, -0.4]}


@case(circuit, **ANGLES)
def parameter_shift(theta, rng, n):
    return shifted(theta, rng, n, np.pi / 2, 0.5)


@case(circuit, "fail", "factor", **ANGLES)
def parameter_shift_without_half(theta, rng, n):
    return shifted(theta, rng, n, np.pi / 2, 1.0)


@case(circuit, **ANGLES)
def parameter_shift_quarter(theta, rng, n):
    return shifted(theta, rng, n, np.pi / 4, 0.5 / np.sin(np.pi / 4))


@case(circuit, "fail", "factor", **ANGLES)
def parameter_shift_wrong_angle(theta, rng, n):
    return shifted(theta, rng, n, np.pi / 4, 0.5)


# Perturbations: SPSA and evolution strategies


def quadratic(theta):
    return float((W * theta**2).sum() + theta[0] * theta[1])


@case(quadratic, theta=POINT)
def spsa(theta, rng, n):
    signs = rng.choice([-1.0, 1.0], (n, 4))
    return ((normal_cost(theta + 0.1 * signs) - normal_cost(theta - 0.1 * signs)) / 0.2)[:, None] / signs


@case(quadratic, "fail", theta=POINT)
def spsa_uniform(theta, rng, n):
    """Uniform perturbations, divided by themselves as if they were signs."""
    u = rng.uniform(0.5, 1.5, (n, 4)) * rng.choice([-1.0, 1.0], (n, 4))
    return ((normal_cost(theta + 0.1 * u) - normal_cost(theta - 0.1 * u)) / 0.2)[:, None] * u


@case(quadratic, "fail", "factor", theta=POINT)
def spsa_one_sided_step(theta, rng, n):
    signs = rng.choice([-1.0, 1.0], (n, 4))
    return ((normal_cost(theta + 0.1 * signs) - normal_cost(theta - 0.1 * signs)) / 0.1)[:, None] / signs


@case(quadratic, theta=POINT)
def gaussian_smoothing(theta, rng, n):
    u = rng.standard_normal((n, 4))
    return ((normal_cost(theta + 0.1 * u) - normal_cost(theta - 0.1 * u)) / 0.2)[:, None] * u


@case(quadratic, theta=POINT)
def sphere_smoothing(theta, rng, n):
    u = rng.standard_normal((n, 4))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return 4 * ((normal_cost(theta + 0.1 * u) - normal_cost(theta - 0.1 * u)) / 0.2)[:, None] * u


@case(quadratic, "fail", "factor", theta=POINT)
def sphere_smoothing_without_dimension(theta, rng, n):
    u = rng.standard_normal((n, 4))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return ((normal_cost(theta + 0.1 * u) - normal_cost(theta - 0.1 * u)) / 0.2)[:, None] * u


SIGMA = 0.5


def smoothed_cosine(theta):
    return float((np.cos(theta) * np.exp(-(SIGMA**2) / 2)).sum())


def cosine(theta):
    return float(np.cos(theta).sum())


def evolution(theta, rng, n, factor):
    eps = rng.standard_normal((n, 3))
    up, down = (np.cos(theta + s * SIGMA * eps).sum(axis=1) for s in (1, -1))
    return factor * (up - down)[:, None] * eps


EVOLVED = {"theta": [0.5, 1.2, -0.7]}


@case(smoothed_cosine, **EVOLVED)
def evolution_strategy(theta, rng, n):
    return evolution(theta, rng, n, 0.5 / SIGMA)


@case(smoothed_cosine, "fail", "factor", **EVOLVED)
def evolution_strategy_without_sigma(theta, rng, n):
    return evolution(theta, rng, n, 0.5)


@case(cosine, "fail", "other function", **EVOLVED)
def evolution_strategy_as_gradient(theta, rng, n):
    """The gradient of the smoothed function."""
    return evolution(theta, rng, n, 0.5 / SIGMA)


# Importance-weighted bounds: all outcomes of two samples of a categorical variable

JOINT = np.array([0.3, 0.15, 0.05])


def bound(theta):
    q = softmax(theta)
    w = JOINT / q
    return float(sum(q[i] * q[j] * np.log((w[i] + w[j]) / 2) for i in range(3) for j in range(3)))


def bound_parts(theta, rng, n):
    q = softmax(theta)
    k = np.stack([draw(q, rng, n), draw(q, rng, n)], axis=1)
    w = (JOINT / q)[k]
    return w, np.eye(3)[k] - q, np.log(w.mean(axis=1))


BOUND = {"theta": [0.3, -0.4, 0.2]}


def weighted_score(w, score):
    return ((w / w.sum(axis=1, keepdims=True))[..., None] * score).sum(axis=1)


@case(bound, **BOUND)
def vimco(theta, rng, n):
    """Mnih and Rezende, arXiv:1602.06725, with two samples."""
    w, score, value = bound_parts(theta, rng, n)
    baseline = np.log(w[:, ::-1])  # the geometric mean of the other sample, twice
    return ((value[:, None] - baseline)[..., None] * score).sum(axis=1) - weighted_score(w, score)


@case(bound, **BOUND)
def bound_score(theta, rng, n):
    w, score, value = bound_parts(theta, rng, n)
    return value[:, None] * score.sum(axis=1) - weighted_score(w, score)


@case(bound, "fail", **BOUND)
def bound_score_only(theta, rng, n):
    _, score, value = bound_parts(theta, rng, n)
    return value[:, None] * score.sum(axis=1)


@case(bound, "fail", **BOUND)
def vimco_own_baseline(theta, rng, n):
    w, score, value = bound_parts(theta, rng, n)
    return ((value[:, None] - np.log(w))[..., None] * score).sum(axis=1) - weighted_score(w, score)


# Mini-batches, dropout, and compressed gradients of a least squares problem

_DATA = np.random.default_rng(11)
X, Y = _DATA.normal(size=(12, 3)), _DATA.normal(size=12)


def mean_loss(w):
    return float(((X @ w - Y) ** 2).mean())


def sum_loss(w):
    return float(((X @ w - Y) ** 2).sum())


def rows_slope(w, k):
    return 2 * (X[k] @ w - Y[k])[..., None] * X[k]


WEIGHTS = {"w": [0.5, -1.0, 0.8]}


def batch(rng, n, size=3):
    return np.argsort(rng.random((n, 12)), axis=1)[:, :size]


@case(mean_loss, **WEIGHTS)
def mini_batch(w, rng, n):
    return rows_slope(w, batch(rng, n)).mean(axis=1)


@case(sum_loss, **WEIGHTS)
def mini_batch_of_sum(w, rng, n):
    return 12 / 3 * rows_slope(w, batch(rng, n)).sum(axis=1)


@case(sum_loss, "fail", "factor", **WEIGHTS)
def mini_batch_of_sum_unscaled(w, rng, n):
    return rows_slope(w, batch(rng, n)).sum(axis=1)


@case(mean_loss, "fail", **WEIGHTS)
def mini_batch_never_sees_the_last(w, rng, n):
    return rows_slope(w, rng.integers(0, 11, (n, 3))).mean(axis=1)


@case(mean_loss, **WEIGHTS)
def weighted_batch(w, rng, n):
    p = np.linspace(1, 2, 12) / np.linspace(1, 2, 12).sum()
    k = (rng.random((n, 1)) > np.cumsum(p)[:-1]).sum(axis=1)
    return rows_slope(w, k) / (12 * p[k][:, None])


@case(mean_loss, "fail", **WEIGHTS)
def weighted_batch_without_weights(w, rng, n):
    p = np.linspace(1, 4, 12) / np.linspace(1, 4, 12).sum()
    k = (rng.random((n, 1)) > np.cumsum(p)[:-1]).sum(axis=1)
    return rows_slope(w, k)


@case(mean_loss, **WEIGHTS)
def random_coordinate(w, rng, n):
    i = rng.integers(0, 3, n)
    return 3 * np.eye(3)[i] * rows_slope(w, np.arange(12)).mean(axis=0)


@case(mean_loss, "fail", "factor", **WEIGHTS)
def random_coordinate_unscaled(w, rng, n):
    i = rng.integers(0, 3, n)
    return np.eye(3)[i] * rows_slope(w, np.arange(12)).mean(axis=0)


@case(mean_loss, **WEIGHTS)
def random_rounding(w, rng, n):
    g = rows_slope(w, np.arange(12)).mean(axis=0)
    return np.floor(g + rng.random((n, 3)))


@case(mean_loss, "fail", **WEIGHTS)
def rounding_to_nearest(w, rng, n):
    g = rows_slope(w, rng.integers(0, 12, (n, 3))).mean(axis=1)
    return np.round(g)


@case(mean_loss, **WEIGHTS)
def private(w, rng, n):
    return rows_slope(w, np.arange(12)).mean(axis=0) + rng.laplace(size=(n, 3))


def dropout_loss(w):
    """E (sum m w x / keep - y)^2 for masks m that keep 0.8."""
    x, y = X[0], Y[0]
    return float((w @ x - y) ** 2 + 0.25 * (w**2 * x**2).sum())


@case(dropout_loss, **WEIGHTS)
def dropout(w, rng, n):
    m = (rng.random((n, 3)) < 0.8) / 0.8
    return 2 * (m @ (w * X[0]) - Y[0])[:, None] * m * X[0]


@case(dropout_loss, "fail", **WEIGHTS)
def dropout_other_mask_backward(w, rng, n):
    m, other = ((rng.random((n, 3)) < 0.8) / 0.8 for _ in range(2))
    return 2 * (m @ (w * X[0]) - Y[0])[:, None] * other * X[0]


@case(dropout_loss, "fail", **WEIGHTS)
def dropout_unscaled(w, rng, n):
    m = (rng.random((n, 3)) < 0.8) * 1.0
    return 2 * (m @ (w * X[0]) - Y[0])[:, None] * m * X[0]


# Functions of expectations: one sample is not enough


def squared_mean(theta):
    """(E x)^2 for x ~ N(sin theta, 1)."""
    return float((np.sin(theta) ** 2).sum())


@case(squared_mean, theta=[0.4, 1.1])
def two_samples(theta, rng, n):
    x = np.sin(theta) + rng.standard_normal((n, 2))
    return 2 * x * np.cos(theta)


@case(squared_mean, "fail", theta=[0.4, 1.1])
def one_sample_twice(theta, rng, n):
    """The score function with the sample's own square."""
    x = np.sin(theta) + rng.standard_normal((n, 2))
    return x**2 * (x - np.sin(theta)) * np.cos(theta) * 0.5


def variance(theta):
    return float((np.exp(2 * theta)).sum())


M = 5


def variances(theta, rng, n, factor):
    """The gradient of the variance of M samples, whose divisor is M."""
    eps = rng.standard_normal((n, M, 2))
    centred = eps - eps.mean(axis=1, keepdims=True)
    return factor * 2 * np.exp(2 * theta) * (centred**2).mean(axis=1)


@case(variance, theta=[0.2, -0.3])
def unbiased_variance(theta, rng, n):
    return variances(theta, rng, n, M / (M - 1))


@case(variance, "fail", "factor", theta=[0.2, -0.3])
def biased_variance(theta, rng, n):
    return variances(theta, rng, n, 1.0)


@case(lambda theta: float(np.exp(2 * theta)), "fail", "factor", theta=0.2)
def biased_variance_of_one(theta, rng, n):
    eps = rng.standard_normal((n, M))
    return 2 * np.exp(2 * theta) * ((eps - eps.mean(axis=1, keepdims=True)) ** 2).mean(axis=1)


def log_mean(theta):
    """log E exp(theta x) for x in {-1, 1}."""
    return float(np.log(np.cosh(theta)).sum())


@case(log_mean, "fail", theta=[0.9, -1.2])
def log_of_one_sample(theta, rng, n):
    return rng.choice([-1.0, 1.0], (n, 2)) + 0 * theta


@case(log_mean, "fail", theta=[0.9, -1.2])
def self_normalized(theta, rng, n):
    """A ratio of two means of three samples."""
    x = rng.choice([-1.0, 1.0], (n, 3, 2))
    weight = np.exp(theta * x)
    return (weight * x).sum(axis=1) / weight.sum(axis=1)


# Policy gradients: two states, two actions, three steps, all trajectories

GAMMA_DISCOUNT = 0.8
REWARD = np.array([[1.0, 0.0], [-1.0, 2.0]])
NEXT = np.array([[0.9, 0.2], [0.3, 0.7]])
"""Probabilities of state 1 after a state and an action."""


def policy_return(theta):
    p = softmax(theta)

    def value(state, t):
        if t == 3:
            return 0.0
        later = [(1 - NEXT[state, a]) * value(0, t + 1) + NEXT[state, a] * value(1, t + 1) for a in (0, 1)]
        return sum(p[state, a] * (REWARD[state, a] + GAMMA_DISCOUNT * later[a]) for a in (0, 1))

    return float(value(0, 0))


def episodes(theta, rng, n):
    """Return scores (n, 3, 2, 2) and discounted rewards (n, 3), with states."""
    p, state = softmax(theta), np.zeros(n, int)
    scores, rewards, states = np.zeros((n, 3, 2, 2)), np.zeros((n, 3)), np.zeros((n, 3), int)
    for t in range(3):
        action = (rng.random(n) < p[state, 1]).astype(int)
        scores[np.arange(n), t, state] = np.eye(2)[action] - p[state]
        rewards[:, t], states[:, t] = GAMMA_DISCOUNT**t * REWARD[state, action], state
        state = (rng.random(n) < NEXT[state, action]).astype(int)
    return scores, rewards, states


POLICY = {"theta": [[0.3, -0.2], [-0.5, 0.4]]}


@case(policy_return, **POLICY)
def policy_gradient(theta, rng, n):
    scores, rewards, _ = episodes(theta, rng, n)
    return rewards.sum(axis=1)[:, None, None] * scores.sum(axis=1)


@case(policy_return, **POLICY)
def reward_to_go(theta, rng, n):
    scores, rewards, _ = episodes(theta, rng, n)
    later = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]
    return (later[..., None, None] * scores).sum(axis=1)


@case(policy_return, **POLICY)
def reward_to_go_state_baseline(theta, rng, n):
    scores, rewards, states = episodes(theta, rng, n)
    later = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1] - np.array([0.5, 1.0])[states]
    return (later[..., None, None] * scores).sum(axis=1)


@case(policy_return, "fail", **POLICY)
def discount_from_each_step(theta, rng, n):
    """Returns are discounted from the step on, but the step's own discount is missing."""
    scores, rewards, _ = episodes(theta, rng, n)
    later = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1] / GAMMA_DISCOUNT ** np.arange(3)
    return (later[..., None, None] * scores).sum(axis=1)


@case(policy_return, "fail", **POLICY)
def own_reward_only(theta, rng, n):
    scores, rewards, _ = episodes(theta, rng, n)
    return (rewards[..., None, None] * scores).sum(axis=1)


@case(policy_return, "fail", "zero", **POLICY)
def past_rewards(theta, rng, n):
    scores, rewards, _ = episodes(theta, rng, n)
    past = np.cumsum(rewards, axis=1) - rewards
    return (past[..., None, None] * scores).sum(axis=1)


# Sums of random length, traces


def series(theta):
    return float(np.exp(theta).sum())


def roulette(theta, rng, n, weights):
    """Terms of exp, each with probability 0.6 after the one before."""
    length = rng.geometric(0.4, (n, 1))
    k = np.arange(12)
    terms = theta[None, :, None] ** k / np.cumprod(np.maximum(k, 1.0))
    kept = (k[None, None] < length[..., None]) * (weights[None, None])
    return (terms * kept).sum(axis=-1)


@case(series, theta=[0.5, -0.3])
def russian_roulette(theta, rng, n):
    return roulette(theta, rng, n, 0.6 ** -np.arange(12.0))


@case(series, "fail", theta=[0.5, -0.3])
def random_truncation(theta, rng, n):
    return roulette(theta, rng, n, np.ones(12))


MATRIX = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 3.0]])


def trace_square(theta):
    """The trace of (D M)^2 for D = diag(theta)."""
    a = np.diag(theta) @ MATRIX
    return float(np.trace(a @ a))


def probes(theta, v):
    a = MATRIX @ np.diag(theta) @ MATRIX
    return 2 * (v @ a) * v


@case(trace_square, theta=[0.5, 1.0, -0.4])
def hutchinson(theta, rng, n):
    return probes(theta, rng.choice([-1.0, 1.0], (n, 3)))


@case(trace_square, "fail", "factor", theta=[0.5, 1.0, -0.4])
def hutchinson_uniform(theta, rng, n):
    return probes(theta, rng.uniform(-1, 1, (n, 3)))


# One number: only few multiples are named


def square(theta):
    return float(theta**2 + 1)


@case(square, theta=0.7)
def one_number(theta, rng, n):
    return 2 * (theta + rng.standard_normal(n))


@case(square, "fail", "factor", theta=0.7)
def one_number_twice(theta, rng, n):
    return 4 * (theta + rng.standard_normal(n))


@case(square, "fail", "sign", theta=0.7)
def one_number_negated(theta, rng, n):
    return -2 * (theta + rng.standard_normal(n))


@case(square, "fail", "biased", theta=0.7)
def one_number_off(theta, rng, n):
    return 2 * 0.774 * (theta + rng.standard_normal(n))


@case(square, theta=0.0)
def at_the_minimum(theta, rng, n):
    return 2 * (theta + rng.standard_normal(n))


@case(square, "fail", "biased", theta=0.0)
def shifted_at_the_minimum(theta, rng, n):
    return 2 * (theta + rng.standard_normal(n)) + 0.1


# Functions that use random numbers of their own


@case(normal, theta=POINT)
def global_numbers(theta):
    return normal_slope(theta + np.random.standard_normal(4))


@case(normal, "fail", "factor", theta=POINT)
def global_numbers_twice(theta):
    return 2 * normal_slope(theta + np.random.standard_normal(4))


@case(normal, theta=POINT)
def exact_gradient(theta, rng, n):
    return np.broadcast_to(normal_slope(np.array(theta)), (n, 4))
