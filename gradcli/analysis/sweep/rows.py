"""Compute a program's value and derivatives for a block of rows in one call, each row independently."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import EXIT_TARGET, GradcliError
from ...func.batched_tensor import active
from ...func.mapping import vmap
from ...func.reverse import grad, grad_and_value, hessian
from ...program.base import Program, Values, check_number, silence_prints
from ...request import Request
from ...tape.tensor import Tensor

Columns = Mapping[str, np.ndarray]  # arrays by name, all with one item per row of a block
EvaluateBlock = Callable[[Columns], dict[str, np.ndarray]]  # from inputs to results, named as in `result_names`

BLOCK_ROWS = 65_536
"""Rows of a block: enough to hide the cost of a call of the engine (200 µs), few enough for the cache."""
LOOPED = 64  # rows of a block if each row needs its own run
PART_ROWS = 2 * BLOCK_ROWS
PART_SECONDS = 1.0  # intended time for a part of the result, estimated from a few rows
BYTES = 1 << 26  # memory that a block may take; matters if rows are wide
SAMPLE_ROWS = 65  # rows with which to measure how much memory a row takes
UNMEASURED = 10  # up to this many rows run one at a time: measuring memory takes as long as five blocks


class Question(NamedTuple):
    """What to compute at every row.

    given: values of inputs that are the same for all rows. columns: the inputs that have a column. wrt: the inputs to
    differentiate. outs: names of outputs, (None,) for the program's own. diag: whether to also compute the
    second derivative by each input. numeric: whether the program is differentiated from its values (--numeric).
    """

    program: Program
    given: Values
    columns: tuple[str, ...]
    wrt: tuple[str, ...]
    outs: tuple[str | None, ...] = (None,)
    diag: bool = False
    numeric: bool = False


def result_names(question: Question) -> list[str]:
    """Return the names of the result's columns: value, d_x, d2_x; a, d_a_x, d2_a_x for several outputs.

    With --numeric, d_x_error follows the derivatives.
    """
    names = []
    for out in question.outs:
        stem = "" if len(question.outs) == 1 else f"{out}_"
        names += [stem[:-1] or "value", *(f"d_{stem}{name}" for name in question.wrt)]
        names += [f"d_{stem}{name}_error" for name in question.wrt if question.numeric]
        names += [f"d2_{stem}{name}" for name in question.wrt if question.diag]
    return names


class RowError(GradcliError):
    """An error of the program at a row of a block. row: its position in the block."""

    def __init__(self, row: int, cause: Exception):
        error = cause if isinstance(cause, GradcliError) else GradcliError(str(cause), kind="target")
        code = error.exit_code if error is cause else EXIT_TARGET
        super().__init__(error.message, span=error.span, hint=error.hint, kind=error.kind, exit_code=code)
        self.row = row


class Interpreted:
    """Evaluates blocks with the engine, mapped over the rows if the program allows it, else row by row.

    looped: why it goes row by row, or "" if it does not, known after the first block. gaps: whether the results of a
    row with a singular matrix are nan instead of an error.
    """

    def __init__(self, question: Question, gaps: bool = True):
        self.question, self.gaps = question, gaps
        self.names = result_names(question)
        self.looped = question.program.row_by_row if question.program.dtype is None else ""
        self.functions: list[Callable] = []

    def __call__(self, columns: Columns) -> dict[str, np.ndarray]:
        size = len(next(iter(columns.values())))
        with silence_prints(self.question.program):
            results = self.evaluate(columns, 0, size)
        return dict(zip(self.names, results, strict=True))

    def evaluate(self, columns: Columns, start: int, stop: int) -> list[np.ndarray]:
        """Compute some rows; if that fails, compute both halves, down to the row at fault."""
        part = {name: x[start:stop] for name, x in columns.items()}
        try:
            return self.one_by_one(part) if self.looped else self.at_once(part)
        except Exception as error:
            if stop - start > 1:
                middle = (start + stop) // 2
                halves = (self.evaluate(columns, start, middle), self.evaluate(columns, middle, stop))
                return [np.concatenate(pair) for pair in zip(*halves, strict=True)]
            return self.single(part, start, error)

    def single(self, part: Columns, row: int, reason: Exception) -> list[np.ndarray]:
        try:
            if self.looped:
                raise reason
            results = self.one_by_one(part)
            self.looped = "it uses an operation that cannot be mapped"
            return results
        except Exception as error:
            if not (self.gaps and isinstance(error.__context__, np.linalg.LinAlgError)):
                raise RowError(row, reason if isinstance(reason, GradcliError) else error) from error
            q = self.question
            shapes = [part[name].shape if name in part else (1, *np.shape(q.given.get(name, 0.0))) for name in q.wrt]
            parts = [(1,), *shapes, *shapes * q.numeric, *shapes * q.diag]
            return [np.full(shape, np.nan) for shape in parts * len(q.outs)]

    def at_once(self, columns: Columns) -> list[np.ndarray]:
        if not self.functions:
            self.prepare({name: x[0] for name, x in columns.items()})
            if self.looped:
                return self.one_by_one(columns)
        dtype = self.question.program.dtype
        tensors = [
            Tensor._wrap(np.asarray(columns[name], dtype), None) if name in columns else self.fixed[name]
            for name in self.order
        ]
        return [x._data for function in self.functions for x in function(*tensors)]

    def prepare(self, row: Values) -> None:
        """Make a function of whole columns for each output. row: values of the first row."""
        functions = []
        for out in self.question.outs:
            call, values = self.question.program.as_function({**self.question.given, **row}, out)
            if not set(row) <= set(values):  # integers are not Tensors
                self.looped = "a column contains integers, which are not tensors"
                return
            self.fixed = {name: Tensor._wrap(x[()], None) for name, x in values.items() if name not in row}
            self.order = list(values)
            functions.append(self.map_rows(call))
        self.functions = functions

    def map_rows(self, call: Callable) -> Callable:
        places = tuple(self.order.index(name) for name in self.question.wrt)

        def scalar(*tensors: Tensor) -> Tensor:
            if not active.levels:
                self.looped = "it branches on values, or uses an operation that cannot be mapped"
            result = call(*tensors)
            check_number(
                result, "a sweep needs a real number per row", "of a row ", "take one element, the sum, or --out"
            )
            return result.reshape(()) if result.ndim else result

        def row(*tensors: Tensor) -> list[Tensor]:
            slopes, value = grad_and_value(scalar, places)(*tensors)
            bends = [second(scalar, place)(*tensors) for place in places if self.question.diag]
            return [value, *slopes, *bends]

        return vmap(row, in_dims=tuple(0 if name in self.question.columns else None for name in self.order))

    def one_by_one(self, columns: Columns) -> list[np.ndarray]:
        from ..gradient import compute_gradient

        q = self.question
        rows = []
        for i in range(len(next(iter(columns.values())))):
            given = {**q.given, **{name: x[i] for name, x in columns.items()}}
            row: list[Any] = []
            for out in q.outs:
                if q.numeric:
                    row += self.numeric_row(given, out)
                    continue
                gradients = compute_gradient(q.program, given, Request(wrt=q.wrt, out=out, with_value=True))
                slopes = {item.name: item.slope for item in gradients.inputs}
                row += [np.ravel(np.asarray(gradients.value))[0], *(slopes[name] for name in q.wrt)]
                if q.diag:
                    row += second_diagonals(q, given, out)
            rows.append(row)
        return [np.stack(column) for column in zip(*rows, strict=True)]

    def numeric_row(self, given: Values, out: str | None) -> list[np.ndarray]:
        from ..numeric_program import numeric_row

        q: Any = self.question
        return numeric_row(q.program, given, Request(wrt=q.wrt, out=out), q.diag)


def second_diagonals(q: Question, given: Values, out: str | None) -> list[np.ndarray]:
    from ..transform import compute_hessian

    blocks = compute_hessian(q.program, given, Request(wrt=q.wrt, out=out)).blocks
    rows = []
    for name in q.wrt:
        shape = np.shape(given[name]) if name in given else ()
        rows.append(np.diagonal(np.reshape(blocks[name][name], (int(np.prod(shape)),) * 2)).reshape(shape))
    return rows


def second(function: Callable, place: int) -> Callable:
    """Return a function for the second derivatives by each element of one argument, in its shape."""

    def derivative(*tensors: Tensor) -> Tensor:
        x = tensors[place]
        if not x.ndim:
            return grad(grad(function, place), place)(*tensors)
        n = int(np.prod(x.shape))
        return hessian(function, place)(*tensors).reshape(n, n).diagonal().reshape(*x.shape)

    return derivative


class Portions(NamedTuple):
    """The number of rows in a block and in a part of the result. loop: why rows run one by one, or ""."""

    block: int
    part: int
    loop: str = ""


def portion(question: Question, first: Columns, rows: int) -> Portions:
    """Choose portions: smaller blocks if a row takes much memory, smaller parts if it takes long."""
    evaluate = Interpreted(question)
    seconds = time_of(evaluate, first)
    if seconds < PART_SECONDS:
        seconds = time_of(evaluate, first)  # without the setup of the first call
    if not evaluate.looped and rows > UNMEASURED:
        few = min(SAMPLE_ROWS, rows)
        block = rows_in_memory(evaluate, first, few)
        few = min(block, few)
        seconds = min(seconds, time_of(evaluate, {name: np.repeat(x, few, axis=0) for name, x in first.items()}) / few)
    else:
        block = LOOPED if evaluate.looped else 1
    part = 1 << max(int(min(PART_SECONDS / max(seconds, 1e-9), PART_ROWS)), 1).bit_length() - 1
    return Portions(min(block, part), part, evaluate.looped)


def time_of(evaluate: EvaluateBlock, columns: Columns) -> float:
    begun = time.perf_counter()
    evaluate(columns)
    return time.perf_counter() - begun


def rows_in_memory(evaluate: EvaluateBlock, first: Columns, most: int) -> int:
    """Return how many rows a block may have, a power of two, from the memory of one row and of up to `most` rows."""
    read = 3 * sum(x.nbytes for x in first.values())  # the inputs, their gradients, and the text of these
    one = peak_memory(evaluate, first) + read
    count = min(most, BYTES // one)
    if count < 2:
        return 1
    more = peak_memory(evaluate, {name: np.repeat(x, count, axis=0) for name, x in first.items()}) + count * read
    fitting = BYTES // max((more - one) // (count - 1), 1)
    return min(BLOCK_ROWS, 1 << fitting.bit_length() - 1)


def peak_memory(evaluate: EvaluateBlock, columns: Columns) -> int:
    tracemalloc.start()
    try:
        evaluate(columns)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def by_shape(evaluate: EvaluateBlock, columns: Columns) -> dict[str, np.ndarray]:
    """Compute a block in which lists may have different lengths: all rows of one shape at a time."""
    if all(x.dtype != object for x in columns.values()):
        return evaluate(columns)
    groups: dict[tuple, list[int]] = {}
    size = len(next(iter(columns.values())))
    for i in range(size):
        groups.setdefault(tuple(np.shape(x[i]) for x in columns.values()), []).append(i)
    results: dict[str, np.ndarray] = {}
    for rows in groups.values():
        part = {name: np.stack(list(x[rows])) if x.dtype == object else x[rows] for name, x in columns.items()}
        try:
            of_shape = evaluate(part)
        except RowError as error:
            error.row = rows[error.row]
            raise
        for name, x in of_shape.items():
            whole = results.setdefault(name, np.empty(size, object if x.ndim > 1 else x.dtype))
            for place, item in zip(rows, x, strict=True):
                whole[place] = item
    return results
