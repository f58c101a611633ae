"""Starting values, states in files, helpers for training; tests/api/test_draw.py has the distributions."""

import math

import numpy as np
import pytest

import gradcli
from gradcli import nn
from gradcli.nn import init, utils


# name -> (call, distribution of scipy.stats, its parameters)
def test_gains():
    gains = {"linear": 1, "conv2d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2)}
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


def test_given_numbers():
    assert init.constant_(gradcli.zeros(2), 0.5).tolist() == [0.5, 0.5]
    assert init.ones_(gradcli.zeros(2)).tolist() == [1, 1]
    assert init.zeros_(gradcli.ones(2)).tolist() == [0, 0]
