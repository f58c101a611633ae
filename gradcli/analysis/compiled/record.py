"""Running a program once on expressions, in place of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...errors import GradcliError
from ...exact.array import ExactArray, as_plain, exact, exact_numbers, settle_conditions
from ...exact.field import Field
from ...exact.record import Exact, computing, name_for_users
from ...program.base import Program, silence_prints
from ...rules.exact import map_elements
from ...rules.table import Primitive
from ...tape.modes import no_grad
from .expression import CONDITIONS, HELD, SELECT, Expression, OperationGraph, RefusedError, number

WHOLE = frozenset(
    "where mean sum var std norm reshape expand_dims squeeze broadcast_to transpose swapaxes astype clone copy_to "
    "alias flip roll_axes getitem put_zeros tile last_diagonal triu tril cumsum_last vector_dot matrix_vector "
    "vector_matrix matrix_product affine setitem concatenate stack prod zeros ones eye arange zeros_like "
    "ones_like".split()
)
"""Operations on whole arrays that are made element by element without losing digits, or nothing but movement."""


class Expressions(Field):
    """Expressions and constants as the elements of exact arrays. columns: the inputs that differ from row to row."""

    name = "machine code"
    lazy_pieces = False
    constants: Mapping[str, Any] = {}

    def __init__(self, graph: OperationGraph, columns: tuple[str, ...]):
        self.graph, self.columns = graph, columns
        self.functions = {"sqrt": self.compare("sqrt"), "abs": self.compare("absolute")}

    def compare(self, name: str) -> Callable:
        """Return a comparison, or any other operation of the table, as a function of elements."""
        return lambda *xs: self.graph.apply(name, xs, {})

    def number(self, x: Any) -> Any:
        return number(x)

    def input_array(self, name: str, value: Any) -> Any:
        """Return an input: its elements where it has a column, else its value."""
        if name not in self.columns:
            return exact_numbers(self, value)
        elements = np.empty(np.shape(value), object)
        for index in np.ndindex(elements.shape):
            elements[index] = self.graph.input(name, index)
        return exact(elements)

    def as_float(self, x: Any) -> float | None:
        """Return a constant; None for what depends on the row."""
        return None if isinstance(x, Expression) else float(x)

    def is_condition(self, x: Any) -> bool:
        return isinstance(x, bool | np.bool_) or (isinstance(x, Expression) and x.is_condition)

    def as_number(self, x: Any) -> Any:
        return x.astype(float) if isinstance(x, Expression) else np.float64(x)

    def as_constant(self, x: Any) -> Any:
        return self.graph.join(HELD, (x,), {}) if isinstance(x, Expression) else x

    def is_element(self, x: Any) -> bool:
        return isinstance(x, Expression | np.floating)

    def is_complex(self, x: Any) -> bool:
        return False

    def parts(self, x: Any) -> tuple[Any, Any]:
        return x, np.float64(0)

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        return self.graph.apply(SELECT, (condition, x, y), {})

    def twin(self, primitive: Primitive, params: dict) -> tuple[Callable, tuple]:
        """Return an elementwise operation as a function of elements. Raises RefusedError for array parameters."""
        if any(np.ndim(x) for x in params.values()):
            raise RefusedError(f"'{primitive.name}' with an array of parameters")

        def call(*xs: Any) -> Any:
            return self.graph.apply(
                primitive.name, [self.as_number(x) if self.is_condition(x) else x for x in xs], params
            )

        return call, ()


class Recorder(Exact):
    """Notes the operations of a program."""

    def compute(self, primitive: Primitive, raws: tuple, params: dict) -> Any:
        """Return what an operation makes of expressions. Raises RefusedError."""
        name = primitive.name
        if primitive.kind != "elementwise" and name not in CONDITIONS and name not in WHOLE:
            raise RefusedError(f"'{name_for_users(primitive)}'")
        try:
            if name in CONDITIONS and any(isinstance(x, ExactArray) for x in raws):
                conditions = map_elements(partial(self.condition, name), tuple(as_plain(x) for x in raws))
                return exact(settle_conditions(conditions))
            return super().compute(primitive, raws, params)
        except RefusedError:
            raise
        except Exception as error:
            raise RefusedError(f"'{name}'") from error

    def condition(self, name: str, *xs: Any) -> Any:
        """Return a condition, as true or false where it is known."""
        condition = self.field.graph.apply(name, xs, {})  # type: ignore[attr-defined]
        return condition if isinstance(condition, Expression) else bool(condition)


def record(
    program: Program,
    given: Mapping[str, np.ndarray],
    columns: tuple[str, ...],
    out: str | None = None,
    graph: OperationGraph | None = None,
) -> tuple[Any, OperationGraph]:
    """Return the output of a program as an expression, or as a number where it depends on no column, and its graph.

    given: values of the inputs; those of columns say only which shape a row has. Raises RefusedError.
    """
    graph = graph or OperationGraph()
    try:
        with computing(Recorder(Expressions(graph, columns))), no_grad(), silence_prints(program):
            output = program.run(given, wrt=(), out=out).output
    except RefusedError:
        raise
    except GradcliError as error:
        cause = error.cause if isinstance(getattr(error, "cause", None), RefusedError) else error
        raise cause if isinstance(cause, RefusedError) else RefusedError(f"the program ({error.message})") from None
    if output is None or np.size(output._data) != 1:
        raise RefusedError("an output that is no single number")
    value = np.asarray(output._data).view(np.ndarray).item()
    return value.astype(float) if isinstance(value, Expression) else number(value), graph
