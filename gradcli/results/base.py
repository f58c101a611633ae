"""Results as immutable data: gradients, products, Jacobians, Hessians, sweeps.

They are named tuples, and annotations are not postponed: creating dataclasses, or compiling postponed annotations,
would take a short command longer than computing its gradient. A result may declare:

- `json`: the fields of its JSON document (see `document_of`).
- `columns` and `rows`: a table. A cell is text, a number, None for a gradient that is None, a pair of names (text joins
  them with a slash, CSV has a column for each), or a function from digits to text. `lines` are the rows for a shell,
  if they differ from those of CSV.
- `arrays`: its derivatives, for NumPy's formats, the search for nan, and rows if it has no `rows`.
- `errors`: those of numeric derivatives, by name as in JSON; `missing`: why some derivatives are not known.
- `exit_code`, and what goes to standard error: `notes`, `unused`, `detached`, `anomaly`, `symbolic` and `check`.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_TARGET, GradcliError, Span, visible

SCHEMA = "gradcli/1"
T = TypeVar("T", bound=type)


def declare(**attributes: Any) -> Callable[[T], T]:
    """Set class attributes of a result, such as `json`, which the body of a named tuple cannot set."""

    def decorate(kind: T) -> T:
        for name, value in attributes.items():
            setattr(kind, name, value)
        return kind

    return decorate


Rows = Iterable[Sequence[Any]]


def label(name: str, index: Sequence[int | str]) -> str:
    """Name an element: x, x[2], x[0,1]."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


MOST_SLICES = 5  # parts of an array that are named one by one: a choice


def label_slices(name: str, axes: Sequence[Sequence[tuple[int, int]]]) -> str:
    """Name parts of an array in NumPy's notation: x[1:4], x[:,2], x[0] and x[3].

    axes: for each axis, ranges of indices, first and last of each, or nothing for the whole axis.
    """
    texts = [[str(i) if i == j else f"{i}:{j + 1}" for i, j in ranges] or [":"] for ranges in axes]
    while texts and texts[-1] == [":"]:
        texts.pop()
    parts = [label(name, part) for part in itertools.product(*texts)]
    if len(parts) > MOST_SLICES:
        return f"{', '.join(parts[:MOST_SLICES])} and more"
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if parts[1:] else parts[0]


def ranges_of(indices: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Return sorted indices as ranges: 0, 1, 2, 5 as (0, 2) and (5, 5)."""
    ends = np.flatnonzero(np.diff(indices) > 1)
    first, last = indices[np.append(0, ends + 1)], indices[np.append(ends, len(indices) - 1)]
    return tuple(zip(first.tolist(), last.tolist(), strict=True))


def labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """Name all elements of an array; the last index varies fastest."""
    if not shape:
        return [name]
    return [f"{name}[{','.join(index)}]" for index in itertools.product(*([*map(str, range(n))] for n in shape))]


class ResultBlock(NamedTuple):
    """An array of a result.

    key: its name among the others, x or x/y. words: what it is. array: dense, sparse, None for a gradient that is
    None, or text for numbers of many digits. axes: name and shape of what its axes belong to: an input, or an output
    and an input. error: of a numeric derivative, in the shape of the array.
    """

    key: str
    words: str
    array: Any
    axes: tuple[tuple[str, tuple[int, ...]], ...]
    error: np.ndarray | None = None

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.array, "nnz")

    @property
    def elements(self) -> np.ndarray:
        """The elements as an array: the stored ones of a sparse array, empty for None."""
        return self.array.data if self.is_sparse else np.zeros(0) if self.array is None else self.array

    def label(self, index: Sequence[int]) -> str:
        """Name one element: x[1], out[0]/x[1]."""
        if self.is_sparse:
            return f"row {self.array.row[index[0]]}, column {self.array.col[index[0]]}"
        rest = iter(index)
        return "/".join(label(name, [*itertools.islice(rest, len(shape))]) for name, shape in self.axes)

    def rows(self, symbolic: tuple[Any, ...] = ()) -> Rows:
        """Return name, number, and error or formula, if any, of every element; the last index varies fastest."""
        every = [labels(*owner) for owner in self.axes]
        names: Iterable[Any] = itertools.product(*every) if len(every) > 1 else every[0]
        if self.is_sparse:
            names = [(every[0][i], every[1][j]) for i, j in zip(self.array.row, self.array.col, strict=True)]
        flat = self.elements.ravel()
        numbers = [None] if self.array is None else flat.tolist() if flat.dtype == np.float64 else list(flat)
        if self.error is not None:
            return zip(names, numbers, self.error.ravel().tolist(), strict=True)
        if not symbolic:
            return zip(names, numbers, strict=True)
        texts = next((item.texts.ravel() for item in symbolic if item.name == self.key), ())
        return zip(names, numbers, texts if len(texts) == len(numbers) else [""] * len(numbers), strict=True)


def own_block(name: str, words: str, x: np.ndarray | None, error: np.ndarray | None = None) -> ResultBlock:
    """Return the block of an array that has the axes of the input or output it is named after."""
    return ResultBlock(name, words, x, ((name, () if x is None else x.shape),), error)


def rows_of(result: Any) -> Rows:
    """Return a result's own rows, else one for each element, preceded by the value's if `with_value` is set."""
    if hasattr(result, "rows"):
        return result.rows()
    value = getattr(result, "with_value", False) and result.value is not None
    symbolic = getattr(result, "symbolic", ())
    head: Rows = value_block(result, "value").rows(symbolic) if value else ()
    if getattr(result, "errors", {}):
        head = ((*row, "") for row in head)
    return itertools.chain(head, *(block.rows(symbolic) for block in result.arrays))


def value_block(result: Any, name: str = "") -> ResultBlock:
    name = name or result.output or "value"
    return ResultBlock("value", "the value", result.value, ((name, np.shape(result.value)),))


def document_of_lines(head: Mapping[str, Any], key: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Return a JSON document with one entry per line, so that git can compare them."""
    import json

    start = json.dumps(head, ensure_ascii=False)[:-1]
    rows = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in entries]
    return visible(f'{start}, "{key}": [\n' + ",\n".join(rows) + "\n]}\n")


FIELD = re.compile(r"(\*?)(\w+)(?:=([\w.]+))?({})?(?:~(\d))?(\??)")


@cache
def declared_fields(declaration: str) -> list[tuple[Any, ...]]:
    """Return for each field: splice, key, reader, whether by name, digits and whether optional."""
    found = [FIELD.fullmatch(word).groups() for word in declaration.split()]  # type: ignore[union-attr]
    return [(splice, key, attrgetter(path or key), *marks) for splice, key, path, *marks in found]


def document_of(part: Any, declaration: str | None = None) -> dict[str, Any]:
    """Return the JSON document of a result, or of a part of one, with unconverted values.

    Its `json` declares the fields; without it, a named tuple has all of its fields. A declaration is words: `key`, or
    `key=attribute` if the attribute has another name. After it, `{}` makes named items a mapping, `~4` rounds to 4
    decimals, and `?` leaves out None and empty values. `*attribute` stands for the fields of that part.
    """
    declaration = declaration or getattr(part, "json", None) or " ".join(part._fields)
    document: dict[str, Any] = {}
    for splice, key, read, by_name, digits, optional in declared_fields(declaration):
        value = read(part)
        if splice:
            document |= document_of(value)
        elif not optional or not (value is None or value in ("", (), {})):
            value = round(value, int(digits)) if digits else value
            document[key] = {item.name: item for item in value} if by_name else value
    return document


VERDICT_CODES = {"fail": EXIT_FAIL, "error": EXIT_TARGET, "inconclusive": EXIT_INCONCLUSIVE}


def exit_code_of(result: Any) -> int:
    """Return the exit code of a result: its own, else that of unknown derivatives, a disagreement or its check."""
    if hasattr(result, "exit_code"):
        return result.exit_code
    if getattr(result, "missing", ()):
        return EXIT_INCONCLUSIVE
    if not all(item.agrees for item in getattr(result, "symbolic", ())):
        return EXIT_FAIL
    check = getattr(result, "check", None)
    return EXIT_OK if check is None else VERDICT_CODES.get(check.verdict, EXIT_OK)


class InputGradient(NamedTuple):
    """One input: its value, and the gradient of the output with respect to it, of the same shape.

    grad: None for a leaf of a script that backward never reached, or whose `.grad` the script cleared. note: says that
    the script has changed the value since then.
    """

    name: str
    value: np.ndarray
    grad: np.ndarray | None
    note: str = ""

    @property
    def slope(self) -> np.ndarray:
        return np.zeros_like(self.value) if self.grad is None else self.grad


@declare(json="value grad error=errors? output? retained? symbolic{}? check?")
class Gradients(NamedTuple):
    """The value of an output (None when a script ran backward itself) and its gradients.

    retained: the gradients of intermediate results by name. output: its name, if any. symbolic: the formulas of each
    input (--symbolic). check: the report of --check. detached: the output depends on no input. with_value: put the
    value into formats that leave it out. summary: show sizes, not elements. anomaly: the operation that made a nan,
    and its place, if that was asked for. why: the command that explains gradients of a script.
    """

    target: str
    value: np.ndarray | None
    inputs: tuple[InputGradient, ...]
    retained: dict[str, np.ndarray | None]
    output: str | None = None
    symbolic: tuple[Any, ...] = ()
    check: Any = None
    detached: bool = False
    with_value: bool = False
    summary: bool = False
    anomaly: tuple[str, Span | None] | None = None
    why: str = ""
    errors: Mapping[str, np.ndarray] = {}
    missing: tuple[str, ...] = ()

    @property
    def grad(self) -> dict[str, np.ndarray | None]:
        return {item.name: item.grad for item in self.inputs}

    @property
    def arrays(self) -> tuple[ResultBlock, ...]:
        every = self.grad | self.retained
        return tuple(own_block(n, f"the gradient of {n}", x, self.errors.get(n)) for n, x in every.items())

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on values that the script has changed since, and on gradients that are missing, zero or nan."""
        texts = dict.fromkeys(item.note for item in self.inputs if item.note)
        notes = [f"{', '.join(x.name for x in self.inputs if x.note == text)}: {text}" for text in texts]
        if not notes and self.value is None and all(item.grad is None for item in self.inputs):
            notes = [
                "every .grad is none at the end of the script; 'gradcli trace --pass last' shows its last backward"
            ]
        return (*notes, *point_to_why(self.why, self.grad))


def point_to_why(command: str, gradients: Mapping[str, np.ndarray | None]) -> tuple[str, ...]:
    """Return a note with the command that explains gradients that are None, zero or nan, if there are any."""
    odd = [
        name
        for name, x in gradients.items()
        if x is None or (x.size and x.dtype.kind in "fc" and (not x.any() or bool(np.isnan(x).any())))
    ]
    if not odd or not command:
        return ()
    which = f"{odd[0]}.grad" if len(odd) == 1 else f"{odd[0]}.grad and {len(odd) - 1} more"
    return (f"'{command}' finds the cause of {which} being none, zero or nan",)


@declare(json="value output?")
class Value(NamedTuple):
    """The value of an output, and the output's name, if any."""

    target: str
    value: np.ndarray
    output: str | None = None

    @property
    def arrays(self) -> tuple[ResultBlock, ...]:
        return (value_block(self, "value"),)


@declare(
    json="value jacobian error=errors? products? output? unused? symbolic{}? check?",
    columns=("output", "input", "value"),
)
class Jacobian(NamedTuple):
    """The value of an output, its inputs' values, and its Jacobian block by block. output: its name, if any.

    blocks: by input, of shape output.shape + input.shape, or a scipy.sparse array of shape (output.size, input.size).
    products: how many products a sparse one took. unused: inputs that the output does not depend on. symbolic: the
    formulas of each block (--symbolic). drawn: show heat maps instead of numbers. check: the report of --check.
    """

    target: str
    value: np.ndarray
    inputs: dict[str, np.ndarray]
    blocks: dict[str, Any]
    output: str | None = None
    products: int | None = None
    unused: tuple[str, ...] = ()
    symbolic: tuple[Any, ...] = ()
    drawn: bool = False
    check: Any = None
    errors: Mapping[str, np.ndarray] = {}
    missing: tuple[str, ...] = ()

    @property
    def is_dense(self) -> bool:
        return all(isinstance(x, np.ndarray) for x in self.blocks.values())

    @property
    def arrays(self) -> tuple[ResultBlock, ...]:
        output = (self.output or "out", self.value.shape)
        blocks = self.blocks if self.is_dense else {name: x.tocoo() for name, x in self.blocks.items()}
        return tuple(
            ResultBlock(
                name, f"the block of {name}", x, (output, (name, self.inputs[name].shape)), self.errors.get(name)
            )
            for name, x in blocks.items()
        )

    @property
    def jacobian(self) -> dict[str, Any]:
        return {b.key: document_of(b.array, "shape row col data") if b.is_sparse else b.array for b in self.arrays}


@declare(json="value hessian=blocks error=errors? output? unused? symbolic{}?", columns=("first", "second", "value"))
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
    errors: Mapping[str, Mapping[str, np.ndarray]] = {}
    missing: tuple[str, ...] = ()

    @property
    def arrays(self) -> tuple[ResultBlock, ...]:
        shapes = {name: x.shape for name, x in self.inputs.items()}
        return tuple(
            ResultBlock(
                f"{name}/{other}",
                f"the block of {other}",
                x,
                ((name, shapes[name]), (other, shapes[other])),
                self.errors.get(name, {}).get(other),
            )
            for name, row in self.blocks.items()
            for other, x in row.items()
        )

    @property
    def whole(self) -> np.ndarray | None:
        """The Hessian as one matrix, if there are several inputs and all are single numbers."""
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
    check: Any = None
    errors: Mapping[str, np.ndarray] = {}
    missing: tuple[str, ...] = ()

    @property
    def arrays(self) -> tuple[ResultBlock, ...]:
        every = self.parts.items()
        return tuple(own_block(n, f"the {self.kind} for {n}", x, self.errors.get(n)) for n, x in every)

    @property
    def json(self) -> str:
        return f"value {self.kind}=product error=errors? output? unused? check?"

    @property
    def product(self) -> Any:
        return next(iter(self.parts.values())) if self.kind == "jvp" else self.parts


@declare(json="target rows not_finite seconds~4 output")
class Swept(NamedTuple):
    """Result of a sweep: the number of rows, how many of them are not finite, the seconds, and the table's file."""

    target: str
    rows: int
    not_finite: int
    seconds: float
    output: str


def nan_in(result: Any) -> str | None:
    """Describe where a result first contains nan; None if it contains none."""
    for what, _, where, _ in places(result, np.isnan):
        at = f" first {'in' if where.startswith('row ') else 'at'} {where}" if what.startswith("the block") else ""
        return f"{what} contains nan{at}"
    return None


def check_finite(result: Any) -> None:
    """Raise GradcliError with exit code 1 if a result contains nan or infinity."""
    for what, place, where, number in places(result, lambda numbers: ~np.isfinite(numbers)):
        more = f"not finite: {where} is {number}" if place or "/" in where else number
        raise GradcliError(f"{what} is {more}", kind="value", exit_code=EXIT_FAIL)


def places(result: Any, wanted: Callable[[np.ndarray], np.ndarray]) -> Iterator[tuple[str, list[int], str, Any]]:
    """Yield the first wanted number of each array of a result: the array in words, its index, its name, the number."""
    if not hasattr(result, "arrays"):
        return
    for block in (value_block(result), *result.arrays):
        numbers = block.elements
        if numbers.dtype.kind in "OU":  # numbers of many digits, whose range is larger than that of floats
            finite = (np.nan if "nan" in x else np.inf if "inf" in x else 0.0 for x in numbers.ravel())
            numbers = np.fromiter(finite, float).reshape(numbers.shape)
        for place in np.argwhere(wanted(numbers))[:1].tolist():
            yield block.words, place, block.label(place), numbers[tuple(place)]


def dense_arrays(result: Any) -> dict[str, np.ndarray]:
    """Return the derivatives of a result by name, without sparse ones, text and None."""
    arrays = {block.key: block.array for block in getattr(result, "arrays", ())}
    return {name: x for name, x in arrays.items() if isinstance(x, np.ndarray) and x.dtype.kind not in "OU"}
