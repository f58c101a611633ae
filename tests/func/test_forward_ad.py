"""Dual numbers: their tangents are directional derivatives, and vanish with their level."""

import math

import pytest

import gradcli
from gradcli.autograd import Function, forward_ad, grad, gradcheck
from gradcli.func import linearize
from gradcli.nn import Linear

X, T = gradcli.tensor([1.0, 2.0]), gradcli.tensor([3.0, -1.0])
FUNCTIONS = {
    "square": (lambda x: x**2, [6.0, -4.0]),
    "sum of sines": (lambda x: x.sin().sum(), 3 * math.cos(1) - math.cos(2)),
    "product with a constant": (lambda x: x * gradcli.tensor([2.0, 5.0]), [6.0, -5.0]),
    "matrix": (lambda x: gradcli.tensor([[1.0, 1.0], [0.0, 2.0]]) @ x, [2.0, -2.0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("trained", [False, True])
def test_tangents(name, trained):
    function, expected = FUNCTIONS[name]
    primal = X.clone().requires_grad_(trained)
    with forward_ad.dual_level():
        out = function(forward_ad.make_dual(primal, T))
        found, tangent = forward_ad.unpack_dual(out)
        assert tangent.tolist() == pytest.approx(expected)
        assert found.tolist() == function(X).tolist()
        assert out.requires_grad == found.requires_grad == trained
        assert forward_ad.unpack_dual(X).tangent is None
    assert forward_ad.unpack_dual(out).tangent is None


def test_forward_over_reverse():
    x = X.clone().requires_grad_()
    with forward_ad.dual_level():
        out = (forward_ad.make_dual(x, T) ** 3).sum()
        (g,) = grad(forward_ad.unpack_dual(out).tangent, x)
    assert g.tolist() == [18.0, -12.0]  # 6 x t


def test_printing():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, T)
        assert str(dual) == "tensor([1., 2.], tangent=tensor([ 3., -1.]))"
        assert dual.is_leaf
        assert dual.grad_fn is None
        assert dual.numpy().tolist() == [1.0, 2.0]
        assert forward_ad.unpack_dual(dual).tangent is T


def test_parameters_replaced_by_dual_numbers():
    layer = Linear(2, 1)
    weight = layer.weight
    del layer.weight
    with forward_ad.dual_level():
        layer.weight = forward_ad.make_dual(weight, gradcli.ones(1, 2))
        assert forward_ad.unpack_dual(layer(X)).tangent.tolist() == [3.0]


class Exp(Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        ctx.result = x.exp()
        return ctx.result

    @staticmethod
    def jvp(ctx, t):
        Exp.calls += 1
        return t * ctx.__dict__.pop("result")


def test_custom_functions_push_their_tangents_at_once():
    Exp.calls = 0
    x = X.clone().requires_grad_()
    with forward_ad.dual_level():
        out = Exp.apply(forward_ad.make_dual(x, T))
        assert Exp.calls == 1
        assert forward_ad.unpack_dual(out).tangent.tolist() == pytest.approx([3 * math.e, -math.exp(2)])
        assert Exp.calls == 1
    assert gradcheck(Exp.apply, (x,), check_forward_ad=True, check_backward_ad=False)


class Wrong(Exp):
    @staticmethod
    def jvp(ctx, t):
        return t * ctx.result * 1.1


def test_a_wrong_jvp_is_found():
    with pytest.raises(RuntimeError, match="input 0"):
        gradcheck(Wrong.apply, (X.clone().requires_grad_(),), check_forward_ad=True, check_backward_ad=False)


@pytest.mark.parametrize(
    ("primal", "tangent", "error", "message"),
    [
        (gradcli.ones(2), gradcli.ones(3), RuntimeError, r"Tensor is of size \[2\] while .* is of size \[3\]"),
        (gradcli.tensor([1]), gradcli.ones(1), ValueError, "Expected primal to be floating point"),
        (gradcli.ones(1), gradcli.tensor([1]), ValueError, "Expected tangent to be floating point"),
    ],
)
def test_refused(primal, tangent, error, message):
    with forward_ad.dual_level(), pytest.raises(error, match=message):
        forward_ad.make_dual(primal, tangent)


def test_levels():
    with pytest.raises(RuntimeError, match="no level exists"):
        forward_ad.make_dual(X, T)
    forward_ad.enter_dual_level()
    with pytest.raises(RuntimeError, match="Nested forward mode"):
        forward_ad.enter_dual_level()
    forward_ad.exit_dual_level()
    with pytest.raises(RuntimeError, match="none is active"):
        forward_ad.exit_dual_level()


def test_linearize():
    value, pushed = linearize(lambda x: {"a": x**2, "b": x.sum()}, X)
    assert value["a"].tolist() == [1.0, 4.0]
    for _ in range(2):
        found = pushed(T)
        assert found["a"].tolist() == [6.0, -4.0]
        assert found["b"].item() == 2.0


def test_tangents_have_the_type_of_their_values():
    x = gradcli.tensor(2.0, dtype=gradcli.float32)
    value, tangent = gradcli.func.jvp(lambda v: 3**v, (x,), (gradcli.ones_like(x),))
    assert (value.dtype, tangent.dtype) == (gradcli.float32, gradcli.float32)
    assert tangent.item() == pytest.approx(9 * math.log(3), rel=1e-6)
