"""Memory that several tensors show: versions, histories and gradients after changes in place, as PyTorch has them."""

import numpy as np
import pytest

import gradcli

from .build import function, leaf


@function(lambda ctx, g: g * ctx.saved_tensors[0])
def exp(ctx, x):
    y = x.exp()
    ctx.save_for_backward(y)
    return y


@function(lambda ctx, g: g * 2)
def twice(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def test_a_gradient_that_was_used_may_not_change_before_backward(x):
    (x**2).sum().backward()
    y = x.grad * x
    (x**2).sum().backward()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("value", [1.0, [1.0, 2.0]])
def test_gradients_add_up_in_the_tensor_that_is_there(value):
    x = gradcli.tensor(value, requires_grad=True)
    (x * 3).sum().backward()
    g = x.grad
    (x * 4).sum().backward()
    assert x.grad is g
    assert g._version == 1
    assert np.array_equal(g.numpy(), np.full(np.shape(value), 7.0))


def test_a_gradient_with_a_graph_stays_one_and_has_memory_of_its_own(x):
    (x**3).sum().backward(create_graph=True)
    assert gradcli.autograd.grad(x.grad.sum(), x)[0].tolist() == [6.0, 12.0]
    (x**2).sum().backward()
    assert x.grad.requires_grad
    assert x.grad.tolist() == [5.0, 16.0]
    x.grad = None
    x.sum().backward(create_graph=True)
    assert x.grad.zero_().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("value", [1.0, [1.0]])
def test_a_saved_result_of_a_function_may_not_change(value):
    y = exp.apply(gradcli.tensor(value, requires_grad=True))
    y.tanh_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_mark_dirty_counts_besides_the_change_itself_and_drops_the_gradient():
    x = leaf(1.0, 2.0) * 1
    x.retain_grad()
    x.sum().backward(retain_graph=True)
    twice.apply(x)
    assert x._version == 2
    assert x.grad is None


@pytest.mark.parametrize("form", ["unsqueeze_(0)", "squeeze_()", "t_()", "transpose_(0, 1)"])
@pytest.mark.parametrize("recorded", [True, False])
def test_changes_of_shape_count_as_changes(form, recorded):
    x = gradcli.ones(1, 2)
    with gradcli.set_grad_enabled(recorded):
        eval(f"x.{form}")
    assert x._version == 1


def test_expanded_tensors_change_their_shape():
    assert gradcli.ones(2).expand(1, 2).squeeze_().shape == (2,)


@pytest.mark.parametrize("freeze", ["requires_grad_(False)", "detach_()"])
@pytest.mark.parametrize("hooked", [False, True])
def test_a_leaf_frozen_before_backward_gets_no_gradient(x, freeze, hooked):
    if hooked:
        x.register_hook(lambda g: g * 2)
    y = x * 3
    eval(f"x.{freeze}")
    y.sum().backward()
    assert x.grad is None


def test_a_view_with_hooks_changed_without_recording_keeps_its_history(x):
    view = (x * 2)[None]
    view.register_hook(lambda g: g * 5)
    with gradcli.no_grad():
        view.sigmoid_()
    view.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


@pytest.mark.parametrize("value", [0.0, [5.0, 6.0]])
@pytest.mark.parametrize("whole", ["y.copy_(value)", "y[...] = value"])
def test_what_is_overwritten_keeps_its_history_and_gets_zeros(x, value, whole):
    y, value = x * 2, gradcli.tensor(value)
    exec(whole)
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
