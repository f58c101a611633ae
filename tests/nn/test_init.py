"""States in files, and clipping of gradients by norm; tests/api/test_create.py tests the initial values."""

import numpy as np
import pytest

import gradcli
from gradcli import nn
from gradcli.nn import utils


def test_saving_and_loading_states(tmp_path):
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
        with pytest.raises(TypeError, match=r"save\(\) takes a dictionary of tensors"):
            gradcli.save(wrong, path)


def with_grads(*grads):
    parameters = []
    for values in grads:
        p = nn.Parameter(gradcli.zeros(len(values)))
        p.grad = gradcli.tensor(values, dtype=p.dtype)
        parameters.append(p)
    return parameters


@pytest.mark.parametrize(("order", "norm"), [(2, 5.0), (1, 7.0), ("inf", 4.0)])
def test_gradients_are_clipped_to_a_norm(order, norm):
    parameters = [*with_grads([3.0], [0.0, -4.0]), nn.Parameter(gradcli.zeros(1))]
    assert utils.clip_grad_norm_(parameters, 1.0, order).item() == pytest.approx(norm)
    np.testing.assert_allclose(parameters[1].grad.numpy(), [0, -4 / (norm + 1e-6)])
    before = parameters[0].grad.item()
    utils.clip_grad_norm_(iter(parameters), 100.0, order)
    assert parameters[0].grad.item() == before
