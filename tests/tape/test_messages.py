"""Errors that tutorials catch and print say what PyTorch's say; our advice is a note behind the message."""

import warnings

import numpy as np
import pytest

import gradcli
from gradcli import func, nn
from gradcli.autograd import Function, grad


def leaf(*numbers):
    return gradcli.tensor([float(x) for x in numbers], requires_grad=True)


def changed(make):
    """Return a function that changes what it made in place before backward."""

    def run():
        x = make()
        y = (x * x).sum()
        x += 1
        y.backward()

    return run


def changed_leaf():
    x = leaf(1, 2)
    y = (x * x).sum()
    with gradcli.no_grad():
        x += 1
        x += 1
    y.backward()


def changed_output():
    x = gradcli.exp(leaf(1))
    x += 1
    x.sum().backward()


def changed_part():
    x = gradcli.ones(2, 2, requires_grad=True) * 1
    y = (x**2).sum()
    x[0] = 5.0
    y.backward()


class Kept(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def changed_saved():
    x = leaf(1, 2) * 2
    y = Kept.apply(x)
    x += 1
    y.sum().backward()


def view_without_grad():
    x = leaf(1, 2) * 1
    with gradcli.no_grad():
        view = x[:1]
    view += 1


def assign_grad(value):
    def run():
        leaf(1, 2).grad = value

    return run


def returned(value):
    def run():
        x = leaf(1, 2)
        x.register_hook(lambda g: value)
        (x * 2).sum().backward()

    return run


MODIFIED = "has been modified by an inplace operation: [torch.DoubleTensor"
ONES = gradcli.ones
MESSAGES = {
    "vector": ((leaf(1, 2) * 2).backward, "grad can be implicitly created only for scalar outputs"),
    "leaf": (lambda: leaf(1).mul_(2), "a leaf Variable that requires grad is being used in an in-place operation."),
    "item": (lambda: leaf(1).__setitem__(0, 2), "a view of a leaf Variable that requires grad is being used"),
    "operand": (
        changed(lambda: leaf(1, 2) * 2),
        f"{MODIFIED} [2]], which is output 0 of Add, is at version 1; expected",
    ),
    "version": (changed_leaf, f"{MODIFIED} [2]] is at version 2; expected version 0 instead. Hint: enable anomaly"),
    "output": (changed_output, f"{MODIFIED} [1]], which is output 0 of Exp, is at version 1; expected version 0"),
    "part": (changed_part, f"{MODIFIED} [2, 2]], which is output 0 of torch::autograd::CopySlices, is at version 1"),
    "saved": (changed_saved, f"{MODIFIED} [2]], which is output 0 of Add, is at version 1; expected version 0"),
    "view": (
        view_without_grad,
        "You can clarify your code by moving both the view and the inplace either both inside",
    ),
    "unbind": (
        lambda: (leaf(1, 2) * 1).unbind()[1].add_(1),
        "Output 1 of Unbind is a view and is being modified inpl",
    ),
    "unused": (lambda: grad(leaf(1) * 2, [leaf(1)]), "The differentiated Tensor at index 0 appears to not have been"),
    "constant": (
        lambda: grad([ONES(1)], leaf(1)),
        "element 0 of tensors does not require grad and does not have a grad",
    ),
    "input": (lambda: grad(leaf(1), ONES(1)), "One of the differentiated Tensors does not require grad"),
    "whole": (
        lambda: gradcli.tensor([1, 2], requires_grad=True),
        "Only Tensors of floating point and complex dtype can",
    ),
    "hook": (returned(ONES(3)), "hook '<lambda>' has changed the size of value"),
    "not a tensor": (returned("a"), "expected Variable, but hook returned 'str'"),
    "size": (assign_grad(ONES(3)), "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'."),
    "kind": (assign_grad(1), "assigned grad expected to be a Tensor or None but got grad of type int"),
    "type": (assign_grad(ONES(2).float()), "a gradient with dtype 'float' to a tensor with grad_dtype 'Double'"),
    "matrices": (lambda: ONES(2, 3) @ ONES(2, 3), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    "stacks": (lambda: ONES(2, 2, 3) @ ONES(4, 2), "mat1 and mat2 shapes cannot be multiplied (4x3 and 4x2)"),
    "vectors": (
        lambda: ONES(3) @ ONES(4),
        "inconsistent tensor size, expected tensor [3] and src [4] to have the same",
    ),
    "matrix and vector": (lambda: ONES(2, 3) @ ONES(4), "size mismatch, got input (2), mat (2x3), vec (4)"),
    "batches": (lambda: ONES(2, 2, 3) @ ONES(2, 4, 2), "batch2 tensor to be: [2, 3] but got: [2, 4]."),
    "dot": (lambda: gradcli.dot(ONES(2, 2), ONES(2)), "1D tensors expected, but got 2D and 1D tensors"),
    "cat": (
        lambda: gradcli.cat([ONES(2, 3), ONES(3, 2)]),
        "in dimension 0. Expected size 3 but got size 2 for tensor",
    ),
    "stack": (
        lambda: gradcli.stack([ONES(2), ONES(3)]),
        "stack expects each tensor to be equal size, but got [2] at",
    ),
    "expand": (
        lambda: ONES(2, 3).expand(4, 3),
        "size of the tensor (4) must match the existing size (2) at non-single",
    ),
    "index": (lambda: ONES(3)[5], "index 5 is out of bounds for dimension 0 with size 3"),
    "indices": (lambda: ONES(2, 2)[0, 0, 0], "too many indices for tensor of dimension 2"),
    "axis": (lambda: ONES(3).sum(dim=2), "Dimension out of range (expected to be in range of [-1, 0], but got 2)"),
    "ragged": (lambda: gradcli.tensor([[1, 2], [3]]), "expected sequence of length 2 at dim 1 (got 1)"),
    "text": (lambda: gradcli.tensor("a"), "new(): invalid data type 'str'"),
    "mean": (lambda: gradcli.tensor([1, 2]).mean(), "or complex dtype. Got: Long"),
    "cast": (
        lambda: gradcli.tensor([1]).add_(0.5),
        "result type Double can't be cast to the desired output type Long",
    ),
    "plus text": (lambda: ONES(2) + "a", "unsupported operand type(s) for +: 'Tensor' and 'str'"),
    "vmap": (lambda: func.vmap(np.add)(ONES(2), ONES(3)), "same size in the mapped dimension, got sizes [2, 3]"),
    "grad": (lambda: func.grad(lambda x: x)(ONES(2)), "to return a scalar Tensor, got tensor with 1 dims."),
    "parameter": (
        lambda: nn.Linear(2, 2).__setattr__("weight", ONES(2)),
        "cannot assign 'torch.DoubleTensor' as parameter 'weight'",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name):
    run, expected = MESSAGES[name]
    with warnings.catch_warnings(), pytest.raises(Exception) as caught:
        run()
    assert expected in str(caught.value)


def test_advice_is_a_note():
    with pytest.raises(RuntimeError) as caught:
        leaf(1).add_(1)
    assert caught.value.__notes__ == ["do it inside no_grad(), or on a clone()"]


def test_the_expected_version_counts_changes_before():
    x = leaf(1, 2) * 2
    x += 1
    x += 1
    y = (x * x).sum()
    x += 1
    with pytest.raises(RuntimeError, match="is at version 3; expected version 2 instead"):
        y.backward()
