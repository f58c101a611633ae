"""The rows of the behaviour table, by their numbers."""

import warnings

import numpy as np
import pytest

import gradcli
from gradcli import tensor

from .build import function, leaf

# -- dynamic graph, leaves, accumulation --------------------------------------------------------------


def test_g1_requires_grad_spreads():
    x, y, z = gradcli.randn(5, 5), gradcli.randn(5, 5), gradcli.randn(5, 5, requires_grad=True)
    a = x + y
    assert not a.requires_grad
    assert (a + z).requires_grad


def test_g2_values_are_there_at_once_and_statements_add_nodes():
    w, b = leaf([[3.0, 1.0]]), leaf([[3.0]])
    x = tensor([[-1.0, -1.0], [1.0, 1.0]])
    y_hat = x @ w.t() + b
    assert y_hat.tolist() == [[-1.0], [7.0]]
    assert y_hat.grad_fn.name() == "AddBackward0"
    assert y_hat.mean().grad_fn.next_functions[0][0] is y_hat.grad_fn


def test_g3_a_freed_graph_is_refused_and_retain_graph_adds_up():
    x = leaf(3.0)
    loss = x * x
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.item() == 12.0
    with pytest.raises(RuntimeError, match="retain_graph"):
        loss.backward()
    other = x**2
    gradcli.autograd.grad(other, x)
    with pytest.raises(RuntimeError, match="second time"):
        gradcli.autograd.grad(other, x)


@function(lambda ctx, g: g)
def plus_two(ctx, x):
    return x + 2


@pytest.mark.parametrize("call", [lambda x: x + 2, plus_two.apply], ids=["operator", "Function"])
def test_a_graph_that_saved_nothing_can_run_twice(x, call):
    out = call(x).sum()
    out.backward()
    out.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def g4():
    x = leaf(3.0)
    y1, y2 = x + 1, 2 * x
    return x, y1, y2, (y1 - y2) ** 2


def test_g4_non_leaves_have_no_grad_and_say_so():
    x, y1, y2, loss = g4()
    loss.backward()
    assert x.grad.item() == 4.0
    for t in (loss, y1, y2):
        with pytest.warns(UserWarning, match="retain_grad"):
            assert t.grad is None
    assert [t.is_leaf for t in (x, y1, y2, loss)] == [True, False, False, False]


def test_g5_hooks_and_retained_gradients_see_the_middle():
    x, y1, y2, loss = g4()
    seen = {}
    y1.register_hook(lambda g: seen.update(y1=g.item()))
    y2.register_hook(lambda g: seen.update(y2=g.item()))
    loss.retain_grad()
    loss.backward()
    assert seen == {"y2": 4.0, "y1": -4.0}
    assert (loss.grad.item(), x.grad.item()) == (1.0, 4.0)


def test_g6_gradients_add_up_until_cleared(x):
    for _ in range(2):
        (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    x.grad.zero_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_g7_mean_of_squares():
    a = leaf(2.0, 3.0)
    b = a + 3
    out = (b * b * 3).mean()
    out.backward()
    assert out.item() == 91.5
    assert a.grad.tolist() == [15.0, 18.0]


def test_g8_the_graph_can_be_walked():
    x = leaf(2.0)
    assert x.grad_fn is None
    y = x * x
    assert repr(y.grad_fn) == "<MulBackward0>"
    assert type(y.grad_fn).__name__ == "MulBackward0"
    assert y.grad_fn is y.grad_fn
    (first, _), (second, _) = y.grad_fn.next_functions
    assert first is second
    assert first.name() == "AccumulateGrad"
    assert first.variable is x
    assert (y + 1).grad_fn.next_functions[1] == (None, 0)


def test_g9_leaving_the_graph(x):
    with gradcli.no_grad():
        assert not (x * 2).requires_grad
        with gradcli.enable_grad():
            assert (x * 2).requires_grad
    d = x.detach()
    assert not d.requires_grad
    d[0] = 5.0
    x.data[1] = 7.0
    assert x.tolist() == [5.0, 7.0]
    fresh = tensor([1.0]).requires_grad_()
    assert fresh.requires_grad and fresh.is_leaf
    y = x * 2
    assert y.requires_grad_() is y


# -- backward with a vector ------------------------------------------------------------------------


def test_v2_assignment_to_elements():
    m = leaf([[2.0, 3.0]])
    n = gradcli.zeros(1, 2)
    n[0, 0] = m[0, 0] ** 2
    n[0, 1] = m[0, 1] ** 3
    assert n.tolist() == [[4.0, 27.0]]
    assert repr(n.grad_fn) == "<CopySlices>"
    assert n.requires_grad
    n.backward(m.data, retain_graph=True)
    assert m.grad.tolist() == [[8.0, 81.0]]
    m.grad = None
    n.backward(gradcli.ones_like(n))
    assert m.grad.tolist() == [[4.0, 27.0]]


def test_v3_a_jacobian_by_rows():
    m = leaf([[2.0, 3.0]])
    k = gradcli.zeros(1, 2)
    k[0, 0] = m[0, 0] ** 2 + 3 * m[0, 1]
    k[0, 1] = m[0, 1] ** 2 + 2 * m[0, 0]
    for v, row in (([[1.0, 1.0]], [6.0, 9.0]), ([[1.0, 0.0]], [4.0, 3.0]), ([[0.0, 1.0]], [2.0, 6.0])):
        m.grad = None
        k.backward(tensor(v), retain_graph=True)
        assert m.grad.tolist() == [row]


# -- hooks --------------------------------------------------------------------------------------------


def test_h1_a_hook_may_be_print(x, capsys):
    y = 2 * x
    y.register_hook(print)
    gradcli.mean(y).backward()
    assert capsys.readouterr().out == "tensor([0.5000, 0.5000])\n"
    assert x.grad.tolist() == [1.0, 1.0]


def test_h2_hooks_replace_run_in_order_and_end():
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    y.register_hook(lambda g: g * 10)
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g + 1)
    y.sum().backward(retain_graph=True)
    assert seen == [[10.0, 10.0]]
    assert x.grad.tolist() == [22.0, 22.0]
    handle.remove()
    handle.remove()
    y.sum().backward()
    assert len(seen) == 1


def test_a_hook_that_changes_its_argument_reaches_no_other_gradient():
    x, z = leaf(1.0), leaf(1.0)
    a, b = x * 1, z * 1
    a.register_hook(lambda g: g.mul_(100) and None)
    (a + b).sum().backward()
    assert (x.grad.item(), z.grad.item()) == (100.0, 1.0)


# -- never silently wrong ---------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["exp", "sqrt", "tanh", "sigmoid"])
@pytest.mark.parametrize("data", [[1.0, 4.0], 2.0])
def test_s1_a_changed_result_that_was_saved(function, data):
    y = getattr(tensor(data, requires_grad=True), function)()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("data", [[1.0, 4.0], 2.0])
def test_s1_a_changed_operand_that_was_saved(data):
    y = tensor(data, requires_grad=True) * 1
    z = y * y
    y.detach().mul_(2)
    with pytest.raises(RuntimeError, match="inplace"):
        z.sum().backward()


def test_s1_data_is_outside_the_bookkeeping_as_in_pytorch():
    a = leaf(1.0, 2.0, 3.0)
    out = a.sigmoid()
    out.data.zero_()
    out.sum().backward()
    assert a.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "change", [lambda x: x.add_(1), lambda x: x.__setitem__(0, 2.0), lambda x: x.__imul__(2), lambda x: x[0:].mul_(2)]
)
def test_s2_a_leaf_may_not_be_changed_in_place(change):
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        change(x)
    with gradcli.no_grad():
        change(x)
    assert x.item() == 2.0


def test_s3_in_place_through_views():
    x = leaf(1.0, 2.0, 3.0)
    base = x * 2
    view = base[1:]
    other = base[:2]
    view.mul_(3)
    assert base.tolist() == [2.0, 12.0, 18.0]
    assert other.tolist() == [2.0, 12.0]
    (base.sum() + other.sum() + (view * view).sum()).backward()
    assert x.grad.tolist() == [4.0, 12.0 + 2 * 12.0 * 6, 6.0 + 2 * 18.0 * 6]


def test_s3_in_place_on_the_base_reaches_older_views(x):
    base = x * 1
    view = base.reshape(2, 1)[0]
    base.mul_(5)
    view.sum().backward()
    assert x.grad.tolist() == [5.0, 0.0]


@pytest.mark.parametrize(
    "lose", [np.asarray, float, lambda t: np.array([t]), lambda t: np.array([t, t]), lambda t: np.r_[t], int, complex]
)
def test_s4_numpy_never_loses_the_graph_silently(lose):
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        lose(tensor(2.0, requires_grad=True))


def test_s4_an_array_is_not_changed_by_a_tensor():
    a = np.ones(2)
    with pytest.raises(TypeError, match="a = a \\+ t"):
        a += leaf(1.0, 2.0)


@pytest.mark.parametrize("pairs", [50_000, pytest.param(500_000, marks=pytest.mark.nightly)])
def test_s5_chains_of_a_million_operations(pairs):
    x = leaf(1.0)
    y = x
    for _ in range(pairs):
        y = y * 1.0000001 + 1e-9
    y.backward()
    assert x.grad.item() == pytest.approx(1.0000001**pairs)
    del y


def test_no_warning_comes_from_the_engine_itself():
    x = leaf(0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x**2).sqrt().sum().backward()
    assert np.isnan(x.grad.numpy()[0])
