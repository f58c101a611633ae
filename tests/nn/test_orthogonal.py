"""Orthogonal and unitary weights: values and gradients are PyTorch's."""

import numpy as np
import pytest

import gradcli
from gradcli import nn
from gradcli.nn.utils.parametrizations import orthogonal

TABLE = [
    ("matrix_exp", (2, 2), [[0.701235, -0.71293], [0.71293, 0.701235]], [[0.0, 0.0], [-1.336534, 0.0]]),
    ("cayley", (2, 2), [[0.727896, -0.685688], [0.685688, 0.727896]], [[0.0, 0.0], [-1.108207, 0.0]]),
    ("householder", (2, 2), [[-0.227063, 0.97388], [-0.97388, -0.227063]], [[0.0, 0.0], [2.286241, 0.0]]),
    (
        "matrix_exp",
        (3, 2),
        [[0.562141, -0.339418], [0.81289, 0.394723], [0.152336, -0.853808]],
        [[0.0, 0.0], [-1.603835, 0.0], [0.506037, 0.967728]],
    ),
    (
        "cayley",
        (3, 2),
        [[0.648331, -0.357267], [0.73754, 0.513868], [0.188952, -0.779936]],
        [[0.0, 0.0], [-1.164568, 0.0], [0.58588, 0.713555]],
    ),
    (
        "householder",
        (3, 2),
        [[0.009781, -0.516263], [-0.785905, -0.53349], [-0.61827, 0.669971]],
        [[0.0, 0.0], [1.308693, 0.0], [-1.134557, 0.567373]],
    ),
    (
        "matrix_exp",
        (2, 3),
        [[0.427402, 0.876785, 0.220398], [-0.293094, 0.365001, -0.883668]],
        [[0.0, -1.738285, 0.43979], [0.0, 0.0, 0.513756]],
    ),
    (
        "cayley",
        (2, 3),
        [[0.553181, 0.788737, 0.268113], [-0.333262, 0.504488, -0.79651]],
        [[0.0, -1.299049, 0.519861], [0.0, 0.0, 0.375713]],
    ),
    (
        "householder",
        (2, 3),
        [[0.157909, -0.726901, -0.668341], [-0.57325, -0.618584, 0.537343]],
        [[0.0, 1.386103, -0.802086], [0.0, 0.0, 0.99848]],
    ),
    (
        "matrix_exp",
        (2, 2, 2),
        [[[0.701235, -0.71293], [0.71293, 0.701235]], [[0.587276, 0.809386], [-0.809386, 0.587276]]],
        [[[0.0, 0.0], [-1.336534, 0.0]], [[0.0, 0.0], [1.130996, 0.0]]],
    ),
    (
        "cayley",
        (2, 2, 2),
        [[[0.727896, -0.685688], [0.685688, 0.727896]], [[0.636176, 0.771544], [-0.771544, 0.636176]]],
        [[[0.0, 0.0], [-1.108207, 0.0]], [[0.0, 0.0], [0.879025, 0.0]]],
    ),
    (
        "householder",
        (2, 2, 2),
        [[[-0.227063, 0.97388], [-0.97388, -0.227063]], [[-0.058509, -0.998287], [0.998287, -0.058509]]],
        [[[0.0, 0.0], [2.286241, 0.0]], [[0.0, 0.0], [-1.510072, 0.0]]],
    ),
]


def numbers(*shape):
    return gradcli.tensor(np.sin(np.arange(np.prod(shape)) ** 2 * 1.7 + 0.4).reshape(shape))


class Holder(nn.Module):
    def __init__(self, *shape, weight=None):
        super().__init__()
        self.weight = nn.Parameter(numbers(*shape) if weight is None else weight)


def parts(module):
    return module.parametrizations.weight


def near(found, expected):
    return np.allclose(found.detach().numpy(), expected, atol=1e-6)


def columns_are_orthonormal(q):
    q = q.mT if q.shape[-2] < q.shape[-1] else q
    return near(q.mH @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


@pytest.mark.parametrize(("kind", "shape", "value", "grad"), TABLE)
def test_maps(kind, shape, value, grad):
    module = orthogonal(Holder(*shape), orthogonal_map=kind, use_trivialization=False)
    original = parts(module).original
    with gradcli.no_grad():
        original.copy_(numbers(*shape))
        if kind == "householder":
            original.diagonal(dim1=-2, dim2=-1).sign_()
    assert near(module.weight, value) and columns_are_orthonormal(module.weight)
    (module.weight * numbers(*shape).cos()).sum().backward()
    assert near(original.grad, grad)


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3), (2, 3, 2), (1, 1)])
def test_a_base_to_train_around(kind, shape):
    module = orthogonal(Holder(*shape), orthogonal_map=kind)
    start = parts(module).original
    assert np.array_equal(start.detach().numpy(), np.broadcast_to(-np.eye(*shape[-2:]), shape))
    assert not np.signbit(start.detach().numpy()[start.detach().numpy() == 0]).any()
    assert list(module.state_dict()) == ["parametrizations.weight.original", "parametrizations.weight.0.base"]
    assert columns_are_orthonormal(module.weight)
    wanted = module.weight.detach()
    with gradcli.no_grad():
        start.add_(numbers(*shape) * (1 - gradcli.eye(*shape[-2:])))
    assert columns_are_orthonormal(module.weight)
    assert np.prod(shape) == 1 or not near(module.weight, wanted)
    module.weight = wanted
    assert near(module.weight, wanted) and parts(module).original is start


def test_what_is_not_orthogonal_is_made_so():
    module = orthogonal(Holder(3, 2))
    q, r = np.linalg.qr(numbers(3, 2).numpy())
    assert near(module.weight, q * np.sign(np.diagonal(r)))
    module.weight = 2 * module.weight.detach()
    assert near(module.weight, q * np.sign(np.diagonal(r)))


@pytest.mark.parametrize(
    ("shape", "original", "value"),
    [
        ((2, 2), [[-1.0, -0.387385], [0.62323, 1.0]], [[0.44049, 0.897757], [0.897757, -0.44049]]),
        (
            (3, 2),
            [[-1.0, 0.192993], [0.539275, 1.0], [0.424247, 0.742047]],
            [[0.359802, 0.764645], [0.733307, 0.122559], [0.576891, -0.632691]],
        ),
    ],
)
def test_reflections_of_a_matrix(shape, original, value):
    module = orthogonal(Holder(*shape), orthogonal_map="householder", use_trivialization=False)
    assert near(parts(module).original, original)
    assert near(module.weight, value)
    module.weight = gradcli.eye(*shape, dtype=gradcli.float64)
    assert near(module.weight, np.eye(*shape))


def test_unitary_matrices():
    x = numbers(2, 2)
    module = orthogonal(Holder(weight=x + 1j * x.cos()))
    start = [[0.266878 + 0.634015j, 0.716306 - 0.117077j], [0.543921 + 0.480574j, -0.563538 + 0.394491j]]
    assert near(module.weight, start)
    with gradcli.no_grad():
        parts(module).original.copy_(1j * x)
    moved = [[-0.346961 + 0.928756j, 0.027838 - 0.127495j], [-0.118653 + 0.054326j, -0.833671 + 0.536621j]]
    assert near(module.weight, moved)
    module.weight.abs().pow(3).sum().backward()
    assert near(parts(module).original.grad, [[-0.419035j, 0], [-0.396635 + 0.106446j, 0.419035j]])
    with pytest.raises(ValueError, match="The householder parametrization does not support complex tensors"):
        orthogonal(Holder(weight=x + 1j), orthogonal_map="householder")


def test_training_keeps_it_orthogonal():
    layer = orthogonal(nn.Linear(4, 6, dtype=gradcli.float64))
    assert repr(layer).endswith("(weight): ParametrizationList(\n      (0): _Orthogonal()\n    )\n  )\n)")
    optimizer = gradcli.optim.SGD(layer.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        layer(gradcli.ones(2, 4, dtype=gradcli.float64)).square().sum().backward()
        optimizer.step()
    assert columns_are_orthonormal(layer.weight)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "bias"}, "Expected a matrix or batch of matrices. Got a tensor of 1 dimensions."),
        ({"name": "w"}, r"Module 'Linear\(.*\)' has no parameter or buffer with name 'w'"),
        ({"orthogonal_map": "x"}, 'has to be one of "matrix_exp", "cayley", "householder". Got: x'),
    ],
)
def test_what_cannot_be_orthogonal(options, words):
    with pytest.raises(ValueError, match=words):
        orthogonal(nn.Linear(2, 2), **options)


def test_what_cannot_be_assigned():
    module = orthogonal(Holder(2, 2))
    with pytest.raises(ValueError, match=r"of shape .*2, 2.*\. Got a tensor of shape .*3, 3"):
        module.weight = gradcli.eye(3, dtype=gradcli.float64)
    for kind in ("matrix_exp", "cayley"):
        module = orthogonal(Holder(2, 2), orthogonal_map=kind, use_trivialization=False)
        with pytest.raises(NotImplementedError, match="use_trivialization=False"):
            module.weight = gradcli.eye(2, dtype=gradcli.float64)
