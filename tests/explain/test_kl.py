"""The other direction of a divergence is found by values, or by exchanging the arguments of a function of the file."""

import numpy as np
import pytest

from gradcli.explain.kl import other_directions, value_or_nan

P = np.array([0.5, 0.3, 0.2])
LOGITS = {"theta": np.array([0.2, -0.5, 0.1])}
NORMAL = {"mu": np.array([0.4, -1.0]), "log_sigma": np.array([0.2, -0.3])}


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def divergence(p, q):
    return float(np.sum(p * np.log(p / q)))


def by_function(theta):
    return divergence(softmax(theta), P)


def by_formula(theta):
    p = softmax(theta)
    return float(np.sum(p * (np.log(p) - np.log(P))))


def reversed_formula(theta):
    return float(np.sum(P * (np.log(P) - np.log(softmax(theta)))))


def normal(mu, log_sigma):
    return float(np.sum(0.5 * (np.exp(2 * log_sigma) + mu**2 - 1) - log_sigma))


def entropy(theta):
    return float(np.sum(softmax(theta) * np.log(softmax(theta))))


def squares(theta):
    return float((theta**2).sum())


def others(objective, at, constants=(P,)):
    evaluate = lambda point: objective(**point)  # noqa: E731
    return list(other_directions(objective, evaluate, at, list(at), constants))


def test_the_arguments_of_a_function_are_exchanged():
    words, other = others(by_function, LOGITS)[0]
    assert words == "divergence with its arguments exchanged"
    assert other(LOGITS) == pytest.approx(divergence(P, softmax(LOGITS["theta"])), rel=1e-12)


@pytest.mark.parametrize(("objective", "back"), [(by_formula, reversed_formula), (reversed_formula, by_formula)])
def test_a_divergence_of_categorical_distributions_is_recognized_by_its_values(objective, back):
    ((words, other),) = others(objective, LOGITS)
    assert words == "the other direction of the KL divergence"
    at = {"theta": LOGITS["theta"] + 0.3}
    assert other(at) == pytest.approx(back(**at), rel=1e-12)


def test_a_divergence_of_normal_distributions():
    """KL(N(0, 1), N(m, s)) is ln s + (1 + m^2) / (2 s^2) - 1/2."""
    ((_, other),) = others(normal, NORMAL, ())
    m, s = NORMAL["mu"], np.exp(NORMAL["log_sigma"])
    assert other(NORMAL) == pytest.approx(np.sum(np.log(s) + (1 + m**2) / (2 * s**2) - 0.5), rel=1e-12)


def test_a_uniform_distribution_is_tried():
    """The negative entropy differs from KL(p, uniform) by a constant: its values are not those of a divergence."""
    assert others(entropy, LOGITS, ()) == []
    ((_, other),) = others(lambda theta: entropy(theta) + np.log(3), LOGITS, ())
    assert other(LOGITS) == pytest.approx(-np.log(3) - np.log(softmax(LOGITS["theta"])).mean(), rel=1e-9)


def test_other_functions_have_no_other_direction():
    assert others(squares, LOGITS) == []


def test_weights_that_are_divided_by_their_sum_are_probabilities():
    def objective(theta):
        p = theta / theta.sum()
        return float(np.sum(p * (np.log(p) - np.log(P))))

    weights = {"theta": np.array([2.0, 1.0, 0.5])}
    ((_, other),) = others(objective, weights)
    assert other(weights) == pytest.approx(divergence(P, weights["theta"] / 3.5), rel=1e-12)


def scaled_normal(mu, variance):
    return float(np.sum(0.5 * (variance + mu**2 - 1) - 0.5 * np.log(variance)))


def both_in_one(params):
    m, log_scale = params[:2], params[2:]
    return float(np.sum(0.5 * (np.exp(2 * log_scale) + m**2 - 1) - log_scale))


def of_means(mu):
    return float(np.sum(mu**2 / 2))


def of_events(theta):
    p = 1 / (1 + np.exp(-theta))
    return float(np.sum(p * np.log(p / P) + (1 - p) * np.log((1 - p) / (1 - P))))


def to_normal(m, s):
    """Return KL(N(0, 1), N(m, s)), which is ln s + (1 + m^2) / (2 s^2) - 1/2."""
    return np.sum(np.log(s) + (1 + m**2) / (2 * s**2) - 0.5)


M, V = np.array([0.4, -1.0]), np.array([1.3, 0.6])


@pytest.mark.parametrize(
    ("objective", "at", "back"),
    [
        (scaled_normal, {"mu": M, "variance": V}, to_normal(M, np.sqrt(V))),
        (both_in_one, {"params": np.concatenate([M, np.log(V)])}, to_normal(M, V)),
        (of_means, {"mu": M}, to_normal(M, np.ones(2))),
    ],
)
def test_normal_distributions_are_read_from_inputs_in_several_ways(objective, at, back):
    ((_, other),) = others(objective, at, ())
    assert other(at) == pytest.approx(back, rel=1e-12)


def test_independent_events():
    ((_, other),) = others(of_events, LOGITS)
    q = 1 / (1 + np.exp(-LOGITS["theta"]))
    back = np.sum(P * np.log(P / q) + (1 - P) * np.log((1 - P) / (1 - q)))
    assert other(LOGITS) == pytest.approx(back, rel=1e-12)


def test_a_reading_that_does_not_fit_has_no_value():
    assert np.isnan(value_or_nan(lambda point: point["x"] @ np.ones(3), {"x": np.ones(2)}))
    assert np.isnan(value_or_nan(lambda point: point["x"][5], {"x": np.ones(2)}))
    assert value_or_nan(lambda point: point["x"].sum(), {"x": np.ones(2)}) == 2
