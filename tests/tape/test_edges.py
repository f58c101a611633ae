"""Edges of the graph, calls of single nodes, and hooks on several tensors at once."""

import numpy as np
import pytest

import gradcli as g
from gradcli.autograd import Function, backward, grad
from gradcli.autograd.graph import GradientEdge, get_gradient_edge, increment_version


def leaf(*numbers):
    return g.tensor(numbers, dtype=g.double, requires_grad=True)


def values(t):
    return None if t is None else np.asarray(t.detach()).tolist()


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        return 2 * a + 3 * b


MAKERS = {
    "leaf": lambda x: x,
    "one output": lambda x: x.sin(),
    "several outputs": lambda x: g.var_mean(x)[1],
    "custom": lambda x: Twice.apply(x)[1],
}


@pytest.mark.parametrize("name", MAKERS)
def test_gradients_flow_to_and_from_edges(name):
    x = leaf(1.0, 2.0)
    t = MAKERS[name](x)
    out = (t * t).sum()
    edge = get_gradient_edge(t)
    made = GradientEdge(edge.node, edge.output_nr)
    expected = values(grad(out, t, retain_graph=True)[0])
    assert values(grad(out, edge, retain_graph=True)[0]) == expected
    assert values(grad(out, [made], retain_graph=True)[0]) == expected
    assert values(grad(edge, x, g.ones_like(t), allow_unused=True)[0]) == values(
        grad(MAKERS[name](x), x, g.ones_like(t))[0]
    )


def test_an_edge_stays_where_it_was_when_its_tensor_changes():
    x = leaf(1.0).clone()
    edge = get_gradient_edge(x)
    x.mul_(5)
    assert [values(p) for p in grad(x.sum(), (edge, x))] == [[5.0], [1.0]]


def test_what_edges_cannot_do():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="does not require gradients"):
        get_gradient_edge(x.detach())
    edge = get_gradient_edge(x * 2)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        grad(edge, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        grad(edge, x, g.ones(3))
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        grad(edge, x, g.ones(2, dtype=g.complex128))
    with pytest.raises(RuntimeError, match="cannot be used when the given input is a GradientEdge"):
        grad(x.sum(), [edge], allow_unused=True, materialize_grads=True)


def test_backward_into_an_edge_of_a_leaf():
    x, y = leaf(1.0), leaf(2.0)
    backward((x * y).sum(), inputs=[get_gradient_edge(x)])
    assert (values(x.grad), y.grad) == ([2.0], None)


def test_what_a_node_says_of_its_gradients():
    x = g.ones(2, 3, requires_grad=True)
    assert (x.sin() * 2).grad_fn._input_metadata[0].shape == (2, 3)
    assert (x * g.ones(3)).grad_fn._input_metadata[0].dtype == x.dtype
    assert [m.shape for m in Twice.apply(x)[0].grad_fn._input_metadata] == [(2, 3), (2, 3)]


def test_nodes_can_be_called():
    x = leaf(3.0)
    node = (x**2).grad_fn
    assert values(node(g.ones(1, dtype=g.double))) == [6.0]
    assert [values(p) for p in (x * leaf(5.0)).grad_fn(leaf(2.0))] == [[10.0], [6.0]]
    assert values(Twice.apply(x)[0].grad_fn(leaf(1.0), leaf(1.0))) == [5.0]
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 arguments instead"):
        node(x, x)


def test_versions_can_be_raised():
    x = g.ones(2)
    increment_version(x)
    increment_version([x, x])
    assert x._version == 3


def test_a_tensor_with_new_memory_is_a_new_leaf():
    x = leaf(1.0, 2.0)
    edge = get_gradient_edge(x)
    out = (x * x).sum()
    with g.no_grad():
        x.set_(g.ones(3, dtype=g.double))
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(out, x, retain_graph=True)
    assert values(grad(out, edge)[0]) == [2.0, 4.0]
    (x * 5).sum().backward()
    assert values(x.grad) == [5.0, 5.0, 5.0]
