"""Starting values: their distributions; states in files; helpers for training."""

import math

import numpy as np
import pytest

import gradcli
from gradcli import nn
from gradcli.nn import init, utils

# name -> (call, distribution of scipy.stats, its parameters)
RANDOM = {
    "uniform_": (lambda x: init.uniform_(x, -1, 3), "uniform", (-1, 4)),
    "normal_": (lambda x: init.normal_(x, 2, 0.5), "norm", (2, 0.5)),
    "xavier_uniform_": (lambda x: init.xavier_uniform_(x, 2), "uniform", (-2 * math.sqrt(0.015), math.sqrt(0.24))),
    "xavier_normal_": (init.xavier_normal_, "norm", (0, math.sqrt(2 / 400))),
    "kaiming_uniform_": (
        lambda x: init.kaiming_uniform_(x, math.sqrt(5)),
        "uniform",
        (-1 / math.sqrt(200), 2 / math.sqrt(200)),
    ),
    "kaiming_normal_": (
        lambda x: init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu"),
        "norm",
        (0, math.sqrt(2 / 200)),
    ),
}


@pytest.mark.parametrize(("call", "name", "parameters"), RANDOM.values(), ids=RANDOM)
def test_distributions(call, name, parameters):
    stats = pytest.importorskip("scipy.stats")  # as in tests/api/test_draw.py
    gradcli.manual_seed(5)
    x = nn.Parameter(gradcli.zeros(200, 200))
    assert call(x) is x
    assert x.requires_grad
    assert x.is_leaf
    first = x.detach().numpy().copy()
    assert stats.kstest(first.ravel(), getattr(stats, name)(*parameters).cdf).pvalue > 1e-3
    gradcli.manual_seed(5)
    assert (call(x).detach().numpy() == first).all()


def test_gains():
    gains = {"linear": 1, "conv2d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}
    assert {name: init.calculate_gain(name) for name in gains} == gains
    assert init.calculate_gain("leaky_relu", 0.5) == math.sqrt(1.6)


def test_states_in_files(tmp_path):
    net, twin = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    net(gradcli.ones(3, 2) * 5)
    path = tmp_path / "state.pt"
    gradcli.save(net.state_dict(), path)
    assert list(tmp_path.iterdir()) == [path]
    twin.load_state_dict(gradcli.load(path))
    assert twin.running_mean.tolist() == [0.5, 0.5]
    assert twin.num_batches_tracked.dtype == gradcli.int64
    assert np.load(path)["weight"].tolist() == [1, 1]
    for wrong in (nn.ReLU(), {"a": object()}, [np.array(["text"])]):
        with pytest.raises(TypeError, match=r"save\(\) takes tensors"):
            gradcli.save(wrong, path)


def with_grads(*grads):
    parameters = []
    for values in grads:
        p = nn.Parameter(gradcli.zeros(len(values)))
        p.grad = gradcli.tensor(values, dtype=p.dtype)
        parameters.append(p)
    return parameters


@pytest.mark.parametrize(("order", "norm"), [(2, 5.0), (1, 7.0), ("inf", 4.0)])
def test_gradients_are_scaled_to_a_norm(order, norm):
    parameters = [*with_grads([3.0], [0.0, -4.0]), nn.Parameter(gradcli.zeros(1))]
    assert utils.clip_grad_norm_(parameters, 1.0, order).item() == pytest.approx(norm)
    np.testing.assert_allclose(parameters[1].grad.numpy(), [0, -4 / (norm + 1e-6)])
    before = parameters[0].grad.item()
    utils.clip_grad_norm_(iter(parameters), 100.0, order)
    assert parameters[0].grad.item() == before


def test_gradients_are_limited():
    (p,) = parameters = with_grads([3.0, -0.1, -4.0])
    utils.clip_grad_value_(parameters, 0.5)
    assert p.grad.tolist() == [0.5, -0.1, -0.5]
    p.grad = gradcli.tensor([math.inf, 0, 0])
    with pytest.raises(RuntimeError, match="non-finite"):
        utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)


def test_given_numbers():
    assert init.constant_(gradcli.zeros(2), 0.5).tolist() == [0.5, 0.5]
    assert init.ones_(gradcli.zeros(2)).tolist() == [1, 1]
    assert init.zeros_(gradcli.ones(2)).tolist() == [0, 0]
