"""Custom functions: BEHAVIOURS F1 to F7, forward mode, batching, and mistakes."""

import numpy as np
import pytest

import gradcli as g
from gradcli.autograd import Function, gradcheck, gradgradcheck
from gradcli.autograd.function import once_differentiable
from gradcli.autograd.gradcheck import GradcheckError


def leaf(values):
    return g.tensor(values, dtype=g.double, requires_grad=True)


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


class MulConstant(Function):
    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.set_materialize_grads(False)
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad):
        return (None, None) if grad is None else (grad * ctx.constant, None)


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
    x, w = g.randn(20, 20, dtype=g.double, requires_grad=True), g.randn(30, 20, dtype=g.double, requires_grad=True)
    assert gradcheck(LinearFunction.apply, (x, w), eps=1e-6, atol=1e-4)
    small = [t[:3, :2].detach().requires_grad_() for t in (x, w)]
    bias = leaf([1.0, 2.0, 3.0])
    assert gradcheck(LinearFunction.apply, (*small, bias))
    assert gradgradcheck(LinearFunction.apply, (*small, bias))


def test_f3_a_constant_gets_none_and_so_do_unused_outputs():
    x = leaf([1.0, 2.0])
    MulConstant.apply(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a is None, b is None))
            return a * 2

    Two.apply(x)[0].sum().backward()
    assert seen == [(False, True)]


def test_f4_mark_dirty_returns_the_same_tensor():
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 10

    a = leaf(2.0)
    b = a.clone()
    c = AddOne.apply(b)
    assert c is b
    assert c.item() == 3.0
    assert repr(b.grad_fn) == "<AddOneBackward>"
    c.backward()
    assert a.grad.item() == 10.0
    with pytest.raises(RuntimeError, match="leaf"):
        AddOne.apply(leaf([1.0]))


def test_f5_an_output_without_gradient():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            values, places = x.sort()
            ctx.mark_non_differentiable(places)
            ctx.save_for_backward(places)
            return values, places

        @staticmethod
        def backward(ctx, grad, _):
            (places,) = ctx.saved_tensors
            result = g.zeros_like(grad)
            result.index_add_(0, places, grad)
            return result

    x = leaf([3.0, 1.0, 2.0])
    values, places = Sort.apply(x)
    assert not places.requires_grad
    (values * g.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def broken(backward):
    return type(
        "Broken", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(backward)}
    )


@pytest.mark.parametrize(
    ("backward", "text"),
    [
        (
            lambda ctx, grad: (grad, grad),
            r"BrokenBackward returned an incorrect number of gradients \(expected 1, got 2\)",
        ),
        (lambda ctx, grad: grad[:1], r"BrokenBackward returned an invalid gradient at index 0 - got \[1\]"),
        (lambda ctx, grad: 3.0, "BrokenBackward must return Tensors"),
    ],
)
def test_f6_wrong_gradients_name_the_function(backward, text):
    with pytest.raises((RuntimeError, TypeError), match=text):
        broken(backward).apply(leaf([1.0, 2.0])).sum().backward()


def test_f7_second_derivatives_and_once_differentiable():
    x = leaf([1.0, 2.0])
    assert gradgradcheck(lambda t: MulConstant.apply(t, 3.0) ** 3, (x,))

    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    (first,) = g.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    assert first.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


class Stashes(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y * 1

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


def test_an_intermediate_stashed_on_ctx_is_noticed_in_second_derivatives():
    x = leaf([1.0, 2.0])
    assert gradcheck(Stashes.apply, (x,))
    with pytest.raises(RuntimeError, match=r"stashed as ctx\.y"):
        gradgradcheck(Stashes.apply, (x,))


def test_a_wrong_backward_is_caught():
    with pytest.raises(GradcheckError, match="sign"):
        gradcheck(broken(lambda ctx, grad: -2 * grad).apply, (leaf([1.0, 2.0]),))


class Sine(Function):
    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos()

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * x.cos()


def test_setup_context_forward_mode_and_batching():
    x = g.tensor([1.0, 2.0])
    np.testing.assert_allclose(g.func.jvp(Sine.apply, (x,), (x,))[1].numpy(), (x * x.cos()).numpy())
    np.testing.assert_allclose(g.func.vmap(Sine.apply)(x).numpy(), np.sin([1.0, 2.0]))
    np.testing.assert_allclose(g.func.hessian(lambda t: Sine.apply(t).sum())(x).numpy(), np.diag(-np.sin([1.0, 2.0])))
    np.testing.assert_allclose(g.func.jacfwd(Sine.apply)(x).numpy(), np.diag(np.cos([1.0, 2.0])))


def test_saved_tensors_are_guarded():
    x = leaf([1.0, 2.0])
    y = x * 1
    z = MyReLU.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    z = MyReLU.apply(x)
    z.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.sum().backward()


def test_functions_are_not_instantiated_and_need_both_passes():
    with pytest.raises(RuntimeError, match="not to be instantiated"):
        MyReLU()
    with pytest.raises(NotImplementedError, match="forward"):
        type("Empty", (Function,), {}).apply(leaf([1.0]))
    half = type("Half", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    with pytest.raises(NotImplementedError, match="backward"):
        half.apply(leaf([1.0])).sum().backward()
