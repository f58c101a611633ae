"""Slopes of gradcli.nn.functional: first and second order against finite differences of the function itself."""

import pytest

import gradcli
import gradcli.nn.functional as F
from gradcli.rules.table import A, Sample
from tests.rules import test_table as net
from tests.rules.calls import Call, Stand

CLASSES, ROWS = gradcli.tensor([1, 0, 3]), gradcli.tensor([[1, 0, 1], [2, 1, 0]])
REAL, SHARES = (-2.535, 2.985), (0.1, 0.9)  # of REAL no number is near a kink
PLAIN = "relu elu leaky_relu silu gelu softplus logsigmoid tanh sigmoid softmax log_softmax normalize"
X, IMAGE = A(3, 4), A(1, 2, 4, 5)


def weights(x):
    return gradcli.tensor([0.3, 0.8, 0.5, 0.6], dtype=x.dtype)


def weighted_cross_entropy(x):
    return F.cross_entropy(x, CLASSES, label_smoothing=0.2, weight=weights(x))


def weighted_logits(x, y):
    return F.binary_cross_entropy_with_logits(x, y, pos_weight=weights(x))


# function or its name, arguments, options, and between which numbers each operand lies (the last also all others)
CASES = [
    *((name, (X,), {}) for name in PLAIN.split()),
    *((name, (X, X), {}) for name in ("huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss")),
    ("mse_loss", (X, X), {"reduction": "sum"}),
    ("gelu", (X,), {"approximate": "tanh"}),
    ("dropout", (X,), {"training": False}),
    ("linear", (A(2, 3, 4), A(2, 4), A(2)), {}),
    ("conv1d", (A(2, 4, 6), A(2, 2, 3), A(2)), {"groups": 2, "stride": 2, "padding": 1}),
    ("conv2d", (A(2, 4, 5), A(3, 2, 2, 2)), {"padding": "same", "dilation": (1, 2)}),
    ("avg_pool2d", (IMAGE, 3), {"stride": 2, "padding": 1, "ceil_mode": True}),
    ("max_pool1d", (A(2, 7), 3), {"stride": 2, "padding": 1}),
    ("max_pool2d", (IMAGE, 2), {"dilation": 2, "stride": 1}),
    ("pad", (X, (1, 2, 0, 1)), {"value": 2.0}),
    ("pad", (X, (-1, 2)), {}),
    ("pad", (X, (1, 2)), {"mode": "reflect"}),
    ("pad", (X, (2, 5)), {"mode": "replicate"}),
    ("pad", (X, (2, -1)), {"mode": "circular"}),
    ("embedding", (ROWS, X), {}),
    ("layer_norm", (X, (4,), A(4), A(4)), {}),
    ("group_norm", (A(2, 4, 2), 2, A(4), A(4)), {}),
    ("batch_norm", (A(3, 2, 2), None, None, A(2), A(2), True), {}),
    ("cross_entropy", (X, CLASSES), {}),
    (weighted_cross_entropy, (X,), {}),
    ("cross_entropy", (X, X), {"reduction": "none"}, REAL, SHARES),
    ("nll_loss", (X, CLASSES), {"ignore_index": 0}),
    ("binary_cross_entropy", (X, X), {}, SHARES),
    (weighted_logits, (X, X), {}, REAL, SHARES),
    ("kl_div", (X, X), {"reduction": "batchmean"}, REAL, SHARES),
    ("kl_div", (X, X), {"log_target": True, "reduction": "sum"}),
]


def call(number, name, args, options, *domain):
    function = getattr(F, name) if isinstance(name, str) else name
    return Call(Stand(function.__name__, function, *domain or (REAL,)), number, Sample(*args, **options))


@pytest.mark.parametrize("call", [call(i, *case) for i, case in enumerate(CASES)], ids=repr)
@pytest.mark.parametrize(
    "check",
    [
        net.test_the_gradient_is_the_slope.check,
        net.test_the_second_gradient_is_the_slope_of_the_first.check,
        net.test_the_type_is_kept.check,
    ],
    ids=lambda f: f.__name__.removeprefix("test_"),
)
def test_slopes(call, check):
    check(call)


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_second_derivatives_of_straight_pieces_are_zero_not_absent(name):
    x = gradcli.tensor([0.6, -0.7, 2.0], requires_grad=True)
    (slope,) = gradcli.autograd.grad(getattr(F, name)(x).sum(), x, create_graph=True)
    (second,) = gradcli.autograd.grad(slope.sum(), x)
    assert second.tolist() == [0.0, 0.0, 0.0]
