"""What is made in inference mode, and what backward may rely on."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.tape import kinds, record
from gradcli.tape.node import Node


def made() -> gradcli.Tensor:
    with gradcli.inference_mode():
        return gradcli.tensor([2.0, 3.0])


def leaf() -> gradcli.Tensor:
    return gradcli.tensor([1.0, 4.0], requires_grad=True)


@pytest.mark.parametrize(
    "use",
    [
        lambda c, x: c * x,
        lambda c, x: x / c,
        lambda c, x: x @ c,
        lambda c, x: x * c.reshape(2),
        lambda c, x: x.clone().mul_(c),
        lambda c, x: gradcli.where(c > 0, x * c, x),
    ],
)
def test_what_was_made_in_inference_mode_cannot_be_saved(use):
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        use(made(), leaf())


@pytest.mark.parametrize(
    ("use", "slope"),
    [
        (lambda c, x: c + x, [1.0, 1.0]),
        (lambda c, x: x * c.clone(), [2.0, 3.0]),
        (lambda c, x: x - c, [1.0, 1.0]),
    ],
)
def test_what_is_not_saved_may_be_used(use, slope):
    c, x = made(), leaf()
    use(c, x).sum().backward()
    assert x.grad.tolist() == slope


def test_nodes_are_checked_only_while_such_tensors_live():
    c = made()
    with gradcli.inference_mode():
        pass
    assert kinds.active.guard is not None
    del c
    with gradcli.inference_mode():
        pass
    assert kinds.active.guard is None
    assert record.Node is Node
