"""What commands find out, as immutable data. Renderers turn it into text and know nothing else.

Arrays are plain ndarrays. Named tuples rather than dataclasses: they cost nothing to import.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class InputGradient(NamedTuple):
    """One input: its value, and the gradient of the output with respect to it, of the same shape."""

    name: str
    value: np.ndarray
    grad: np.ndarray


class Gradients(NamedTuple):
    """The value of an output (None when a script ran backward itself) and its gradients.

    retained: the gradients of intermediate results by name. output: the output's name, where it has one.
    """

    target: str
    value: np.ndarray | None
    inputs: tuple[InputGradient, ...]
    retained: dict[str, np.ndarray]
    output: str | None = None


class JacobianBlock(NamedTuple):
    """The derivatives of an output for one input: shape output.shape + value.shape.

    sparse: a scipy.sparse array of shape (output.size, value.size) instead.
    """

    name: str
    value: np.ndarray
    block: np.ndarray | None
    sparse: Any = None


class Jacobian(NamedTuple):
    """The value of an output, and its Jacobian block by block. output: the output's name, where it has one.

    products: how many products a sparse one took. unused: inputs that the output does not depend on.
    """

    target: str
    value: np.ndarray
    blocks: tuple[JacobianBlock, ...]
    output: str | None = None
    products: int | None = None
    unused: tuple[str, ...] = ()


class Hessian(NamedTuple):
    """The value of a scalar output, its inputs' values, and the second derivatives.

    blocks: for inputs a and b, blocks[a][b] has shape a.shape + b.shape.
    """

    target: str
    value: np.ndarray
    inputs: dict[str, np.ndarray]
    blocks: dict[str, dict[str, np.ndarray]]
    output: str | None = None
    unused: tuple[str, ...] = ()


class Products(NamedTuple):
    """The value of an output, and a product of its derivative with a vector.

    kind: `vjp` and `hvp` have one array per input, shaped like it; `jvp` has one, shaped like the output,
    under the output's name.
    """

    target: str
    kind: str
    value: np.ndarray
    parts: dict[str, np.ndarray]
    output: str | None = None
    unused: tuple[str, ...] = ()


class WorstElement(NamedTuple):
    """The element whose derivative is furthest from its reference.

    output: the index of the output element, place: that of the input element. numeric_error: the half-width
    of the reference's interval.
    """

    output: tuple[int, ...]
    place: tuple[int, ...]
    analytic: Any
    numeric: Any
    numeric_error: float


class InputCheck(NamedTuple):
    """What was found for one input. resolution: the relative error that would have been seen."""

    name: str
    shape: tuple[int, ...]
    verdict: str
    max_abs_error: float
    max_rel_error: float
    digits: float
    resolution: float
    worst: WorstElement | None


class Finding(NamedTuple):
    """Part of a diagnosis. kind: a stable word such as sign, factor, transposed; text: the evidence in a line."""

    kind: str
    text: str
    input: str | None = None


class CheckReport(NamedTuple):
    """The verdict on the derivative of one function at one point (or the worst of several).

    verdict: pass, fail, inconclusive or error. message: the reason in a line. notes: what else was seen. replay:
    a command line that repeats the check. witnesses: independent values by name, with the digits to which they
    agree with the derivative.
    """

    name: str
    file: str | None
    line: int | None
    verdict: str
    seconds: float
    inputs: tuple[InputCheck, ...] = ()
    diagnosis: tuple[Finding, ...] = ()
    message: str = ""
    notes: tuple[str, ...] = ()
    replay: str | None = None
    witnesses: tuple[tuple[str, float], ...] = ()
    blame: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the derivative was found right."""
        return self.verdict == "pass"

    def __bool__(self) -> bool:
        return self.passed


class CheckSummary(NamedTuple):
    """All checks of a run."""

    target: str
    checks: tuple[CheckReport, ...]
    seconds: float

    def count(self, verdict: str) -> int:
        """Return how many checks have a verdict."""
        return sum(check.verdict == verdict for check in self.checks)


class Operation(NamedTuple):
    """A function of the table, described in text. Empty where there is nothing to say."""

    name: str
    aliases: tuple[str, ...]
    kind: str
    signature: str
    doc: str
    derivatives: tuple[tuple[str, str], ...]
    domain: str
    subgradient: str
    twin: str
    numpy: tuple[str, ...]


class Operations(NamedTuple):
    """Functions of the table. full: whether everything about them is wanted, or one line each."""

    entries: tuple[Operation, ...]
    full: bool = False


Result = Any
