"""In-place changes: what they write, whose history, versions and gradients change, and what is refused."""

import numpy as np
import pytest

import gradcli
from gradcli import nn, ones, tensor, zeros

from .build import function, leaf

# -- copying a tensor into another leaves the source's history alone ---------------------------------


WRITES = {
    "copy_": lambda w, v: w.copy_(v),
    "a row": lambda w, v: w.view(1, 2).__setitem__(0, v),
    "all": lambda w, v: w.__setitem__(..., v),
}
WRITERS = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)


@WRITERS
def test_the_source_keeps_its_place_in_the_order(x, write):
    v = x * x
    u = v.exp()
    w = zeros(2)
    write(w, v)
    (u.sum() + w.sum()).backward()
    assert x.grad.tolist() == pytest.approx([2 * np.e + 2, 4 * np.exp(4.0) + 4])


@WRITERS
def test_what_the_source_saved_is_still_checked(x, write):
    c = x * 1
    v = x * c
    c.mul_(5)
    w = zeros(2)
    write(w, v)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        w.sum().backward()


def test_hooks_of_a_copy_are_its_own(x):
    w = zeros(2)
    w.copy_(x)
    w.register_hook(lambda g: g * 10)
    (x.sum() + w.sum()).backward()
    assert x.grad.tolist() == [11.0, 11.0]


def test_a_copy_of_a_leaf_is_no_leaf(x):
    w = zeros(2)
    w.copy_(x)
    assert not w.is_leaf and w.grad_fn.name() == "CopyBackwards"
    w.mul_(2)
    assert w.tolist() == [2.0, 4.0]
    c = x * 2
    c.copy_(x)
    assert not c.is_leaf


def test_what_steps_of_a_composition_saved_stays_as_it_was(x):
    c = x * 3
    c.addcmul_(c, c)  # c + c * c, slope 3 + 18 x
    c.sum().backward()
    assert x.grad.tolist() == [21.0, 39.0]


# -- views -------------------------------------------------------------------------------------------


def test_contiguous_lays_the_elements_out():
    a = gradcli.arange(6.0).reshape(2, 3)
    b = a.t().contiguous()
    assert b.is_contiguous() and b.stride() == (2, 1) and a.contiguous() is a
    b.zero_()
    assert a.sum().item() == 15.0
    x = ones(2, 3).requires_grad_()
    assert x.t().contiguous().grad_fn.name() == "CloneBackward0"


@pytest.mark.parametrize(
    ("shape", "arguments", "places"),
    [
        ((3, 3), (), [(0, 0), (1, 1), (2, 2)]),
        ((3, 2), (1,), [(0, 1)]),
        ((3, 2), (-1,), [(1, 0), (2, 1)]),
        ((2, 3, 2), (0, 0, 2), [(0, i, 0) for i in range(3)] + [(1, i, 1) for i in range(3)]),
        ((2, 2), (2,), []),
    ],
)
def test_a_diagonal_is_a_view(shape, arguments, places):
    expected = np.ones(shape)
    for place in places:
        expected[place] = 5.0
    a = ones(*shape)
    part = a.diagonal(*arguments)
    part.fill_(5.0)
    assert a.tolist() == expected.tolist()
    assert part._base is a


def test_gradients_flow_through_a_changed_diagonal(x):
    c = ones(2, 2) * x[0]
    d = c.diagonal()
    assert d.grad_fn.name() == "DiagonalBackward0"
    d.mul_(x)
    assert c.grad_fn.name() == "CopySlices"
    c.sum().backward()  # x0² + x0 x1 + 2 x0
    assert x.grad.tolist() == [6.0, 1.0]


def test_view_refuses_what_needs_a_copy():
    a = gradcli.arange(6.0).reshape(2, 3).t()
    with pytest.raises(RuntimeError, match=r"view size is not compatible.*reshape"):
        a.view(6)
    assert a.reshape(6).tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    assert tuple(a.view(3, 2, 1).shape) == (3, 2, 1)
    assert tuple(ones(0, 3).t().view(-1, 7).shape) == (0, 7)


def test_view_of_a_type_reads_the_memory():
    assert tensor([1.0]).view(gradcli.int64).item() == 0x3FF0000000000000
    assert tuple(tensor([1.0, 2.0]).view(gradcli.float32).shape) == (4,)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.view(-1),
        lambda c: c.flatten(),
        lambda c: c.unsqueeze(0),
        lambda c: c.transpose(0, -1),
        lambda c: c.swapaxes(0, 0),
        lambda c: c.movedim(0, -1),
    ],
)
def test_a_number_can_be_changed_through_a_view(change):
    x = tensor(2.0, requires_grad=True)
    c = x * 3
    change(c).mul_(2)
    assert c.item() == 12.0
    c.backward()
    assert x.grad.item() == 6.0


# -- types and shapes of what is written ----------------------------------------------------------------


def test_numbers_that_do_not_fit_are_refused():
    y, n = ones(2), zeros(2, dtype=gradcli.int64)
    for target in (y, n):
        for write in (lambda t: t.__setitem__(0, 1j), lambda t: t.fill_(1j)):
            with pytest.raises(RuntimeError, match="cannot be converted"):
                write(target)
    y[0] = 3 + 0j
    n[0] = 2.7
    assert (y.tolist(), n.tolist()) == ([3.0, 1.0], [2, 0])


def test_copy_converts():
    n = zeros(2, dtype=gradcli.int64)
    assert n.copy_(tensor([1.7, 2.2])).tolist() == [1, 2]
    assert n.clone().copy_(tensor([3.9, 4.1])).tolist() == [3, 4]
    n.view(2)[:] = tensor([5.5, 6.5])
    assert n.tolist() == [5, 6]


@pytest.mark.parametrize("source", [ones(3), ones(2, 2)])
def test_shapes_that_do_not_fit_are_refused(source):
    for write in (WRITES["copy_"], WRITES["all"], lambda w, v: w.mul_(v)):
        with pytest.raises(RuntimeError):
            write(ones(2), source)


# -- names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda c, v: c.__setitem__(slice(None), v), "CopyBackwards"),
        (lambda c, v: c.__setitem__(..., v), "CopyBackwards"),
        (lambda c, v: c.__setitem__(0, v[0]), "CopySlices"),
        (lambda c, v: c.__setitem__(tensor([0]), v[:1]), "IndexPutBackward0"),
        (lambda c, v: c.__setitem__(tensor([True, False]), 1.0), "IndexPutBackward0"),
        (lambda c, v: c.view(2).__setitem__(tensor([0]), v[:1]), "CopySlices"),
    ],
)
def test_names_of_changes(x, write, name):
    c = x * 2
    write(c, x)
    assert c.grad_fn.name() == name


# -- parts of complex numbers ---------------------------------------------------------------------------


def test_parts_can_be_assigned():
    z = tensor([1 + 1j, 2j])
    z.real = tensor([5.0, 6.0])
    z.imag = 7.0
    assert z.tolist() == [5 + 7j, 6 + 7j]
    y = ones(2)
    y.real = 5.0
    assert y.tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="imag"):
        y.imag = 5.0


@pytest.mark.parametrize(
    "change",
    [
        lambda c, x: c.real.mul_(x),
        lambda c, x: c[1].imag.mul_(x[1]),
        lambda c, x: gradcli.view_as_real(c).__setitem__(1, x),
        lambda c, x: setattr(c, "imag", x),
    ],
)
def test_parts_of_what_is_recorded_are_not_changed(x, change):
    with pytest.raises(RuntimeError, match="make a new tensor with complex"):
        change(leaf(3 + 4j, 5 + 6j) * 1, x)


# -- whose memory it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.roll(1),
        lambda x: x.cumsum(0),
        lambda x: x.max(0)[0],
        lambda x: x.view(1, 2).max(0).values,
        lambda x: gradcli.diag(x.view(1, 2)),
    ],
)
def test_results_that_are_no_views(call):
    x = tensor([1.0, 2.0])
    y = call(x)
    assert y._base is None and y.is_contiguous()
    y.zero_()
    assert x.tolist() == [1.0, 2.0]


def test_setting_data_keeps_the_version():
    c = ones(2)
    c.mul_(2)
    c.data = ones(2)
    assert c._version == 1
    c.mul_(2)
    assert c._version == 2


@pytest.mark.parametrize("cut", [lambda t: t.unbind(), lambda t: t.split(1), lambda t: t.chunk(3)])
def test_one_of_several_views_is_changed_in_place(cut):
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    whole = x * 1
    parts = cut(whole)
    parts[1].mul_(x[0])
    parts[2].copy_(parts[1])
    (whole.sum() + 10 * parts[2].sum() + 100 * parts[1].sum()).backward()
    assert x.grad.tolist() == [[1 + 112 * 3.0, 1 + 112 * 4.0], [112.0, 224.0], [0.0, 0.0]]


def test_a_view_of_a_view_made_without_gradients():
    with gradcli.no_grad():
        y = zeros(2).view(2)
    y.requires_grad_(True)
    with pytest.raises(RuntimeError, match="created in no_grad mode and is being"):
        y.view(2).div_(2)


def test_single_elements_of_a_broadcast_tensor_can_be_written():
    x = ones(1).expand(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.add_(1)
    x[0].add_(4)
    assert x.tolist() == [5.0, 5.0, 5.0]


def test_data_of_integers_is_no_data_of_a_leaf(x):
    with pytest.raises(RuntimeError, match="floating point or complex"):
        x.data = ones(2, dtype=gradcli.int64)


def test_a_change_after_an_assignment_of_a_number_is_checked_without_end():
    """What is saved of a 0-d operand is its shape, ()."""
    x, rows = tensor(2.0, requires_grad=True), ones(2, 2)
    rows[[0, -1]] = x
    rows.sqrt_()
    zeros(1).add_(1)
    rows.sum().backward()
    assert x.grad.item() == pytest.approx(4 * 0.5 / 2**0.5)


def test_a_negative_slope_in_place_keeps_the_signs_that_backward_needs():
    x = leaf(-1.0, 1.0)
    nn.LeakyReLU(-2, inplace=True)(x.clone()).sum().backward()
    assert x.grad.tolist() == [-2, 1]


UNREAD = {
    **{name: (name, "x") for name in "exp exp2 expm1 sqrt rsqrt reciprocal tanh sigmoid tan".split()},
    "softmax": (lambda a: a.softmax(0), "x"),
    "log_softmax": (lambda a: a.log_softmax(0), "x"),
    "erfinv": (gradcli.erfinv, "out"),
    "log": ("log", "out"),
    "sin": ("sin", "out"),
    "a / 2": (lambda a: a / 2, "x out"),
    "2 / a": (lambda a: 2 / a, "out"),
    "a / a.exp()": (lambda a: a / a.exp(), "out"),
    "a / (a + 1)": (lambda a: a / (a + 1), "out"),
    "tensor(2) / a": (lambda a: tensor(2.0) / a, "out"),
}
"""What PyTorch lets change in place before backward: the operand, the result."""


@pytest.mark.parametrize("function, changed", UNREAD.values(), ids=UNREAD)
def test_what_the_rule_does_not_read_may_change(function, changed):
    def slope(which):
        x = leaf(0.3, 0.6)
        a = x * 1
        out = getattr(a, function)() if isinstance(function, str) else function(a)
        weighted = out * tensor([1.0, 5.0])
        if which:
            (a if which == "x" else out).mul_(2)
        return gradcli.autograd.grad(weighted.sum(), x)[0].numpy()

    for which in changed.split():
        assert slope(which) == pytest.approx(slope(""), rel=1e-14)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "expm1"])
def test_a_result_that_the_rule_reads_may_not_change(name):
    x = leaf(0.3, 0.6)
    out = getattr(x, name)()
    out.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()


def test_second_derivatives_where_the_operand_is_gone():
    x = leaf(0.3, 0.6)
    a = x * 1
    out = a.tanh() + a.sigmoid()
    a.zero_()
    (slope,) = gradcli.autograd.grad(out.sum(), x, create_graph=True)
    t, s = np.tanh([0.3, 0.6]), 1 / (1 + np.exp([-0.3, -0.6]))
    (second,) = gradcli.autograd.grad(slope.sum(), x)
    assert second.tolist() == pytest.approx(-2 * t * (1 - t * t) + s * (1 - s) * (1 - 2 * s))


# -- memory that several tensors show ----------------------------------------------------------------------


@function(lambda ctx, g: g * ctx.saved_tensors[0])
def exp(ctx, x):
    y = x.exp()
    ctx.save_for_backward(y)
    return y


@function(lambda ctx, g: g * 2)
def twice(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def test_a_gradient_that_was_used_may_not_change_before_backward(x):
    (x**2).sum().backward()
    y = x.grad * x
    (x**2).sum().backward()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("value", [1.0, [1.0, 2.0]])
def test_gradients_add_up_in_the_tensor_that_is_there(value):
    x = tensor(value, requires_grad=True)
    (x * 3).sum().backward()
    g = x.grad
    (x * 4).sum().backward()
    assert x.grad is g
    assert g._version == 1
    assert np.array_equal(g.numpy(), np.full(np.shape(value), 7.0))


def test_a_gradient_with_a_graph_stays_one_and_has_memory_of_its_own(x):
    (x**3).sum().backward(create_graph=True)
    assert gradcli.autograd.grad(x.grad.sum(), x)[0].tolist() == [6.0, 12.0]
    (x**2).sum().backward()
    assert x.grad.requires_grad
    assert x.grad.tolist() == [5.0, 16.0]
    x.grad = None
    x.sum().backward(create_graph=True)
    assert x.grad.zero_().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("value", [1.0, [1.0]])
def test_a_saved_result_of_a_function_may_not_change(value):
    y = exp.apply(tensor(value, requires_grad=True))
    y.tanh_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_mark_dirty_counts_besides_the_change_itself_and_drops_the_gradient():
    x = leaf(1.0, 2.0) * 1
    x.retain_grad()
    x.sum().backward(retain_graph=True)
    twice.apply(x)
    assert x._version == 2
    assert x.grad is None


@pytest.mark.parametrize("freeze", ["requires_grad_(False)", "detach_()"])
@pytest.mark.parametrize("hooked", [False, True])
def test_a_leaf_frozen_before_backward_gets_no_gradient(x, freeze, hooked):
    if hooked:
        x.register_hook(lambda g: g * 2)
    y = x * 3
    eval(f"x.{freeze}")
    y.sum().backward()
    assert x.grad is None


def test_a_view_with_hooks_changed_without_recording_keeps_its_history(x):
    view = (x * 2)[None]
    view.register_hook(lambda g: g * 5)
    with gradcli.no_grad():
        view.sigmoid_()
    view.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


@pytest.mark.parametrize("value", [0.0, [5.0, 6.0]])
@pytest.mark.parametrize("whole", ["y.copy_(value)", "y[...] = value"])
def test_what_is_overwritten_keeps_its_history_and_gets_zeros(x, value, whole):
    y, value = x * 2, tensor(value)
    exec(whole)
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
