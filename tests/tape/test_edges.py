"""Edges of the graph, calls of single nodes, and hooks on several tensors at once."""

import pytest
from gradcli.autograd.graph import GradientEdge, get_gradient_edge

import gradcli as g
from gradcli.autograd import backward, grad

from .build import function, leaf


@function(lambda ctx, a, b: 2 * a + 3 * b)
def twice(ctx, x):
    return x * 2, x * 3


MAKERS = {
    "leaf": lambda x: x,
    "one output": lambda x: x.sin(),
    "several outputs": lambda x: g.var_mean(x)[1],
    "custom": lambda x: twice.apply(x)[1],
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_gradients_flow_to_and_from_edges(x, make):
    t = make(x)
    out = (t * t).sum()
    edge = get_gradient_edge(t)
    (expected,) = grad(out, t, retain_graph=True)
    for wanted in (edge, [GradientEdge(edge.node, edge.output_nr)]):
        assert grad(out, wanted, retain_graph=True)[0].tolist() == expected.tolist()
    (found,) = grad(edge, x, g.ones_like(t), allow_unused=True)
    assert found.tolist() == grad(make(x), x, g.ones_like(t))[0].tolist()


def test_an_edge_stays_where_it_was_when_its_tensor_changes():
    x = leaf(1.0).clone()
    edge = get_gradient_edge(x)
    x.mul_(5)
    assert [p.item() for p in grad(x.sum(), (edge, x))] == [5.0, 1.0]


EDGE = get_gradient_edge(leaf(1.0, 2.0) * 2)
X = leaf(1.0, 2.0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: get_gradient_edge(X.detach()), "does not require gradients"),
        (lambda: grad(EDGE, X), "only for scalar outputs"),
        (lambda: grad(EDGE, X, g.ones(3)), "Mismatch in shape"),
        (lambda: grad(EDGE, X, g.ones(2, dtype=g.complex128)), "required to have the same dtype"),
        (
            lambda: grad(X.sum(), [EDGE], allow_unused=True, materialize_grads=True),
            "cannot be used when the given input is a GradientEdge",
        ),
    ],
)
def test_what_edges_cannot_do(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_backward_into_an_edge_of_a_leaf():
    x, y = leaf(1.0), leaf(2.0)
    backward((x * y).sum(), inputs=[get_gradient_edge(x)])
    assert (x.grad.item(), y.grad) == (2.0, None)


def test_what_a_node_says_of_its_gradients():
    x = g.ones(2, 3, requires_grad=True)
    assert (x.sin() * 2).grad_fn._input_metadata[0].shape == (2, 3)
    assert (x * g.ones(3)).grad_fn._input_metadata[0].dtype == x.dtype
    assert [m.shape for m in twice.apply(x)[0].grad_fn._input_metadata] == [(2, 3), (2, 3)]


def test_nodes_can_be_called():
    x = leaf(3.0)
    node = (x**2).grad_fn
    assert node(g.ones(1)).item() == 6.0
    assert [p.item() for p in (x * leaf(5.0)).grad_fn(leaf(2.0))] == [10.0, 6.0]
    assert twice.apply(x)[0].grad_fn(leaf(1.0), leaf(1.0)).item() == 5.0
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 arguments instead"):
        node(x, x)
