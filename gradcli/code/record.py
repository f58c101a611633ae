"""Run a program on nodes: the engine's own values and rules, written down as scalar operations.

Entries of the table and their rules are written with NumPy's functions; applied to arrays of nodes, these add nodes.
Generated code therefore has the forms that the table uses because they neither overflow nor lose digits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..exact.field import ExactArray, Field, as_plain, exact
from ..exact.record import Exact, name_for_users
from ..results.base import label
from ..rules.exact import NoTwinError, map_elements
from ..rules.shapes import fit_to_shape
from ..rules.table import Primitive
from . import special
from .nodes import NODE_COMPARISONS, NUMPY, TESTS, CodeNode, Condition, NodeGraph

LOGIC = {"logical_and": "every", "logical_or": "either", "logical_not": "negate"}
OPERATORS = ("add", "subtract", "multiply", "divide", "negative", "power")
WRITTEN: dict[str, Callable] = {
    "positive": lambda x: x,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1.0 / x,
    "deg2rad": lambda x: x * (np.pi / 180),
    "rad2deg": lambda x: x * (180 / np.pi),
    **special.INLINE,
}
"""Functions of NumPy and scipy.special that are written out where they are used."""
RECORDED_FUNCTIONS = {*NUMPY.split(), *special.HELPERS}
OTHER_NAMES = {"float_power": "power", "true_divide": "divide", "psi": "digamma"}
"""NumPy's and SciPy's other names for operations of the graph."""


class GraphNumbers(Field):
    """Numbers as nodes of a graph."""

    advice = "'gradcli grad' computes it as numbers"
    lazy_pieces = False
    sorts_rows = True
    constants: Mapping[str, Any] = {"pi": np.pi, "e": np.e, "tau": 2 * np.pi}

    def __init__(self, graph: NodeGraph):
        self.graph = graph
        self.functions = {
            "maximum": self.largest("maximum"),
            "minimum": self.largest("minimum"),
            "sqrt": lambda x: graph.call("sqrt", x),
            "nan": graph.constant(np.nan),
        }

    def largest(self, op: str) -> Callable:
        def function(*xs: Any) -> CodeNode:
            result = self.graph.number(xs[0])
            for x in xs[1:]:
                result = self.graph.call(op, result, x)
            return result

        return function

    def number(self, x: Any) -> Any:
        if isinstance(x, CodeNode):
            return x
        if isinstance(x, complex | np.complexfloating):
            if x.imag:
                raise GradcliError("generated code has no complex numbers", hint=self.advice, kind="exact")
            x = x.real
        return bool(x) if isinstance(x, bool | np.bool_) else self.graph.constant(x)

    def as_number(self, x: Any) -> Any:
        return self.graph.number(x)

    def input_array(self, name: str, value: Any) -> ExactArray:
        out = np.empty(np.shape(value), object)
        for index in np.ndindex(out.shape):
            out[index] = self.graph.input(label(name, index))
        return out.view(ExactArray)

    def decide(self, condition: Any) -> bool:
        if isinstance(condition, Condition):
            message = "the elements that a mask selects depend on the inputs"
            raise GradcliError(message, hint="choose with where(condition, x, y)", kind="exact")
        return bool(condition)

    def as_float(self, x: Any) -> float | None:
        return x.value if isinstance(x, CodeNode) and x.op == "constant" else None

    def is_condition(self, x: Any) -> bool:
        return isinstance(x, bool | np.bool_ | Condition)

    def is_element(self, x: Any) -> bool:
        return isinstance(x, CodeNode)

    def is_complex(self, x: Any) -> bool:
        return False

    def parts(self, x: Any) -> tuple[Any, Any]:
        return x, self.graph.constant(0.0)

    def as_constant(self, x: Any) -> Any:
        return x

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        return self.graph.select(condition, *(self.number(e) for e in (x, y)))

    def compare(self, name: str) -> Callable | None:
        graph = self.graph
        if name in LOGIC:
            return getattr(graph, LOGIC[name])
        if name in TESTS:
            return lambda x: graph.test(name, x)
        return (lambda x, y: graph.compare(name, x, y)) if name in NODE_COMPARISONS else None

    def ufunc(self, function: Any) -> Callable | None:
        """Return the operation on nodes for a function of NumPy or scipy.special, or None."""
        name = OTHER_NAMES.get(function.__name__, function.__name__)
        if name in OPERATORS:
            return getattr(self.graph, name)
        if name in RECORDED_FUNCTIONS:
            return lambda *xs: self.graph.call(name, *xs)
        return WRITTEN.get(name)


JOINED = {"any": np.logical_or, "all": np.logical_and}


class Recorded(Exact):
    """Runs the table's own forward functions and rules on nodes; an entry's exact form stands in where one fails."""

    field: GraphNumbers

    def compute(self, primitive: Primitive, raws: tuple, params: dict) -> Any:
        if primitive.name in JOINED:
            return exact(JOINED[primitive.name].reduce(exact(raws[0]), **params))
        if primitive.kind == "elementwise" or primitive.exact is not None:
            raws = tuple(self.without_conditions(x) for x in raws) if primitive.kind == "elementwise" else raws
            try:
                return self.forward(primitive, raws, params)
            except NoTwinError:
                raise
            except (TypeError, AttributeError) as error:
                if primitive.exact is None:
                    raise self.cannot(primitive) from error
        return super().compute(primitive, raws, params)

    def forward(self, primitive: Primitive, raws: tuple, params: dict) -> Any:
        own = special.ENTRIES.get(primitive.name)
        if own is not None:
            return exact(map_elements(lambda *xs: own(*xs, **params), tuple(map(as_plain, raws))))
        out = primitive.forward(*raws, **params)
        if not isinstance(out, np.ndarray) or out.dtype != object:
            raise TypeError("the result does not consist of nodes")
        return exact(out)

    def without_conditions(self, x: Any) -> Any:
        if isinstance(x, np.ndarray) and (x.dtype == bool or self.is_condition(x)) and x.size:
            return exact(map_elements(self.field.graph.number, (as_plain(x),)))
        return x

    def cannot(self, primitive: Primitive) -> NoTwinError:
        return NoTwinError(f"{name_for_users(primitive)} cannot be written as code")

    def apply(self, real: tuple[bool, ...], node: Any, g: Any) -> tuple:
        """Multiply by the partial derivatives that the entry states."""
        out, *operands = node.kept
        primitive, params = node.rule.primitive, node.rule.params
        grads: list[Any] = [None] * len(node.parents)
        for i, (rule, parent) in enumerate(zip(primitive.rules, node.parents, strict=True)):
            if parent is not None:
                with self.differentiating(primitive):
                    factor = rule(out, *operands, **params) if callable(rule) else rule
                    grads[i] = exact(fit_to_shape(self.array(g) * factor, np.shape(operands[i]), np.ndim(out)))
        return tuple(grads)

    def apply_rule(self, real: tuple[bool, ...], node: Any, g: Any) -> tuple:
        with self.differentiating(node.rule.primitive):
            return super().apply_rule(real, node, g)

    @contextlib.contextmanager
    def differentiating(self, primitive: Primitive) -> Iterator[None]:
        """Raise GradcliError if a rule cannot run on nodes."""
        try:
            yield
        except (NoTwinError, TypeError, AttributeError) as error:
            message = f"the derivative of {name_for_users(primitive)} cannot be written as code"
            raise GradcliError(message, hint=self.field.advice, kind="exact") from error
