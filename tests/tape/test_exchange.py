"""swap_tensors, and modules that use it when they are converted. What is expected is PyTorch's."""

import weakref

import pytest

import gradcli
from gradcli import nn
from gradcli.nn.modules import conversion
from gradcli.program.torch_names import as_torch
from gradcli.utils import swap_tensors


@pytest.fixture(params=["set", "swap", "overwrite"])
def way(request):
    conversion.set_swap_module_params_on_conversion(request.param == "swap")
    conversion.set_overwrite_module_params_on_conversion(request.param == "overwrite")
    yield request.param
    conversion.set_swap_module_params_on_conversion(False)
    conversion.set_overwrite_module_params_on_conversion(False)


def parameter(*numbers):
    return nn.Parameter(gradcli.tensor(numbers, dtype=gradcli.float32))


def layer():
    made = nn.Linear(2, 1)
    made.register_buffer("k", gradcli.ones(1))
    return made.float()


def test_tensors_trade_all_but_identity():
    a, b = gradcli.tensor([1.0, 2.0]), nn.Parameter(gradcli.tensor([[3.0, 4.0, 5.0]], dtype=gradcli.float64))
    a.note, b.grad = "a", gradcli.ones(1, 3, dtype=gradcli.float64)
    assert swap_tensors(a, b) is None
    assert (a.tolist(), b.tolist(), b.note) == ([[3, 4, 5]], [1, 2], "a")
    assert isinstance(a, nn.Parameter) and a.requires_grad and not hasattr(a, "note")
    assert not isinstance(b, nn.Parameter) and not b.requires_grad and b.grad is None
    (a * 2).sum().backward()
    assert a.grad.tolist() == [[3, 3, 3]]


def test_hooks_and_histories_go_along():
    p, q, seen = parameter(1, 1), parameter(0, 0), []
    p.register_hook(lambda g: seen.append("p"))
    q.register_hook(lambda g: seen.append("q"))
    swap_tensors(p, q)
    (p * 3).sum().backward()
    assert (seen, p.tolist(), p.grad.tolist(), q.grad) == (["q"], [0, 0], [3, 3], None)
    made, other = p * 2, gradcli.ones(2)
    swap_tensors(made, other)
    assert made.is_leaf and other.grad_fn is not None
    other.sum().backward()
    assert p.grad.tolist() == [5, 5]


def test_a_graph_of_before_does_not_reach_the_leaf():
    p = parameter(1, 1)
    before = (p * 2).sum()
    swap_tensors(p, parameter(0, 0))
    with pytest.raises(RuntimeError, match="AccumulateGrad node that was poisoned by swap_tensors"):
        before.backward()
    assert p.grad is None
    (p * 3).sum().backward()
    swap_tensors(p, parameter(4, 4))
    assert p.tolist() == [4, 4]


@pytest.mark.parametrize("make", [lambda: gradcli.ones(2), lambda: parameter(1, 1)])
def test_tensors_that_are_held_weakly(make):
    held, other = make(), gradcli.zeros(2)
    reference = weakref.ref(held)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref"):
        swap_tensors(held, other)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        swap_tensors(other, held)
    assert reference() is held
    (held * parameter(2, 2)).sum().backward()
    assert held.tolist() == [1, 1]


def test_other_slots():
    class Slotted(gradcli.Tensor):
        __slots__ = ("more",)

    other = Slotted()
    other._data, other._node = gradcli.zeros(2)._data, None
    with pytest.raises(RuntimeError, match="Cannot swap t1 and t2 if they have different slots"):
        swap_tensors(gradcli.ones(2), other)


def test_conversion_of_modules(way):
    module = layer()
    module(gradcli.ones(1, 2)).sum().backward()
    weight, grad = module.weight, module.weight.grad
    module.double()
    same = way != "overwrite"
    assert ((module.weight is weight), (module.weight.grad is grad)) == (same, same)
    assert weight.dtype == (gradcli.float64 if same else gradcli.float32)
    assert {x.dtype for x in (module.weight, module.weight.grad, module.k)} == {gradcli.float64}
    assert module.weight.requires_grad
    output = module(gradcli.ones(1, 2, dtype=gradcli.float64)).sum()
    module.float()
    if way == "swap":
        with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
            output.backward()
    else:
        output.backward()
        assert module.weight.grad.tolist() == [[2.0, 2.0] if same else [1.0, 1.0]]


@pytest.mark.parametrize("assign", [False, True])
def test_states_that_are_loaded(way, assign):
    module, other = layer(), layer()
    weight, k = module.weight, module.k
    module.load_state_dict(other.state_dict(), assign=assign)
    kept = way == "swap" or not assign
    assert ((module.weight is weight), (module.k is k)) == (kept, kept)
    assert module.weight.tolist() == other.weight.tolist()
    assert (module.weight.data_ptr() == other.weight.data_ptr()) is assign
    assert isinstance(module.weight, nn.Parameter)
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        module.load_state_dict({"weight": gradcli.ones(3, 3), "bias": gradcli.ones(1), "k": gradcli.ones(1)})


def test_names_of_pytorch():
    with as_torch():
        import torch

        assert torch.__future__.get_swap_module_params_on_conversion() is False
        assert torch.__future__.get_overwrite_module_params_on_conversion() is False
        assert torch.utils.swap_tensors is swap_tensors
