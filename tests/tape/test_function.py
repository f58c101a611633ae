"""Custom functions: BEHAVIOURS F1 to F7, forward mode, batching, and errors."""

import weakref

import numpy as np
import pytest

import gradcli as g
from gradcli.autograd import Function, gradcheck, gradgradcheck

from .build import function, leaf


class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        result = grad.clone()
        result[x < 0] = 0
        return result


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad):
        input, weight, bias = ctx.saved_tensors
        for_input = grad.mm(weight) if ctx.needs_input_grad[0] else None
        for_weight = grad.t().mm(input) if ctx.needs_input_grad[1] else None
        for_bias = grad.sum(0) if bias is not None and ctx.needs_input_grad[2] else None
        return for_input, for_weight, for_bias


def test_f1_relu_with_a_mask():
    w, b = leaf([[3.0, 1.0]]), leaf([[3.0]])
    x, y = g.tensor([[-1.0, -1.0], [1.0, 1.0]]), g.tensor([[2.0, 3.0]])
    loss = ((MyReLU.apply(x @ w.t() + b) - y) ** 2).mean()
    assert repr(MyReLU.apply(w).grad_fn) == "<MyReLUBackward>"
    loss.backward()
    np.testing.assert_allclose(w.grad.numpy(), [[4.5, 4.5]])
    np.testing.assert_allclose(b.grad.numpy(), [[4.5]])


def test_f2_a_linear_function_with_and_without_bias():
    g.manual_seed(0)
    x, w = (g.randn(3, 2, dtype=g.double, requires_grad=True) for _ in range(2))
    bias = leaf(1.0, 2.0, 3.0)
    assert gradcheck(LinearFunction.apply, (x, w), eps=1e-6, atol=1e-4)
    assert gradcheck(LinearFunction.apply, (x, w, bias))
    assert gradgradcheck(LinearFunction.apply, (x, w, bias))


def save_inputs(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def times_cosine(ctx, g):
    return g * ctx.saved_tensors[0].cos()


@function(times_cosine, jvp=times_cosine, setup_context=save_inputs)
def sine(x):
    return x.sin()


def test_setup_context_forward_mode_and_batching():
    x = g.tensor([1.0, 2.0])
    np.testing.assert_allclose(g.func.jvp(sine.apply, (x,), (x,))[1].numpy(), (x * x.cos()).numpy())
    np.testing.assert_allclose(g.func.vmap(sine.apply)(x).numpy(), np.sin([1.0, 2.0]))
    np.testing.assert_allclose(g.func.hessian(lambda t: sine.apply(t).sum())(x).numpy(), np.diag(-np.sin([1.0, 2.0])))
    np.testing.assert_allclose(g.func.jacfwd(sine.apply)(x).numpy(), np.diag(np.cos([1.0, 2.0])))


@pytest.mark.parametrize(
    ("forward", "methods", "error", "message"),
    [(lambda ctx, x: x * 1, {}, NotImplementedError, "backward"), (None, {}, NotImplementedError, "forward")],
)
def test_forward_and_backward_are_required(forward, methods, error, message):
    if forward is not None:
        methods = {**methods, "forward": forward}
    made = type("Half", (Function,), {name: staticmethod(f) for name, f in methods.items()})
    with pytest.raises(error, match=message):
        made.apply(leaf(1.0)).backward()


def test_several_outputs_are_freed_without_the_garbage_collector(no_collector):
    @function(lambda ctx, a, b: a + 2 * b)
    def two(ctx, x):
        return x * 1, x * 2

    a, b = two.apply(leaf(1.0))
    node = weakref.ref(a.grad_fn)
    del a, b
    assert node() is None


def test_the_tangent_of_a_non_tensor_is_none():
    tangents = []

    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def jvp(ctx, tangent, other):
            tangents.append((type(tangent), other))
            return tangent * ctx.factor

    _, out = g.func.jvp(lambda x: Scale.apply(x, 3.0), (g.tensor([1.0, 2.0]),), (g.tensor([1.0, 0.0]),))
    assert out.tolist() == [3.0, 0.0]
    assert tangents == [(g.Tensor, None)]


def test_inputs_changed_in_place_must_not_overlap():
    @function(lambda ctx, a, b: (2 * a, b))
    def change_both(ctx, x, y):
        ctx.mark_dirty(x, y)
        return x.mul_(2), y.add_(1)

    def change(x, start):
        base = x * 1
        change_both.apply(base[:2], base[start:])
        return base * base

    assert gradcheck(lambda x: change(x, 2), (leaf(1.0, 2.0, 3.0),))
    with pytest.raises(RuntimeError, match="must not overlap in memory"):
        change(leaf(1.0, 2.0, 3.0), 1)


def test_a_function_may_return_a_tensor_of_the_enclosing_vmap():
    def mapped(x):
        @function(lambda ctx, g: g)
        def give(ctx, one):
            return x

        return give.apply(leaf(1.0).detach()) * 2

    assert g.func.vmap(mapped)(g.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]


def test_calling_a_function_suggests_apply():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

    with pytest.raises(RuntimeError, match=r"call a custom Function as Twice\.apply\(\.\.\.\)"):
        Twice()(leaf(1.0))


@pytest.mark.parametrize("for_backward", [False, True])
def test_tensors_saved_for_forward_mode_replace_nothing(for_backward):
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            if for_backward:
                ctx.save_for_backward(x)
            ctx.save_for_forward(x * 10)
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            (saved,) = ctx.saved_tensors
            return grad * saved

    x = leaf(3.0)
    Doubled.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0 if for_backward else 30.0]
