"""Slopes of gradcli.nn.functional: first and second order against finite differences of the function itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gradcli
import gradcli.nn.functional as F
from tests.rules.calls import numeric_gradient

SEED = np.random.default_rng(4)
CLASSES = gradcli.tensor(np.array([1, 0, 3]))
ROWS = gradcli.tensor(np.array([[1, 0, 1], [2, 1, 0]]))


def spread(*shape: int, low: float = -2.03, high: float = 1.97) -> np.ndarray:
    """Return numbers of which no two are close, so that no maximum is near a tie."""
    size = int(np.prod(shape))
    return (low + (high - low) * (SEED.permutation(size) + 0.5) / max(size, 1)).reshape(shape)


def positive(*shape: int) -> np.ndarray:
    return spread(*shape, low=0.1, high=0.9)


PLAIN = (
    "relu relu6 elu selu celu leaky_relu rrelu hardtanh hardswish hardsigmoid silu mish gelu hardshrink softshrink "
    "softplus tanhshrink softsign logsigmoid tanh sigmoid glu softmax softmin log_softmax normalize"
)
PAIRS = "l1_loss mse_loss smooth_l1_loss huber_loss"
X, Z = spread(3, 4), 0.87 * spread(3, 4) + 0.013
IMAGE = spread(2, 2, 4, 5)
CASES: list[tuple] = [(name, (X,), {}) for name in PLAIN.split()]
CASES += [(name, (X, Z), {}) for name in PAIRS.split()]
CASES += [
    ("gelu", (X,), {"approximate": "tanh"}),
    ("threshold", (X, 0.1, -1.0), {}),
    ("prelu", (X, spread(4)), {}),
    ("dropout", (X,), {"training": False}),
    ("alpha_dropout", (X, 0.0, True), {}),
    ("linear", (spread(2, 3, 4), spread(2, 4), spread(2)), {}),
    ("conv1d", (spread(2, 4, 6), spread(2, 2, 3), spread(2)), {"groups": 2, "stride": 2, "padding": 1}),
    ("conv2d", (spread(2, 4, 5), spread(3, 2, 2, 2)), {"padding": "same", "dilation": (1, 2)}),
    ("conv3d", (spread(1, 1, 3, 3, 2), spread(2, 1, 2, 1, 2), spread(2)), {}),
    ("conv_transpose1d", (spread(2, 2, 3), spread(2, 1, 3)), {"groups": 2, "stride": 2, "output_padding": 1}),
    ("conv_transpose2d", (spread(1, 2, 2, 3), spread(2, 1, 2, 2), spread(1)), {"padding": 1, "dilation": 2}),
    ("conv_transpose3d", (spread(1, 2, 2, 1), spread(1, 1, 2, 1, 2)), {}),
    ("unfold", (IMAGE, (2, 3)), {"padding": 1, "stride": (2, 1), "dilation": (1, 2)}),
    ("fold", (spread(1, 8, 3), (3, 4), (2, 2)), {"stride": (2, 1)}),
    ("avg_pool2d", (IMAGE, 3), {"stride": 2, "padding": 1, "ceil_mode": True}),
    ("avg_pool3d", (spread(1, 3, 2, 3), 2), {"stride": 1, "divisor_override": 3}),
    ("adaptive_avg_pool2d", (IMAGE, (3, None)), {}),
    ("max_pool1d", (spread(2, 7), 3), {"stride": 2, "padding": 1}),
    ("max_pool2d", (IMAGE, 2), {"dilation": 2, "stride": 1}),
    ("adaptive_max_pool2d", (IMAGE, 3), {}),
    ("pad", (X, (1, 2, 0, 1)), {"value": 2.0}),
    ("pad", (X, (-1, 2)), {}),
    ("pad", (X, (1, 2)), {"mode": "reflect"}),
    ("pad", (X, (2, 5)), {"mode": "replicate"}),
    ("pad", (X, (2, -1)), {"mode": "circular"}),
    ("embedding", (ROWS, X), {}),
    ("layer_norm", (X, (4,), spread(4), spread(4)), {}),
    ("rms_norm", (X, (4,), spread(4)), {}),
    ("group_norm", (spread(2, 4, 2), 2, spread(4), spread(4)), {}),
    ("batch_norm", (spread(3, 2, 2), None, None, spread(2), spread(2), True), {}),
    ("instance_norm", (spread(2, 2, 3),), {}),
    ("cross_entropy", (X, CLASSES), {"label_smoothing": 0.2, "weight": gradcli.tensor(positive(4))}),
    ("cross_entropy", (X, positive(3, 4)), {"reduction": "none"}),
    ("nll_loss", (X, CLASSES), {"ignore_index": 0}),
    ("binary_cross_entropy", (positive(3, 4), positive(3, 4)), {}),
    ("binary_cross_entropy_with_logits", (X, positive(3, 4)), {"pos_weight": gradcli.tensor(positive(4))}),
    ("kl_div", (X, positive(3, 4)), {"reduction": "batchmean"}),
    ("kl_div", (X, Z), {"log_target": True, "reduction": "sum"}),
    ("poisson_nll_loss", (X, positive(3, 4)), {}),
    ("poisson_nll_loss", (positive(3, 4), positive(3, 4)), {"log_input": False, "full": True}),
    ("gaussian_nll_loss", (X, Z, positive(3, 1)), {}),
]


class Case:
    """A call whose arrays are operands."""

    def __init__(self, name: str, args: tuple, kwargs: dict):
        self.name, self.args, self.kwargs = name, args, kwargs
        self.arrays = [a for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray)]

    def on(self, values: list) -> gradcli.Tensor:
        left = iter(values)
        args = [next(left) if isinstance(a, np.ndarray) else a for a in self.args]
        kwargs = {k: next(left) if isinstance(a, np.ndarray) else a for k, a in self.kwargs.items()}
        return getattr(F, self.name)(*args, **kwargs)

    def leaves(self, arrays=None, dtype=float) -> list:
        return [gradcli.tensor(np.array(x, dtype), requires_grad=True) for x in arrays or self.arrays]

    def plain(self, *arrays: np.ndarray) -> np.ndarray:
        return np.asarray(self.on([gradcli.tensor(x) for x in arrays]).numpy())

    def __repr__(self) -> str:
        return self.name


ALL = [Case(*case) for case in CASES]


def gradients(case: Case, leaves: list, v: np.ndarray, **options) -> tuple:
    out = case.on(leaves)
    return gradcli.autograd.grad(out, leaves, gradcli.tensor(v), materialize_grads=True, **options)


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_the_gradient_is_the_slope(case):
    v = np.random.default_rng(5).uniform(0.5, 1.5, case.plain(*case.arrays).shape)
    expected = numeric_gradient(case.plain, case.arrays, v)
    for got, want in zip(gradients(case, case.leaves(), v), expected, strict=True):
        assert_allclose(got.numpy(), want, rtol=2e-7, atol=2e-7)


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_the_second_gradient_is_the_slope_of_the_first(case):
    rng = np.random.default_rng(6)
    v = rng.uniform(0.5, 1.5, case.plain(*case.arrays).shape)
    weights = [rng.uniform(0.5, 1.5, x.shape) for x in case.arrays]
    direction = [rng.uniform(-1, 1, x.shape) for x in case.arrays]

    def first(step: float) -> float:
        moved = [x + step * d for x, d in zip(case.arrays, direction, strict=True)]
        grads = gradients(case, case.leaves(moved), v)
        return sum(float((w * g.numpy()).sum()) for w, g in zip(weights, grads, strict=True))

    leaves = case.leaves()
    grads = gradients(case, leaves, v, create_graph=True)
    total = sum((gradcli.tensor(w) * g).sum() for w, g in zip(weights, grads, strict=True))
    second = gradcli.autograd.grad(total, leaves, materialize_grads=True) if total.requires_grad else ()
    got = sum(float((s.numpy() * d).sum()) for s, d in zip(second, direction, strict=False))
    h = 1e-4
    want = (8 * (first(h) - first(-h)) - (first(2 * h) - first(-2 * h))) / (12 * h)
    assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_single_precision_stays(case):
    leaves = case.leaves(dtype=np.float32)
    constants = {k: a.float() if is_real(a) else a for k, a in case.kwargs.items()}
    args = tuple(a.float() if is_real(a) else a for a in case.args)
    out = Case(case.name, args, constants).on(leaves)
    assert out.dtype == gradcli.float32
    grads = gradcli.autograd.grad(out.sum(), leaves, materialize_grads=True)
    assert all(g.dtype == gradcli.float32 for g in grads)


def is_real(a) -> bool:
    return isinstance(a, gradcli.Tensor) and a.is_floating_point()


@pytest.mark.parametrize(
    "name", ["relu", "relu6", "leaky_relu", "hardtanh", "hardshrink", "softshrink", "hardsigmoid"]
)
def test_second_derivatives_of_straight_pieces_are_zero_not_absent(name):
    x = gradcli.tensor([0.6, -0.7, 2.0], requires_grad=True)
    (slope,) = gradcli.autograd.grad(getattr(F, name)(x).sum(), x, create_graph=True)
    (second,) = gradcli.autograd.grad(slope.sum(), x)
    assert second.tolist() == [0.0, 0.0, 0.0]
