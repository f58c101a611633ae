"""Results, as immutable data: gradients, products, Jacobians, Hessians, sweeps.

Named tuples rather than dataclasses, and no postponed annotations, each of which a named tuple would compile: both
cost a short command more than its gradient. A result says `document`, what `--json` has of it
behind the common head, with plain ndarrays and parts of results in it, and where it is a table `columns` and `rows`: a
cell is text, a number, None for a gradient that is none, a pair of names (text joins them with a slash, CSV has a
column for each), or a function of the digits wanted that returns text. `lines`: rows for a shell, where these are
others than those of CSV. `arrays`: its derivatives, for NumPy's formats and the search for nan, and for rows where it
has no others. It may also have an `exit_code`, and what is said on standard error: `notes`, `unused`, `detached`,
`anomaly`, `symbolic` and `witnesses`. Tables whose numbers are never cut are those of `Output.numbers_of`.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_TARGET, GradcliError, Span, visible

SCHEMA = "gradcli/1"
Rows = Iterable[Sequence[Any]]


def label(name: str, index: Sequence[int | str]) -> str:
    """Return the name of an element: x, x[2], x[0,1]."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


def labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of an array's elements, the last axis fastest."""
    if not shape:
        return [name]
    return [f"{name}[{','.join(index)}]" for index in itertools.product(*([*map(str, range(n))] for n in shape))]


class Block(NamedTuple):
    """An array of a result.

    key: its name among the others, x or x/y. words: what it is. array: dense, sparse, or None for a gradient that is
    none; of many digits, text. axes: what its axes belong to, name and shape: an input, or an output and an input.
    """

    key: str
    words: str
    array: Any
    axes: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.array, "nnz")

    @property
    def elements(self) -> np.ndarray:
        """The elements as an array, of a sparse one those that are stored; none of None."""
        return self.array.data if self.is_sparse else np.zeros(0) if self.array is None else self.array

    def label(self, index: Sequence[int]) -> str:
        """Return the name of one of the elements: x[1], out[0]/x[1]."""
        if self.is_sparse:
            return f"row {self.array.row[index[0]]}, column {self.array.col[index[0]]}"
        rest = iter(index)
        return "/".join(label(name, [*itertools.islice(rest, len(shape))]) for name, shape in self.axes)

    def rows(self, symbolic: tuple[Any, ...] = ()) -> Rows:
        """Return name and number of every element, the last axis fastest; with formulas, the element's as well."""
        every = [labels(*owner) for owner in self.axes]
        names: Iterable[Any] = itertools.product(*every) if len(every) > 1 else every[0]
        if self.is_sparse:
            names = [(every[0][i], every[1][j]) for i, j in zip(self.array.row, self.array.col, strict=True)]
        flat = self.elements.ravel()
        numbers = [None] if self.array is None else flat.tolist() if flat.dtype == np.float64 else list(flat)
        if not symbolic:
            return zip(names, numbers, strict=True)
        texts = next((item.texts.ravel() for item in symbolic if item.name == self.key), ())
        return zip(names, numbers, texts if len(texts) == len(numbers) else [""] * len(numbers), strict=True)


def own_block(name: str, words: str, x: np.ndarray | None) -> Block:
    """Return the block of an array that has the shape of what it is called after."""
    return Block(name, words, x, ((name, () if x is None else x.shape),))


def rows_of(result: Any) -> Rows:
    """Return a result's rows, without any of its own those of all elements; the value's first, where it is wanted."""
    if hasattr(result, "rows"):
        return result.rows()
    value = getattr(result, "with_value", False) and result.value is not None
    blocks = [*([value_block(result, "value")] if value else []), *result.arrays]
    return itertools.chain.from_iterable(block.rows(getattr(result, "symbolic", ())) for block in blocks)


def value_block(result: Any, name: str = "") -> Block:
    name = name or result.output or "value"
    return Block("value", "the value", result.value, ((name, np.shape(result.value)),))


def document_of_lines(head: Mapping[str, Any], key: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Return a document of JSON whose entries have a line each, for git to compare."""
    import json

    start = json.dumps(head, ensure_ascii=False)[:-1]
    rows = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in entries]
    return visible(f'{start}, "{key}": [\n' + ",\n".join(rows) + "\n]}\n")


def present(**parts: Any) -> dict[str, Any]:
    """Return the parts that there are: neither None nor empty."""
    return {name: part for name, part in parts.items() if part not in (None, "", (), [], {})}


def fields(part: Any, names: str) -> dict[str, Any]:
    """Return attributes by name: `names` has these between blanks."""
    return {name: getattr(part, name) for name in names.split()}


def value_document(result: Any, **parts: Any) -> dict[str, Any]:
    """Return the value of the output, some parts, and what else there is to say of a result of arrays."""
    value = None if result.value is None else np.asarray(result.value)
    more = present(
        output=result.output,
        retained=getattr(result, "retained", {}),
        unused=getattr(result, "unused", ()),
        symbolic={item.name: item for item in getattr(result, "symbolic", ())},
        check=next(iter(getattr(result, "witnesses", ())), None),
    )
    return {"value": value, **parts, **more}


VERDICT_CODES = {"fail": EXIT_FAIL, "error": EXIT_TARGET, "inconclusive": EXIT_INCONCLUSIVE}


def exit_code_of(result: Any) -> int:
    """Return a result's exit code: its own, or of what formulas, or else a check, say, where that was asked for."""
    if hasattr(result, "exit_code"):
        return result.exit_code
    if not all(item.agrees for item in getattr(result, "symbolic", ())):
        return EXIT_FAIL
    return next((VERDICT_CODES.get(report.verdict, EXIT_OK) for report in getattr(result, "witnesses", ())), EXIT_OK)


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
    why: the command that explains gradients of a script. detached: whether the output depends on no input at all.
    with_value: whether formats that leave the value out are
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
    why: str = ""

    @property
    def arrays(self) -> tuple[Block, ...]:
        every = {**{item.name: item.grad for item in self.inputs}, **self.retained}
        return tuple(own_block(name, f"the gradient of {name}", x) for name, x in every.items())

    def document(self) -> dict[str, Any]:
        return value_document(self, grad={item.name: item.grad for item in self.inputs})

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of a script that has moved on, or leaves no gradient behind."""
        return (*self._said_of_values, *point_to_why(self.why, {item.name: item.grad for item in self.inputs}))

    @property
    def _said_of_values(self) -> tuple[str, ...]:
        if texts := dict.fromkeys(item.note for item in self.inputs if item.note):
            return tuple(f"{', '.join(x.name for x in self.inputs if x.note == text)}: {text}" for text in texts)
        if self.value is not None or any(item.grad is not None for item in self.inputs):
            return ()
        return ("every .grad is none at the end of the script; 'gradcli trace --pass last' shows its last backward",)


def point_to_why(command: str, gradients: Mapping[str, np.ndarray | None]) -> tuple[str, ...]:
    """Return a note on gradients that are None, zero or nan: the command that finds the cause, "" for none."""
    odd = [
        name
        for name, x in gradients.items()
        if x is None or (x.size and x.dtype.kind in "fc" and (not x.any() or bool(np.isnan(x).any())))
    ]
    if not odd or not command:
        return ()
    which = f"{odd[0]}.grad" if len(odd) == 1 else f"{odd[0]}.grad and {len(odd) - 1} more"
    return (f"'{command}' finds the cause of {which} being none, zero or nan",)


class Value(NamedTuple):
    """The value of an output, and the output's name, where it has one."""

    target: str
    value: np.ndarray
    output: str | None = None

    def document(self) -> dict[str, Any]:
        return value_document(self)

    @property
    def arrays(self) -> tuple[Block, ...]:
        return (value_block(self, "value"),)


class Jacobian(NamedTuple):
    """The value of an output, its inputs' values, and its Jacobian block by block. output: its name, where it has one.

    blocks: by input, of shape output.shape + input.shape, or a scipy.sparse array of shape (output.size, input.size).
    products: how many products a sparse one took. unused: inputs that the output does not depend on. symbolic: what
    formulas say of each block, and witnesses: the report of a check, where these were asked for. drawn: whether heat
    maps are wanted instead of numbers.
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
    witnesses: tuple[Any, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return ("output", "input", "value")

    @property
    def is_dense(self) -> bool:
        return all(isinstance(x, np.ndarray) for x in self.blocks.values())

    @property
    def arrays(self) -> tuple[Block, ...]:
        output = (self.output or "out", self.value.shape)
        blocks = self.blocks if self.is_dense else {name: x.tocoo() for name, x in self.blocks.items()}
        inputs = {name: (name, x.shape) for name, x in self.inputs.items()}
        return tuple(Block(name, f"the block of {name}", x, (output, inputs[name])) for name, x in blocks.items())

    def document(self) -> dict[str, Any]:
        blocks = {
            name: x if isinstance(x, np.ndarray) else {"shape": x.shape, "row": x.row, "col": x.col, "data": x.data}
            for name, _, x, _ in self.arrays
        }
        return value_document(self, jacobian=blocks, **present(products=self.products))


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
    def columns(self) -> tuple[str, ...]:
        return ("first", "second", "value")

    @property
    def arrays(self) -> tuple[Block, ...]:
        shapes = {name: x.shape for name, x in self.inputs.items()}
        return tuple(
            Block(f"{name}/{other}", f"the block of {other}", x, ((name, shapes[name]), (other, shapes[other])))
            for name, row in self.blocks.items()
            for other, x in row.items()
        )

    def document(self) -> dict[str, Any]:
        return value_document(self, hessian=self.blocks)

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
    def arrays(self) -> tuple[Block, ...]:
        return tuple(own_block(name, f"the {self.kind} for {name}", x) for name, x in self.parts.items())

    def document(self) -> dict[str, Any]:
        product = next(iter(self.parts.values())) if self.kind == "jvp" else self.parts
        return value_document(self, **{self.kind: product})


class Swept(NamedTuple):
    """How many rows were done, how many of them are not finite, in which time, and where they are."""

    target: str
    rows: int
    not_finite: int
    seconds: float
    output: str

    def document(self) -> dict[str, Any]:
        return {**self._asdict(), "seconds": round(self.seconds, 4)}


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
    if not hasattr(result, "arrays"):
        return
    for block in (value_block(result), *result.arrays):
        numbers = block.elements
        if numbers.dtype.kind in "OU":  # text of many digits, of which none is too large or too small to be finite
            finite = (np.nan if "nan" in x else np.inf if "inf" in x else 0.0 for x in numbers.ravel())
            numbers = np.fromiter(finite, float).reshape(numbers.shape)
        for place in np.argwhere(wanted(numbers))[:1].tolist():
            yield block.words, place, block.label(place), numbers[tuple(place)]


def dense_arrays(result: Any) -> dict[str, np.ndarray]:
    """Return the derivatives of a result by name; sparse ones, text and those that are none are left out."""
    arrays = {block.key: block.array for block in getattr(result, "arrays", ())}
    return {name: x for name, x in arrays.items() if isinstance(x, np.ndarray) and x.dtype.kind not in "OU"}
