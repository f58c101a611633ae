"""Claims that are right for other arguments, and paths that were taken as constant."""

import numpy as np
import pytest
from scipy import special

from gradcli import check_gradient
from gradcli.explain import paths

RNG = np.random.default_rng(8)
X, T = RNG.normal(size=4), np.array([0.1, 0.5, 0.3, 0.1])
A, B, K = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)), RNG.normal(size=(2, 3))
KERNEL = np.array([0.5, -1.0, 2.0])

ARGUMENTS = {
    "a softmax is missing": (
        lambda x: special.logsumexp(x) - T @ x,
        lambda x: x - T,
        {"x": X},
        "the claim is right if you pass softmax(x)",
    ),
    "a softmax of rows is missing": (
        lambda x: special.logsumexp(x, axis=1).sum() - (K * x).sum(),
        lambda x: x - K,
        {"x": RNG.normal(size=(2, 3))},
        "a softmax of x along axis 1 is missing",
    ),
    "a sigmoid is missing": (
        lambda x: np.log1p(np.exp(x)).sum() - T @ x,
        lambda x: x - T,
        {"x": X},
        "the claim is right if you pass sigmoid(x)",
    ),
    "exchanged": (
        lambda x, y: (np.sin(x) * y**2).sum(),
        lambda x, y: np.cos(y) * x**2,
        {"x": X, "y": T},
        "the arguments x and y are exchanged",
    ),
    "not flipped": (
        lambda x, k: np.sin(np.convolve(x, k)).sum(),
        lambda x, k: np.convolve(np.cos(np.convolve(x, k[::-1])), k, "valid"),
        {"x": X, "k": KERNEL},
        "the claim is right for the reversed k",
    ),
    "another one transposed": (
        lambda x, a: (np.sin(a @ x) * K[:1].T).sum(),
        lambda x, a: a @ (np.cos(a.T @ x) * K[:1].T),
        {"x": RNG.normal(size=(3, 2)), "a": A},
        "the claim is right for the transpose of a",
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_for_which_the_claim_is_right_are_named(name):
    f, claim, at, words = ARGUMENTS[name]
    report = check_gradient(f, claim, at, wrt=["x"])
    assert report.verdict == "fail" and words in report.diagnosis[0].text, report.diagnosis


def test_the_excess_of_a_claim_is_what_its_missing_path_would_take_away():
    """For p = softmax(x), the derivative of f(p) is p * (g - (p * g).sum()), where g is that by p."""
    x, g = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 3, 4))
    for axes in ((-1,), (-2,), (-2, -1)):
        p = np.exp(x) / np.exp(x).sum(axes, keepdims=True)
        right = p * (g - (p * g).sum(axes, keepdims=True))
        diagonal, none, sum_only = paths.MISSING[paths.ONLY_DIAGONAL], paths.MISSING[paths.NO_SOFTMAX], p * g
        np.testing.assert_allclose(p * (1 - p) * g - diagonal(x, p * (1 - p) * g, axes)[0], right, rtol=1e-10)
        np.testing.assert_allclose(g - none(x, g, axes)[0], right, rtol=1e-10)
        (words,) = (words for words in paths.MISSING if "softmax (or logsumexp)" in words)
        np.testing.assert_allclose(sum_only - paths.MISSING[words](x, sum_only, axes)[0], right, rtol=1e-10)


def test_paths_through_statistics_are_projections():
    """The derivative of h = (x - mean) / s has the rows (g - mean(g) - h mean(g h)) / s, with s**2 the variance."""
    x, g = RNG.normal(size=(2, 5)), RNG.normal(size=(2, 5))
    centred = x - x.mean(1, keepdims=True)
    variance = (centred**2).mean(1, keepdims=True)
    lost_mean, lost_variance = g.mean(1, keepdims=True), centred * (g * centred).mean(1, keepdims=True) / variance
    found = {words.split(" of {}")[0]: paths.MISSING[words](x, g, (1,)) for words in paths.MISSING}
    np.testing.assert_allclose(found["the path through the mean"][0], lost_mean)
    zero, spread, size = found["the path through the variance"]
    assert not np.any(zero)
    np.testing.assert_allclose(spread, lost_variance)
    np.testing.assert_allclose(size, variance)
    both = found["the paths through the mean and the variance"]
    for part, expected in zip(both, (lost_mean, lost_variance, variance), strict=True):
        np.testing.assert_allclose(part, expected)
    square = (x**2).mean(1, keepdims=True)
    norm = found["the path through the norm (or mean square)"]
    np.testing.assert_allclose(norm[1], x * (g * x).mean(1, keepdims=True) / square)
    np.testing.assert_allclose(norm[2], square)
