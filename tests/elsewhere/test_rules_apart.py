"""Rules whose forward pass returns a different value, or whose gradients depend on which inputs need one."""

import numpy as np
import pytest

from gradcli import check_gradient
from tests.bank.hunt import product

X, Y = np.array([0.3, 1.2, -0.7]), np.array([1.0, 2.0, 3.0])


@pytest.mark.framework("jax")
@pytest.mark.parametrize(("factor", "verdict"), [(1, "pass"), (2, "fail")])
def test_fwd_must_return_the_value_of_the_function(factor, verdict):
    import jax
    import jax.numpy as jnp

    rule = jax.custom_vjp(jnp.sin)
    rule.defvjp(lambda x: (factor * jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))
    report = check_gradient(rule, at={"x": X}, engine="jax")
    assert report.verdict == verdict
    assert [finding.kind for finding in report.diagnosis] == ["other value"] * (verdict == "fail")


@pytest.mark.framework("torch")
@pytest.mark.parametrize(("wrong", "verdict"), [(False, "pass"), (True, "fail")])
def test_gradients_of_only_some_inputs(wrong, verdict):
    import torch

    apply = product(torch.autograd.Function, wrong)
    report = check_gradient(lambda x, y: 1.0 * apply(x, y), at={"x": X, "y": Y}, engine="torch")
    assert report.verdict == verdict
    assert [finding.kind for finding in report.diagnosis] == ["partial gradients"] * wrong


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True")  # of a call for values
@pytest.mark.framework("torch")
def test_vmapped_rules_and_reentrant_checkpoints_are_checked_in_reverse_mode():
    import torch
    from torch.utils.checkpoint import checkpoint

    class Sine(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return torch.sin(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * torch.cos(ctx.saved_tensors[0])

    report = check_gradient(lambda x: torch.vmap(Sine.apply)(x) * 1.0, at={"x": X}, engine="torch")
    assert report.verdict == "pass" and any("forward mode is not checked" in note for note in report.notes)

    def through(x):
        return checkpoint(lambda y: torch.sin(y) * y, x, use_reentrant=True)

    assert check_gradient(through, at={"x": X}, engine="torch").verdict == "pass"


@pytest.mark.framework("torch")
@pytest.mark.parametrize("right", [True, False])
def test_a_backward_that_raises_if_an_input_needs_no_gradient_fails(right):
    import torch

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            of_x = g * y
        return (of_x if right is False or ctx.needs_input_grad[0] else None), g * x

    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    rule = type(
        "Rule", (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    )
    report = check_gradient(rule, at={"x": X, "y": Y}, engine="torch")
    assert report.verdict == ("pass" if right else "fail")
    assert [finding.kind for finding in report.diagnosis] == ["partial gradients"] * (not right)


@pytest.mark.framework("torch")
@pytest.mark.parametrize(("factor", "marked", "verdict"), [(1, True, "pass"), (2, True, "fail"), (1, False, "fail")])
def test_outputs_that_a_rule_marks_as_non_differentiable_are_not_checked(factor, marked, verdict):
    import torch

    def forward(ctx, x):
        sine, cosine = x.sin(), x.cos()
        ctx.save_for_backward(cosine)
        if marked:
            ctx.mark_non_differentiable(cosine)
        return sine, cosine

    methods = {
        "forward": staticmethod(forward),
        "backward": staticmethod(lambda ctx, g, _: factor * g * ctx.saved_tensors[0]),
    }
    rule = type("Rule", (torch.autograd.Function,), methods)
    assert check_gradient(rule, at={"x": X}, engine="torch").verdict == verdict


@pytest.mark.framework("torch")
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "pass"), (0.5, "fail")])
def test_a_float32_matrix_may_be_symmetric_only_up_to_rounding(factor, verdict):
    import torch

    def forward(ctx, a):
        lower = torch.linalg.cholesky(a)
        ctx.save_for_backward(lower)
        return 2 * lower.diagonal().log().sum()

    methods = {
        "forward": staticmethod(forward),
        "backward": staticmethod(lambda ctx, g: factor * g * torch.cholesky_inverse(ctx.saved_tensors[0])),
    }
    rule = type("Rule", (torch.autograd.Function,), methods)
    a = np.array([[2, 0.3, 0.1], [0.3, 2, 0.7], [0.1, 0.7, 3]], np.float32)
    a[0, 1] = np.nextafter(a[0, 1], np.float32(1))
    assert check_gradient(rule, at={"a": a}, engine="torch").verdict == verdict
