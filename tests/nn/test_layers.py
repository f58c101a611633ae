"""Layers: values match formulas in NumPy, derivatives by inputs and parameters match finite differences."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from scipy import signal, special

import gradcli
from gradcli import nn
from gradcli.nn import functional as F
from tests.rules import test_table as net
from tests.rules.calls import Given

from .compare import sigmoid, standard


def correlated(x, w, b):
    """Convolution of (N, C, L) by plain sums."""
    full = [[sum(signal.correlate(c, k, "valid") for c, k in zip(n, f, strict=True)) for f in w] for n in x]
    return np.array(full) + b[:, None]


def lstm(x, p):
    h = c = np.zeros((x.shape[1], p["weight_hh_l0"].shape[1]))
    outs = []
    for step in x:
        gates = step @ p["weight_ih_l0"].T + p["bias_ih_l0"] + h @ p["weight_hh_l0"].T + p["bias_hh_l0"]
        i, f, g, o = np.split(gates, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outs.append(h)
    return np.array(outs)


def gru(x, p):
    h = np.zeros((x.shape[1], p["weight_hh_l0"].shape[1]))
    outs = []
    for step in x:
        (xr, xz, xn), (hr, hz, hn) = (
            np.split(v @ p[f"weight_{s}_l0"].T + p[f"bias_{s}_l0"], 3, -1) for v, s in ((step, "ih"), (h, "hh"))
        )
        z = sigmoid(xz + hz)
        h = (1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h
        outs.append(h)
    return np.array(outs)


# name -> (module, shapes of inputs, formula of the inputs and the parameters by name)
LAYERS = {
    "Linear": (lambda: nn.Linear(4, 3), [(2, 4)], lambda x, p: x @ p["weight"].T + p["bias"]),
    "Linear plain": (lambda: nn.Linear(4, 3, bias=False), [(2, 4)], lambda x, p: x @ p["weight"].T),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.2), [(3, 4)], lambda x, p: np.where(x > 0, x, 0.2 * x)),
    "ELU": (lambda: nn.ELU(0.5), [(3, 4)], lambda x, p: np.where(x > 0, x, 0.5 * np.expm1(x))),
    "Softplus": (lambda: nn.Softplus(2.0), [(3, 4)], lambda x, p: np.log1p(np.exp(2 * x)) / 2),
    "Softmax": (lambda: nn.Softmax(0), [(3, 4)], lambda x, p: special.softmax(x, 0)),
    "Flatten": (nn.Flatten, [(2, 3, 4)], lambda x, p: x.reshape(2, 12)),
    "Conv1d": (lambda: nn.Conv1d(2, 3, 3), [(2, 2, 7)], lambda x, p: correlated(x, p["weight"], p["bias"])),
    "Conv2d": (lambda: nn.Conv2d(2, 4, (3, 2), stride=2, padding=1, groups=2), [(1, 2, 4, 5)], None),
    "MaxPool2d": (lambda: nn.MaxPool2d(2), [(1, 2, 4, 6)], lambda x, p: x.reshape(1, 2, 2, 2, 3, 2).max((3, 5))),
    "AvgPool2d": (lambda: nn.AvgPool2d(2), [(1, 2, 4, 6)], lambda x, p: x.reshape(1, 2, 2, 2, 3, 2).mean((3, 5))),
    "LayerNorm": (lambda: nn.LayerNorm(4), [(3, 4)], lambda x, p: standard(x, -1)),
    "GroupNorm": (
        lambda: nn.GroupNorm(2, 4),
        [(2, 4, 3)],
        lambda x, p: standard(x.reshape(2, 2, 6), -1).reshape(2, 4, 3),
    ),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), [(5, 4)], lambda x, p: standard(x, 0)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2), [(3, 2, 2, 2)], lambda x, p: standard(x, (0, 2, 3))),
    "BatchNorm2d eval": (lambda: nn.BatchNorm2d(2).eval(), [(3, 2, 2, 2)], lambda x, p: x / np.sqrt(1 + 1e-5)),
    "RNN": (lambda: nn.RNN(2, 2, num_layers=2, bidirectional=True), [(2, 1, 2)], None),
    "LSTM": (lambda: nn.LSTM(2, 2), [(3, 1, 2)], lstm),
    "GRU": (lambda: nn.GRU(2, 2), [(3, 1, 2)], gru),
    "LSTM batch first": (
        lambda: nn.LSTM(2, 1, batch_first=True),
        [(2, 3, 2)],
        lambda x, p: lstm(x.swapaxes(0, 1), p).swapaxes(0, 1),
    ),
    "Sequential": (
        lambda: nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)),
        [(4, 2)],
        lambda x, p: np.tanh(x @ p["0.weight"].T + p["0.bias"]) @ p["2.weight"].T + p["2.bias"],
    ),
    "MSELoss": (nn.MSELoss, [(3, 2), (3, 2)], lambda x, y, p: ((x - y) ** 2).mean()),
    "HuberLoss": (lambda: nn.HuberLoss(delta=0.5), [(3, 2), (3, 2)], lambda x, y, p: special.huber(0.5, x - y).mean()),
    "SmoothL1Loss": (
        lambda: nn.SmoothL1Loss(beta=0.5, reduction="none"),
        [(3, 2), (3, 2)],
        lambda x, y, p: special.huber(0.5, x - y) / 0.5,
    ),
    "KLDivLoss": (
        lambda: nn.KLDivLoss(reduction="batchmean", log_target=True),
        [(3, 2), (3, 2)],
        lambda x, y, p: (np.exp(y) * (y - x)).sum() / 3,
    ),
}


@pytest.mark.parametrize(("make", "shapes", "value"), LAYERS.values(), ids=LAYERS)
def test_values_and_derivatives(make, shapes, value):
    """Check derivatives with respect to all inputs and parameters."""
    gradcli.manual_seed(1)
    rng = np.random.default_rng(2)
    module, inputs = make(), [rng.standard_normal(shape) for shape in shapes]
    parameters = {name: p.detach().numpy() for name, p in module.named_parameters()}

    def run(*values):
        given = dict(zip(parameters, values[len(inputs) :], strict=True))
        return gradcli.func.functional_call(module, given, values[: len(inputs)])

    call = Given(run, [*inputs, *parameters.values()])
    if value is not None:
        np.testing.assert_allclose(call.plain(*call.arrays), value(*inputs, parameters), rtol=1e-10, atol=1e-12)
    net.test_gradients_match_differences.check(call)


# -- layers with classes as targets, states or randomness -----------------------------------------

WEIGHT = gradcli.tensor([1.0, 2.0, 0.5])


@pytest.mark.parametrize(
    ("loss", "function", "options"),
    [
        (nn.CrossEntropyLoss, F.cross_entropy, {}),
        (nn.CrossEntropyLoss, F.cross_entropy, {"reduction": "none", "ignore_index": 2}),
        (nn.CrossEntropyLoss, F.cross_entropy, {"weight": WEIGHT}),
        (nn.CrossEntropyLoss, F.cross_entropy, {"label_smoothing": 0.1}),
        (nn.NLLLoss, F.nll_loss, {"reduction": "sum"}),
        (nn.NLLLoss, F.nll_loss, {"weight": WEIGHT}),
        (nn.BCELoss, F.binary_cross_entropy, {}),
        (nn.BCEWithLogitsLoss, F.binary_cross_entropy_with_logits, {}),
    ],
)
def test_loss_modules_equal_their_functions(loss, function, options):
    x = gradcli.tensor(np.random.default_rng(4).uniform(size=(4, 3)))
    target = (x > 0.3).double() if loss in (nn.BCELoss, nn.BCEWithLogitsLoss) else gradcli.tensor([0, 2, 1, 2])
    made = loss(**options)
    assert made(x, target).tolist() == function(x, target, **options).tolist()
    assert list(made.state_dict()) == (["weight"] if "weight" in options else [])


ROWS = {
    "ReLU": "(inplace=False)",
    "HuberLoss": "(reduction='mean', delta=1.0)",
    "MaxPool2d": "(kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False)",
    "Flatten": "(start_dim=1, end_dim=-1)",
}


@pytest.mark.parametrize(("name", "signature"), ROWS.items(), ids=ROWS)
def test_layers_from_the_table_are_ordinary_classes(name, signature):
    kind = getattr(nn, name)
    assert str(inspect.signature(kind)) == signature
    assert inspect.getdoc(kind)
    assert pickle.loads(pickle.dumps(kind)) is kind
    made = kind(2)
    assert repr(pickle.loads(pickle.dumps(made))) == repr(copy.deepcopy(made)) == repr(made)

    class Derived(kind):
        def forward(self, *inputs):
            return 2 * super().forward(*inputs)

    derived = type(name, (Derived,), {})(2)
    assert isinstance(derived, kind)
    assert repr(derived) == repr(made)
