"""Custom functions: BEHAVIOURS F1 to F7, forward mode, batching, and mistakes."""

import weakref

import numpy as np
import pytest

import gradcli as g
from gradcli.autograd import Function, gradcheck, gradgradcheck
from gradcli.autograd.function import once_differentiable
from gradcli.autograd.gradcheck import GradcheckError

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


@function(lambda ctx, grad: (None, None) if grad is None else (grad * ctx.constant, None))
def mul_constant(ctx, tensor, constant):
    ctx.set_materialize_grads(False)
    ctx.constant = constant
    return tensor * constant


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
    bias = leaf(1.0, 2.0, 3.0)
    assert gradcheck(LinearFunction.apply, (*small, bias))
    assert gradgradcheck(LinearFunction.apply, (*small, bias))


def test_f3_a_constant_gets_none_and_so_do_unused_outputs():
    x, seen = leaf(1.0, 2.0), []
    mul_constant.apply(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]

    @function(lambda ctx, a, b: seen.append((a is None, b is None)) or a * 2)
    def two(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    two.apply(x)[0].sum().backward()
    assert seen == [(False, True)]


def test_f4_mark_dirty_returns_the_same_tensor():
    @function(lambda ctx, grad: grad * 10)
    def add_one(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    a = leaf(2.0)
    b = a.clone()
    c = add_one.apply(b)
    assert c is b
    assert c.item() == 3.0
    assert repr(b.grad_fn) == "<add_oneBackward>"
    c.backward()
    assert a.grad.item() == 10.0


def test_f5_an_output_without_gradient():
    @function(lambda ctx, grad, _: g.zeros_like(grad).index_add(0, ctx.saved_tensors[0], grad))
    def sort(ctx, x):
        values, places = x.sort()
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        return values, places

    x = leaf(3.0, 1.0, 2.0)
    values, places = sort.apply(x)
    assert not places.requires_grad
    (values * g.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def doubling(backward):
    @function(backward)
    def broken(ctx, x):
        return x * 2

    return broken


@pytest.mark.parametrize(
    ("backward", "text"),
    [
        (lambda ctx, grad: (grad, grad), r"returned an incorrect number of gradients \(expected 1, got 2\)"),
        (lambda ctx, grad: grad[:1], r"returned an invalid gradient at index 0 - got \[1\]"),
        (lambda ctx, grad: 3.0, "must return Tensors"),
    ],
)
def test_f6_wrong_gradients_name_the_function(backward, text):
    with pytest.raises((RuntimeError, TypeError), match=f"brokenBackward {text}"):
        doubling(backward).apply(leaf(1.0, 2.0)).sum().backward()


def test_f7_second_derivatives_and_once_differentiable(x):
    assert gradgradcheck(lambda t: mul_constant.apply(t, 3.0) ** 3, (x,))

    @function(once_differentiable(lambda ctx, grad: 2 * ctx.saved_tensors[0] * grad))
    def once(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    (first,) = g.autograd.grad(once.apply(x).sum(), x, create_graph=True)
    assert first.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_an_intermediate_stashed_on_ctx_is_noticed_in_second_derivatives():
    @function(lambda ctx, grad: grad * ctx.y)
    def stashes(ctx, x):
        ctx.y = x.exp()
        return ctx.y * 1

    x = leaf(1.0, 2.0)
    assert gradcheck(stashes.apply, (x,))
    with pytest.raises(RuntimeError, match=r"stashed as ctx\.y"):
        gradgradcheck(stashes.apply, (x,))


def test_a_wrong_backward_is_caught():
    with pytest.raises(GradcheckError, match="sign"):
        gradcheck(doubling(lambda ctx, grad: -2 * grad).apply, (leaf(1.0, 2.0),))


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


@function(lambda ctx, grad: (grad.expand(2) * 7, None))
def part(ctx, x, kind):
    return x[:1] if kind == "view" else x


@pytest.mark.parametrize("kind", ["view", "itself"])
def test_a_view_made_by_a_function_is_not_changed_in_place(x, kind):
    base = x * 1
    with pytest.raises(RuntimeError, match=r"Output 0 of part is a view .* created inside a custom Function"):
        part.apply(base, kind).add_(1)
    out = part.apply(base, kind)
    base.add_(1)
    with pytest.raises(RuntimeError, match="another view of its base has been modified"):
        out.sum().backward()
    with g.no_grad():
        quiet = part.apply(x, kind)
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        quiet.zero_()
    free = part.apply(g.ones(2), kind)
    with pytest.raises(RuntimeError, match="custom Function"):
        free += x[:1]


@function(lambda ctx, a, b=None: (a, a, None) if b is None else (a + 2 * b, a + 2 * b, None))
def add_in_place(ctx, x, y, both):
    ctx.mark_dirty(x)
    x.add_(y)
    return (x, x * 2) if both else x


def test_a_function_may_change_a_view_in_place():
    def change(x, y):
        base = x * 1
        add_in_place.apply(base[1:], y, False)
        add_in_place.apply(base[:1], y, False)
        return base * base

    x, y = leaf(1.0, 2.0), leaf(3.0)
    assert gradcheck(change, (x, y))
    assert gradgradcheck(change, (x, y))
    assert gradcheck(lambda x, y: add_in_place.apply((x * 1)[:1], y, True), (x, y))
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        add_in_place.apply(leaf(1.0), y, False)


def test_what_a_function_changes_in_place_does_not_overlap():
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


def test_views_of_what_a_function_changed_in_place_follow():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    base = x * 1
    view = base[:1]
    add_in_place.apply(base, y, False)
    view.sum().backward()
    assert y.grad.tolist() == [1.0, 0.0]


def test_what_forward_made_may_be_marked_dirty():
    @function(lambda ctx, grad: grad * 2)
    def odd(ctx, x):
        out = x * 2
        ctx.mark_dirty(out)
        return out

    x = leaf(1.0)
    odd.apply(x).backward()
    assert x.grad.tolist() == [2.0]


def test_an_output_may_be_returned_twice():
    @function(lambda ctx, a, b: a * 2 + b * 2)
    def double(ctx, x):
        out = x * 2
        return out, out

    x = leaf(1.0, 2.0)
    a, b = double.apply(x)
    assert a.tolist() == b.tolist()
    assert gradcheck(lambda x: sum(double.apply(x)), (x,))


def test_default_arguments_reach_setup_context():
    def keep_both(ctx, inputs, output):
        x, ctx.n = inputs
        ctx.save_for_backward(x)

    @function(lambda ctx, grad: (grad * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1), None), setup_context=keep_both)
    def power(x, n=3):
        return x**n

    x = leaf(2.0)
    power.apply(x).backward()
    assert x.grad.tolist() == [12.0]
    assert isinstance(power.apply(x).grad_fn, power._backward_cls)


@pytest.mark.parametrize(
    ("forward", "methods", "error", "message"),
    [(lambda ctx, x: x * 1, {}, NotImplementedError, "backward"), (None, {}, NotImplementedError, "forward")],
)
def test_a_forward_and_one_backward_are_needed(forward, methods, error, message):
    if forward is not None:
        methods = {**methods, "forward": forward}
    made = type("Half", (Function,), {name: staticmethod(f) for name, f in methods.items()})
    with pytest.raises(error, match=message):
        made.apply(leaf(1.0)).backward()


def test_several_outputs_need_no_garbage_collector(no_collector):
    @function(lambda ctx, a, b: a + 2 * b)
    def two(ctx, x):
        return x * 1, x * 2

    a, b = two.apply(leaf(1.0))
    node = weakref.ref(a.grad_fn)
    del a, b
    assert node() is None


def test_hooks_on_any_leaf_leave_gradients_of_single_inputs_alone():
    x, y, other = leaf(2.0), leaf(3.0), leaf(1.0)
    handle = other.register_post_accumulate_grad_hook(lambda x: None)
    product = SavedProduct.apply(x, y)
    assert g.autograd.grad(product, x)[0].item() == 3.0
    handle.remove()


class SavedProduct(Function):
    """A product that always gives both gradients."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x


@pytest.mark.parametrize("wrap", [lambda grad: grad, lambda grad: (grad,)], ids=["alone", "in a tuple"])
def test_what_is_differentiable_once_hands_on_what_it_returns(wrap):
    @function(once_differentiable(lambda ctx, grad: wrap(grad * 3)))
    def triple(ctx, x):
        return x * 3

    x = leaf([1.0, 2.0])
    (first,) = g.autograd.grad(triple.apply(x).sum(), x, create_graph=True)
    assert first.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.autograd.grad(first.sum(), x)


def test_a_tangent_of_what_is_no_tensor_is_none():
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


def test_calling_a_function_says_apply(x):
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

    with pytest.raises(RuntimeError, match=r"called by Twice\.apply\(\.\.\.\)"):
        Twice()(x)
