"""autograd.grad and autograd.backward with PyTorch's arguments."""

import gc
import threading
import weakref

import numpy as np
import pytest

import gradcli
from gradcli import tensor
from gradcli.autograd import backward, grad


def values(t):
    return np.asarray(t.detach()).tolist()


def test_grad_leaves_dot_grad_alone():
    x = tensor([1.0, 2.0], requires_grad=True)
    (g,) = grad((x**3).sum(), x)
    assert values(g) == [3.0, 12.0]
    assert x.grad is None


def test_grad_of_a_non_leaf():
    x = tensor(2.0, requires_grad=True)
    y = x * 3
    z = y**2
    assert grad(z, [y, x])[0].item() == 12.0


def test_unused_inputs():
    x, u = tensor(1.0, requires_grad=True), tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="allow_unused"):
        grad(y, [x, u], retain_graph=True)
    assert grad(y, [x, u], allow_unused=True, retain_graph=True)[1] is None
    assert values(grad(y, [x, u], materialize_grads=True)[1]) == [0.0, 0.0]


def test_what_grad_refuses():
    x = tensor(1.0, requires_grad=True)
    with pytest.raises(ValueError, match="non-empty"):
        grad(x * 2, [])
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad(x * 2, tensor(1.0))
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad(tensor(2.0), x)
    with pytest.raises(ValueError, match="allow_unused"):
        grad(x * 2, x, allow_unused=False, materialize_grads=True)


def test_grad_outputs_weigh_several_outputs():
    x = tensor([1.0, 2.0], requires_grad=True)
    (g,) = grad([x * 2, x**2], x, [tensor([1.0, 0.0]), tensor([1.0, 1.0])])
    assert values(g) == [4.0, 4.0]


def test_batched_grad_outputs():
    x = tensor([1.0, 2.0], requires_grad=True)
    (jacobian,) = grad(x**2, x, gradcli.eye(2), is_grads_batched=True)
    assert values(jacobian) == [[2.0, 0.0], [0.0, 4.0]]


def test_backward_for_chosen_inputs():
    x, y = tensor(2.0, requires_grad=True), tensor(3.0, requires_grad=True)
    mid = x * y
    (mid**2).backward(inputs=[x, mid])
    assert (x.grad.item(), mid.grad.item(), y.grad) == (36.0, 12.0, None)
    with pytest.raises(RuntimeError, match="empty"):
        (x * y).backward(inputs=[])


def test_backward_of_several_tensors():
    x = tensor([1.0, 2.0], requires_grad=True)
    backward([x.sum(), x * 2], [None, tensor([1.0, 1.0])])
    assert values(x.grad) == [3.0, 3.0]


def test_third_derivative():
    x = tensor(2.0, requires_grad=True)
    y = x**4
    for expected in (32.0, 48.0, 48.0):
        (y,) = grad(y, x, create_graph=True)
        assert y.item() == expected


def test_backward_with_create_graph_gives_a_gradient_with_history():
    x = tensor(3.0, requires_grad=True)
    (x**3).backward(create_graph=True)
    assert x.grad.requires_grad
    (second,) = grad(x.grad, x)
    assert second.item() == 18.0


def test_gradients_of_leaves_do_not_share_memory():
    x, y = tensor([1.0, 1.0], requires_grad=True), tensor([1.0, 1.0], requires_grad=True)
    vector = gradcli.ones(2)
    (x + y).backward(vector)
    x.grad.zero_()
    assert values(y.grad) == [1.0, 1.0]
    assert values(vector) == [1.0, 1.0]


def test_the_same_grad_object_goes_on_adding():
    x = tensor([1.0], requires_grad=True)
    (x * 2).sum().backward()
    kept = x.grad
    (x * 2).sum().backward()
    assert x.grad is kept
    assert values(kept) == [4.0]


def test_hooks_on_leaves_run_as_soon_as_the_leaf_is_done():
    order = []
    w = tensor(2.0, requires_grad=True)
    x = tensor(3.0, requires_grad=True)
    a = x * 2
    b = a * w
    a.register_hook(lambda g: order.append("a"))
    w.register_hook(lambda g: order.append("w"))
    x.register_hook(lambda g: order.append("x"))
    x.register_post_accumulate_grad_hook(lambda t: order.append(f"x.grad={t.grad.item()}"))
    b.backward()
    assert order == ["w", "a", "x", "x.grad=4.0"]


def test_saved_memory_goes_during_backward():
    x = tensor(np.ones(10), requires_grad=True)
    y = x.exp()
    middle = weakref.ref(y._data)
    z = y.sin().sum()
    del y
    gc.disable()
    try:
        assert middle() is not None
        z.backward()
        assert middle() is None
    finally:
        gc.enable()


def test_what_no_rule_needs_is_not_kept():
    x = tensor(np.ones(10), requires_grad=True)
    y = x * 2.0
    kept = weakref.ref(y._data)
    z = (y + 1).sum()
    del y
    assert kept() is None
    assert z.requires_grad


def test_graphs_hold_no_reference_cycles():
    gc.collect()
    gc.disable()
    try:
        x = tensor(np.ones(3), requires_grad=True)
        y = (x.exp() * x).sum()
        y.backward()
        gone = weakref.ref(y._node)
        del x, y
        assert gone() is None
    finally:
        gc.enable()


def test_recording_is_a_matter_of_each_thread():
    x = tensor(1.0, requires_grad=True)
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


def test_modes_as_decorators_and_switches():
    x = tensor(1.0, requires_grad=True)

    @gradcli.no_grad()
    def called():
        return x * 2

    @gradcli.no_grad
    def bare():
        return x * 2

    @gradcli.no_grad()
    def generator():
        yield x * 2
        yield x * 3

    assert not called().requires_grad
    assert not bare().requires_grad
    produced = generator()
    assert not next(produced).requires_grad
    assert gradcli.is_grad_enabled()
    assert not next(produced).requires_grad
    gradcli.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    gradcli.set_grad_enabled(True)
    with gradcli.set_grad_enabled(False):
        assert not gradcli.is_grad_enabled()
    assert gradcli.is_grad_enabled()


def test_complex_gradients_follow_pytorchs_convention():
    """For L = |z|^2 the gradient is dL/dRe + i dL/dIm = 2 z."""
    z = tensor([1.0 + 2.0j, -3.0j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert values(z.grad) == [2.0 + 4.0j, -6.0j]
    w = tensor(1.0 + 2.0j, requires_grad=True)
    (w**2).real.backward()
    assert w.grad.item() == 2.0 - 4.0j


def test_a_real_operand_of_a_complex_product_gets_a_real_gradient():
    x = tensor([1.0, 2.0], requires_grad=True)
    (x * tensor([1.0j, 2.0 + 1.0j])).abs().sum().backward()
    assert x.grad.dtype == gradcli.float64
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 5**0.5])


def test_float32_stays_float32():
    x = tensor([1.0, 2.0], dtype=gradcli.float32, requires_grad=True)
    y = (x * 2 + 1.5).sin() * x
    assert y.dtype == gradcli.float32
    y.sum().backward()
    assert x.grad.dtype == gradcli.float32


def test_numpys_functions_record():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = np.sin(x) * np.ones(2) + np.sum(x) - np.array([1.0, 1.0]) / x
    assert isinstance(y, gradcli.Tensor)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([1.0, 2.0]) + 2 + 1 / np.array([1.0, 4.0]))
    with pytest.raises(TypeError, match=r"np\.roots"):
        np.roots(x)


def test_an_unknown_name_is_told_its_neighbours():
    with pytest.raises(AttributeError, match="nearest: sin"):
        gradcli.sinn  # noqa: B018


@pytest.mark.parametrize("create", [False, True])
def test_a_gradient_has_the_type_of_its_tensor(create):
    x = tensor([1j, 2.0 + 0j], requires_grad=True)
    (found,) = gradcli.autograd.grad(x.real.sum(), x, create_graph=create)
    x.real.sum().backward(create_graph=create)
    assert found.dtype == x.grad.dtype == x.dtype


def test_gathered_elements_are_freed_like_other_saved_values():
    x = gradcli.tensor([1.0, 2.0], requires_grad=True)
    y = x[[1, 1]]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_numpy_is_allowed_where_nothing_is_recorded():
    x = gradcli.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    with gradcli.no_grad():
        assert x.numpy().tolist() == [1.0, 2.0]


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


@pytest.mark.parametrize("name", LARGE_PROGRAMS)
def test_second_derivatives_of_large_tensors(name):
    function = LARGE_PROGRAMS[name]
    numbers = np.linspace(-2, 2, 20_000)
    seconds = []
    for x in (numbers, numbers[:10]):
        t = gradcli.tensor(x, dtype=gradcli.double, requires_grad=True)
        (first,) = grad((function(t) * t).sum(), t, create_graph=True)
        seconds.append(np.asarray(grad(first.sum(), t)[0]))
    assert np.allclose(seconds[0][:10], seconds[1])


def test_a_standardized_result_may_be_changed_in_place():
    x = gradcli.randn(3, 4, requires_grad=True)
    expected = grad(gradcli.nn.functional.layer_norm(x, (4,)).relu().sum(), x)[0]
    y = gradcli.nn.functional.layer_norm(x, (4,))
    y.relu_()
    assert gradcli.allclose(grad(y.sum(), x)[0], expected)


def test_powers_of_a_negative_number_with_complex_exponents():
    y = gradcli.tensor([0.5 + 1j, 1 - 0.3j], dtype=gradcli.cdouble, requires_grad=True)
    expected = np.conj((-1 + 0j) ** np.asarray(y.detach()) * 1j * np.pi)
    for base in (-1, -1.0, gradcli.tensor([-1.0, -1.0], dtype=gradcli.double)):
        out = gradcli.pow(base, y)
        assert np.allclose(np.asarray(grad(out, y, gradcli.ones_like(out))[0]), expected)


def test_what_is_wanted_on_the_way_to_something_else_is_taken_before_the_hooks():
    x = gradcli.tensor([1.0], requires_grad=True)
    t = x * x
    t.register_hook(lambda g: g * 1.5)
    loss = (0.3 * t).sum()
    both = gradcli.autograd.grad(loss, [t, x], retain_graph=True)
    assert [g.item() for g in both] == pytest.approx([0.3, 0.9])
    (alone,) = gradcli.autograd.grad(loss, [t])
    assert alone.item() == pytest.approx(0.45)
