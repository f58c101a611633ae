"""Pruning: masks, iterated pruning, what a module holds then, and errors. Numbers are PyTorch's."""

import math

import numpy as np
import pytest

import gradcli
from gradcli import nn
from gradcli.nn.utils import prune
from gradcli.program.torch_names import as_torch

SCORES = gradcli.tensor([0.3, -2.0, 1.5, -0.1])


def layer():
    """A layer with the weight sin(2.3 i), which has no two equal absolute values, and the bias cos(1.3 i)."""
    made = nn.Linear(4, 3, dtype=gradcli.float64)
    made.weight.data = gradcli.tensor(np.sin(2.3 * np.arange(12)).reshape(3, 4))
    made.bias.data = gradcli.tensor(np.cos(1.3 * np.arange(3)))
    return made


def hook_of(module):
    (found,) = module._forward_pre_hooks.values()
    return found


# -- one pruning ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "mask"),
    [
        (0, [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]),
        (2, [[0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0]]),
        (0.5, [[0, 1, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0]]),
        (0.04, [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]),
        (1.0, [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    ],
)
def test_lowest_absolute_values(amount, mask):
    assert prune.l1_unstructured(layer(), "weight", amount).weight_mask.tolist() == mask


@pytest.mark.parametrize(
    ("amount", "n", "dim", "kept"),
    [
        (1, 1, 0, [0, 1, 1]),
        (2, 2, 0, [1, 0, 0]),
        (0.4, math.inf, -2, [1, 0, 1]),
        (2, 1, 1, [0, 1, 1, 0]),
        (1, "fro", -1, [0, 1, 1, 1]),
        (0, 2, 1, [1, 1, 1, 1]),
    ],
)
def test_channels_of_the_lowest_norms(amount, n, dim, kept):
    mask = prune.ln_structured(layer(), "weight", amount, n, dim).weight_mask.numpy()
    assert mask.tolist() == np.broadcast_to(np.reshape(kept, (-1, 1) if dim in (0, -2) else (1, -1)), (3, 4)).tolist()


def test_random_masks_have_as_many_zeros():
    assert prune.random_unstructured(layer(), "weight", 0.3).weight_mask.sum() == 8
    mask = prune.random_structured(layer(), "weight", 2, 1).weight_mask
    assert sorted(mask.sum(0).tolist()) == [0, 0, 3, 3]


def test_scores_in_place_of_the_parameter():
    scores = gradcli.tensor([3.0, 2.0, 1.0])
    pruned = prune.l1_unstructured(layer(), "bias", 1, importance_scores=scores)
    assert pruned.bias_mask.tolist() == [1, 1, 0]
    rows = gradcli.arange(12.0).flip(0).view(3, 4)
    assert prune.ln_structured(layer(), "weight", 1, 2, 0, rows).weight_mask.sum(1).tolist() == [4, 4, 0]
    assert prune.L1Unstructured.apply(layer(), "bias", 1, scores)._tensor_name == "bias"


def test_a_mask_that_is_given():
    module = prune.custom_from_mask(layer(), "bias", gradcli.tensor([True, False, True]))
    assert module.bias_mask.dtype == gradcli.float64
    assert module.bias.tolist() == [1, 0, math.cos(2.6)]


def test_a_tensor_alone():
    assert prune.L1Unstructured(2).prune(SCORES).tolist() == [0, -2, 1.5, 0]
    mask = gradcli.tensor([0.0, 1, 1, 1])
    assert prune.L1Unstructured(1).prune(SCORES, default_mask=mask).tolist() == [0, -2, 1.5, 0]
    assert mask.tolist() == [0, 1, 1, 1]
    assert prune.L1Unstructured(1).prune(SCORES, importance_scores=SCORES**-1).tolist() == [0.3, 0, 1.5, -0.1]


# -- what a module holds --------------------------------------------------------------------------


def test_the_module_holds_the_original_and_the_mask():
    module = layer()
    weight = module.weight
    assert prune.l1_unstructured(module, "weight", 8) is module
    assert list(module.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    assert module.weight_orig is weight
    assert not module.weight.is_leaf and not isinstance(module.weight, nn.Parameter)
    assert isinstance(hook_of(module), prune.L1Unstructured)
    with gradcli.no_grad():
        module.weight_orig.fill_(2.0)
    output = module(gradcli.ones(1, 4, dtype=gradcli.float64)).sum()
    assert output.item() == pytest.approx(2 * 4 + module.bias.sum().item())
    output.backward()
    assert weight.grad.tolist() == module.weight_mask.tolist()


def test_remove_keeps_what_is_left():
    module = prune.l1_unstructured(layer(), "weight", 0.5)
    weight, left = module.weight_orig, module.weight.detach()
    assert prune.is_pruned(nn.Sequential(nn.ReLU(), module))
    assert prune.remove(module, "weight") is module
    assert module.weight is weight and weight.tolist() == left.tolist()
    assert list(module.state_dict()) == ["bias", "weight"]
    assert not prune.is_pruned(module) and not module._forward_pre_hooks
    with pytest.raises(ValueError, match=r"Parameter 'weight' of module Linear\(.*\) has to be pruned before"):
        prune.remove(module, "weight")


def test_conversion_and_state():
    module, other = prune.l1_unstructured(layer(), "weight", 0.5), prune.identity(layer(), "weight")
    other.load_state_dict(module.state_dict())
    x = gradcli.ones(1, 4)
    assert other.float()(x).tolist() == module.float()(x).tolist()
    assert (module.weight_mask.dtype, module.weight.dtype) == (gradcli.float32, gradcli.float32)


def test_a_recurrent_module():
    module = prune.l1_unstructured(nn.LSTM(2, 2), "weight_ih_l0", 16)
    module(gradcli.ones(1, 1, 2))[0].sum().backward()
    assert module.weight_ih_l0_orig.grad.abs().sum() == 0


# -- one after another ----------------------------------------------------------------------------


def test_iterated_pruning_sees_what_is_left():
    module = layer()
    prune.identity(module, "weight")
    prune.l1_unstructured(module, "weight", 2)
    container = hook_of(module)
    prune.l1_unstructured(module, "weight", 2)
    prune.ln_structured(module, "weight", 1, 2, 1)
    assert module.weight_mask.tolist() == [[0, 1, 1, 1], [0, 1, 1, 0], [0, 1, 1, 0]]
    assert hook_of(module) is container and len(container) == 4
    assert [type(method).__name__ for method in container][2:] == ["L1Unstructured", "LnStructured"]
    assert container[1:][0].amount == 2
    prune.remove(module, "weight")
    assert list(module.state_dict()) == ["bias", "weight"]


def test_channels_that_are_gone_do_not_count():
    method = prune.LnStructured(1, 1, 0)
    method._tensor_name = "t"
    found = prune.PruningContainer(method).compute_mask(
        gradcli.tensor([[1.0, 2], [3, 4], [0, 1]]), gradcli.tensor([[0.0, 1], [1, 0], [0, 0]])
    )
    assert found.tolist() == [[0, 0], [1, 0], [0, 0]]


def test_several_parameters_as_one():
    net = nn.Sequential(layer(), nn.ReLU(), layer())
    prune.l1_unstructured(net[0], "weight", 3)
    prune.global_unstructured(((net[0], "weight"), (net[2], "bias")), prune.L1Unstructured, amount=4)
    assert net[0].weight_mask.tolist() == [[0, 1, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0]]
    assert net[2].bias_mask.tolist() == [1, 0, 1]
    assert isinstance(hook_of(net[0]), prune.PruningContainer)
    assert isinstance(hook_of(net[2]), prune.CustomFromMask)
    scores = {(net[2], "bias"): gradcli.tensor([3.0, 0.0, 0.1])}
    prune.global_unstructured([(net[2], "bias")], prune.L1Unstructured, scores, amount=1)
    assert net[2].bias_mask.tolist() == [1, 0, 0]


def test_a_method_of_ones_own():
    class EveryOther(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    module = nn.Linear(1, 7)
    EveryOther.apply(module, "bias")
    assert module.bias_mask.tolist() == [0, 1, 0, 1, 0, 1, 0]
    EveryOther.apply(module, "bias")
    assert module.bias_mask.tolist() == [0, 0, 0, 1, 0, 0, 0]


# -- errors ---------------------------------------------------------------------------------------

TOO_MANY = "amount=13 should be smaller than the number of parameters to prune=12"
ERRORS = [
    (
        lambda m: prune.l1_unstructured(m, "weight", "x"),
        TypeError,
        "Invalid type for amount: x. Must be int or float",
    ),
    (lambda m: prune.l1_unstructured(m, "weight", -1), ValueError, "amount=-1 should either be a float in the range"),
    (lambda m: prune.l1_unstructured(m, "weight", 1.2), ValueError, "amount=1.2 should either be a float in"),
    (lambda m: prune.random_unstructured(m, "weight", 13), ValueError, TOO_MANY),
    (lambda m: prune.ln_structured(m, "weight", 4, 2, 0), ValueError, "amount=4 should be smaller than the number"),
    (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), ValueError, "Structured pruning can only be applied to"),
    (lambda m: prune.random_structured(m, "weight", 1, 2), IndexError, "Invalid index 2 for tensor of size"),
    (lambda m: prune.l1_unstructured(m, "nope", 1), AttributeError, "'Linear' object has no attribute 'nope'"),
    (
        lambda m: prune.l1_unstructured(m, "bias", 1, gradcli.ones(2)),
        AssertionError,
        r"importance_scores should have the same shape as parameter bias of Linear.*, got .*2.* vs .*3",
    ),
    (lambda m: prune.custom_from_mask(m, "bias", gradcli.ones(2)), AssertionError, "default_mask shape .*3.* must"),
    (lambda m: prune.PruningContainer().add_pruning_method(3), TypeError, "is not a BasePruningMethod subclass"),
    (lambda m: prune.BasePruningMethod(), TypeError, "abstract"),
    (lambda m: prune.global_unstructured(3, prune.Identity), TypeError, "parameters is not an Iterable"),
    (lambda m: prune.global_unstructured([], prune.Identity, [1]), TypeError, "must be of type dict"),
    (lambda m: prune.global_unstructured([], prune.LnStructured, amount=1, n=2), TypeError, "Only .unstructured."),
]


@pytest.mark.parametrize(("act", "kind", "words"), ERRORS)
def test_errors_leave_the_module_alone(act, kind, words):
    module = layer()
    with pytest.raises(kind, match=words):
        act(module)
    assert list(module.state_dict()) == ["weight", "bias"] and not module._forward_pre_hooks


def test_a_further_pruning_that_fails_leaves_the_earlier_one():
    module = prune.identity(layer(), "bias")
    with pytest.raises(ValueError, match="amount=4"):
        prune.l1_unstructured(module, "bias", 4)
    assert isinstance(hook_of(module), prune.Identity)


def test_kinds_of_methods():
    class Odd(prune.BasePruningMethod):
        PRUNING_TYPE = "structured"

        def compute_mask(self, t, default_mask):
            return default_mask

    module = prune.identity(layer(), "weight")
    with pytest.raises(AttributeError, match="need to have the attribute `dim` defined"):
        Odd.apply(module, "weight")
    Odd.dim = -3
    with pytest.raises(IndexError, match="Index is out of bounds for tensor with dimensions 2"):
        Odd.apply(module, "weight")
    Odd.PRUNING_TYPE = "odd"
    with pytest.raises(ValueError, match="Unrecognized PRUNING_TYPE odd"):
        Odd.apply(module, "weight")
    other = prune.L1Unstructured(1)
    other._tensor_name = "bias"
    with pytest.raises(ValueError, match=r"acting on the parameter named 'weight' to .*Found 'bias'"):
        prune.PruningContainer(hook_of(module)).add_pruning_method(other)


def test_two_hooks_of_one_parameter():
    module = prune.identity(layer(), "weight")
    module.register_forward_pre_hook(hook_of(module))
    with pytest.raises(AssertionError, match="Avoid adding multiple pruning hooks to the same tensor weight"):
        prune.identity(module, "weight")


def test_classes_print_as_pytorchs():
    with as_torch():
        from torch.nn.utils import prune as named

        module = named.identity(named.identity(layer(), "bias"), "bias")
        assert repr(hook_of(module)).startswith("<torch.nn.utils.prune.PruningContainer object at ")
        assert str(type(hook_of(module)[0])) == "<class 'torch.nn.utils.prune.Identity'>"
    assert prune.Identity.__module__ == prune.PruningContainer.__module__ == "gradcli.nn.utils.prune"
