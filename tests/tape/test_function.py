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
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        relu = MyReLU()
    with pytest.raises(RuntimeError, match="non-static forward"):
        relu(leaf([1.0]))
    with pytest.raises(NotImplementedError, match="forward"):
        type("Empty", (Function,), {}).apply(leaf([1.0]))
    half = type("Half", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    with pytest.raises(NotImplementedError, match="backward"):
        half.apply(leaf([1.0])).sum().backward()


class Parts(Function):
    @staticmethod
    def forward(ctx, x, kind):
        return x[:1] if kind == "view" else x

    @staticmethod
    def backward(ctx, grad):
        return grad.expand(2) * 7, None


@pytest.mark.parametrize("kind", ["view", "itself"])
def test_a_view_made_by_a_function_is_not_changed_in_place(kind):
    x = leaf([1.0, 2.0])
    base = x * 1
    with pytest.raises(RuntimeError, match=r"Output 0 of Parts is a view .* created inside a custom Function"):
        Parts.apply(base, kind).add_(1)
    out = Parts.apply(base, kind)
    base.add_(1)
    with pytest.raises(RuntimeError, match="another view of its base has been modified"):
        out.sum().backward()
    with g.no_grad():
        quiet = Parts.apply(x, kind)
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        quiet.zero_()
    free = Parts.apply(g.ones(2), kind)
    with pytest.raises(RuntimeError, match="custom Function"):
        free += x[:1]


class AddInPlace(Function):
    @staticmethod
    def forward(ctx, x, y, both):
        ctx.mark_dirty(x)
        x.add_(y)
        return (x, x * 2) if both else x

    @staticmethod
    def backward(ctx, a, b=None):
        return (a, a, None) if b is None else (a + 2 * b, a + 2 * b, None)


def test_a_function_may_change_a_view_in_place():
    def change(x, y):
        base = x * 1
        AddInPlace.apply(base[1:], y, False)
        AddInPlace.apply(base[:1], y, False)
        return base * base

    x, y = leaf([1.0, 2.0]), leaf([3.0])
    assert gradcheck(change, (x, y))
    assert gradgradcheck(change, (x, y))
    with pytest.raises(RuntimeError, match="an input that is a view of another Tensor"):
        AddInPlace.apply((x * 1)[:1], y, True)
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        AddInPlace.apply(leaf([1.0]), y, False)


def test_views_of_what_a_function_changed_in_place_follow():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    base = x * 1
    view = base[:1]
    AddInPlace.apply(base, y, False)
    view.sum().backward()
    assert y.grad.tolist() == [1.0, 0.0]


def test_only_inputs_are_marked_dirty():
    class Odd(Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            ctx.mark_dirty(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf([1.0])
    with pytest.warns(UserWarning, match="only inputs"):
        out = Odd.apply(x)
    out.backward()
    assert x.grad.tolist() == [2.0]


def test_an_output_returned_twice_is_one_tensor():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            return out, out

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 2

    x = leaf([1.0, 2.0])
    a, b = Double.apply(x)
    assert a is b
    assert gradcheck(lambda x: sum(Double.apply(x)), (x,))


def test_default_arguments_reach_setup_context():
    class Power(Function):
        @staticmethod
        def forward(x, n=3):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.n * x ** (ctx.n - 1), None

    x = leaf([2.0])
    Power.apply(x).backward()
    assert x.grad.tolist() == [12.0]
    assert isinstance(Power.apply(x).grad_fn, Power._backward_cls)


def test_constant_outputs_may_get_no_zeros():
    class Pair(Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x * 1, x * 2
            ctx.mark_non_differentiable(b)
            ctx._materialize_non_diff_grads = False
            return a, b

        @staticmethod
        def backward(ctx, a, b):
            assert b is None
            return a

    x = leaf([2.0])
    Pair.apply(x)[0].backward()
    assert x.grad.tolist() == [1.0]


def test_backward_and_vjp_are_one_thing():
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad

        @staticmethod
        def vjp(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(leaf([1.0])).backward()


def test_several_outputs_need_no_garbage_collector():
    import gc
    import weakref

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, a, b):
            return a + 2 * b

    gc.disable()
    try:
        a, b = Two.apply(leaf([1.0]))
        node = weakref.ref(a.grad_fn)
        del a, b
        assert node() is None
    finally:
        gc.enable()
