"""Errors that tutorials catch and print say what PyTorch's say; our advice is a note behind the message."""

import re
import warnings

import pytest

import gradcli
from gradcli import nn, ones, tensor
from gradcli.autograd import backward, grad

from .build import function, leaf


def change_before_backward(x, change):
    """Change in place what a square saved."""
    y = (x * x).sum()
    change(x)
    y.backward()


def add_one(x):
    x += 1


def add_one_twice_unrecorded(x):
    with gradcli.no_grad():
        x += 1
        x += 1


def change_output():
    x = gradcli.exp(leaf(1))
    x += 1
    x.sum().backward()


@function(lambda ctx, g: g * ctx.saved_tensors[0])
def keep(ctx, x):
    ctx.save_for_backward(x)
    return x * 2


def change_saved():
    x = leaf(1, 2) * 2
    y = keep.apply(x)
    x += 1
    y.sum().backward()


def change_view_made_without_gradients():
    x = leaf(1, 2) * 1
    with gradcli.no_grad():
        view = x[:1]
    view += 1


def change_view_of_a_frozen_leaf():
    x = leaf(1, 2)
    view = x[:1]
    x.detach_()
    view.add_(1)


def assign_grad(value):
    leaf(1, 2).grad = value


def backward_with_hook(returned, place=lambda y: y, register="register_hook"):
    y = leaf(1, 2) * 2
    getattr(place(y), register)(lambda *_: returned)
    y.sum().backward()


def node(y):
    return y.grad_fn


MODIFIED = "has been modified by an inplace operation: [torch.DoubleTensor"
MESSAGES = [
    # -- backward and grad
    (RuntimeError, "grad can be implicitly created only for scalar outputs", (leaf(1, 2) * 2).backward),
    (RuntimeError, "has a shape of gradcli.Size([3]) and output[0]", lambda: (leaf(1, 2) * 2).backward(ones(3))),
    (RuntimeError, "has a shape of gradcli.Size([2]).", lambda: (leaf(1, 2) * 2).backward(ones(3))),
    (RuntimeError, "`inputs` argument to `backward()` cannot be empty", lambda: leaf(1).backward(inputs=[])),
    (RuntimeError, "have to be Tensors, but got str", lambda: leaf(1).backward(inputs=["a"])),
    (RuntimeError, "all inputs have to be Tensors", lambda: grad(leaf(1), "x")),
    (TypeError, "gradients start from Tensors, but got float", lambda: backward(3.0)),
    (TypeError, "gradients start from Tensors, but got float", lambda: grad(3.0, leaf(1))),
    (ValueError, "grad requires non-empty inputs", lambda: grad(leaf(1) * 2, [])),
    (RuntimeError, "Tensor at index 0 appears to not have been", lambda: grad(leaf(1) * 2, [leaf(1)])),
    (RuntimeError, "Set allow_unused=True", lambda: grad(leaf(1) * 2, [leaf(1)])),
    (
        ValueError,
        "Expected allow_unused to be True",
        lambda: grad(leaf(1) * 2, leaf(1), allow_unused=False, materialize_grads=True),
    ),
    (RuntimeError, "element 0 of tensors does not require grad and does not", lambda: grad([ones(1)], leaf(1))),
    (RuntimeError, "One of the differentiated Tensors does not require grad", lambda: grad(leaf(1), ones(1))),
    # -- leaves
    (RuntimeError, "floating point and complex dtype can require", lambda: tensor([1, 2], requires_grad=True)),
    (RuntimeError, "floating point and complex dtype can require", lambda: tensor([True], requires_grad=True)),
    (TypeError, "requires_grad must be bool, not str", lambda: setattr(leaf(1), "requires_grad", "a")),
    (TypeError, "requires_grad must be bool, not str", lambda: leaf(1).requires_grad_("a")),
    (RuntimeError, "change requires_grad flags of leaf variables", lambda: (leaf(1) * 2).requires_grad_(False)),
    (RuntimeError, "flags of leaf variables", lambda: setattr(leaf(1) * 2, "requires_grad", True)),
    (RuntimeError, "a gradient of size '[3]' to a tensor of size '[2]'.", lambda: assign_grad(ones(3))),
    (TypeError, "to be a Tensor or None but got grad of type int", lambda: assign_grad(1)),
    (RuntimeError, "dtype 'float' to a tensor with grad_dtype 'Double'", lambda: assign_grad(ones(2).float())),
    (RuntimeError, "can't assign a Tensor as its own grad", lambda: (lambda t: setattr(t, "grad", t))(leaf(1))),
    (
        TypeError,
        "cannot assign 'torch.DoubleTensor' as parameter 'weight'",
        lambda: setattr(nn.Linear(2, 2), "weight", ones(2)),
    ),
    # -- changes in place
    (RuntimeError, "a leaf Variable that requires grad is being used in an in-place", lambda: leaf(1).mul_(2)),
    (RuntimeError, "a view of a leaf Variable that requires grad is", lambda: leaf(1).__setitem__(0, 2)),
    (RuntimeError, "a view of a leaf Variable", change_view_of_a_frozen_leaf),
    (
        RuntimeError,
        f"{MODIFIED} [2]], which is output 0 of Add, is at version 1; expected",
        lambda: change_before_backward(leaf(1, 2) * 2, add_one),
    ),
    (
        RuntimeError,
        f"{MODIFIED} [2]] is at version 2; expected version 0 instead. Hint: enable anomaly",
        lambda: change_before_backward(leaf(1, 2), add_one_twice_unrecorded),
    ),
    (RuntimeError, f"{MODIFIED} [1]], which is output 0 of Exp, is at version 1; expected version 0", change_output),
    (
        RuntimeError,
        f"{MODIFIED} [2, 2]], which is output 0 of torch::autograd::CopySlices, is at version 1",
        lambda: change_before_backward(leaf([[1, 1], [1, 1]]) * 1, lambda x: x.__setitem__(0, 5.0)),
    ),
    (RuntimeError, f"{MODIFIED} [2]], which is output 0 of Add, is at version 1; expected version 0", change_saved),
    (
        RuntimeError,
        "You can clarify your code by moving both the view and the inplace either both inside",
        change_view_made_without_gradients,
    ),
    # -- what hooks return
    (RuntimeError, "hook '<lambda>' has changed the size of value", lambda: backward_with_hook(ones(3))),
    (TypeError, "expected Variable, but hook returned 'str'", lambda: backward_with_hook("a")),
    (TypeError, "but hook '<lambda>' returned 'int'", lambda: backward_with_hook(5, node)),
    (RuntimeError, "incorrect number of values (got 3", lambda: backward_with_hook((None, None, None), node)),
    (TypeError, "but hook '<lambda>' returned 'int'", lambda: backward_with_hook(5, node, "register_prehook")),
]


@pytest.mark.parametrize(("kind", "text", "call"), MESSAGES, ids=lambda x: x[:40] if isinstance(x, str) else "")
def test_message(kind, text, call):
    with warnings.catch_warnings(), pytest.raises(kind, match=re.escape(text)):
        call()


def test_advice_is_a_note():
    with pytest.raises(RuntimeError) as caught:
        leaf(1).add_(1)
    assert caught.value.__notes__ == ["do it inside no_grad(), or on a clone()"]


def test_the_expected_version_counts_changes_before():
    x = leaf(1, 2) * 2
    x += 1
    x += 1
    with pytest.raises(RuntimeError, match="is at version 3; expected version 2 instead"):
        change_before_backward(x, add_one)


def test_shapes_that_only_together_do_not_fit():
    with pytest.raises(RuntimeError, match=r"tensor a \(3\) must match the size of tensor b \(4\) at .* dimension 1"):
        gradcli.where(ones(2, 1) > 0, ones(1, 3), ones(4))
