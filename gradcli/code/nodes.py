"""Scalar expressions: a graph in which equal expressions are one node, so that each is computed once.

A number is a `CodeNode`, a truth value a `Condition` or, if it is known, a bool. Their operators work like those of
floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

NODE_COMPARISONS: dict[str, Callable] = {
    "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "equal": np.equal, "not_equal": np.not_equal,
}  # fmt: skip
TESTS: dict[str, Callable] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit}


def operator_method(name: str, swapped: bool = False) -> Callable:
    """Return the method of an operator; arrays apply it to their elements."""

    def method(self: CodeNode, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        operation = getattr(self.graph, name)
        return operation(other, self) if swapped else operation(self, other)

    return method


def comparison(name: str) -> Callable:
    return lambda self, other: self.graph.compare(name, self, other)


class CodeNode:
    """A number: a constant, an input, or an operation on other nodes. Made by its graph only.

    serial: its place in the order of creation, in which operands precede results. value: of a constant.
    """

    __slots__ = ("args", "graph", "op", "serial", "value")

    def __init__(self, graph: NodeGraph, op: str, args: tuple, value: Any = None):
        self.graph, self.op, self.args, self.value = graph, op, args, value
        self.serial = len(graph.nodes)

    def __repr__(self) -> str:
        return f"<{self.op} {self.serial}>"

    def __bool__(self) -> bool:
        raise TypeError("the truth value of a number in generated code is not known")

    __add__, __radd__ = operator_method("add"), operator_method("add", swapped=True)
    __sub__, __rsub__ = operator_method("subtract"), operator_method("subtract", swapped=True)
    __mul__, __rmul__ = operator_method("multiply"), operator_method("multiply", swapped=True)
    __truediv__, __rtruediv__ = operator_method("divide"), operator_method("divide", swapped=True)
    __pow__, __rpow__ = operator_method("power"), operator_method("power", swapped=True)
    __lt__, __le__ = comparison("less"), comparison("less_equal")
    __gt__, __ge__ = comparison("greater"), comparison("greater_equal")

    def __neg__(self) -> CodeNode:
        return self.graph.negative(self)

    def __pos__(self) -> CodeNode:
        return self.graph.number(self)

    def __abs__(self) -> CodeNode:
        return self.graph.call("absolute", self)

    def conjugate(self) -> CodeNode:
        return self


class Condition(CodeNode):
    """A truth value that depends on inputs. In arithmetic, it is 1 or 0."""

    __slots__ = ()

    def __and__(self, other: Any) -> Any:
        return self.graph.every(self, other)

    def __or__(self, other: Any) -> Any:
        return self.graph.either(self, other)

    def __invert__(self) -> Any:
        return self.graph.negate(self)


class NodeGraph:
    """Makes nodes, each once. Operations on constants give constants, computed in double precision."""

    def __init__(self) -> None:
        self.nodes: dict[Any, CodeNode] = {}

    def make(self, op: str, args: tuple = (), value: Any = None, kind: type[CodeNode] = CodeNode) -> Any:
        key = (op, args if value is None else repr(value))
        node = self.nodes.get(key)
        if node is None:
            node = self.nodes[key] = kind(self, op, args, value)
        return node

    def constant(self, x: float) -> CodeNode:
        return self.make("constant", value=float(x))

    def input(self, name: str) -> CodeNode:
        return self.make("input", value=name)

    def number(self, x: Any) -> CodeNode:
        """Convert to a node of a number: a condition to 1 or 0."""
        if isinstance(x, Condition):
            return self.make("select", (x, self.constant(1.0), self.constant(0.0)))
        return x if isinstance(x, CodeNode) else self.constant(float(x))

    def condition(self, x: Any) -> Condition | bool:
        """Convert to a truth value; numbers other than 0 are true."""
        if isinstance(x, Condition | bool | np.bool_):
            return x if isinstance(x, Condition) else bool(x)
        return self.compare("not_equal", x, 0.0)

    # -- operations ------------------------------------------------------------------------------------

    def call(self, op: str, *operands: Any) -> CodeNode:
        """Return the node of a function that is applied to numbers."""
        args = tuple(map(self.number, operands))
        if all(x.op == "constant" for x in args) and op in FOLDED:
            with np.errstate(all="ignore"):
                return self.constant(FOLDED[op](*(np.float64(x.value) for x in args)))
        if op in ("maximum", "minimum", "fmax", "fmin") and args[0] is args[1]:
            return args[0]
        return self.make(op, args)

    def add(self, x: Any, y: Any) -> CodeNode:
        x, y = self.number(x), self.number(y)
        if is_constant_node(x, 0.0) or is_constant_node(y, 0.0):
            return y if is_constant_node(x, 0.0) else x
        if y.op == "negative":
            return self.subtract(x, y.args[0])
        return self.call("add", x, y)

    def subtract(self, x: Any, y: Any) -> CodeNode:
        x, y = self.number(x), self.number(y)
        if is_constant_node(y, 0.0):
            return x
        if y.op == "negative":
            return self.add(x, y.args[0])
        return self.negative(y) if is_constant_node(x, 0.0) else self.call("subtract", x, y)

    def negative(self, x: Any) -> CodeNode:
        x = self.number(x)
        return x.args[0] if x.op == "negative" else self.call("negative", x)

    def multiply(self, x: Any, y: Any) -> CodeNode:
        """Return the product; a condition selects the other factor or 0, even if that factor is infinite."""
        if isinstance(x, Condition) or isinstance(y, Condition):
            condition, other = (x, y) if isinstance(x, Condition) else (y, x)
            return self.select(condition, self.number(other), self.constant(0.0))
        x, y = self.number(x), self.number(y)
        for factor, other in ((x, y), (y, x)):
            if is_constant_node(factor, 0.0):
                return self.constant(0.0)
            if is_constant_node(factor, 1.0):
                return other
            if is_constant_node(factor, -1.0):
                return self.negative(other)
        return self.call("multiply", x, y)

    def divide(self, x: Any, y: Any) -> CodeNode:
        x, y = self.number(x), self.number(y)
        if is_constant_node(y, 1.0) or (is_constant_node(x, 0.0) and not is_constant_node(y, 0.0)):
            return x
        return self.call("divide", x, y)

    def power(self, x: Any, y: Any) -> CodeNode:
        x, y = self.number(x), self.number(y)
        if y.op == "constant" and y.value in SIMPLE_POWERS:
            return self.number(SIMPLE_POWERS[y.value](x))
        return self.call("power", x, y)

    # -- truth values ----------------------------------------------------------------------------------

    def compare(self, op: str, x: Any, y: Any) -> Condition | bool:
        x, y = self.number(x), self.number(y)
        if x.op == y.op == "constant":
            return bool(NODE_COMPARISONS[op](x.value, y.value))
        return self.make(op, (x, y), kind=Condition)

    def test(self, op: str, x: Any) -> Condition | bool:
        x = self.number(x)
        return bool(TESTS[op](x.value)) if x.op == "constant" else self.make(op, (x,), kind=Condition)

    def every(self, x: Any, y: Any) -> Condition | bool:
        return self.join("logical_and", True, x, y)

    def either(self, x: Any, y: Any) -> Condition | bool:
        return self.join("logical_or", False, x, y)

    def join(self, op: str, neutral: bool, x: Any, y: Any) -> Condition | bool:
        """Return a logical operation for which `neutral` makes no difference, and its opposite decides."""
        x, y = self.condition(x), self.condition(y)
        if x is y or y is neutral:
            return x
        if x is neutral:
            return y
        if isinstance(x, bool) or isinstance(y, bool):
            return not neutral
        return self.make(op, (x, y), kind=Condition)

    def negate(self, x: Any) -> Condition | bool:
        x = self.condition(x)
        if isinstance(x, bool):
            return not x
        return x.args[0] if x.op == "logical_not" else self.make("logical_not", (x,), kind=Condition)

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        """Return x where a condition holds, else y. Both may be conditions."""
        condition = self.condition(condition)
        if isinstance(condition, bool) or x is y:
            return x if condition is True or x is y else y
        if all(isinstance(e, Condition | bool | np.bool_) for e in (x, y)):
            return self.either(self.every(condition, x), self.every(self.negate(condition), y))
        if condition.op == "logical_not":
            condition, x, y = condition.args[0], y, x
        x, y = self.number(x), self.number(y)
        return x if x is y else self.make("select", (condition, x, y))


def is_constant_node(x: CodeNode, value: float) -> bool:
    return x.op == "constant" and x.value == value and math.copysign(1.0, x.value) == math.copysign(1.0, value)


SIMPLE_POWERS: dict[float, Callable[[CodeNode], Any]] = {
    0.0: lambda _: 1.0,
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    -1.0: lambda x: 1.0 / x,
    0.5: lambda x: x.graph.call("sqrt", x),  # as NumPy does
}
NUMPY = (
    "add subtract multiply divide negative power absolute sign sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos "
    "tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot floor ceil trunc rint fmod "
    "remainder copysign maximum minimum fmax fmin"
)
FOLDED: dict[str, Callable] = {name: getattr(np, name) for name in NUMPY.split()}
"""The operations that NumPy computes for constants."""


def needed_nodes(roots: Iterable[Any]) -> list[CodeNode]:
    """Return the nodes that the results need, operands first."""
    found: dict[int, CodeNode] = {}
    waiting = [x for x in roots if isinstance(x, CodeNode)]
    while waiting:
        node = waiting.pop()
        if node.serial not in found:
            found[node.serial] = node
            waiting.extend(node.args)
    return [found[serial] for serial in sorted(found)]
