"""Modules that wait for their first input, buffers by assignment, and modules stacked."""

import pytest

import gradcli
from gradcli import nn
from gradcli.func import functional_call, stack_module_state, vmap

LAZY = {
    "linear": (nn.LazyLinear(3), (2, 4), nn.Linear, {"weight": (3, 4), "bias": (3,)}),
    "no bias": (nn.LazyLinear(3, bias=False), (4,), nn.Linear, {"weight": (3, 4)}),
    "convolution": (nn.LazyConv2d(3, 2), (1, 5, 4, 4), nn.Conv2d, {"weight": (3, 5, 2, 2), "bias": (3,)}),
    "alone": (nn.LazyConv1d(3, 2), (5, 4), nn.Conv1d, {"weight": (3, 5, 2), "bias": (3,)}),
    "transposed": (nn.LazyConvTranspose1d(3, 2), (1, 5, 4), nn.ConvTranspose1d, {"weight": (5, 3, 2), "bias": (3,)}),
    "norm": (nn.LazyBatchNorm1d(), (4, 6), nn.BatchNorm1d, {"weight": (6,), "bias": (6,)}),
}


@pytest.mark.parametrize("name", LAZY)
def test_the_first_input_tells_the_size(name):
    module, shape, usual, expected = LAZY[name]
    parameters = list(module.parameters())
    assert all(isinstance(p, nn.UninitializedParameter) for p in parameters)
    assert repr(parameters[0]) == "<UninitializedParameter>"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        _ = parameters[0].shape
    module(gradcli.ones(*shape)).sum().backward()
    assert type(module) is usual
    assert {n: tuple(p.shape) for n, p in module.named_parameters()} == expected
    assert all(type(p) is nn.Parameter and p.grad is not None for p in parameters)
    assert not module._forward_pre_hooks


def test_a_norm_gets_its_buffers():
    module = nn.LazyBatchNorm1d()
    module(gradcli.ones(4, 6))
    assert module.running_mean.shape == (6,)
    assert module.num_features == 6


def test_an_input_of_too_few_axes_is_refused():
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to LazyConv2d"):
        nn.LazyConv2d(3, 2)(gradcli.ones(3, 3))


def test_buffers_are_registered_by_assignment():
    module = nn.Module()
    module.kept, module.passing = nn.Buffer(gradcli.ones(2)), nn.Buffer(gradcli.zeros(1), persistent=False)
    assert [n for n, _ in module.named_buffers()] == ["kept", "passing"]
    assert list(module.state_dict()) == ["kept"]
    assert type(module.kept) is gradcli.Tensor


def test_stacked_modules_are_mapped_over():
    nets = [nn.Linear(2, 1) for _ in range(3)]
    params, buffers = stack_module_state(nets)
    assert buffers == {}
    assert {n: (tuple(p.shape), p.is_leaf, p.requires_grad) for n, p in params.items()} == {
        "weight": ((3, 1, 2), True, True),
        "bias": ((3, 1), True, True),
    }
    x = gradcli.ones(4, 2)
    found = vmap(lambda p: functional_call(nets[0], p, (x,)))(params)
    assert found.tolist() == [net(x).tolist() for net in nets]
    with pytest.raises(RuntimeError, match="at least one model"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        stack_module_state([nets[0], nn.ReLU()])
