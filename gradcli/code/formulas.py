"""Functions of nodes, to write formulas with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .nodes import CodeNode, NodeGraph


def graph_of(operands: Sequence[Any]) -> NodeGraph:
    return next(x.graph for x in operands if isinstance(x, CodeNode))


def node_function(op: str) -> Callable:
    return lambda *operands: graph_of(operands).call(op, *operands)


exp, expm1, log, log1p, sqrt, sin, cos = map(node_function, "exp expm1 log log1p sqrt sin cos".split())
floor, ceil, rint, trunc, absolute, fmod = map(node_function, "floor ceil rint trunc absolute fmod".split())
erfc_nodes, erfcx_nodes, gamma_nodes, gammaln_nodes = map(node_function, "erfc erfcx gamma gammaln".split())
maximum_nodes, minimum_nodes, copysign_nodes = map(node_function, "maximum minimum copysign".split())


def where_nodes(condition: Any, x: Any, y: Any) -> Any:
    return graph_of((condition, x, y)).select(condition, x, y)


def equal_nodes(x: CodeNode, y: Any) -> Any:
    return x.graph.compare("equal", x, y)


def is_nan(x: CodeNode) -> Any:
    return x.graph.test("isnan", x)


def polynomial(coefficients: Sequence[float], t: Any) -> Any:
    """Evaluate by Horner's rule; the lowest power comes first."""
    result: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = t * result + c
    return result


def scaled_to_unit(x: Any, low: float, high: float) -> Any:
    """Map an interval to -1 to 1."""
    return (x - (low + high) / 2) * (2 / (high - low))
