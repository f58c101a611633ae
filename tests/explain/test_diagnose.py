"""Diagnoses of all kinds of mistakes, with words each must contain; the same functions pass with right gradients."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.claims.claim import nearby_point
from gradcli.claims.hand_written import HandWritten
from gradcli.explain import diagnose, surrogate
from gradcli.explain.block import InputBlock, Slope

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=5), RNG.normal(size=5)
W, A, K = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(3, 3))
BATCH, TARGETS, G = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2)), RNG.normal(size=(5, 4))
T = np.linspace(0.5, 3, 7)
C = RNG.normal(size=4) + 1j * RNG.normal(size=4)
Z = RNG.normal(size=4) + 1j * RNG.normal(size=4)
STEPS = RNG.normal(size=(6, 3))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normal(x):
    return np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in x])


def gelu_slope(x):
    return normal(x) + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def layer(activation):
    return lambda x, w, b: activation(x @ w + b)


def layer_back(slope):
    def back(g, x, w, b):
        g = g * slope(x @ w + b)
        return g @ w.T, x.T @ g, g.sum(0)

    return back


LAYER = {"x": RNG.normal(size=(2, 3)), "w": W, "b": RNG.normal(size=4)}
NET = {"w1": W, "b1": RNG.normal(size=4), "w2": RNG.normal(size=(4, 2))}


def net(activation):
    return lambda w1, b1, w2: ((activation(BATCH @ w1 + b1) @ w2 - TARGETS) ** 2).mean()


def net_gradient(activation, slope):
    def gradient(w1, b1, w2):
        z = BATCH @ w1 + b1
        h = activation(z)
        d = 2 * (h @ w2 - TARGETS) / TARGETS.size
        dh = d @ w2.T * slope(z)
        return BATCH.T @ dh, dh.sum(0), h.T @ d

    return gradient


def tanh_slope(z):
    return 1 - np.tanh(z) ** 2


def normalize(x):
    mean = x.mean(-1, keepdims=True)
    spread = np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True))
    return (G * (x - mean) / spread).sum()


def normalize_gradient(x, through_mean=True, through_spread=True):
    centred = x - x.mean(-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(-1, keepdims=True))
    h = centred / spread
    g = G - (through_mean * G.mean(-1, keepdims=True)) - through_spread * h * (G * h).mean(-1, keepdims=True)
    return g / spread


def recurrent(w):
    h = np.zeros(4)
    for t in range(5):
        h = np.tanh(h @ w + G[t])
    return (h**2).sum()


def recurrent_gradient(w, steps=5):
    states = [np.zeros(4)]
    for t in range(5):
        states.append(np.tanh(states[-1] @ w + G[t]))
    g, total = 2 * states[-1], np.zeros_like(w)
    for t in reversed(range(5 - steps, 5)):
        d = g * (1 - states[t + 1] ** 2)
        total, g = total + np.outer(states[t], d), d @ w.T
    return total


def attention(q, k):
    p = np.exp(q @ k.T)
    return (p / p.sum(-1, keepdims=True) * K).sum()


def attention_gradient(q, k, softmax=True):
    p = np.exp(q @ k.T)
    p = p / p.sum(-1, keepdims=True)
    s = p * (K - (p * K).sum(-1, keepdims=True)) if softmax else K
    return s @ k, s.T @ q


# name: function, right gradient, wrong gradient, point, words of the diagnosis (for vjp, see report_on)
CASES = {
    "sigmoid": (
        lambda x: ((sigmoid(x) - 0.3) ** 2).sum(),
        lambda x: 2 * (sigmoid(x) - 0.3) * sigmoid(x) * (1 - sigmoid(x)),
        lambda x: 2 * (sigmoid(x) - 0.3),
        {"x": X},
        "the derivative of sigmoid",
    ),
    "relu": (
        lambda x: 2 * np.maximum(x, 0).sum(),
        lambda x: 2.0 * (x > 0),
        lambda x: 2 * np.ones_like(x),
        {"x": X},
        "a mask is missing",
    ),
    "softplus": (
        lambda x: (np.log1p(np.exp(x)) ** 2).sum(),
        lambda x: 2 * np.log1p(np.exp(x)) * sigmoid(x),
        lambda x: 2 * np.log1p(np.exp(x)),
        {"x": X},
        "the derivative of softplus",
    ),
    "gelu": (
        lambda x: ((x * normal(x)) ** 2).sum(),
        lambda x: 2 * x * normal(x) * gelu_slope(x),
        lambda x: 2 * x * normal(x),
        {"x": X},
        "the derivative of gelu",
    ),
    "a layer's tanh": (
        layer(np.tanh),
        layer_back(tanh_slope),
        layer_back(np.ones_like),
        LAYER,
        "the derivative of tanh",
    ),
    "a layer's sigmoid": (
        layer(sigmoid),
        layer_back(lambda z: sigmoid(z) * (1 - sigmoid(z))),
        layer_back(np.ones_like),
        LAYER,
        "the derivative of sigmoid",
    ),
    "a hidden layer's sigmoid": (
        net(sigmoid),
        net_gradient(sigmoid, lambda z: sigmoid(z) * (1 - sigmoid(z))),
        net_gradient(sigmoid, np.ones_like),
        NET,
        "the derivative of sigmoid",
    ),
    "a hidden layer's relu": (
        net(lambda z: np.maximum(z, 0)),
        net_gradient(lambda z: np.maximum(z, 0), lambda z: 1.0 * (z > 0)),
        net_gradient(lambda z: np.maximum(z, 0), np.ones_like),
        NET,
        "the derivative of `np.maximum(z, 0)` ... is left out",
    ),
    "tanh twice": (
        net(np.tanh),
        net_gradient(np.tanh, tanh_slope),
        net_gradient(np.tanh, lambda z: tanh_slope(z) ** 2),
        NET,
        "the derivative of `activation(BATCH @ w1 + b1)` ... is applied twice",
    ),
    "through the mean": (
        normalize,
        normalize_gradient,
        lambda x: normalize_gradient(x, False),
        {"x": RNG.normal(size=(5, 4))},
        "the path through the mean of x along axis 1 is missing",
    ),
    "through the deviation": (
        normalize,
        normalize_gradient,
        lambda x: normalize_gradient(x, True, False),
        {"x": RNG.normal(size=(5, 4))},
        "the path through the variance of x along axis 1 is missing",
    ),
    "earlier time steps": (
        recurrent,
        recurrent_gradient,
        lambda w: recurrent_gradient(w, 1),
        {"w": 0.4 * RNG.normal(size=(4, 4))},
        "the derivative through one of 5 uses of `np.tanh(h @ w + G[t])` ... is missing",
    ),
    "softmax": (
        attention,
        attention_gradient,
        lambda q, k: attention_gradient(q, k, False),
        {"q": RNG.normal(size=(3, 2)), "k": RNG.normal(size=(3, 2))},
        "the derivative of softmax (exp, sum, divide) ... is left out",
    ),
    "a factor along the output": (
        lambda a, b: a * np.exp(-b * T),
        lambda a, b: (np.exp(-b * T), -a * T * np.exp(-b * T)),
        lambda a, b: (np.exp(-b * T), -a * np.exp(-b * T)),
        {"a": 2.0, "b": 0.7},
        "a factor T is missing",
    ),
    "a superfluous factor": (
        lambda s: np.exp(-0.5 / s**2),
        lambda s: np.exp(-0.5 / s**2) / s**3,
        lambda s: np.exp(-0.5 / s**2) / s**2,
        {"s": 1.7},
        "the claim is s times the derivative",
    ),
    "sign of a scalar": (np.sin, np.cos, lambda s: -np.cos(s), {"s": 1.7}, "the sign is wrong"),
    "degrees": (
        lambda s: np.sin(np.radians(s)),
        lambda s: np.radians(1) * np.cos(np.radians(s)),
        lambda s: np.cos(np.radians(s)),
        {"s": 31.0},
        "180 / pi",
    ),
    "a factor that looks like 2": (
        lambda z: (z**3).sum(),
        lambda z: 3 * z**2,
        lambda z: 3 * z,
        {"z": np.array([1.0, 2.0])},
        "a factor z is missing",
    ),
    "a factor that looks like 1/N": (
        np.linalg.norm,
        lambda w: w / np.linalg.norm(w),
        lambda w: w / np.linalg.norm(w) ** 2,
        {"w": np.array([1.0, 2.0, 2.0])},
        "a factor norm(w) is missing",
    ),
    "flipped along both axes": (
        lambda x: (A * x).sum(),
        lambda x: A,
        lambda x: A[::-1, ::-1],
        {"x": W},
        "in reverse order along the axes 0, 1",
    ),
    "two of three axes swapped": (
        lambda x: (np.arange(18.0).reshape(2, 3, 3) * x**2).sum(),
        lambda x: 2 * np.arange(18.0).reshape(2, 3, 3) * x,
        lambda x: np.swapaxes(2 * np.arange(18.0).reshape(2, 3, 3) * x, 1, 2),
        {"x": RNG.normal(size=(2, 3, 3))},
        "in the order [0, 2, 1]",
    ),
    "complex, rolled": (
        lambda z: (abs(z - C) ** 2).sum(),
        lambda g, z: g * 2 * (z - C),
        lambda g, z: np.roll(g * 2 * (z - C), 1),
        {"z": Z},
        "the claim for z[i] is the derivative for z[i-1]",
    ),
    "complex, reversed": (
        lambda z: (abs(z - C) ** 2).sum(),
        lambda g, z: g * 2 * (z - C),
        lambda g, z: (g * 2 * (z - C))[::-1],
        {"z": Z},
        "in reverse order",
    ),
    "two elements swapped": (
        lambda x: (x**2 * [1, 3]).sum(),
        lambda x: 2 * x * [1, 3],
        lambda x: (2 * x * [1, 3])[::-1],
        {"x": np.array([1.0, 5.0])},
        "in reverse order",
    ),
    "a mean of two": (
        lambda x: (x**2).mean(),
        lambda x: x,
        lambda x: 2 * x,
        {"x": np.array([1.0, 5.0])},
        "too large by a factor of 2, the length of x; 1/N is probably missing",
    ),
    "rows of time steps": (
        lambda u: (np.cumsum(u, 0) ** 2).sum(),
        lambda u: 2 * np.cumsum(np.cumsum(u, 0)[::-1], 0)[::-1],
        lambda u: 2 * np.cumsum(u, 0) * np.linspace(2, 1, 6)[:, None],
        {"u": STEPS},
        "all wrong elements are in u[0:5]; the other 3 are right",
    ),
    "a cumulative sum in the wrong direction": (
        lambda x: (np.cumsum(x) * Y).sum(),
        lambda x: np.cumsum(Y[::-1])[::-1],
        lambda x: np.cumsum(Y),
        {"x": X},
        "a cumulative sum goes the wrong way along axis 0",
    ),
    "a missing cumulative sum": (
        lambda x: (np.sin(np.cumsum(x, 1)) * A).sum(),
        lambda x: np.cumsum((np.cos(np.cumsum(x, 1)) * A)[:, ::-1], 1)[:, ::-1],
        lambda x: np.cos(np.cumsum(x, 1)) * A,
        {"x": W},
        "a cumulative sum is missing along axis 1",
    ),
    "a cumulative sum twice": (
        lambda x: (np.cumsum(x) ** 2).sum(),
        lambda x: 2 * np.cumsum(np.cumsum(x)[::-1])[::-1],
        lambda x: 2 * np.cumsum(np.cumsum(np.cumsum(x)[::-1]))[::-1],
        {"x": X},
        "from the end of axis 0: the backward of a difference is missing, or a cumulative sum is applied "
        "once too often",
    ),
    "a regularizer": (
        lambda w: np.sin(w).sum() + 0.1 * (w**2).sum(),
        lambda w: np.cos(w) + 0.2 * w,
        np.cos,
        {"w": X},
        "the claim plus 0.2 * w",
    ),
    "the product rule": (
        lambda x: (x**2 * np.exp(x)).sum(),
        lambda x: (2 * x + x**2) * np.exp(x),
        lambda x: 2 * x * np.exp(x),
        {"x": X},
        "the claim plus x**2 * exp(x)",
    ),
    "degrees of freedom": (
        lambda x: x.std(),
        lambda x: (x - x.mean()) / len(x) / x.std(),
        lambda x: (x - x.mean()) / (len(x) - 1) / x.std(),
        {"x": X},
        "N / (N - 1) for N = 5",
    ),
    "sigmoid's slope at its result": (
        lambda x: sigmoid(x).sum(),
        lambda x: sigmoid(x) * (1 - sigmoid(x)),
        lambda x: sigmoid(sigmoid(x)) * (1 - sigmoid(sigmoid(x))),
        {"x": X},
        "the derivative of sigmoid at sigmoid(x) in place of that at x",
    ),
    "the sign of a term": (
        lambda r: (4 * (r**-12 - r**-6)).sum(),
        lambda r: 4 * (-12 * r**-13 + 6 * r**-7),
        lambda r: 4 * (-12 * r**-13 - 6 * r**-7),
        {"r": np.array([1.1, 1.2, 1.5])},
        "the claim plus 48 * r**-7",
    ),
    "right for symmetric matrices only": (
        lambda x, q: x @ q @ x,
        lambda x, q: ((q + q.T) @ x, np.outer(x, x)),
        lambda x, q: (2 * q @ x, np.outer(x, x)),
        {"x": RNG.normal(size=3), "q": K},
        "right only if q is symmetric",
    ),
    "two inputs swapped": (
        lambda a, b: (a**2 * b).sum(),
        lambda a, b: (2 * a * b, a**2),
        lambda a, b: (a**2, 2 * a * b),
        {"a": X, "b": Y},
        "are swapped",
    ),
    "a factor too many in a term with a minus sign": (
        lambda x: (x**3 - x**2).sum(),
        lambda x: 3 * x**2 - 2 * x,
        lambda x: 3 * x**2 - 2 * x**2,
        {"x": np.array([1.0, 2, 3])},
        "perhaps a factor x is missing in 2 * x, or superfluous in -2 * x",
    ),
    "a factor forgotten in a term that is divided": (
        lambda v, a: 1 / v - a / v**2,
        lambda v, a: (-1 / v**2 + 2 * a / v**3, -1 / v**2),
        lambda v, a: (-1 / v**2 + 2 / v**3, -1 / v**2),
        {"v": 2.0, "a": 3.0},
        "a factor a is missing in 2 / v**3",
    ),
    "an input called f": (
        lambda f: f**3,
        lambda f: 3 * f**2,
        lambda f: 3 * f**3,
        {"f": 2.0},
        "f: the claim is f times the derivative",
    ),
    "a branch whose value is negative": (
        lambda x: x * x if x < 1 else 2 - x * x,
        lambda x: 2 * x if x < 1 else -2 * x,
        lambda x: 2 * x,
        {"x": 2.0},
        "the sign is wrong",
    ),
    "the other branch, where the function is 0": (
        lambda x, y: x * y if x < 1 else 0 * y,
        lambda x, y: (y, x) if x < 1 else (0.0, 0.0),
        lambda x, y: (y, x),
        {"x": 2.0, "y": 3.0},
        "the claim minus y",
    ),
    "the Jacobian of two numbers transposed": (
        lambda r, t: np.array([r * np.cos(t), r * np.sin(t)]),
        lambda r, t: ([np.cos(t), np.sin(t)], [-r * np.sin(t), r * np.cos(t)]),
        lambda r, t: ([np.cos(t), -r * np.sin(t)], [np.sin(t), r * np.cos(t)]),
        {"r": 2.0, "t": 0.5},
        "the gradients are rows of the Jacobian",
    ),
    "two numbers swapped": (
        lambda a, b: a**2 * b,
        lambda a, b: (2 * a * b, a**2),
        lambda a, b: (a**2, 2 * a * b),
        {"a": 2.0, "b": 3.0},
        "are swapped",
    ),
}


def normalizes(x, g, axis, through):
    """Return normalized x times g, and its backward pass through the statistics named in `through`."""
    mean = x.mean(axis, keepdims=True)
    s = np.sqrt(((x - mean) ** 2).mean(axis, keepdims=True) + 1e-3)
    h = (x - mean) / s

    def back(d):
        d = d * g
        lost = ("mean" in through) * d.mean(axis, keepdims=True)
        lost = lost + ("variance" in through) * h * (d * h).mean(axis, keepdims=True)
        lost = lost + ("other" in through) * h * d.mean(axis, keepdims=True)
        return (d - lost) / s

    return h * g, back


def scales(x, g, axis, through):
    size = np.sqrt((x**2).mean(axis, keepdims=True) + 1e-6)
    return (
        x / size * g,
        lambda d: (d * g - ("norm" in through) * x * (d * g * x).mean(axis, keepdims=True) / size**2) / size,
    )


def softmax(x, g, axis, through):
    p = np.exp(x) / np.exp(x).sum(axis, keepdims=True)

    def back(d):
        if "diagonal" in through:
            return p * (1 - p) * d * g
        return p * (d * g - ("sum" in through) * (d * g * p).sum(axis, keepdims=True))

    return p * g, back


def log_softmax(x, g, axis, through):
    p = np.exp(x) / np.exp(x).sum(axis, keepdims=True)
    return np.log(p) * g, lambda d: d * g - ("sum" in through) * p * (d * g).sum(axis, keepdims=True)


PATHS = [
    (normalizes, "mean, variance", "mean", "the path through the variance of x"),
    (normalizes, "mean, variance", "variance", "the path through the mean of x"),
    (normalizes, "mean, variance", "", "the paths through the mean and the variance of x"),
    (scales, "norm", "", "the path through the norm (or mean square) of x"),
    (softmax, "sum", "", "the path through the sum in softmax"),
    (log_softmax, "sum", "", "the path through the sum in softmax"),
]
PLACES = [
    ((5,), (0,), False),
    ((6, 3), (0,), False),
    ((2, 3, 4), (2,), True),
    ((4, 3, 2), (0, 2), True),
    ((40, 6), (1,), False),
]


def paths_report(layer, through, shape, axes, as_loss):
    rng = np.random.default_rng(1)
    x, g, w = (rng.normal(size=shape) for _ in range(3))
    if as_loss:
        loss = lambda x, g: (w * layer(x, g, axes, "")[0]).sum()  # noqa: E731
        return check_gradient(loss, lambda x, g: layer(x, g, axes, through)[1](w), {"x": x, "g": g}, wrt=["x"])
    back = lambda d, x, g: layer(x, g, axes, through)[1](d)  # noqa: E731
    return check_gradient(lambda x, g: layer(x, g, axes, "")[0], at={"x": x, "g": g}, vjp=back, wrt=["x"])


@pytest.mark.parametrize(("shape", "axes", "as_loss"), PLACES, ids=str)
@pytest.mark.parametrize(("layer", "right", "wrong", "words"), PATHS)
def test_missing_paths_through_statistics_are_named(layer, right, wrong, words, shape, axes, as_loss):
    assert paths_report(layer, right, shape, axes, as_loss).verdict == "pass"
    report = paths_report(layer, wrong, shape, axes, as_loss)
    along = {1: f" along axis {axes[0]}", 2: " along the axes 0, 2"}[len(axes)] if len(shape) > 1 else ""
    text = report.diagnosis[0].text
    assert report.diagnosis[0].kind == "missing path" and words in text and along in text, report.diagnosis


@pytest.mark.parametrize("shape", [(5,), (4, 6)])
def test_other_mistakes_in_such_layers_are_not_called_missing_paths(shape):
    axes = (len(shape) - 1,)
    report = paths_report(softmax, "diagonal", shape, axes, True)
    assert "only the diagonal p (1 - p) is claimed" in report.diagnosis[0].text
    for wrong in ("other", "mean, other"):
        report = paths_report(normalizes, wrong, shape, axes, True)
        assert report.verdict == "fail" and not any("mean" in finding.text for finding in report.diagnosis)
    x, w = np.random.default_rng(0).normal(size=(2, *shape))
    loss = lambda x: (w * normalizes(x, 1.0, axes, "")[0]).sum()  # noqa: E731
    added = lambda x: normalizes(x, 1.0, axes, "mean, variance")[1](w) + 0.3  # noqa: E731
    report = check_gradient(loss, added, {"x": x})
    assert "the claim minus 0.3" in report.diagnosis[0].text


def report_on(name, which):
    f, right, wrong, at, _ = CASES[name]
    backward = name.startswith(("a layer", "complex"))
    return check_gradient(f, at=at, **{"vjp" if backward else "grad": (right, wrong)[which]})


@pytest.mark.parametrize("name", CASES)
def test_the_mistake_is_named(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = report_on(name, 1)
    assert report.verdict == "fail"
    parts = CASES[name][-1].split(" ... ")
    found = [all(part in finding.text for part in parts) for finding in report.diagnosis]
    assert any(found), report.diagnosis


@pytest.mark.parametrize("name", CASES)
def test_the_right_gradient_passes(name):
    assert report_on(name, 0).verdict == "pass"


def test_a_wrong_number_is_not_called_a_constant_factor():
    """The claim has r instead of h: their ratio, 2/3 at this point, is another one at others."""
    report = check_gradient(
        lambda r, h: math.pi * r**2 * h,
        at={"r": 2.0, "h": 3.0},
        grad=lambda r, h: (2 * math.pi * r * r, math.pi * r**2),
    )
    assert report.verdict == "fail" and not report.diagnosis, report.diagnosis


def test_a_transposed_matrix_of_a_forward_derivative_is_named():
    """In another shape, the function uses the first two elements only, so the transpose does not fit."""
    report = check_gradient(
        lambda v: np.array([v[0] + 2 * v[1], 3 * v[0] + 4 * v[1]]),
        at={"v": np.array([1.0, 2.0])},
        jvp=lambda t, v: np.array([t[0][0] + 3 * t[0][1], 2 * t[0][0] + 4 * t[0][1]]),
    )
    assert "the claimed Jacobian is the transpose" in report.diagnosis[0].text


def test_a_gradient_that_vanishes_at_the_point_only_is_not_called_zero():
    report = check_gradient(lambda x: 1 / x - 3 / x**2, at={"x": 2.0}, grad=lambda x: -1 / x**2 + 2 / x**3)
    assert report.verdict == "fail" and "zero" not in [finding.kind for finding in report.diagnosis]


def test_numbers_of_right_and_wrong_elements_are_no_condition():
    """The claim is right at 0 and 1 only."""
    report = check_gradient(
        lambda x: (x**4 - 3 * x**3).sum(), at={"x": np.array([1.0, 2, 3])}, grad=lambda x: 4 * x**3 - 9 * x
    )
    assert "right where" not in report.diagnosis[0].text, report.diagnosis


def test_signs_that_are_the_same_at_the_tried_points_are_no_constant_claim():
    x, y = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 2.0]]), np.array([1.0, -1.0, 1.0])
    report = check_gradient(
        lambda w: np.abs(x @ w - y).mean(), at={"w": np.array([0.1, 0.2])}, grad=lambda w: x.T @ np.sign(x @ w) / 3
    )
    assert report.verdict == "fail" and "unsteady" not in [finding.kind for finding in report.diagnosis]


def test_a_softmax_that_gives_the_right_signs_by_chance_is_not_missing():
    x, y = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 2.0]]), np.array([1.0, -1.0, 1.0])
    report = check_gradient(
        lambda w: np.maximum(0, -y * (x @ w)).mean(),
        at={"w": np.array([-1.0, -2.0])},
        grad=lambda w: -(x.T @ (y * (y * (x @ w) > 0))) / 3,
    )
    assert report.verdict == "fail" and not any("softmax" in finding.text for finding in report.diagnosis)


def test_a_wrong_sign_is_not_called_a_permutation():
    """For four points, the right column is also its own opposite in another order."""

    def area(p):
        x, y = p.T
        return np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2

    def gradient(p, sign=1):
        x, y = p.T
        return np.stack([np.roll(y, -1) - np.roll(y, 1), sign * (np.roll(x, 1) - np.roll(x, -1))], 1) / 2

    at = {"p": np.array([[0.0, 0], [3, 0], [3, 2], [1, 4]])}
    assert check_gradient(area, gradient, at).verdict == "pass"
    (finding,) = check_gradient(area, lambda p: gradient(p, -1), at).diagnosis
    assert finding.text == "p: the sign is wrong in p[:,1]"


def test_a_mistake_in_each_run_of_a_loop_is_no_factor_of_one():
    """The derivative of h**2 / 2 is claimed to be h / 2: one of two paths is missing, three times."""

    def steps(h):
        y = 1.0
        for _ in range(3):
            y = y * (1 - h + 0.5 * h * h)
        return y

    report = check_gradient(steps, lambda h: 3 * (1 - h + 0.5 * h * h) ** 2 * (0.5 * h - 1), {"h": 0.1})
    assert report.verdict == "fail" and not any("times as large" in finding.text for finding in report.diagnosis)


def test_an_element_that_a_line_takes_is_named():
    def rosenbrock(x):
        return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

    def gradient(x):
        return np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 100 * (x[1] - x[0] ** 2)])

    (finding,) = check_gradient(rosenbrock, at={"x": np.array([1.0, 2.0])}, grad=gradient).diagnosis
    assert finding.text.startswith("the derivative through `x[1]` (")
    assert finding.text.endswith("is 1/2 times as large as it should be")


def test_a_coincidence_at_one_point_is_not_a_diagnosis():
    """x**3 and 3 * x**2 are equal at x = 3."""
    report = check_gradient(lambda x: x**3, lambda x: 3.0 * x**2 + (x - 3) + 1, {"x": 3.0})
    assert not {finding.kind for finding in report.diagnosis} & {"factor", "sign", "chain factor"}


TINY = np.array([1e-200, 3e-200, 2e-200, 5e-200])
AMOUNTS = np.array([1.0, 2, 3, 4])


@pytest.mark.parametrize(
    ("f", "right", "wrong", "words"),
    [
        (lambda x: (AMOUNTS * x).sum(), lambda x: AMOUNTS, lambda x: -AMOUNTS, "the sign is wrong"),
        (lambda x: (AMOUNTS * x).sum(), lambda x: AMOUNTS, lambda x: AMOUNTS[::-1], "in reverse order"),
        (
            lambda x: (AMOUNTS * np.log(x)).sum(),
            lambda x: AMOUNTS / x,
            lambda x: AMOUNTS,
            "the claim is x times the derivative",
        ),
    ],
    ids=["sign", "order", "factor"],
)
def test_mistakes_at_tiny_inputs_are_named(f, right, wrong, words):
    assert check_gradient(f, right, {"x": TINY}).verdict == "pass"
    report = check_gradient(f, wrong, {"x": TINY})
    assert report.verdict == "fail" and words in report.diagnosis[0].text


def test_underflow_is_not_an_error():
    report = check_gradient(lambda x: 1e200 * x**2, lambda x: 2e200 * np.diag(x), {"x": TINY})
    assert report.verdict == "pass" and "not decidable" in report.notes[0]


def test_all_elements_of_a_large_elementwise_function_are_counted():
    signs = np.where(np.arange(300) % 2, 1.0, -1.0)
    report = check_gradient(np.sin, lambda x: np.diag(signs * np.cos(x)), {"x": np.linspace(0.1, 3, 300)})
    counts = report.inputs[0].counts
    assert (counts.wrong, counts.undecided, counts.of) == (150, 0, 300)
    assert "the sign is wrong" in report.diagnosis[0].text


def test_a_wrong_constant_gradient_is_not_called_stale_if_the_right_one_is_constant():
    kept = check_gradient(lambda x: (x**3).sum(), lambda x: Y, {"x": X})
    constant = check_gradient(lambda x: (A[:, 0] * x).sum(), lambda x: Y[:3], {"x": X[:3]})
    assert (kept.verdict, constant.verdict) == ("fail", "fail")
    kinds = [[finding.kind for finding in report.diagnosis] for report in (kept, constant)]
    assert kinds == [["unsteady"], ["some elements"]]
    assert "by different factors" in constant.diagnosis[0].text


def test_elementwise_rules_count_the_diagonal():
    at = {"x": np.arange(1.0, 13)}
    report = check_gradient(lambda x: x**2, lambda x: np.where(at["x"] == 4, 3, 2) * x, at, elementwise=True)
    counts = report.inputs[0].counts
    assert (counts.wrong, counts.of) == (1, 12)


def test_a_backward_that_counts_its_calls_is_not_called_nonlinear():
    calls = []

    def backward(g, x):
        calls.append(1)
        return g * 2 * x * len(calls)

    report = check_gradient(lambda x: x**2, at={"x": X}, vjp=backward)
    assert "another result on a second call" in report.diagnosis[0].text


def test_a_jump_is_reported_with_its_place_and_size():
    def cut(x):
        return (x**2).sum() + (x.sum() >= 1.5)

    report = check_gradient(cut, lambda x: 2 * x, {"x": np.array([1.0, 0.5])})
    assert (report.verdict, report.rule) == ("inconclusive", "jump")
    assert "jumps by 1 near x[" in report.message


def test_a_random_function_gets_a_hint():
    rng = np.random.default_rng(1)
    report = check_gradient(lambda x: (x * rng.random(5)).sum(), np.ones_like, {"x": X})
    assert report.rule == "non-deterministic" and ".eval()" in report.hint


def test_a_pass_on_a_constant_function_has_a_note():
    def total(x):
        return (np.exp(x) / np.exp(x).sum()).sum()

    report = check_gradient(total, lambda x: 0 * x, {"x": X})
    assert report.verdict == "pass" and report.notes[0].endswith("check another point, too")
    report = check_gradient(lambda x: x / x, lambda x: np.zeros((len(x), len(x))), {"x": X})
    assert report.verdict == "pass" and "check a weighted sum" in report.notes[0]
    assert not report_on("sigmoid", 0).notes


def test_the_second_point_moves_every_element():
    assert (nearby_point({"x": X})["x"] != X).all()


def test_a_report_prints_like_the_command(capsys):
    report = report_on("sign of a scalar", 1)
    assert str(report).startswith("✗ fail") and "[sign]" in str(report) and "again:" not in str(report)
    report.show()
    assert "[sign]" in capsys.readouterr().out


def test_the_outputs_with_a_wrong_sign_are_named():
    weights = RNG.normal(size=(3, 4))
    claimed = (weights * [[-1], [-1], [1]]).reshape(3, 2, 2)
    report = check_gradient(lambda x: weights @ x.ravel(), lambda x: claimed, {"x": RNG.normal(size=(2, 2))})
    assert (report.verdict, report.rule) == ("fail", "sign"), report.message
    assert "in d out[0:2]/d x" in str(report.diagnosis)


@pytest.mark.parametrize(("claimed", "named"), [(lambda a, b: 2 * a * b, True), (lambda a, b: 2 * 1.3 * 0.7, False)])
def test_the_gradient_of_another_input_at_one_point_only_is_not_called_that(claimed, named):
    grad = lambda a, b: (2 * a * b, claimed(a, b))  # noqa: E731
    report = check_gradient(lambda a, b: a * a * b, grad, {"a": 1.3, "b": 0.7})
    assert report.verdict == "fail"
    assert any("was given the gradient of a" in finding.text for finding in report.diagnosis) is named


def test_a_zero_gradient_is_not_called_that_of_an_input_without_effect():
    report = check_gradient(lambda x, y: (x**2).sum() + 0 * y.sum(), lambda x, y: (0 * x, 0 * y), {"x": X, "y": Y})
    assert [finding.kind for finding in report.diagnosis] == ["zero"]


@pytest.mark.parametrize(
    ("claim", "value", "error", "same"),
    [
        ([1.0, 2.0], 3.0, 1e-9, True),
        ([1.0, 2.0], 3.001, 1e-9, False),
        ([1.0, 2.0], 3.001, 1e-2, True),
        ([1.0, 2.0], 3.001, 1.0, False),
        ([0.0, 0.0], 0.0, 0.0, False),
        ([1.0, 2.0], np.nan, np.inf, False),
    ],
)
def test_a_claim_is_the_derivative_of_an_input_as_far_as_a_direction_shows(claim, value, error, same):
    unknown = np.full((1, 2), np.nan)
    slope = Slope(np.ones(2), np.array([value]), np.array([error]))
    other = SimpleNamespace(r=unknown, error=np.full((1, 2), np.inf), slope=slope)
    assert diagnose.is_derivative(np.array([claim]), other) is same


@pytest.mark.parametrize("x", [[-1.0, 0.5, 2.0], [-1.0, -0.3, 2.0, 3.0]])
def test_a_missing_mask_is_named_from_three_elements_on(x):
    report = check_gradient(lambda x: (3 * np.maximum(x, 0)).sum(), lambda x: 3 + 0 * x, {"x": np.array(x)})
    assert "a mask is missing: the derivative is 0 where x < 0" in report.diagnosis[0].text


def test_the_derivative_of_elementwise_functions_is_not_known_where_inputs_are_infinite():
    at = {"x": np.array([np.inf, 0.5, 1.5, 2.5, 3.5])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = check_gradient(np.arctan, lambda x: np.diag([0, 1, 1, 1, 1] / (1 + x)), at)
    assert report.verdict == "fail" and report.inputs[0].counts.wrong == 4


@pytest.mark.parametrize(
    ("rounded", "words"),
    [
        (lambda r: np.array([float(f"{v:.4g}") for v in r]), "rounded to 4 significant digits"),
        (lambda r: np.array([float(f"{v:.8g}") for v in r]), "rounded to 8 significant digits"),
        (lambda r: r.astype(np.float32).astype(float), "precision lost to float32"),
        (lambda r: r * (1 + 1e-7), None),
        (lambda r: r * (1 + 1e-4 * np.sin(1e3 * r)), None),
        (lambda r: np.array([float(f"{v:.2g}") for v in r]), None),
    ],
)
def test_lost_digits_are_counted(rounded, words):
    r = np.pi ** np.arange(-3.0, 4)
    block = SimpleNamespace(a=rounded(r)[None], r=r[None], known=np.ones((1, 7), bool))
    found = diagnose.lost_digits(block)
    assert found is None if words is None else words in found.text


def block_of(a, r, error, slope=None):
    """Return a block of one output with these numbers, of a function of three elements."""
    flat = SimpleNamespace(
        claim=SimpleNamespace(wrt=["x"], at={}),
        arrays=[np.ones(3)],
        parts=[np.ones(3)],
        f0=np.zeros(1),
        claim_unit=1e-16,
    )
    return InputBlock(flat, 0, *(np.array([a]), (np.array([r]), np.array([error]))), slope=slope)


NOT_KNOWN = [np.nan, np.nan, np.nan], [np.inf, np.inf, np.inf]


@pytest.mark.parametrize(
    ("a", "r", "corrected", "accepted"),
    [
        ([1.0, 2, 3], [1.0, 2, 4], [1.0, 2, 4], True),
        ([1.0, 2, 3], [1.0, 2, 4], [1.0, 2, 4 + 1e-6], True),
        ([1.0, 2, 3], [1.0, 2, 4], [1.0, 2, 4 + 1e-4], False),
        ([1.0, 2, 3], [1.0, 2, 4], [1.0, 3, 4], False),
        ([1.0, 2, 3], [1.0, 2, 3], [1.0, 2, 3], None),
        ([1.0, 2, 3], [1.0, np.nan, 4], [1.0, 5, 4], True),
        ([1.0, 2, 4 - 4e-6], [1.0, 2, 4], [1.0, 2, 4 - 3e-6], False),  # leaves most of the difference
    ],
)
def test_a_corrected_claim_is_accepted_where_the_claim_is_refuted(a, r, corrected, accepted):
    block = block_of(a, r, [np.inf if np.isnan(x) else 1e-9 for x in r])
    assert block.accepts(np.array([corrected])) is accepted


@pytest.mark.parametrize(
    ("value", "error", "corrected", "accepted"),
    [
        (7.0, 1e-9, [1.0, 2, 4], True),
        (7.0, 1e-9, [1.0, 2, 4 + 1e-4], False),
        (6.0, 1e-9, [1.0, 2, 3], None),
        (6.1, 1.0, [1.0, 2, 3.1], None),
        (np.nan, np.inf, [1.0, 2, 4], None),
    ],
)
def test_a_corrected_claim_is_compared_along_a_direction(value, error, corrected, accepted):
    slope = Slope(np.ones(3), np.array([value]), np.array([error]))
    assert block_of([1.0, 2, 3], *NOT_KNOWN, slope).accepts(np.array([corrected])) is accepted


def test_what_numbers_say_of_a_block():
    block = block_of([1.0, 0.0, 2.0], [1.0, 1e-3, 0.0], [1e-9, 1e-6, 1e-9])
    assert block.known.tolist() == [[True, False, False]]
    assert block.zero.tolist() == [[False, False, True]]
    assert block.refuted.tolist() == [[False, True, True]]
    thin = block.thin(np.array([2]))
    assert (thin.a.tolist(), thin.refuted.tolist(), thin.zero.tolist()) == ([[2.0]], [[True]], [[True]])


def test_a_claim_has_the_gradient_of_one_function_and_not_of_another():
    at = {"x": X}
    claim = HandWritten(lambda x: np.sin(x).sum(), at, grad=np.cos)
    assert surrogate.has_gradient(claim, claim)
    assert surrogate.has_gradient(HandWritten(lambda x: np.sin(x).sum() + 3, at, grad=np.cos), claim)
    for f in (lambda x: np.cos(x).sum(), lambda x: np.sin(x).sum() + 1e-3 * x[0], lambda x: 1 / 0):
        assert not surrogate.has_gradient(HandWritten(f, at, grad=np.cos), claim)


@pytest.mark.parametrize(
    ("names", "kind", "words"),
    [
        (("detach",), "surrogate", ["detach", "constants"]),
        (("round", "sign"), "straight-through", ["round and sign"]),
        (("round", "detach"), "straight-through", ["with round replaced", "detach"]),
    ],
)
def test_surrogates_in_words(names, kind, words):
    finding = surrogate.describe(names)
    assert finding.kind == kind and all(word in finding.text for word in words)


@pytest.mark.parametrize(
    ("here", "there", "slope", "changes"),
    [
        ([1.0, 2, 3], [1.0, 2, 4], None, True),
        ([1.0, 2, 3], [1.0, 2, 3], None, False),
        ([1.0, np.nan, 3], [1.0, 5, 3], None, False),
        ([1.0, 2, 3], [np.nan] * 3, 7.0, True),
        ([1.0, 2, 3], [np.nan] * 3, 6.0, False),
        ([1.0, np.nan, 3], [np.nan] * 3, 7.0, False),
    ],
)
def test_the_derivative_changes_if_an_element_or_a_slope_does(here, there, slope, changes):
    along = None if slope is None else Slope(np.ones(3), np.array([slope]), np.array([1e-9]))
    other = block_of(NOT_KNOWN[0], there, [1e-9] * 3, along)
    assert diagnose.derivative_changes(block_of([0.0] * 3, here, [1e-9] * 3), other) is changes


def test_what_f_is_continues_a_name_that_ends_with_a_comma():
    """The slope of a norm n is that of n^2 divided by 2 n."""
    x = np.array([0.3, -0.5, 0.8])
    report = check_gradient(lambda x: np.sqrt(x @ x), lambda x: 2 * x, at={"x": x})
    text = "the derivative of sqrt, 1 / (2 * f), where f is the value of the function, is missing"
    assert text in report.diagnosis[0].text


def triplet(a, p, n):
    return max(0, np.sum((a - p) ** 2) - np.sum((a - n) ** 2) + 3)


@pytest.mark.parametrize(("factor", "number"), [(-1, "-1"), (0.5, "0.5")])
def test_a_factor_of_an_active_loss_is_not_called_a_sign(factor, number):
    rng = np.random.default_rng(0)
    at = {name: rng.standard_normal(4) for name in "apn"}
    claim = lambda a, p, n: (factor * 2 * (n - p), 2 * (p - a), 2 * (a - n))  # noqa: E731
    (finding,) = check_gradient(triplet, at=at, grad=claim).diagnosis
    assert finding.text == f"a: at this point, the claim is about {number} times the derivative"


def test_a_claim_that_is_constant_nearby_is_not_called_kept():
    f = lambda x: np.sum(np.maximum(0, 1 - np.abs(x)) * np.array([2.0, 1.0]))  # noqa: E731
    claim = lambda x: (np.abs(x) < 1) * np.array([2.0, 1.0])  # noqa: E731
    report = check_gradient(f, at={"x": np.array([0.5, -0.2])}, grad=claim)
    assert report.verdict == "fail" and "unsteady" not in [finding.kind for finding in report.diagnosis]


def test_elements_that_do_not_change_their_output_are_decided():
    x = np.array([-1.0, -2, 3, -4, -5, -6, 7, -8, -9, -3])
    report = check_gradient(lambda x: np.maximum(x, 0), at={"x": x}, vjp=lambda g, x: 2 * g * (x > 0))
    assert report.inputs[0].counts[:2] == (2, 0)
