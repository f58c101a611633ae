"""Hooks on saved tensors: what they see, when they run, and what they may not do."""

import gc
import weakref

import numpy as np
import pytest

import gradcli as g
from gradcli.autograd import Function, detect_anomaly, grad
from gradcli.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


def leaf(*numbers):
    return g.tensor(numbers, dtype=g.double, requires_grad=True)


def values(t):
    return np.asarray(t.detach()).tolist()


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        out = x * x
        ctx.save_for_backward(x, None, out)
        return out

    @staticmethod
    def backward(ctx, grad):
        x, nothing, out = ctx.saved_tensors
        assert nothing is None
        assert values(out.sqrt()) == values(x.abs())
        return grad * 2 * x


PROGRAMS = {
    "one operand": (lambda x: x.sin().sum(), 1),
    "result": (lambda x: x.exp().sum(), 1),
    "two operands": (lambda x: (x * x).sum(), 2),
    "mixed shapes": (lambda x: (x * x[:1]).sum(), 2),
    "number": (lambda x: (x * 3).sum(), 0),
    "constant operand": (lambda x: (x * g.ones(2, dtype=g.double)).sum(), 1),
    "several operands": (lambda x: g.einsum("i,i,i->", x, x, x), 3),
    "several outputs": (lambda x: x.sort()[0].sum(), None),
    "custom function": (lambda x: Square.apply(x).sum(), 2),
    "changed in place": (lambda x: (x * 2).mul_(x).sum(), None),
    "its result changed": (lambda x: x.sin().mul_(x).sum(), None),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("create", [False, True])
def test_every_saved_tensor_is_packed_once_and_unpacked(name, create):
    program, count = PROGRAMS[name]
    x = leaf(3.0, 2.0)
    (expected,) = grad(program(x), x)
    packed, unpacked = [], []

    def pack(t):
        packed.append(t.shape)
        return np.array(t.detach()) + 1

    def unpack(content):
        unpacked.append(content.shape)
        return g.tensor(content - 1)

    with saved_tensors_hooks(pack, unpack):
        out = program(x)
    if count is not None:
        assert len(packed) == count
    assert unpacked == [] or count is None  # an in-place change looks at what its own nodes saved
    (found,) = grad(out, x, create_graph=create)
    assert values(found) == values(expected)
    if count is not None:
        assert len(unpacked) == count
    if count and not create:
        with pytest.raises(RuntimeError, match="second time"):
            grad(out, x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks_that_do_nothing_change_nothing(name):
    program, _ = PROGRAMS[name]
    x = leaf(3.0, 2.0)
    (expected,) = grad(program(x), x)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        out = program(x)
    (found,) = grad(out, x)
    assert values(found) == values(expected)


def test_second_derivatives_use_the_unpacked_values():
    x = leaf(2.0, 3.0)
    with saved_tensors_hooks(lambda t: 2 * t, lambda t: t):
        y = (x**3).sum()
    (first,) = grad(y, x, create_graph=True)
    assert values(first) == [48.0, 108.0]
    assert values(grad(first.sum(), x)[0]) == [24.0, 36.0]


def test_the_innermost_pair_counts_and_ends():
    x = leaf(1.0)
    with saved_tensors_hooks(lambda t: 3 * t, lambda t: t):
        with saved_tensors_hooks(lambda t: 5 * t, lambda t: t):
            y = x * x
        z = x * x
    w = x * x
    assert [values(grad(out, x)[0]) for out in (y, z, w)] == [[10.0], [6.0], [2.0]]


def test_what_hooks_may_not_do():
    x = leaf(1.0)
    changes = pytest.raises(RuntimeError, match="pack hook is modifying its input in place")
    with saved_tensors_hooks(lambda t: t.add_(1), lambda t: t), changes:
        x.exp()
    with saved_tensors_hooks(lambda t: t, lambda t: 1):
        y = x * x
    with pytest.raises(TypeError, match="expected to be a Tensor but got result of type int"):
        y.backward()
    refused = pytest.raises(RuntimeError, match="none here")
    with disable_saved_tensors_hooks("none here"), refused, saved_tensors_hooks(id, id):
        pass
    with saved_tensors_hooks(lambda t: t, lambda t: t), refused, disable_saved_tensors_hooks("none here"):
        pass


def test_copies_may_be_changed_in_place():
    x = leaf(2.0)
    a = x * 1
    with save_on_cpu():
        y = a * a
    a.add_(5)
    y.backward()
    assert values(x.grad) == [4.0]


def test_a_node_with_a_hook_after_it_is_watched_too():
    x = leaf(2.0)
    a = x * 1
    y = a * a
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_nodes_show_their_names_while_traced_and_packed():
    x = leaf(2.0)
    with detect_anomaly(), saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp() * 2
    assert [type(n).__name__ for n in (y.grad_fn, y.grad_fn.next_functions[0][0])] == ["MulBackward0", "ExpBackward0"]
    y.backward()
    assert values(x.grad) == [2 * float(np.exp(2.0))]


def test_nothing_is_left_behind():
    x = leaf(2.0)
    out = (x * x).exp()
    with saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        out = out.sin()
    reference = weakref.ref(out.grad_fn)
    gc.disable()
    try:
        del out
        assert reference() is None
    finally:
        gc.enable()


def test_the_last_operand_is_packed_and_unpacked_first():
    seen = {"pack": [], "unpack": []}

    def note(what):
        return lambda t: seen[what].append(tuple(t.shape)) or t

    with saved_tensors_hooks(note("pack"), note("unpack")):
        out = leaf(1.0, 2.0) * leaf(3.0)
    out.sum().backward()
    assert seen == {"pack": [(1,), (2,)], "unpack": [(1,), (2,)]}


def test_hooks_see_what_an_affine_map_saves():
    packed = []
    x, w, b = leaf(1.0, 2.0).reshape(1, 2), leaf(3.0, 4.0).reshape(1, 2), leaf(5.0)
    with saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
        out = g.nn.functional.linear(x, w, b)
    assert len(packed) == 2
    out.sum().backward()
    assert values(b.grad) == [1.0]
