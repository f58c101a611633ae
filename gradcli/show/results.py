"""Results, as immutable data: gradients, products, Jacobians, Hessians, curves, sweeps, functions of the table.

Arrays are plain ndarrays. Named tuples rather than dataclasses: they cost nothing to import. A result may have,
beside what its renderers read: `arrays`, the numbers in which nan is looked for; `exit_code`; and what is said on
standard error, `notes`, `unused`, `detached`, `anomaly`, `symbolic` and `witnesses`. Tables whose numbers are never
cut are those of `Output.numbers_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_TARGET, GradcliError, Span

Part = tuple[str, np.ndarray, Callable[[Sequence[int]], str]]
"""What an array of a result is, the array, and how an element of it is called by its index."""


def label(name: str, index: Sequence[int | str]) -> str:
    """Return the name of an element: x, x[2], x[0,1]."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


def labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of an array's elements, the last axis fastest."""
    return [label(name, index) for index in np.ndindex(shape)]


def value_part(result: Any) -> Iterator[Part]:
    if result.value is not None:
        yield "the value", result.value, partial(label, result.output or "value")


def label_pair(row: str, axes: int, column: str) -> Callable[[Sequence[int]], str]:
    """Return how an element of a block of derivatives is called; axes: how many of them belong to the row."""
    return lambda index: f"{label(row, index[:axes])}/{label(column, index[axes:])}"


def label_entry(entries: Any, index: list[int]) -> str:
    return f"row {entries.row[index[0]]}, column {entries.col[index[0]]}"


VERDICT_CODES = {"pass": EXIT_OK, "fail": EXIT_FAIL, "error": EXIT_TARGET, "inconclusive": EXIT_INCONCLUSIVE}


def comparison_code(result: Any) -> int:
    """Return the exit code of what formulas, or else a check, say of a result, where that was asked for."""
    if not all(item.agrees for item in getattr(result, "symbolic", ())):
        return EXIT_FAIL
    return next((VERDICT_CODES[report.verdict] for report in getattr(result, "witnesses", ())), EXIT_OK)


class InputGradient(NamedTuple):
    """One input: its value, and the gradient of the output with respect to it, of the same shape.

    grad: None for a leaf of a script that backward never reached, or whose `.grad` the script cleared. note: what
    is to be said of the value, where the script has changed it since.
    """

    name: str
    value: np.ndarray
    grad: np.ndarray | None
    note: str = ""

    @property
    def slope(self) -> np.ndarray:
        return np.zeros_like(self.value) if self.grad is None else self.grad


class Gradients(NamedTuple):
    """The value of an output (None when a script ran backward itself) and its gradients.

    retained: the gradients of intermediate results by name. output: the output's name, where it has one. symbolic
    and witnesses: what formulas and other independent answers say, input by input, where that was asked for.
    anomaly: which operation made a nan, and where, once that was looked for.
    detached: whether the output depends on no input at all. with_value: whether formats that leave the value out are
    to have it. summary: whether the arrays are too many to be shown.
    """

    target: str
    value: np.ndarray | None
    inputs: tuple[InputGradient, ...]
    retained: dict[str, np.ndarray | None]
    output: str | None = None
    symbolic: tuple[Any, ...] = ()
    witnesses: tuple[Any, ...] = ()
    detached: bool = False
    with_value: bool = False
    summary: bool = False
    anomaly: tuple[str, Span | None] | None = None

    @property
    def arrays(self) -> Iterator[Part]:
        yield from value_part(self)
        for item in self.inputs:
            yield f"the gradient of {item.name}", item.slope, partial(label, item.name)

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of a script that has moved on, or leaves no gradient behind."""
        if texts := dict.fromkeys(item.note for item in self.inputs if item.note):
            return tuple(f"{', '.join(x.name for x in self.inputs if x.note == text)}: {text}" for text in texts)
        if self.value is not None or any(item.grad is not None for item in self.inputs):
            return ()
        return ("every .grad is none at the end of the script; 'gradcli trace --pass last' shows its last backward",)

    @property
    def exit_code(self) -> int:
        return comparison_code(self)


class Value(NamedTuple):
    """The value of an output, and the output's name, where it has one."""

    target: str
    value: np.ndarray
    output: str | None = None

    @property
    def arrays(self) -> Iterator[Part]:
        return value_part(self)


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

    products: how many products a sparse one took. unused: inputs that the output does not depend on. symbolic: what
    formulas say of each block, and witnesses: the report of a check, where these were asked for. drawn: whether heat
    maps are wanted instead of numbers.
    """

    target: str
    value: np.ndarray
    blocks: tuple[JacobianBlock, ...]
    output: str | None = None
    products: int | None = None
    unused: tuple[str, ...] = ()
    symbolic: tuple[Any, ...] = ()
    drawn: bool = False
    witnesses: tuple[Any, ...] = ()

    @property
    def arrays(self) -> Iterator[Part]:
        yield from value_part(self)
        for block in self.blocks:
            what = f"the block of {block.name}"
            if block.block is not None:
                yield what, block.block, label_pair(self.output or "out", self.value.ndim, block.name)
                continue
            entries = block.sparse.tocoo()
            yield what, entries.data, partial(label_entry, entries)

    @property
    def exit_code(self) -> int:
        return comparison_code(self)


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
    symbolic: tuple[Any, ...] = ()

    @property
    def arrays(self) -> Iterator[Part]:
        yield from value_part(self)
        for name, row in self.blocks.items():
            for other, x in row.items():
                yield f"the block of {other}", x, label_pair(name, self.inputs[name].ndim, other)

    @property
    def exit_code(self) -> int:
        return comparison_code(self)

    @property
    def whole(self) -> np.ndarray | None:
        """The Hessian as one matrix, where there are several inputs and all are single numbers."""
        if len(self.inputs) < 2 or any(x.ndim for x in self.inputs.values()):
            return None
        return np.array([list(row.values()) for row in self.blocks.values()])


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
    witnesses: tuple[Any, ...] = ()

    @property
    def arrays(self) -> Iterator[Part]:
        yield from value_part(self)
        for name, x in self.parts.items():
            yield f"the {self.kind} for {name}", x, partial(label, name)

    @property
    def exit_code(self) -> int:
        return comparison_code(self)


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


class Curve(NamedTuple):
    """A function of one input: x, value and derivative have the same length; nan where there is no value."""

    target: str
    name: str
    x: np.ndarray
    value: np.ndarray
    derivative: np.ndarray
    output: str | None = None


class Surface(NamedTuple):
    """A function of two inputs: value and both slopes have shape (len(x), len(y))."""

    target: str
    names: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    value: np.ndarray
    slopes: tuple[np.ndarray, np.ndarray]
    output: str | None = None


class Swept(NamedTuple):
    """How many rows were done, how many of them are not finite, in which time, and where they are."""

    target: str
    rows: int
    not_finite: int
    seconds: float
    output: str


def nan_in(result: Any) -> str | None:
    """Return where a result first holds nan, in words; None where it does not."""
    for what, _, where, _ in places(result, np.isnan):
        at = f" first {'in' if where.startswith('row ') else 'at'} {where}" if what.startswith("the block") else ""
        return f"{what} holds nan{at}"
    return None


def check_finite(result: Any) -> None:
    """Raise GradcliError, with exit code 1, for a result with nan or infinity in it, and say where."""
    for what, place, where, number in places(result, lambda numbers: ~np.isfinite(numbers)):
        more = f"not finite: {where} is {number}" if place or "/" in where else number
        raise GradcliError(f"{what} is {more}", kind="value", exit_code=EXIT_FAIL)


def places(result: Any, wanted: Callable[[np.ndarray], np.ndarray]) -> Iterator[tuple[str, list[int], str, Any]]:
    """Yield the first wanted number of each array of a result: of what it is, its place, that in words, itself."""
    for what, array, name in getattr(result, "arrays", ()):
        numbers = float_values(array)
        for place in np.argwhere(wanted(numbers))[:1].tolist():
            yield what, place, name(place), numbers[tuple(place)]


def float_values(x: np.ndarray) -> np.ndarray:
    """Return an array of numbers; of many digits, as text, none is too large or too small to be finite."""
    if x.dtype.kind not in "OU":
        return x
    return np.vectorize(lambda text: np.nan if "nan" in text else np.inf if "inf" in text else 0.0, otypes=[float])(x)
