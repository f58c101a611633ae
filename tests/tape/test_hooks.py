"""Hooks on saved tensors: what they see, when they run, and what they must not do."""

import weakref

import numpy as np
import pytest

import gradcli as g
from gradcli.autograd import detect_anomaly, grad
from gradcli.autograd.graph import saved_tensors_hooks

from .build import function, leaf


def same(t):
    return t


def square_backward(ctx, grad):
    x, nothing, out = ctx.saved_tensors
    assert nothing is None
    assert out.sqrt().tolist() == x.abs().tolist()
    return grad * 2 * x


@function(square_backward)
def square(ctx, x):
    out = x * x
    ctx.save_for_backward(x, None, out)
    return out


# name -> (program, number of saved tensors; None if not counted, since in-place changes also read saved tensors)
PROGRAMS = {
    "one operand": (lambda x: x.sin().sum(), 1),
    "result": (lambda x: x.exp().sum(), 1),
    "two operands": (lambda x: (x * x).sum(), 2),
    "mixed shapes": (lambda x: (x * x[:1]).sum(), 2),
    "number": (lambda x: (x * 3).sum(), 0),
    "constant operand": (lambda x: (x * g.ones(2, dtype=g.double)).sum(), 1),
    "several operands": (lambda x: g.einsum("i,i,i->", x, x, x), 3),
    "affine map": (lambda x: g.nn.functional.linear(x.reshape(1, 2), x.reshape(1, 2), x[:1]).sum(), 2),
    "several outputs": (lambda x: x.sort()[0].sum(), None),
    "custom function": (lambda x: square.apply(x).sum(), 2),
    "changed in place": (lambda x: (x * 2).mul_(x).sum(), None),
    "its result changed": (lambda x: x.sin().mul_(x).sum(), None),
}
EVERY_PROGRAM = pytest.mark.parametrize(("program", "count"), PROGRAMS.values(), ids=PROGRAMS)


@EVERY_PROGRAM
@pytest.mark.parametrize("create", [False, True])
def test_every_saved_tensor_is_packed_once_and_unpacked(program, count, create):
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
    assert count is None or (len(packed), len(unpacked)) == (count, 0)
    (found,) = grad(out, x, create_graph=create)
    assert found.tolist() == expected.tolist()
    assert count is None or len(unpacked) == count
    if count and not create:
        with pytest.raises(RuntimeError, match="second time"):
            grad(out, x)


@EVERY_PROGRAM
def test_hooks_that_do_nothing_change_nothing(program, count):
    x = leaf(3.0, 2.0)
    (expected,) = grad(program(x), x)
    with saved_tensors_hooks(same, same):
        out = program(x)
    assert grad(out, x)[0].tolist() == expected.tolist()


def test_second_derivatives_use_the_unpacked_values():
    x = leaf(2.0, 3.0)
    with saved_tensors_hooks(lambda t: 2 * t, same):
        y = (x**3).sum()
    (first,) = grad(y, x, create_graph=True)
    assert first.tolist() == [48.0, 108.0]
    assert grad(first.sum(), x)[0].tolist() == [24.0, 36.0]


def test_the_innermost_pair_of_hooks_applies():
    x = leaf(1.0)
    with saved_tensors_hooks(lambda t: 3 * t, same):
        with saved_tensors_hooks(lambda t: 5 * t, same):
            y = x * x
        z = x * x
    w = x * x
    assert [grad(out, x)[0].item() for out in (y, z, w)] == [10.0, 6.0, 2.0]


def test_invalid_hooks_are_rejected():
    x = leaf(1.0)
    changes = pytest.raises(RuntimeError, match="pack hook is modifying its input in place")
    with saved_tensors_hooks(lambda t: t.add_(1), same), changes:
        x.exp()
    with saved_tensors_hooks(same, lambda t: 1):
        y = x * x
    with pytest.raises(TypeError, match="expected to be a Tensor but got result of type int"):
        y.backward()


def test_in_place_changes_are_detected_at_nodes_with_hooks():
    a = leaf(2.0) * 1
    y = a * a
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()


def test_a_hook_after_accumulation_gets_what_was_added():
    x, seen = leaf(1.0), []
    x.grad = g.tensor([10.0])
    y = x * 3
    (accumulate,) = [node for node, _ in y.grad_fn.next_functions if node is not None]
    accumulate.register_hook(lambda inputs, outputs: seen.append((inputs, outputs[0].item())))
    y.backward()
    assert (seen, x.grad.item()) == ([((), 3.0)], 13.0)


def test_a_hook_that_changes_its_gradient_in_place_does_not_reach_others():
    def clear(gradient):
        gradient.zero_()

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y.register_hook(clear)
    (2 * (3 * x + y)).sum().backward()  # the gradient of 3 x is still to be sent on when the hook runs
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_nodes_keep_their_names_in_anomaly_mode_with_packing():
    x = leaf(2.0)
    with detect_anomaly(), saved_tensors_hooks(same, same):
        y = x.exp() * 2
    assert [type(n).__name__ for n in (y.grad_fn, y.grad_fn.next_functions[0][0])] == ["MulBackward0", "ExpBackward0"]
    y.backward()
    assert x.grad.item() == 2 * float(np.exp(2.0))


def test_graphs_with_hooks_have_no_reference_cycles(no_collector):
    x = leaf(2.0)
    out = (x * x).exp()
    with saved_tensors_hooks(lambda t: t.detach(), same):
        out = out.sin()
    reference = weakref.ref(out.grad_fn)
    del out
    assert reference() is None


def test_the_last_operand_is_packed_and_unpacked_first():
    seen = {"pack": [], "unpack": []}

    def note(what):
        return lambda t: seen[what].append(tuple(t.shape)) or t

    with saved_tensors_hooks(note("pack"), note("unpack")):
        out = leaf(1.0, 2.0) * leaf(3.0)
    out.sum().backward()
    assert seen == {"pack": [(1,), (2,)], "unpack": [(1,), (2,)]}
