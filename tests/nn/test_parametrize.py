"""Parameters computed from others."""

import copy
import warnings

import numpy as np
import pytest

import gradcli
from gradcli import nn
from gradcli.nn.utils import parametrizations, parametrize, remove_weight_norm, spectral_norm, weight_norm

NUMBERS = np.array([[3.0, 4.0], [-1.0, 2.0]])


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2


class Shifted(nn.Module):
    def forward(self, x):
        return x + 1

    def right_inverse(self, y):
        return y - 1


class Product(nn.Module):
    def forward(self, u, v):
        return u * v

    def right_inverse(self, y):
        return y, gradcli.ones(2, 1, dtype=y.dtype)


def layer(bias=True):
    made = nn.Linear(2, 2, bias=bias, dtype=gradcli.float64)
    made.weight.data = gradcli.tensor(NUMBERS)
    return made


def test_the_tensor_is_computed_and_its_original_trained():
    net = parametrize.register_parametrization(layer(), "weight", Doubled())
    assert net.weight.tolist() == (2 * NUMBERS).tolist()
    assert [name for name, _ in net.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert repr(net).startswith("ParametrizedLinear(\n  in_features=2")
    net(gradcli.ones(1, 2, dtype=gradcli.float64)).sum().backward()
    assert net.parametrizations.weight.original.grad.tolist() == [[2, 2], [2, 2]]
    assert copy.deepcopy(net).weight.tolist() == net.weight.tolist()
    with pytest.raises(RuntimeError, match="Doubled does not implement right_inverse"):
        net.weight = gradcli.ones(2, 2, dtype=gradcli.float64)


def test_right_inverse():
    net = parametrize.register_parametrization(layer(), "weight", Shifted())
    assert net.parametrizations.weight.original.tolist() == (NUMBERS - 1).tolist()
    net.weight = gradcli.tensor(NUMBERS * 3)
    assert net.weight.tolist() == (NUMBERS * 3).tolist()


def test_several_parts_and_several_steps():
    net = parametrize.register_parametrization(layer(), "weight", Product())
    parametrize.register_parametrization(net, "weight", Doubled())
    assert net.weight.tolist() == (2 * NUMBERS).tolist()
    assert net.parametrizations.weight.original1.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(("keep", "expected"), [(True, 2 * NUMBERS), (False, NUMBERS)])
def test_removing(keep, expected):
    net = parametrize.register_parametrization(layer(), "weight", Doubled())
    parametrize.remove_parametrizations(net, "weight", leave_parametrized=keep)
    assert type(net) is nn.Linear
    assert isinstance(net.weight, nn.Parameter)
    assert net.weight.tolist() == expected.tolist()
    assert not parametrize.is_parametrized(net)
    with pytest.raises(ValueError, match="does not have a parametrization"):
        parametrize.remove_parametrizations(net, "weight")


def test_cached():
    net = parametrize.register_parametrization(layer(), "weight", Doubled())
    assert net.weight is not net.weight
    with parametrize.cached():
        assert net.weight is net.weight


@pytest.mark.parametrize(
    ("name", "part", "message"),
    [
        ("w", Doubled(), "does not have a parameter"),
        ("weight", nn.Flatten(0), "may not change the shape"),
    ],
)
def test_refused(name, part, message):
    with pytest.raises(ValueError, match=message):
        parametrize.register_parametrization(layer(), name, part)


@pytest.mark.parametrize("old", [False, True])
def test_weight_norm(old):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        net = (weight_norm if old else parametrizations.weight_norm)(layer())
    g, v = (
        (net.weight_g, net.weight_v)
        if old
        else (net.parametrizations.weight.original0, net.parametrizations.weight.original1)
    )
    lengths = np.linalg.norm(NUMBERS, axis=1, keepdims=True)
    np.testing.assert_allclose(g.detach(), lengths)
    np.testing.assert_allclose(net.weight.detach(), NUMBERS)
    net(gradcli.tensor([[1.0, 3.0]], dtype=gradcli.float64)).sum().backward()
    x, unit = np.array([1.0, 3.0]), NUMBERS / lengths
    np.testing.assert_allclose(g.grad, unit @ x[:, None])
    np.testing.assert_allclose(v.grad, x - unit * (unit @ x)[:, None], atol=1e-12)  # across v only: g = |v|
    if old:
        remove_weight_norm(net)
        assert [name for name, _ in net.named_parameters()] == ["bias", "weight"]
        np.testing.assert_allclose(net.weight.detach(), NUMBERS)


@pytest.mark.parametrize("make", [parametrizations.spectral_norm, spectral_norm])
def test_spectral_norm(make):
    net = make(layer(), n_power_iterations=30)
    net(gradcli.ones(1, 2, dtype=gradcli.float64))
    np.testing.assert_allclose(net.weight.detach(), NUMBERS / np.linalg.norm(NUMBERS, 2), rtol=1e-6)
    with pytest.raises(ValueError, match="n_power_iterations to be positive"):
        make(layer(), n_power_iterations=0)


class Growing(nn.Module):
    def forward(self, x):
        return gradcli.cat([x, x])


class Second(nn.Module):
    """Its inverse is what a function gives, from the second time on."""

    def __init__(self, later, first=lambda y: y):
        super().__init__()
        self.inverses = [later, first]

    def forward(self, *x):
        return sum(x)

    def right_inverse(self, y):
        return (self.inverses.pop() if len(self.inverses) > 1 else self.inverses[0])(y)


def halves(y):
    return y / 2, y / 2


@pytest.mark.parametrize(("part", "unsafe"), [(Shifted(), False), (Growing(), True)])
def test_the_parameter_stays_the_one_that_an_optimizer_knows(part, unsafe):
    net = layer()
    weight = net.weight
    parametrize.register_parametrization(net, "weight", part, unsafe=unsafe)
    assert net.parametrizations.weight.original is weight
    value = net.weight.tolist()
    parametrize.remove_parametrizations(net, "weight")
    assert net.weight is weight and weight.tolist() == value


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Second(lambda y: 3), "`right_inverse` should return a tensor. Got int"),
        (
            Second(lambda y: y.float()),
            "The tensor returned by `right_inverse` has dtype .*float32 while `original` has dtype .*float64",
        ),
        (Second(lambda y: 3, halves), "'right_inverse' must return a sequence of tensors. Got int."),
        (Second(lambda y: (y,), halves), "of tensors of length 2. Got a sequence of length 1."),
        (
            Second(lambda y: (y, y.float()), halves),
            "Tensor 1 returned by `right_inverse` has dtype .* while `original1`",
        ),
    ],
)
def test_inverses_that_change_their_mind(part, words):
    net = parametrize.register_parametrization(layer(), "weight", part)
    with pytest.raises(ValueError, match=words):
        net.weight = gradcli.ones(2, 2, dtype=gradcli.float64)
    assert net.weight.tolist() == NUMBERS.tolist()


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (
            Growing(),
            r"`unsafe` flag is enabled.\nmodule.weight.shape: .*\nparametrization\(module.weight\).shape: ",
        ),
        (Second(None, lambda y: 3), "parametrization.right_inverse must return a tensor. Got: int"),
        (
            Second(None, lambda y: y.float()),
            r"by parametrization.right_inverse must have the same dtype as module.weight, unless .* "
            r"enabled.\nmodule.weight.dtype: .*float64\nreturned dtype: .*float32",
        ),
    ],
)
def test_further_parametrizations_that_do_not_fit(part, words):
    net = parametrize.register_parametrization(layer(), "weight", Shifted())
    with pytest.raises(ValueError, match=words):
        parametrize.register_parametrization(net, "weight", part)
    assert len(net.parametrizations.weight) == 1


def test_an_inverse_of_another_type():
    with pytest.raises(ValueError, match="When `right_inverse` outputs one tensor, it may not change the dtype"):
        parametrize.register_parametrization(layer(), "weight", Second(None, lambda y: y.float()), unsafe=True)


def test_parametrizations_of_another_module():
    net, other = parametrizations.weight_norm(layer()), layer()
    assert parametrize.transfer_parametrizations_and_params(net, other) is other
    mine, theirs = net.parametrizations.weight, other.parametrizations.weight
    assert theirs[0] is mine[0] and theirs.original0 is mine.original0 and theirs.original1 is mine.original1
    bare = nn.Module()
    parametrize.transfer_parametrizations_and_params(net, bare, "weight")
    assert bare.weight.tolist() == net.weight.tolist()
    assert parametrize.transfer_parametrizations_and_params(nn.ReLU(), bare) is bare
