"""Nodes: parents, kept values, public attributes, hooks, and how leaves accumulate gradients."""

import weakref

import numpy as np
import pytest

import gradcli
from gradcli.tape.inplace import mark_changed
from gradcli.tape.node import (
    USED_UP,
    AccumulateGrad,
    HookTable,
    Node,
    OutputNode,
    Packed,
    Rule,
    Slots,
    add_hook,
    check_assigned_grad,
    clear_grad,
    new_node,
    refusing_node,
    to_parents,
    unpack,
    used_up_rule,
)

from .build import leaf


def rule(name="OddBackward0", factors=(2.0,), **more):
    """Return a rule that multiplies a cotangent by a factor for each parent."""
    return Rule(name, to_parents(lambda node, g: tuple(g * f for f in factors)), **more)


@pytest.mark.parametrize("arity", [None, 1, 2])
def test_parents_and_kept_values_are_tuples_for_every_arity(arity):
    node = Node()
    node.rule = rule(arity=arity)
    count = arity or 3
    node.parents = parents = tuple(object() for _ in range(count))
    node.kept = kept = tuple(range(count + 1))
    assert (node.parents, node.kept) == (parents, kept)
    assert (node.outline, node.output_nodes, node.origin) == (None, None, None)  # until they are set
    with pytest.raises(AttributeError, match="'OddBackward0' object has no attribute 'nonesuch'"):
        _ = node.nonesuch


def test_a_rule_returns_a_cotangent_for_each_parent():
    node = new_node(rule(factors=(2.0, 3.0)), ("p", None))
    assert node.rule.vjp(node, 5.0) == (10.0, 15.0)
    assert [*node.rule.send(node, 5.0)] == [("p", 10.0), (None, 15.0)]
    renamed = node.rule.rename("NewBackward0")
    assert (renamed.name, renamed.vjp(node, 1.0)) == ("NewBackward0", (2.0, 3.0))


def test_a_newer_node_has_a_smaller_number():
    assert new_node(rule(), ()).seq > new_node(rule(), ()).seq


def test_values_freed_by_backward_cannot_be_used():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    product = y.grad_fn.next_functions[0][0]
    assert all(np.array_equal(kept, [1, 2]) for kept in product.open()[1:])
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        product.open()
    with pytest.raises(RuntimeError) as raised:
        used_up_rule("MulBackward0").vjp(product, 1.0)
    assert str(raised.value) == USED_UP


def test_changes_of_saved_values_are_detected():
    array, spare = np.ones(2), np.ones(2)
    node = new_node(rule(saves=True), (None,), (None, array, (spare,)))
    node.check_unchanged()
    mark_changed(spare)  # detected inside a tuple, too
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        node.check_unchanged()
    later = new_node(rule(saves=True), (None,), (None, array, (spare,)))
    later.check_unchanged()  # it was recorded after the change


def test_public_names_classes_and_next_functions():
    x = leaf(1.0, 2.0)
    y = gradcli.exp(x) * 3.0
    node = y.grad_fn
    assert (node.name(), type(node).__name__, repr(node)) == ("MulBackward0", "MulBackward0", "<MulBackward0>")
    assert isinstance(node, Node) and y.grad_fn is node
    ((first, place), (number, _)) = node.next_functions
    assert (first.name(), place, number) == ("ExpBackward0", 0, None)
    ((end, _),) = first.next_functions
    assert (end.name(), end.variable is x, end.next_functions) == ("AccumulateGrad", True, ())
    assert len((x**2).grad_fn.next_functions) == 1  # PyTorch does not count the exponent


def test_outputs_share_a_node_and_are_numbered():
    values, vectors = gradcli.linalg.eigh(leaf([[2.0, 1.0], [1.0, 3.0]]))
    assert values.grad_fn is vectors.grad_fn and values.grad_fn.output_count == 2
    assert (values.output_nr, vectors.output_nr) == (0, 1)
    main = new_node(rule(), ())
    output = OutputNode(main, 1)
    assert (output.public, output.output_nr, output.parents) == (main, 1, (main,))
    assert output.rule.vjp(output, 5.0) == (Slots({1: 5.0}),)
    main.output_nodes = (weakref.ref(output), weakref.ref(output))
    assert main.output(1) is output and main.output_count == 2
    del output
    assert main.output(1).index == 1  # a new one, if the user dropped the tensor


def test_cotangents_of_outputs_add_up_slot_by_slot():
    total = Slots({0: 1.0, 2: 5.0}) + Slots({2: 6.0, 1: 3.0})
    assert total == {0: 1.0, 1: 3.0, 2: 11.0} and isinstance(total, Slots)


def test_handles_remove_their_hook_and_may_be_used_twice():
    table = HookTable()
    assert not table
    handles = [add_hook(table.pre, hook) for hook in (print, len)]
    assert table and list(table.pre.values()) == [print, len] and handles[0].id != handles[1].id
    handles[0].remove()
    handles[0].remove()
    assert list(table.pre.values()) == [len]
    with pytest.raises(TypeError, match="a hook must be callable, not str"):
        add_hook(table.pre, "print")
    del table
    handles[1].remove()  # harmless although the node is gone


def test_packed_values_are_unpacked_last_first():
    order = []

    def packed(x):
        return Packed(x, lambda content: order.append(content) or content * 10)

    assert unpack((None, packed(1), (packed(2), 7), packed(3))) == (None, 10, (20, 7), 30)
    assert order == [3, 2, 1]


def accumulated(x, *cotangents, owned=False, create=False):
    for g in cotangents:
        x._node.accumulate(g, owned, create)
    return x.grad


def test_a_leaf_accumulates_into_its_existing_gradient():
    x, g = leaf(1.0, 2.0), np.array([1.0, 10.0])
    first = accumulated(x, g)
    assert first.tolist() == [1, 10] and not np.shares_memory(first.numpy(), g)
    assert accumulated(x, g) is first and first.tolist() == [2, 20]
    assert first._version == 1  # it changed in place
    y = leaf(1.0, 2.0)
    assert np.shares_memory(accumulated(y, g, owned=True).numpy(), g)


def test_a_gradient_has_the_type_of_its_leaf():
    single = gradcli.tensor([1.0], dtype=gradcli.float32, requires_grad=True)
    assert accumulated(single, np.array([1 / 3])).dtype == gradcli.float32
    assert accumulated(leaf(1.0), np.array([2 + 3j])).tolist() == [2]  # the real part, for a real leaf
    assert accumulated(leaf(1j), np.array([2.0])).dtype == gradcli.cdouble


def test_a_read_only_gradient_is_replaced():
    x = leaf(1.0, 2.0)
    fixed = np.array([1.0, 1.0])
    fixed.flags.writeable = False
    x.grad = gradcli.Tensor._wrap(fixed, None)
    assert accumulated(x, np.array([1.0, 2.0])).tolist() == [2, 3] and fixed.tolist() == [1, 1]


def test_a_frozen_leaf_gets_no_gradient_and_a_dropped_one_is_rebuilt():
    x = leaf(1.0)
    node = x._node
    x.requires_grad_(False)
    node.accumulate(np.ones(1), False, False)
    assert x.grad is None
    y = leaf(5.0)
    node = y._node
    del y
    rebuilt = node.variable
    node.accumulate(np.array([2.0]), False, False)
    assert (rebuilt.tolist(), rebuilt.grad.tolist(), rebuilt.is_leaf) == ([5], [2], True)


def test_gradients_with_a_graph_keep_it():
    x = leaf(1.0, 2.0)
    y = x * x
    x._node.accumulate(y, False, True)
    assert x.grad.requires_grad and x.grad.tolist() == [1, 4]
    x._node.accumulate(y, False, True)
    assert x.grad.tolist() == [2, 8] and x.grad.grad_fn.name() == "AddBackward0"
    z = leaf(1.0, 2.0)
    plain = gradcli.tensor([1.0, 1.0])
    z._node.accumulate(plain, False, True)
    z.grad.add_(1)
    assert plain.tolist() == [1, 1]  # z.grad has its own memory


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1.0, TypeError, "assigned grad expected to be a Tensor or None but got grad of type float"),
        ("self", RuntimeError, "can't assign a Tensor as its own grad"),
        (gradcli.zeros(3), RuntimeError, "a gradient of size '[3]' to a tensor of size '[2]'"),
        (gradcli.zeros(2, dtype=gradcli.float32), RuntimeError, "a gradient with dtype 'float'"),
    ],
)
def test_invalid_gradients_are_rejected(value, error, text):
    x = leaf(1.0, 2.0)
    with pytest.raises(error) as raised:
        check_assigned_grad(x, x if value == "self" else value)
    assert text in str(raised.value)
    check_assigned_grad(x, gradcli.zeros(2, dtype=gradcli.float64))


def test_a_gradient_is_cleared_to_none_or_zero():
    x = leaf(1.0, 2.0)
    x.grad = kept = gradcli.tensor([3.0, 4.0], dtype=gradcli.float64)
    clear_grad(x, set_to_none=False)
    assert x.grad is kept and kept.tolist() == [0, 0]
    clear_grad(x, set_to_none=True)
    clear_grad(x, set_to_none=False)
    assert x.grad is None


def test_a_refusing_node_raises_only_in_backward():
    x = leaf(1.0)
    result = gradcli.Tensor._wrap(np.ones(1), refusing_node(((1,), np.dtype(float)), "not here", (x._node,)))
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="not here"):
        result.backward()


def test_leaves_with_hooks_are_registered():
    x = leaf(1.0)
    assert x._node not in AccumulateGrad.hooked
    x.register_hook(lambda g: None)
    assert x._node in AccumulateGrad.hooked
