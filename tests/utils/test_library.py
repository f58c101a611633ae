"""Operators of the user's own."""

import numpy as np
import pytest

import gradcli
from gradcli.utils.library import custom_op, register_autograd


def made():
    @custom_op("tests::scaled_sin", mutates_args=())
    def scaled_sin(x, scale=1.0):
        return gradcli.tensor(np.sin(x.numpy()) * scale)

    return scaled_sin


def test_a_rule_is_used():
    op = made()
    register_autograd(
        "tests::scaled_sin",
        lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.scale, None),
        setup_context=lambda ctx, inputs, output: (
            ctx.save_for_backward(inputs[0]),
            setattr(ctx, "scale", inputs[1]),
        ),
    )
    x = gradcli.tensor([0.0, 0.5], dtype=gradcli.float64, requires_grad=True)
    op(x, scale=2.0).sum().backward()
    np.testing.assert_allclose(x.grad, 2 * np.cos([0.0, 0.5]))
    assert op(x.detach()).tolist() == np.sin([0.0, 0.5]).tolist()


def test_without_a_rule_there_is_no_gradient():
    x = gradcli.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        made()(x.double()).backward()


def test_an_operator_may_change_its_arguments():
    @custom_op("tests::fill", mutates_args={"out"})
    def fill(out):
        out.fill_(3)

    x = gradcli.zeros(2)
    assert fill(x) is None
    assert x.tolist() == [3, 3]
    with pytest.raises(ValueError, match="namespace::name"):
        custom_op("fill", lambda x: x)
