"""What exact arithmetic finds out: formulas, numbers of many digits, and how many digits are right over a range."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .results import Part, label, value_part


class Formula(NamedTuple):
    """A formula, in the expression language, in LaTeX, and as a terminal shows it over several lines."""

    text: str
    latex: str
    pretty: str = ""


class Derivative(NamedTuple):
    """One derivative: with respect to what (x[0,1], or x/y for a mixed one), its formula, its value if asked for."""

    name: str
    formula: Formula
    value: str | None = None


class FormulaMatrix(NamedTuple):
    """The derivatives as a matrix: the Jacobian of an output with several elements, or the Hessian of a number.

    rows: the elements of the output, [0] and so on; of a Hessian, like columns, those of the inputs.
    """

    kind: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    entries: tuple[tuple[Derivative, ...], ...]


class Formulas(NamedTuple):
    """The formula of an output and those of its derivatives.

    value: labelled elements of the output. code: a function ready to be pasted, where a format asked for one.
    steps: lines of the chain rule, as text and as LaTeX. output: the output's name, where it has one; function: what
    formulas call it. single: whether it is a function of a single number. matrix: where there is one.
    notes: what else there is to say.
    """

    target: str
    value: tuple[Derivative, ...]
    derivatives: tuple[Derivative, ...]
    order: int
    code: str = ""
    steps: tuple[Formula, ...] = ()
    output: str | None = None
    function: str = "f"
    single: bool = False
    matrix: FormulaMatrix | None = None
    notes: tuple[str, ...] = ()


class Agreement(NamedTuple):
    """What a formula says of one input's gradient: text and value of each element, beside the engine's.

    agrees: whether all do. error: the largest absolute difference. notes: what there is to say about single points.
    decided: False where rounding hides whether a number is right; such elements are no disagreement.
    """

    name: str
    texts: np.ndarray
    latex: np.ndarray
    values: np.ndarray
    agrees: bool
    error: float
    notes: tuple[str, ...] = ()
    decided: bool = True


class LongNumbers(NamedTuple):
    """Values and derivatives in many digits, as text: only digits that are right.

    digits: how many were asked for. value and the arrays of `parts` hold strings; value: None where a script runs
    backward more than once; parts: label to array, where a
    label is an input's name; None for a leaf without gradient. with_value: whether formats that leave the value out
    are to have it.
    """

    target: str
    digits: int
    value: np.ndarray | None
    parts: dict[str, Any]
    output: str | None = None
    with_value: bool = False

    @property
    def arrays(self) -> Iterator[Part]:
        yield from value_part(self)
        for name, x in self.parts.items():
            if x is not None:
                yield f"the gradient for {name}", x, partial(label, name)


class Loss(NamedTuple):
    """The operation that loses the digits of a value or of a gradient at a point.

    of: "value" or the input whose gradient it is. kind: forward, or in backward the local rule of an operation
    (backward) or the sum of what reaches a result along several ways (sum). formula: the operation in the program's
    words; line: of the source, where it has several. before, after: digits of what went in and of what came out.
    parts: the numbers that went in, result: what came out, right: what it should be; without parts where there are
    many. ways: the operations from which the parts of a sum came.
    """

    of: str
    at: float
    kind: str
    formula: str
    line: int | None
    before: float
    after: float
    parts: tuple[float, ...]
    result: float
    right: float
    ways: tuple[str, ...] = ()


class Precision(NamedTuple):
    """Right digits of a value and its gradients along one input.

    x: the points. full: the digits of the type. value, gradients by input: digits at each point, nan where there is
    no value.
    """

    target: str
    name: str
    x: np.ndarray
    full: float
    value: np.ndarray
    gradients: dict[str, np.ndarray]
    losses: tuple[Loss, ...] = ()
    output: str | None = None

    @property
    def columns(self) -> dict[str, np.ndarray]:
        return {"value": self.value, **{f"d/d{name}": x for name, x in self.gradients.items()}}
