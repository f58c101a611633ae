"""autograd.grad and autograd.backward with PyTorch's arguments."""

import threading
import weakref

import numpy as np
import pytest

import gradcli
from gradcli.autograd import backward, grad
from gradcli.nn.functional import layer_norm

from .build import leaf


def test_grad_leaves_dot_grad_alone(x):
    (g,) = grad((x**3).sum(), x)
    assert g.tolist() == [3.0, 12.0]
    assert x.grad is None


def test_unused_inputs():
    x, u = leaf(1.0), leaf(1.0, 2.0)
    y = x * 2
    assert grad(y, [x, u], allow_unused=True, retain_graph=True)[1] is None
    assert grad(y, [x, u], materialize_grads=True)[1].tolist() == [0.0, 0.0]


def test_grad_outputs_weigh_several_outputs(x):
    (g,) = grad([x * 2, x**2], x, [gradcli.tensor([1.0, 0.0]), gradcli.ones(2)])
    assert g.tolist() == [4.0, 4.0]


def test_backward_for_chosen_inputs():
    x, y = leaf(2.0), leaf(3.0)
    mid = x * y
    (mid**2).backward(inputs=[x, mid])
    assert (x.grad.item(), mid.grad.item(), y.grad) == (36.0, 12.0, None)
    assert mid.retains_grad


def test_backward_of_several_tensors(x):
    backward([x.sum(), x * 2], [None, gradcli.ones(2)])
    assert x.grad.tolist() == [3.0, 3.0]


def test_third_derivative():
    x = leaf(2.0)
    y = x**4
    for expected in (32.0, 48.0, 48.0):
        (y,) = grad(y, x, create_graph=True)
        assert y.item() == expected


def test_gradients_of_leaves_do_not_share_memory():
    x, y, vector = leaf(1.0, 1.0), leaf(1.0, 1.0), gradcli.ones(2)
    (x + y).backward(vector)
    x.grad.zero_()
    assert y.grad.tolist() == vector.tolist() == [1.0, 1.0]


def test_hooks_on_leaves_run_as_soon_as_the_leaf_is_done():
    order = []
    w, x = leaf(2.0), leaf(3.0)
    a = x * 2
    b = a * w
    for name, t in {"a": a, "w": w, "x": x}.items():
        t.register_hook(lambda g, name=name: order.append(name))
    x.register_post_accumulate_grad_hook(lambda t: order.append(f"x.grad={t.grad.item()}"))
    b.backward()
    assert order == ["w", "a", "x", "x.grad=4.0"]


def test_a_hook_anywhere_leaves_gradients_past_nodes_that_get_none():
    """The slope of a norm sends nothing to the norm that it takes, and so to no leaf by that way."""
    other, x, seen = leaf(1.0), leaf(3.0, 4.0), []
    other.register_hook(print)
    (slope,) = grad(gradcli.linalg.norm(x), x, create_graph=True)
    x.register_hook(lambda g: seen.append(g.tolist()))
    slope[0].backward()
    assert seen == [x.grad.tolist()] == [pytest.approx([16 / 125, -12 / 125])]


def test_saved_memory_goes_during_backward(no_collector):
    y = leaf([1.0] * 10).exp()
    middle = weakref.ref(y._data)
    z = y.sin().sum()
    del y
    assert middle() is not None
    z.backward()
    assert middle() is None


def test_what_no_rule_needs_is_not_kept():
    y = leaf([1.0] * 10) * 2.0
    kept = weakref.ref(y._data)
    z = (y + 1).sum()
    del y
    assert kept() is None
    assert z.requires_grad


def test_graphs_hold_no_reference_cycles(no_collector):
    x = leaf(1.0, 1.0, 1.0)
    y = (x.exp() * x).sum()
    y.backward()
    gone = weakref.ref(y._node)
    del x, y
    assert gone() is None


def test_recording_is_a_matter_of_each_thread():
    x = leaf(1.0)
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with gradcli.no_grad():
            entered.set()
            leave.wait(10)
            seen.append((x * 2).requires_grad)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    assert (x * 2).requires_grad
    leave.set()
    thread.join()
    assert seen == [False]


def test_complex_gradients_follow_pytorchs_convention():
    """For L = |z|^2 the gradient is dL/dRe + i dL/dIm = 2 z."""
    z = leaf(1.0 + 2.0j, -3.0j)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2.0 + 4.0j, -6.0j]
    w = leaf(1.0 + 2.0j)
    (w**2).real.backward()
    assert w.grad.item() == 2.0 - 4.0j


def test_a_real_operand_of_a_complex_product_gets_a_real_gradient(x):
    (x * gradcli.tensor([1.0j, 2.0 + 1.0j])).abs().sum().backward()
    assert x.grad.dtype == gradcli.float64
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 5**0.5])


@pytest.mark.parametrize("create", [False, True])
def test_a_gradient_has_the_type_of_its_tensor(create):
    x = leaf(1j, 2.0 + 0j)
    (found,) = grad(x.real.sum(), x, create_graph=create)
    x.real.sum().backward(create_graph=create)
    assert found.dtype == x.grad.dtype == x.dtype


def test_gathered_elements_are_freed_like_other_saved_values():
    y = leaf(1.0, 2.0)[[1, 1]]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_a_list_with_slices_or_lists_is_a_tuple_of_indices():
    x = gradcli.arange(16.0).reshape(4, 4)
    assert x[[[1, 2], slice(None, 2)]].tolist() == [[4.0, 5.0], [8.0, 9.0]]
    assert x[[[1, 1, 3], [0]]].tolist() == [4.0, 4.0, 12.0]
    assert x[[1, 2]].shape == (2, 4)


LARGE_PROGRAMS = {
    "sigmoid": gradcli.sigmoid,
    "exp": gradcli.exp,
    "square": lambda x: x * x,
    "cube": lambda x: x**3,
    "quotient": lambda x: 1 / (x * x + 1),
    "constant": lambda x: 3 - x,
}


@pytest.mark.parametrize("function", LARGE_PROGRAMS.values(), ids=LARGE_PROGRAMS)
def test_second_derivatives_of_large_tensors(function):
    numbers = np.linspace(-2, 2, 20_000)
    seconds = []
    for x in (numbers, numbers[:10]):
        t = gradcli.tensor(x, requires_grad=True)
        (first,) = grad((function(t) * t).sum(), t, create_graph=True)
        seconds.append(np.asarray(grad(first.sum(), t)[0]))
    assert np.allclose(seconds[0][:10], seconds[1])


def test_a_standardized_result_may_be_changed_in_place():
    x = gradcli.randn(3, 4, requires_grad=True)
    (expected,) = grad(layer_norm(x, (4,)).relu().sum(), x)
    y = layer_norm(x, (4,))
    y.relu_()
    assert gradcli.allclose(grad(y.sum(), x)[0], expected)


@pytest.mark.parametrize("base", [-1, -1.0, gradcli.tensor([-1.0, -1.0])])
def test_powers_of_a_negative_number_with_complex_exponents(base):
    y = leaf(0.5 + 1j, 1 - 0.3j)
    out = gradcli.pow(base, y)
    expected = np.conj((-1 + 0j) ** y.detach().numpy() * 1j * np.pi)
    assert np.allclose(grad(out, y, gradcli.ones_like(out))[0].numpy(), expected)


def test_what_is_wanted_on_the_way_to_something_else_is_taken_before_the_hooks():
    x = leaf(1.0)
    t = x * x
    t.register_hook(lambda g: g * 1.5)
    loss = (0.3 * t).sum()
    both = grad(loss, [t, x], retain_graph=True)
    assert [g.item() for g in both] == pytest.approx([0.3, 0.9])
    (alone,) = grad(loss, [t])
    assert alone.item() == pytest.approx(0.45)


def test_advice_is_a_note_behind_the_message():
    with pytest.raises(RuntimeError) as caught:
        leaf(1.0).add_(1)
    assert caught.value.__notes__ == ["do it inside no_grad(), or on a clone()"]
