"""Functions of nodes, to write formulas with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .nodes import Graph, Node


def graph_of(operands: Sequence[Any]) -> Graph:
    return next(x.graph for x in operands if isinstance(x, Node))


def named(op: str) -> Callable:
    return lambda *operands: graph_of(operands).call(op, *operands)


exp, expm1, log, log1p, sqrt, sin, cos = map(named, "exp expm1 log log1p sqrt sin cos".split())
floor, ceil, rint, trunc, absolute, fmod = map(named, "floor ceil rint trunc absolute fmod".split())
erfc, erfcx, gamma, gammaln = map(named, "erfc erfcx gamma gammaln".split())
maximum, minimum, copysign = map(named, "maximum minimum copysign".split())


def where(condition: Any, x: Any, y: Any) -> Any:
    return graph_of((condition, x, y)).select(condition, x, y)


def equal(x: Node, y: Any) -> Any:
    return x.graph.compare("equal", x, y)


def is_nan(x: Node) -> Any:
    return x.graph.test("isnan", x)


def polynomial(coefficients: Sequence[float], t: Any) -> Any:
    """Evaluate by Horner's rule; the lowest power comes first."""
    result: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = t * result + c
    return result


def scaled(x: Any, low: float, high: float) -> Any:
    """Map an interval to -1 to 1."""
    return (x - (low + high) / 2) * (2 / (high - low))
