"""Graphs of nodes: equal expressions are one node, and constants are computed."""

import math

import pytest

from gradcli.code.nodes import Condition, NodeGraph, needed_nodes


@pytest.fixture
def graph():
    return NodeGraph()


def test_equal_expressions_are_one_node(graph):
    x, y = graph.input("x"), graph.input("y")
    assert x * y + 1 is x * y + 1 and graph.call("sin", x) is graph.call("sin", x)
    assert x * y is not y * x and graph.constant(0.0) is not graph.constant(-0.0)
    assert graph.constant(math.nan) is graph.constant(math.nan)


def test_operations_on_constants_are_computed(graph):
    two = graph.constant(2.0)
    assert (
        (two * 3 + 1).value == 7 and graph.call("exp", two).value == math.exp(2) and (1 / (two - 2)).value == math.inf
    )
    assert graph.compare("less", 1, two) is True and graph.test("isnan", math.nan) is True


def test_operations_that_do_nothing_are_left_out(graph):
    x = graph.input("x")
    for same in (
        x + 0,
        0 + x,
        x - 0,
        1 * x,
        x / 1,
        x**1,
        graph.negative(-x),
        +x,
        graph.select(True, x, 0.0),
        graph.select(x > 0, x, x),
    ):
        assert same is x
    assert (x * 0).value == 0 and (x**0).value == 1 and (x + -x).op == "subtract"
    assert (x**2).op == "multiply" and (x**0.5).op == "sqrt" and (x**3).op == "power"


def test_conditions_are_numbers_in_arithmetic(graph):
    x, y = graph.input("x"), graph.input("y")
    positive = x > 0
    assert isinstance(positive, Condition)
    chosen = positive * y
    assert chosen.op == "select" and chosen.args == (positive, y, graph.constant(0.0))
    assert graph.every(positive, True) is positive and graph.every(positive, False) is False
    assert graph.either(positive, True) is True and graph.negate(graph.negate(positive)) is positive
    flipped = graph.select(graph.negate(positive), x, y)
    assert flipped is graph.select(positive, y, x)


def test_truth_values_are_not_known(graph):
    with pytest.raises(TypeError, match="truth value"):
        bool(graph.input("x") > 0)


def test_operands_come_before_results(graph):
    x = graph.input("x")
    y = graph.call("sin", x * x) + x
    graph.call("cos", x)
    assert [node.op for node in needed_nodes([y])] == ["input", "multiply", "sin", "add"]
